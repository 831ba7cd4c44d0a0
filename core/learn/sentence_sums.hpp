// The loss of a single sentence and its gradient: sums over all paths (fast by scaled products; in
// log space if those underflow), over the gold path, and over local decisions.
#pragma once
#include <optional>

#include "engine/forward_backward.hpp"
#include "engine/history_sums.hpp"
#include "engine/listed_sums.hpp"
#include "engine/segments.hpp"
#include "learn/examples.hpp"
#include "weights/label_filter.hpp"
#include "weights/layout.hpp"
#include "weights/site_rows.hpp"
#include "weights/token_runs.hpp"

namespace trellis {

// Gradient contributions of sentences, except those of attributes of tokens. Slots are cleared by the caller.
struct Piece {
  std::vector<double> pairs;           // [L+1, stride]; [parameters of pairs] with sparse label n-grams
  std::vector<double> triples;         // [L+1, L+1, stride] or empty; [n_nodes] with sparse label n-grams
  std::vector<double> slots;           // [n_slots] of edge attributes and of segments
};

template <class Real>
class SentenceSums {
 public:
  struct Scratch {
    // The current sentence.
    std::size_t begin = 0, n = 0;                 // tokens
    double weight = 1;
    Piece* piece = nullptr;
    Real* residual = nullptr;                     // [n, stride]; null: no gradient requested

    std::vector<Real> emit, token_edge;           // [n, stride], [n, L+1, stride] if edges differ by token
    std::vector<Real> token_pairs;                // [n, L+1, stride] P(y, z at t)
    std::vector<Real> pairs, pair_sums, triples;  // as in Expectations
    PassScratch<Real> passes;
    ListedSums<Real> listed;
    std::vector<Real> longer;                     // [stride] scores of n-grams after the gold labels
    std::vector<Real> of_segments;                // [n * longest, stride] scores of segments by their attributes
    // All sums but the fast ones are in double.
    struct {
      std::vector<double> emit, edge;         // as above
      std::vector<double> node, token_pairs;  // as in HistoryExpectations
      std::vector<double> token_ngrams;       // [entries of runs] the same
      std::vector<double> of_node;            // [n_nodes] scores at one token
    } slow;
    ChainTables<double> tables;  // for log space
    StateTable<double> states;
    HistorySumsWorkspace histories;
    TokenRuns<double> runs;  // scores of n-grams by attributes
    TokenSets known;         // for partial labels
    std::optional<SegmentLattice> lattice;
  };

  SentenceSums(const Layout& layout, const Examples& examples, bool local, bool few_rows = false);

  // The lists of allowed labels of tokens, if the residuals of other labels are zero.
  static LabelSets lists(const Layout& layout, const ChainData& data) {
    return layout.ngrams || layout.parts.any() ? LabelSets{} : data.sets;
  }
  // Slots are parameters of edge attributes, then those of segments, which are the last parameters of rows.
  std::size_t n_edge_slots() const { return layout_.edge_row_labels.size(); }
  std::size_t first_of_segments() const {
    return data_.segments ? layout_.row_starts[data_.segments->first_attribute] : layout_.row_labels.size();
  }
  std::size_t n_slots() const { return n_edge_slots() + layout_.row_labels.size() - first_of_segments(); }
  std::size_t parameter_of(std::size_t slot) const {
    return slot < n_edge_slots() ? layout_.row_labels.size() + slot : first_of_segments() + slot - n_edge_slots();
  }
  std::size_t cells() const { return n_pairs() + longer_cells() + n_slots(); }
  // The index of parameter i of label pairs in a piece.
  std::size_t pair_place(std::size_t i) const { return places_.empty() ? layout_.edge_places[i] : i; }
  bool edges_by_token() const { return data_.pairs_by_token(); }

  void set(const double* parameters);
  void set_pair(std::size_t i, double weight) {
    const std::int32_t place = layout_.edge_places[i];
    edge_[place] = static_cast<Real>(layout_.edge_base[place] + weight);
  }
  void set_triple(std::size_t i, double weight) { tri_[layout_.tri_places[i]] = static_cast<Real>(weight); }
  // Call after pairs or triples were set; `all`: after everything was set.
  void set_factors(bool all = false);
  // Sets one parameter, if few rows of attributes have weights.
  void change(std::size_t k, double value);

  // Contributions of sentences are added to `piece` from now on; complete after the end.
  void begin_piece(Scratch& w, Piece& piece) const;
  void end_piece(const Scratch& w) const;

  // The loss of sentence s; unless residual is null also residual[t, z] = weight · (P(z at t) - [z is gold]) of its tokens (over
  // the columns of rows, [n, padded(n_columns)]), and its contribution to the piece.
  double run(std::size_t s, double weight, Scratch& w, Real* residual) const;

  SiteRows<Real> rows;
  std::vector<Real> slot_weights;  // [n_slots]

 private:
  std::size_t n_pairs() const { return places_.empty() ? pair_cells_ : layout_.edge_places.size(); }
  std::size_t longer_cells() const { return layout_.ngrams ? layout_.ngrams->size() : triple_cells_; }
  void potentials(Scratch& w) const;
  double sentence(Scratch& w) const;
  double all_paths(Scratch& w, double weight, const LabelSets* allowed) const;
  bool listed_paths(Scratch& w, double weight, const LabelSets& allowed, double& log_z) const;
  double gold_path(const Scratch& w) const;
  double gold_ngrams(const Scratch& w) const;
  double segment_sums(Scratch& w, const HistoryExpectations& wanted) const;
  double local_sentence(Scratch& w) const;
  template <class ValueOf>
  void add_edge_slots(std::size_t t, Piece& piece, ValueOf value_of) const;

  const Layout layout_;
  const Examples examples_;
  const ChainData& data_;
  const bool local_;
  const std::size_t L_, stride_, pair_cells_, triple_cells_;
  std::vector<Real> edge_, tri_, end_;  // [L+1, stride], as a piece's triples, [stride] or empty
  std::vector<std::int32_t> places_;    // index of a piece's pairs, as in HistoryExpectations, or empty
  Factors<Real> factors_;
  NgramTables histories_;               // replaces factors with sparse label n-grams
};

template <class Real>
template <class ValueOf>
void SentenceSums<Real>::add_edge_slots(std::size_t t, Piece& piece, ValueOf value_of) const {
  const Sites& at = data_.edge_attributes;
  if (!at.starts) return;
  for (std::int64_t i = at.starts[t]; i < at.starts[t + 1]; ++i)
    for (std::uint32_t k = layout_.edge_row_starts[at.ids[i]]; k < layout_.edge_row_starts[at.ids[i] + 1]; ++k)
      piece.slots[k] += at.value(i) * value_of(layout_.edge_row_labels[k]);
}

}  // namespace trellis
