// Possible occurrences of the features of a chain, computed before training: the index lists of boosting.
//
// Features that occur together are a *group*: all labels of an attribute, all label pairs of an edge attribute, and, as
// one group, all label pairs and triples. A group meets a sentence if its features can occur there for some
// labels; each such meeting has one cell per feature, with the range [L, U] of
//
//   u(y) = Phi_k(x, y) - Phi_k(x, gold),    Phi_k(x, y) how often feature k occurs in sentence x labelled y
//
// over all label paths y. A feature is a run of one to three labels that ends at a token. The labels of an attribute are free at
// every token: U = sum of positive values - gold, L = sum of negative values - gold. Of two label pairs (y, z), y != z, one
// after the other, only one can occur; in general a run of labels can occur again `period` tokens later. Where label pairs are
// forbidden, or a dictionary allows only some labels, [L, U] may be too wide, never too narrow.
#pragma once
#include <utility>

#include "groups.hpp"
#include "learn/sentence_sums.hpp"

namespace trellis {

class Occurrences {
 public:
  Occurrences(const Layout& layout, const Examples& examples);

  struct Meeting {
    std::uint32_t group, sentence;
    std::size_t first_place, first_cell;  // end where those of the next meeting begin
  };
  std::size_t n_groups() const { return first_features.size() - 1; }
  std::size_t n_features() const { return first_features.back(); }
  std::size_t n_features_of(std::size_t g) const { return first_features[g + 1] - first_features[g]; }
  std::size_t group_of_feature(std::size_t k) const;
  std::span<const std::uint32_t> meetings_of_sentence(std::size_t s) const { return of_sentences_[s]; }
  // The distinct values of U and L of feature k, ascending, including 0; cells store indices into them.
  std::span<const double> exponents(std::size_t k) const { return exponents_[k]; }
  // Whether all counts are whole numbers.
  bool whole() const { return !data_.attributes.values && !data_.edge_attributes.values; }

  // Expected minus gold count of each feature in sentence s, from the results of SentenceSums: calls
  // visit(cell, amount), possibly several times per cell. The piece's slots are reset to zero.
  template <class Visit>
  void each_excess(std::size_t s, const std::vector<double>& residual, Piece& piece, Visit visit) const;

  std::vector<std::size_t> first_features, first_meetings;  // [n_groups + 1]
  std::vector<Meeting> meetings;                            // by group, then by sentence; a last one of no group
  std::vector<std::uint32_t> low, high;                     // [n_cells] indices of L and U among the exponents

 private:
  struct Place {
    std::uint32_t sentence;
    std::int32_t token;  // within the sentence
    float value;
  };
  struct Run {
    std::size_t labels[3];
    int length;
  };
  struct Reach {  // the possible content of the places up to a token
    double least, most;
    std::int32_t token;
  };
  void list_meetings();
  void set_ranges();
  Run run_of(std::size_t k) const;
  std::pair<double, double> range(std::size_t m, const Run& run, std::vector<Reach>& reached) const;

  const Layout layout_;
  const Examples examples_;
  const ChainData& data_;
  const std::size_t L_, stride_, label_group_;
  Groups<Place> places_;                // [n_groups] by meetings, then by tokens
  Groups<std::uint32_t> of_sentences_;  // [n_sentences] meetings
  Groups<double> exponents_;            // [n_features]
};

template <class Visit>
void Occurrences::each_excess(std::size_t s, const std::vector<double>& residual, Piece& piece, Visit visit) const {
  const std::size_t n_slots = layout_.row_labels.size(), n_pairs = layout_.edge_places.size();
  for (const std::uint32_t m : meetings_of_sentence(s)) {
    const auto& [group, sentence, first_place, cell] = meetings[m];
    const std::size_t first = first_features[group], n = n_features_of(group);
    if (group < layout_.n_attributes) {
      for (std::size_t p = first_place; p < meetings[m + 1].first_place; ++p) {
        const Place& place = places_.items[p];
        const double* r = residual.data() + static_cast<std::size_t>(place.token) * stride_;
        for (std::size_t j = 0; j < n; ++j) visit(cell + j, place.value * r[layout_.row_labels[first + j]]);
      }
    } else if (group < label_group_) {
      for (std::size_t j = 0; j < n; ++j) visit(cell + j, std::exchange(piece.slots[first - n_slots + j], 0.0));
    } else {
      for (std::size_t j = 0; j < n; ++j)
        visit(cell + j, j < n_pairs ? piece.pairs[layout_.edge_places[j]] : piece.triples[layout_.tri_places[j - n_pairs]]);
    }
  }
}

}  // namespace trellis
