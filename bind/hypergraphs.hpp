// Hypergraphs as Python holds them, checked.
#pragma once
#include "checks.hpp"
#include "engine/hypergraph.hpp"

struct PyHypergraphs {
  trellis::Hypergraphs graphs;
};
