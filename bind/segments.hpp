// Segment types, as in Python, validated.
#pragma once
#include "checks.hpp"
#include "engine/segments.hpp"

struct PySegmentRules {
  std::size_t n_labels, longest;
  Array<std::int32_t, 2> shapes;  // [n, 6]: column, longest, labels of single, first, middle and last tokens
  Ints columns;                   // [n_labels]
  Array<std::uint8_t, 2> follows;  // [n_labels + 1, n_labels + 1]
  ARGUMENTS(n_labels, longest, shapes, columns, follows)
  trellis::SegmentRules core;

  void begin();
};
