// What segments may be, as Python holds it, checked.
#pragma once
#include "checks.hpp"
#include "engine/segments.hpp"

struct PySegmentRules {
  trellis::SegmentRules core;

  PySegmentRules(std::size_t n_labels, std::size_t longest, const Array<std::int32_t, 2>& shapes,
                 const Ints& columns, const Array<std::uint8_t, 2>& follows);
};
