// Pruning levels above order 0 (Müller, Schmid & Schütze 2013). Level k, from 1 on, is a chain of order k over what the
// previous level left: label scores of the filter of order 0 plus weights of label n-grams of up to k + 1
// labels. A run of k + 1 labels at a token survives if its max-marginal is at most a margin below the best path's score:
//
//   max over paths by the run of score(path) >= max over all paths of score(path) - margin
//
// So the best path of every level survives, and no sentence is left without a path. These runs are the nodes of the next level.
#pragma once
#include <span>

#include "engine/lattice.hpp"
#include "weights/label_filter.hpp"

namespace trellis {

// The weights of all levels; level k has those of n-grams of up to k + 1 labels.
struct FilterLevels {
  std::size_t n_labels, stride;
  Ngrams ngrams;
  std::vector<double> edge;    // [n_labels + 1, stride] of label pairs, minus infinity if forbidden
  std::vector<double> end;     // [stride] likewise of last labels, or empty
  std::vector<double> scores;  // [n_nodes] of longer n-grams

  FilterLevels(std::size_t n_labels, std::size_t n_levels)
      : n_labels(n_labels), stride(padded(n_labels)), ngrams(n_labels, n_levels), edge((n_labels + 1) * stride),
        scores(ngrams.size()) {}
};

// One sentence at one level; the scratch of one thread.
class LevelSentence {
 public:
  // The output of the level below for n tokens: `sets` with a lattice, at level 1 lists of labels alone.
  void open(std::size_t level, const LabelSets& sets, std::size_t n);
  // Scores of labels [n, stride], to be filled in by the caller for the labels of the sets.
  double* emit(std::size_t n, std::size_t stride) { return grow(emit_, n * stride); }
  // Lays out its steps, with the weights of this level.
  void lay_out(const FilterLevels& levels);
  // The arcs of a path, by token; the path must be one of the lattice.
  void find_arcs(const std::int32_t* path);

  // The score gap between the best path and the best path through each of those arcs: calls visit(t, gap). No call if no path
  // is possible.
  template <class Visit>
  void each_gap(Visit visit) {
    if (!step_gaps(chain_, work_, gaps_)) return;
    for (std::size_t t = 0; t < n_; ++t)
      for (std::size_t i = work_.step_starts[t]; i < work_.step_starts[t + 1]; ++i)
        if (work_.steps[i].arc == arcs_[t]) visit(t, gaps_[i]);
  }
  // Calls visit(t, step, P(step), whether it is one of these arcs).
  template <class Visit>
  void each_step(Visit visit) {
    LatticeStates<double> states{chain_, work_};
    sum_steps(states, true, [&](std::size_t t, const auto& steps, const double* p) {
      for (std::size_t i = 0; i < steps.size(); ++i) visit(steps[i], p[i], steps[i].arc == arcs_[t]);
    });
  }
  std::size_t label_before(const StateStep<double>& step) const {
    return chain_.ngrams->ngrams->label(work_.states[step.from]);
  }
  // Appends the nodes and arcs within the margin, and with `keep` the arcs of the path, to `to`. If no path is possible, all.
  void prune(double margin, bool keep, TokenSets& to);

  // Its memory that grows with the length of a sentence.
  std::size_t bytes() const { return (emit_.capacity() + gaps_.capacity()) * sizeof(double) + work_.bytes(); }

 private:
  std::size_t level_ = 1, n_ = 0;
  TokenSets lattice_;  // its labels are not used
  LabelSets view_{};
  std::vector<double> emit_, gaps_;
  NgramScores<double> ngrams_{};
  ChainView<double> chain_{};
  StateTable<double> work_;
  static constexpr std::uint32_t kNoArc = 0xffffffff;
  std::vector<std::uint32_t> arcs_;          // [n]
  std::vector<std::uint8_t> kept_;           // [n_arcs]
  std::vector<std::int32_t> number_, next_;  // [nodes of a token] their new numbers, -1: dropped
};

}  // namespace trellis
