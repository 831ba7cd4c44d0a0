// What a chain of weights expects of one sentence at a time: its loss, log Z - score(gold), and how often each label,
// label pair and label triple is expected. A function of the weights alone, to the bit: however they were reached, and
// whatever sentences were run before.
#pragma once
#include <span>
#include <vector>

#include "engine/forward_backward.hpp"
#include "learn/objective.hpp"

namespace trellis {

class ChainExpectations {
 public:
  ChainExpectations(const Layout& layout, const ChainData& data, const std::int64_t* starts, const std::int32_t* gold);

  void set(std::span<const double> parameters);
  // One parameter to another value.
  void change(std::size_t k, double value);
  const std::vector<double>& parameters() const { return parameters_; }

  struct Scratch {
    std::vector<double> emit, token_edge;  // [n, stride], [n, L+1, stride]
    std::vector<double> node;              // [n, stride] P(z at t)
    std::vector<double> pairs, triples;    // [stride+1, stride], [L+1, L+1, stride] expected counts
    std::vector<double> token_pairs;       // [n, L+1, stride] P(y, z at t), where edges differ by token
    std::vector<double> pair_sums, exact_node, exact_pairs, exact_end;
    SumProductScratch<double> sums;
    SumWorkspace exact;
  };
  // The loss of sentence s, never below 0; infinite if its gold path is forbidden. With expectations in `w`.
  double run(std::size_t s, Scratch& w) const;

  // Potentials of a sentence, for other sums over its paths.
  void fill_potentials(std::size_t s, Scratch& w) const;
  // exp of label pairs, triples and ends, each less its largest; padding lanes are zero.
  struct Exponentials {
    std::vector<double> edge, tri, end;  // [L+1, stride], [L+1, L+1, stride] or empty, [stride] or empty
  };
  const Exponentials& exponentials() const { return exponentials_; }
  std::size_t n_labels() const { return L_; }
  bool edges_by_token() const { return data_.edge_attributes.starts != nullptr; }
  std::size_t pair_cells() const { return pair_cells_; }
  std::size_t triple_cells() const { return triple_cells_; }

 private:
  void set_factors();
  void exp_table(const std::vector<double>& table, std::vector<double>& out) const;
  double gold_score(std::size_t begin, std::size_t n, const Scratch& w) const;
  double exact_run(std::size_t n, Scratch& w) const;

  const Layout layout_;
  const ChainData data_;
  const std::int64_t* starts_;
  const std::int32_t* gold_;
  const std::size_t L_, stride_, pair_cells_, triple_cells_, first_edge_slot_, first_pair_, first_triple_;
  std::vector<double> parameters_;
  std::vector<std::uint8_t> row_has_weight_;  // [n_attributes] few rows of a sparse model have one
  std::vector<double> edge_, tri_;            // [L+1, stride], [L+1, L+1, stride]
  Exponentials exponentials_;
  Factors<double> factors_;  // the same as the sums over paths want it
};

}  // namespace trellis
