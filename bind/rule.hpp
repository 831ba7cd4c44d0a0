// The rule of an online learner by its name.
#pragma once
#include <string>

#include "bind.hpp"
#include "learn/steps.hpp"

inline trellis::Rule rule_from(const std::string& name, std::size_t k, double c) {
  static const std::pair<const char*, trellis::Rule::Kind> kinds[] = {
      {"perceptron", trellis::Rule::kPerceptron}, {"PA", trellis::Rule::kPa},     {"PA-I", trellis::Rule::kPa1},
      {"PA-II", trellis::Rule::kPa2},             {"MIRA", trellis::Rule::kMira}, {"AROW", trellis::Rule::kArow}};
  if (k < 1 || !(c > 0)) throw nb::value_error("k and c must be positive");
  for (const auto& [known, kind] : kinds)
    if (name == known) return {kind, k, c};
  throw nb::value_error("no such rule");
}
