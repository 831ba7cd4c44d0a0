#include "papers/occurrences.hpp"

#include <algorithm>

namespace trellis {

Occurrences::Occurrences(const Layout& layout, const Examples& examples)
    : layout_(layout), examples_(examples), data_(examples.data), L_(layout.n_labels), stride_(padded(layout.n_labels)),
      label_group_(layout.n_attributes + (data_.edge_attributes.starts ? layout.n_edge_attributes : 0)) {
  const std::size_t n_slots = layout.row_labels.size();
  for (std::size_t a = 0; a < layout.n_attributes; ++a) first_features.push_back(layout.row_starts[a]);
  for (std::size_t g = layout.n_attributes; g < label_group_; ++g)
    first_features.push_back(n_slots + layout.edge_row_starts[g - layout.n_attributes]);
  first_features.push_back(n_slots + layout.edge_row_labels.size());
  first_features.push_back(layout.n_parameters());
  list_meetings();
  set_ranges();
}

std::size_t Occurrences::group_of_feature(std::size_t k) const {
  return std::upper_bound(first_features.begin(), first_features.end(), k) - first_features.begin() - 1;
}

void Occurrences::list_meetings() {
  places_.sort(n_groups(), [&](auto visit) {  // the features at all tokens, in order
    for (std::size_t s = 0; s < examples_.n_sentences; ++s)
      for (std::int64_t t = examples_.starts[s]; t < examples_.starts[s + 1]; ++t) {
        const auto stand = [&](std::size_t group, float value) {
          const Place place{static_cast<std::uint32_t>(s), static_cast<std::int32_t>(t - examples_.starts[s]), value};
          if (n_features_of(group)) visit(group, place);
        };
        data_.attributes.each(t, [&](std::int32_t a, float value) { stand(a, value); });
        if (data_.edge_attributes.starts)
          data_.edge_attributes.each(t, [&](std::int32_t a, float value) { stand(layout_.n_attributes + a, value); });
        stand(label_group_, 1);
      }
  });
  std::size_t place = 0, cell = 0;
  for (std::size_t g = 0; g < n_groups(); ++g) {
    first_meetings.push_back(meetings.size());
    for (; place < places_.starts[g + 1]; ++place) {
      const std::uint32_t s = places_.items[place].sentence;
      if (meetings.size() > first_meetings.back() && meetings.back().sentence == s) continue;
      meetings.push_back({static_cast<std::uint32_t>(g), s, place, cell});
      cell += n_features_of(g);
    }
  }
  first_meetings.push_back(meetings.size());
  of_sentences_.sort(examples_.n_sentences, [&](auto visit) {
    for (std::size_t m = 0; m < first_meetings.back(); ++m) visit(meetings[m].sentence, static_cast<std::uint32_t>(m));
  });
  meetings.push_back({static_cast<std::uint32_t>(n_groups()), 0, place, cell});
}

// The labels of feature k, which end at its token.
Occurrences::Run Occurrences::run_of(std::size_t k) const {
  if (k < layout_.row_labels.size()) return {{layout_.row_labels[k]}, 1};
  k -= layout_.row_labels.size();
  const std::size_t n_edges = layout_.edge_row_labels.size(), n_pairs = layout_.edge_places.size();
  const bool triple = k >= n_edges + n_pairs;
  const std::size_t cell = k < n_edges ? layout_.edge_row_labels[k]
                           : triple    ? layout_.tri_places[k - n_edges - n_pairs]
                                       : layout_.edge_places[k - n_edges];
  const std::size_t before = cell / stride_, z = cell % stride_;
  if (triple) return {{before / (L_ + 1), before % (L_ + 1), z}, 3};
  return {{before, z}, 2};
}

// L and U of a run of labels, with NULL only before the sentence: extreme sums over occurrences that can coexist.
//   most[i] = max(most[i - 1], value + most[the places `period` before]),    least[i] likewise
std::pair<double, double> Occurrences::range(std::size_t m, const Run& run, std::vector<Reach>& reached) const {
  const std::size_t* end = run.labels + run.length;
  std::int32_t period = 1;
  while (period < run.length && !std::equal(run.labels + period, end, run.labels)) ++period;
  const std::int64_t begin = examples_.starts[meetings[m].sentence];
  double gold = 0;
  reached.assign(1, {0, 0, -run.length});
  const Place* last = places_.items.data() + meetings[m + 1].first_place;
  for (const Place* p = places_.items.data() + meetings[m].first_place; p < last;) {
    const std::int32_t token = p->token;
    double value = 0;
    for (; p < last && p->token == token; ++p) value += p->value;
    bool possible = true, is_gold = true, forced = true;
    for (std::int32_t back = 0; back < run.length; ++back) {
      const std::size_t label = end[-1 - back];
      const bool is_null = label == L_;
      if (token < back) {
        possible = possible && is_null, is_gold = is_gold && is_null;
        continue;
      }
      const std::size_t t = begin + token - back;
      is_gold = is_gold && static_cast<std::size_t>(examples_.gold[t]) == label;
      possible = possible && !is_null && (!data_.sets.starts || allows(data_.sets, t, label));
      forced = forced && (L_ == 1 || (data_.sets.starts && labels_of(data_.sets, t).size() == 1));
    }
    if (is_gold) gold += value;
    if (!possible) continue;
    const Reach* before = &reached.back();
    while (token - before->token < period) --before;
    const Reach with{before->least + value, before->most + value, token};
    const Reach free{std::min(reached.back().least, with.least), std::max(reached.back().most, with.most), token};
    reached.push_back(forced ? with : free);
  }
  return {reached.back().least - gold, reached.back().most - gold};
}

// The distinct values of every feature, and their index for each cell.
void Occurrences::set_ranges() {
  low.resize(meetings.back().first_cell);
  high.resize(low.size());
  std::vector<Reach> reached;
  std::vector<std::pair<double, double>> ranges;
  std::vector<double> seen;
  for (std::size_t g = 0; g < n_groups(); ++g)
    for (std::size_t k = first_features[g]; k < first_features[g + 1]; ++k) {
      const Run run = run_of(k);
      ranges.clear(), seen.assign(1, 0.0);
      for (std::size_t m = first_meetings[g]; m < first_meetings[g + 1]; ++m) {
        ranges.push_back(range(m, run, reached));
        seen.insert(seen.end(), {ranges.back().first, ranges.back().second});
      }
      std::sort(seen.begin(), seen.end());
      seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
      exponents_.add(seen);
      const auto number = [&](double x) {
        return static_cast<std::uint32_t>(std::lower_bound(seen.begin(), seen.end(), x) - seen.begin());
      };
      std::size_t cell = meetings[first_meetings[g]].first_cell + k - first_features[g];
      for (const auto& [least, most] : ranges) {
        low[cell] = number(least), high[cell] = number(most);
        cell += n_features_of(g);
      }
    }
}

}  // namespace trellis
