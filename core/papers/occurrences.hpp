// Where the features of a chain can occur, before any training: the lists that boosting goes by.
//
// Features that occur together are a *group*: all labels of an attribute, all label pairs of an edge attribute, and, as
// one group, all label pairs and triples. A group meets a sentence if its features can be observed there, whatever the
// labels; each such meeting has one cell a feature, with the range [L, U] of
//
//   u(y) = Phi_k(x, y) - Phi_k(x, gold),    Phi_k(x, y) how often feature k occurs in sentence x labelled y
//
// over all label paths y. An attribute's count is free at every token: U = sum of positive values - gold, L = sum of
// negative values - gold. Of two label pairs (y, z), y != z, one after the other, only one can occur; in general a run
// of labels can occur again `period` tokens later. Where label pairs are forbidden, or a dictionary allows some labels
// only, U and L of label runs may lie outside the range, never inside it. Places of label pairs and triples must ascend.
#pragma once
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "learn/sentence_sums.hpp"

namespace trellis {

class Occurrences {
 public:
  Occurrences(const Layout& layout, const Examples& examples);

  std::size_t n_groups() const { return first_features_.size() - 1; }
  std::size_t n_features() const { return first_features_.back(); }
  std::size_t n_meetings() const { return sentence_of_.size(); }
  // Group g has the features from first_feature(g) to first_feature(g + 1), and meetings numbered likewise, by sentence.
  std::size_t first_feature(std::size_t g) const { return first_features_[g]; }
  std::size_t n_features_of(std::size_t g) const { return first_features_[g + 1] - first_features_[g]; }
  std::size_t first_meeting(std::size_t g) const { return first_meetings_[g]; }
  std::size_t sentence_of(std::size_t meeting) const { return sentence_of_[meeting]; }
  std::size_t group_of_feature(std::size_t k) const;
  std::span<const std::uint32_t> meetings_of_sentence(std::size_t s) const {
    return {meetings_.data() + sentence_starts_[s], meetings_.data() + sentence_starts_[s + 1]};
  }
  std::size_t group_of_meeting(std::size_t meeting) const { return group_of_[meeting]; }

  // Cells of a meeting, one a feature of its group.
  std::size_t n_cells() const { return low_.size(); }
  std::size_t first_cell(std::size_t meeting) const {
    const std::size_t g = group_of_[meeting];
    return first_cells_[g] + (meeting - first_meetings_[g]) * n_features_of(g);
  }

  // The distinct values that U and L of feature k have, ascending, 0 among them; cells say which by number.
  std::span<const double> exponents(std::size_t k) const {
    return {exponents_.data() + exponent_starts_[k], exponents_.data() + exponent_starts_[k + 1]};
  }
  std::uint32_t low_number(std::size_t cell) const { return low_[cell]; }
  std::uint32_t high_number(std::size_t cell) const { return high_[cell]; }
  // Whether all counts are whole numbers.
  bool whole() const { return !data_.attributes.values && !data_.edge_attributes.values; }

  void clear(std::size_t s, double* cells) const;  // those of the meetings of a sentence
  // How often each feature is expected in sentence s less how often it is there, from what SentenceSums found: calls
  // visit(cell, amount), with the same cell more than once perhaps. The piece's edge slots become zero again.
  template <class Visit>
  void each_excess(std::size_t s, const std::vector<double>& residual, Piece& piece, Visit visit) const;

 private:
  static constexpr std::uint32_t kNoMeeting = ~std::uint32_t{0};  // its group has no features
  struct Place {
    std::uint32_t meeting;
    std::int32_t token;  // within the sentence
    double value;
  };
  void list_meetings();
  void list_places(std::size_t s, std::vector<Place>& places) const;
  void set_ranges();
  void range_of_attribute(std::size_t s, std::span<const Place> places, std::size_t label, double& low, double& high) const;
  void range_of_run(std::size_t s, std::span<const Place> places, const std::size_t* labels, int n_labels, double& low,
                    double& high) const;
  void set_label_ranges(std::size_t s, double* lows, double* highs) const;
  std::array<std::size_t, 3> labels_at(std::size_t place) const;
  template <class Found>
  void each_gold_run(std::size_t s, Found found) const;
  bool may_have(std::size_t token, std::size_t label) const;
  bool forces(std::size_t token) const;
  std::size_t gold_label(std::size_t s, std::ptrdiff_t t) const { return t < 0 ? L_ : gold_[starts_[s] + t]; }

  const Layout layout_;
  const ChainData& data_;
  const std::int64_t* starts_;
  const std::size_t n_sentences_;
  const std::int32_t* gold_;
  const std::size_t L_, stride_, n_edge_groups_, label_group_;
  std::vector<std::size_t> first_features_, first_meetings_, first_cells_;  // [n_groups + 1]
  std::vector<std::uint32_t> sentence_of_, group_of_;                       // [n_meetings]
  std::vector<std::uint32_t> meetings_;                                     // by sentence
  std::vector<std::size_t> sentence_starts_;                                // [n_sentences + 1]
  std::vector<std::uint32_t> label_meeting_;                                // [n_sentences] of the label group
  std::vector<std::uint32_t> item_meeting_, edge_item_meeting_;             // [n_items] of each attribute at a token
  std::vector<double> exponents_;
  std::vector<std::size_t> exponent_starts_;  // [n_features + 1]
  std::vector<std::uint32_t> low_, high_;     // [n_cells]
};

template <class Visit>
void Occurrences::each_excess(std::size_t s, const std::vector<double>& residual, Piece& piece, Visit visit) const {
  const std::size_t begin = starts_[s], n = starts_[s + 1] - begin, n_slots = layout_.row_labels.size();
  const Sites &at = data_.attributes, &edge_at = data_.edge_attributes;
  for (std::size_t t = 0; t < n; ++t) {
    const double* r = residual.data() + t * stride_;
    for (std::int64_t i = at.starts[begin + t]; i < at.starts[begin + t + 1]; ++i) {
      if (item_meeting_[i] == kNoMeeting) continue;
      std::size_t cell = first_cell(item_meeting_[i]);
      for (std::uint32_t k = layout_.row_starts[at.ids[i]]; k < layout_.row_starts[at.ids[i] + 1]; ++k)
        visit(cell++, at.value(i) * r[layout_.row_labels[k]]);
    }
    if (n_edge_groups_)
      for (std::int64_t i = edge_at.starts[begin + t]; i < edge_at.starts[begin + t + 1]; ++i) {
        if (edge_item_meeting_[i] == kNoMeeting) continue;
        const std::size_t g = layout_.n_attributes + edge_at.ids[i], cell = first_cell(edge_item_meeting_[i]);
        double* slots = piece.edge_slots.data() + (first_features_[g] - n_slots);
        for (std::size_t j = 0; j < n_features_of(g); ++j) visit(cell + j, std::exchange(slots[j], 0.0));
      }
  }
  if (n == 0 || n_features_of(label_group_) == 0) return;
  const std::size_t cell = first_cell(label_meeting_[s]), n_pairs = layout_.edge_places.size();
  for (std::size_t j = 0; j < n_features_of(label_group_); ++j)
    visit(cell + j, j < n_pairs ? piece.pairs[layout_.edge_places[j]] : piece.triples[layout_.tri_places[j - n_pairs]]);
}

}  // namespace trellis
