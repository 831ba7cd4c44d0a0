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
  std::vector<double> losses(const Doubles& parameters, std::size_t n_threads) {
    require(parameters.size() == n_parameters, "there must be one number per parameter");
    return filled<double>(n_sentences, [&](double* out) {
      core->evaluate(parameters.data(), nullptr, n_threads, out, trellis::FixedPoint(0), nullptr);
    });
  }
  std::pair<std::vector<double>, std::vector<std::int64_t>> sums(const Doubles& parameters, const std::optional<Doubles>& weights,
                                                                 int exponent, std::size_t n_threads) {
    require(parameters.size() == n_parameters, "there must be one number per parameter");
    require(exponent >= -1000 && exponent <= 1000, "exponent must be from -1000 to 1000");
    check_weights(weights, n_sentences);
    std::vector<std::int64_t> slope(n_parameters);
    auto losses = filled<double>(n_sentences, [&](double* out) {
      core->evaluate(parameters.data(), data_of(weights), n_threads, out, trellis::FixedPoint(exponent), slope.data());
    });
    return {std::move(losses), std::move(slope)};
  }
  std::vector<double> pass(const MutableArray<double, 1>& parameters, const MutableArray<double, 1>& squares, const Longs& order,
                           const std::optional<Doubles>& weights, double rate, double c1, double c2, std::size_t batch,
                           std::size_t n_threads, std::optional<std::size_t> head) {
    require(batch >= 1, "batch must be positive");
    require(parameters.size() == n_parameters && squares.size() == n_parameters, "there must be one number per parameter");
    check_weights(weights, n_sentences);
    const std::size_t n = head.value_or(n_sentences);
    require(n <= n_sentences, "head exceeds the number of sentences");
    check_order(order, n);
    return filled<double>(n, [&](double* out) {
      core->pass({rate, c1, c2, batch}, n, order.data(), order.size(), data_of(weights), n_threads, parameters.data(),
                 squares.data(), out);
    });
  }
};
