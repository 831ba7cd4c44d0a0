// Dictionaries as Python holds them, and as a decoder shares them.
#pragma once
#include <memory>

#include "text/dictionary.hpp"

struct PyDictionary {
  std::shared_ptr<const trellis::Dictionary> core;
};
