// Losses and gradients of any structure, as Python calls them.
#pragma once
#include "checks.hpp"
#include "learn/objective.hpp"

struct PyObjective {
  std::size_t n_sentences = 0, n_parameters = 0;
  std::unique_ptr<trellis::Objective> core;

  Numpy<double> losses(const Doubles& parameters, std::size_t n_threads) {
    if (parameters.size() != n_parameters) throw nb::value_error("one number a parameter");
    std::vector<double> out(n_sentences);
    without_gil([&] { core->losses(parameters.data(), n_threads, out.data()); });
    return to_numpy(std::move(out));
  }

  std::pair<Numpy<double>, Numpy<double>> gradient(const Doubles& parameters, const std::optional<Doubles>& weights,
                                                   std::size_t n_threads) {
    if (parameters.size() != n_parameters) throw nb::value_error("one number a parameter");
    check_weights(weights, n_sentences);
    std::vector<double> out(n_sentences), slope(n_parameters);
    without_gil([&] {
      core->gradient(parameters.data(), weights ? weights->data() : nullptr, n_threads, out.data(), slope.data());
    });
    return {to_numpy(std::move(out)), to_numpy(std::move(slope))};
  }

  Numpy<double> pass(const MutableArray<double, 1>& parameters, const MutableArray<double, 1>& squares,
                     const Longs& order, const std::optional<Doubles>& weights, double rate,
                     double c1, double c2, std::size_t batch, std::size_t n_threads) {
    require(batch >= 1, "batch must be positive");
    if (parameters.size() != n_parameters || squares.size() != n_parameters) throw nb::value_error("one number a parameter");
    check_weights(weights, n_sentences);
    check_order(order, n_sentences);
    std::vector<double> out(n_sentences);
    without_gil([&] {
      core->pass({rate, c1, c2, batch}, order.data(), order.size(), weights ? weights->data() : nullptr, n_threads,
                 parameters.data(), squares.data(), out.data());
    });
    return to_numpy(std::move(out));
  }
};
