// The log loss of right trees, -log p(right) = log Z - score(right), and its gradient:
//
//   d loss / d w[f] = sum over parts of (P(part) - whether the right tree has it) · whether f is on the part
//
// Parts are arcs, arcs with a label, and siblings. Attributes of right parts have weights, one after the other in a vector.
#pragma once
#include "learn/objective.hpp"
#include "learn/trees.hpp"

namespace trellis {

// Attributes with their places in a vector: attribute i of template t has x[first[t] + i · columns[t] ...].
struct FixedPlaces {
  const GrowingPlaces& attributes;
  std::vector<std::size_t> first;  // [n_templates + 1]
  const double* x = nullptr;

  explicit FixedPlaces(const GrowingPlaces& attributes);
  std::int32_t fold(std::int32_t f, std::uint64_t key) const { return attributes.fold(f, key); }
  void prefetch(std::size_t t, std::uint64_t key) const { attributes.prefetch(t, key); }
  const double* row(std::size_t t, std::uint64_t key) const {
    const std::int32_t id = attributes.tables()[t].find(key);
    return id < 0 ? nullptr : x + first[t] + static_cast<std::size_t>(id) * attributes.columns()[t];
  }
};

// Attributes of all right parts, and of the filter.
void add_right_attributes(const ArcPlan& plan, const TreeExamples& examples, GrowingPlaces& to);

class TreeObjective : public Objective {
 public:
  // `attributes` outlive it. The last template's attributes are the filter's where there is one: they have no weights.
  TreeObjective(const ArcPlan& plan, const GrowingPlaces& attributes, const TreeExamples& examples, bool projective);
  std::size_t n_parameters() const { return n_parameters_; }

  void losses(const double* parameters, std::size_t n_threads, double* losses) override {
    evaluate(parameters, nullptr, n_threads, losses, nullptr);
  }
  void gradient(const double* parameters, const double* weights, std::size_t n_threads, double* losses, double* gradient) override {
    evaluate(parameters, weights, n_threads, losses, gradient);
  }
  void pass(const AdaGrad& rule, const std::int64_t* order, std::size_t n, const double* weights, std::size_t n_threads,
            double* parameters, double* squares, double* losses) override;

 private:
  struct Scratch;
  void evaluate(const double* x, const double* weights, std::size_t n_threads, double* losses, double* gradient) const;
  // The loss of a sentence; calls add(parameter, amount) for its gradient, the same parameter more than once perhaps.
  template <class Add>
  double loss_of(std::size_t i, Scratch& work, Add add) const;

  const ArcPlan& plan_;
  TreeExamples examples_;
  bool projective_;
  FixedPlaces places_;
  std::size_t n_parameters_;
  std::vector<double> shares_;  // [n_parameters] one over the number of parts that each is on
};

}  // namespace trellis
