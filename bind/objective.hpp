// Losses and gradients of any structure, for Python.
#pragma once
#include "checks.hpp"
#include "learn/objective.hpp"

struct PyObjective {
  std::size_t n_sentences = 0, n_parameters = 0;
  std::unique_ptr<trellis::Objective> core;

  void set(std::unique_ptr<trellis::Objective> objective, std::size_t n_examples, std::size_t n) {
    core = std::move(objective), n_sentences = n_examples, n_parameters = n;
  }
  std::vector<double> losses(const Doubles& parameters, std::size_t n_threads);
  std::pair<std::vector<double>, std::vector<std::int64_t>> sums(const Doubles& parameters, const std::optional<Doubles>& weights,
                                                                 int exponent, std::size_t n_threads);
  std::vector<double> pass(const MutableArray<double, 1>& parameters, const MutableArray<double, 1>& squares, const Longs& order,
                           const std::optional<Doubles>& weights, double rate, double c1, double c2, std::size_t batch,
                           std::size_t n_threads, std::optional<std::size_t> head);
};
