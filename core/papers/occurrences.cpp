#include "papers/occurrences.hpp"

#include <algorithm>
#include <numeric>

namespace trellis {
namespace {

// How many tokens later a run of labels can occur again at the earliest.
int period_of(const std::size_t* labels, int n) {
  for (int shift = 1; shift < n; ++shift)
    if (std::equal(labels + shift, labels + n, labels)) return shift;
  return n;
}

}  // namespace

Occurrences::Occurrences(const Layout& layout, const Examples& examples)
    : layout_(layout), data_(examples.data), starts_(examples.starts), n_sentences_(examples.n_sentences), gold_(examples.gold),
      L_(layout.n_labels), stride_(padded(layout.n_labels)),
      n_edge_groups_(data_.edge_attributes.starts ? layout.n_edge_attributes : 0),
      label_group_(layout.n_attributes + n_edge_groups_) {
  const std::size_t n_slots = layout.row_labels.size();
  for (std::size_t a = 0; a < layout.n_attributes; ++a) first_features_.push_back(layout.row_starts[a]);
  for (std::size_t a = 0; a < n_edge_groups_; ++a) first_features_.push_back(n_slots + layout.edge_row_starts[a]);
  first_features_.push_back(n_slots + layout.edge_row_labels.size());
  first_features_.push_back(layout.n_parameters());
  list_meetings();
  set_ranges();
}

std::size_t Occurrences::group_of_feature(std::size_t k) const {
  return std::upper_bound(first_features_.begin(), first_features_.end(), k) - first_features_.begin() - 1;
}

void Occurrences::list_meetings() {
  const std::size_t n_tokens = n_sentences_ ? starts_[n_sentences_] : 0;
  // First how many meetings each group has, then which; the sentence last met tells a new one.
  std::vector<std::size_t> counts(n_groups() + 1, 0), next;
  std::vector<std::uint32_t> last(n_groups(), kNoMeeting);
  item_meeting_.assign(n_tokens ? data_.attributes.starts[n_tokens] : 0, kNoMeeting);
  edge_item_meeting_.assign(n_edge_groups_ && n_tokens ? data_.edge_attributes.starts[n_tokens] : 0, kNoMeeting);
  const auto visit = [&](auto&& met) {
    std::fill(last.begin(), last.end(), kNoMeeting);
    for (std::size_t s = 0; s < n_sentences_; ++s) {
      const auto meet = [&](std::size_t g, std::uint32_t* item) {
        if (n_features_of(g) == 0) return;
        met(g, s, last[g] != s, item);
        last[g] = static_cast<std::uint32_t>(s);
      };
      for (std::int64_t t = starts_[s]; t < starts_[s + 1]; ++t) {
        const Sites &at = data_.attributes, &edge_at = data_.edge_attributes;
        for (std::int64_t i = at.starts[t]; i < at.starts[t + 1]; ++i) meet(at.ids[i], &item_meeting_[i]);
        if (n_edge_groups_)
          for (std::int64_t i = edge_at.starts[t]; i < edge_at.starts[t + 1]; ++i)
            meet(layout_.n_attributes + edge_at.ids[i], &edge_item_meeting_[i]);
        meet(label_group_, nullptr);
      }
    }
  };
  visit([&](std::size_t g, std::size_t, bool is_new, std::uint32_t*) { counts[g + 1] += is_new; });
  std::partial_sum(counts.begin(), counts.end(), counts.begin());
  first_meetings_ = counts;
  next = counts;
  sentence_of_.resize(counts.back());
  group_of_.resize(counts.back());
  sentence_starts_.assign(n_sentences_ + 1, 0);
  label_meeting_.assign(n_sentences_, kNoMeeting);
  visit([&](std::size_t g, std::size_t s, bool is_new, std::uint32_t* item) {
    if (is_new) {
      sentence_of_[next[g]] = static_cast<std::uint32_t>(s);
      group_of_[next[g]++] = static_cast<std::uint32_t>(g);
      meetings_.push_back(static_cast<std::uint32_t>(next[g] - 1));
      ++sentence_starts_[s + 1];
    }
    if (item) *item = static_cast<std::uint32_t>(next[g] - 1);
    else label_meeting_[s] = static_cast<std::uint32_t>(next[g] - 1);
  });
  std::partial_sum(sentence_starts_.begin(), sentence_starts_.end(), sentence_starts_.begin());
  first_cells_.assign(1, 0);
  for (std::size_t g = 0; g < n_groups(); ++g)
    first_cells_.push_back(first_cells_[g] + (first_meetings_[g + 1] - first_meetings_[g]) * n_features_of(g));
}

// Every token at which a group meets sentence s, once, with the sum of its values there; by meeting, then by token.
void Occurrences::list_places(std::size_t s, std::vector<Place>& places) const {
  places.clear();
  const auto begin = starts_[s];
  for (std::int64_t t = begin; t < starts_[s + 1]; ++t) {
    const auto token = static_cast<std::int32_t>(t - begin);
    const Sites &at = data_.attributes, &edge_at = data_.edge_attributes;
    for (std::int64_t i = at.starts[t]; i < at.starts[t + 1]; ++i)
      if (item_meeting_[i] != kNoMeeting) places.push_back({item_meeting_[i], token, at.value(i)});
    if (n_edge_groups_)
      for (std::int64_t i = edge_at.starts[t]; i < edge_at.starts[t + 1]; ++i)
        if (edge_item_meeting_[i] != kNoMeeting) places.push_back({edge_item_meeting_[i], token, edge_at.value(i)});
  }
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return a.meeting != b.meeting ? a.meeting < b.meeting : a.token < b.token;
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (kept && places[kept - 1].meeting == places[i].meeting && places[kept - 1].token == places[i].token)
      places[kept - 1].value += places[i].value;
    else
      places[kept++] = places[i];
  }
  places.resize(kept);
}

bool Occurrences::may_have(std::size_t token, std::size_t label) const {
  return !data_.sets.starts || allows(data_.sets, token, label);
}

bool Occurrences::forces(std::size_t token) const {
  return L_ == 1 || (data_.sets.starts && labels_of(data_.sets, token).size() == 1);
}

void Occurrences::range_of_attribute(std::size_t s, std::span<const Place> places, std::size_t label, double& low,
                                     double& high) const {
  low = high = 0;
  double gold = 0;
  for (const Place& p : places) {
    const std::size_t token = starts_[s] + p.token;
    if (gold_label(s, p.token) == label) gold += p.value;
    if (!may_have(token, label)) continue;
    const bool forced = forces(token);
    high += forced ? p.value : std::max(p.value, 0.0);
    low += forced ? p.value : std::min(p.value, 0.0);
  }
  low -= gold;
  high -= gold;
}

// A run of labels that ends at each place, NULL standing before the sentence only: as many as fit beside each other.
void Occurrences::range_of_run(std::size_t s, std::span<const Place> places, const std::size_t* labels, int n_labels,
                               double& low, double& high) const {
  const int period = period_of(labels, n_labels);
  low = high = 0;
  double gold = 0;
  // best[i]: the most that the first i places can hold, = max(best[i-1], value + best[those `period` before]); least
  // likewise
  std::vector<double> best{0}, least{0};
  std::vector<std::int32_t> tokens;
  for (const Place& p : places) {
    bool possible = true, is_gold = true, forced = true;
    for (int back = 0; back < n_labels; ++back) {
      const std::size_t label = labels[n_labels - 1 - back];
      const std::ptrdiff_t t = p.token - back;
      is_gold = is_gold && gold_label(s, t) == label;
      if (t < 0) {
        possible = possible && label == L_;
      } else {
        possible = possible && label != L_ && may_have(starts_[s] + t, label);
        forced = forced && forces(starts_[s] + t);
      }
    }
    if (is_gold) gold += p.value;
    if (!possible) continue;
    if (forced) low += std::max(p.value, 0.0);
    std::size_t before = tokens.size();
    while (before > 0 && p.token - tokens[before - 1] < period) --before;
    tokens.push_back(p.token);
    best.push_back(std::max(best.back(), p.value + best[before]));
    least.push_back(std::min(least.back(), p.value + least[before]));
  }
  high = best.back() - gold;
  low += least.back() - gold;
}

// Which labels a place in the matrix of label pairs, or of triples, stands for: x, y, z.
std::array<std::size_t, 3> Occurrences::labels_at(std::size_t place) const {
  const std::size_t before = place / stride_;
  return {before / (L_ + 1), before % (L_ + 1), place % stride_};
}

void Occurrences::set_label_ranges(std::size_t s, double* lows, double* highs) const {
  const std::size_t n_pairs = layout_.edge_places.size();
  const std::int64_t n = starts_[s + 1] - starts_[s];
  const bool free = !data_.sets.starts && L_ > 1;
  std::vector<Place> places;
  for (std::int64_t t = 0; t < n && !free; ++t) places.push_back({0, static_cast<std::int32_t>(t), 1.0});
  for (std::size_t j = 0; j < n_features_of(label_group_); ++j) {
    const bool triple = j >= n_pairs;
    const auto labels = labels_at(triple ? layout_.tri_places[j - n_pairs] : layout_.edge_places[j]);
    const int length = triple ? 3 : 2;
    const std::size_t* run = labels.data() + 3 - length;
    if (!free) {
      range_of_run(s, places, run, length, lows[j], highs[j]);
      continue;
    }
    // Every label is free: a run fits once after NULL, else once every `period` tokens.
    const std::int64_t inside = length - std::count(run, run + length, L_), period = period_of(run, length);
    lows[j] = 0;
    highs[j] = n < inside ? 0 : inside < length ? 1 : static_cast<double>((n - inside + period) / period);
  }
  if (free) each_gold_run(s, [&](std::size_t j) { lows[j] -= 1, highs[j] -= 1; });
}

void Occurrences::set_ranges() {
  std::vector<double> lows(first_cells_.back()), highs(first_cells_.back());
  std::vector<Place> places;
  for (std::size_t s = 0; s < n_sentences_; ++s) {
    list_places(s, places);
    for (std::size_t i = 0, end = 0; i < places.size(); i = end) {
      while (end < places.size() && places[end].meeting == places[i].meeting) ++end;
      const std::span<const Place> here(places.data() + i, end - i);
      const std::size_t g = group_of_[places[i].meeting], cell = first_cell(places[i].meeting), first = first_features_[g];
      for (std::size_t j = 0; j < n_features_of(g); ++j) {
        if (g < layout_.n_attributes) {
          range_of_attribute(s, here, layout_.row_labels[first + j], lows[cell + j], highs[cell + j]);
        } else {
          const auto labels = labels_at(layout_.edge_row_labels[first - layout_.row_labels.size() + j]);
          range_of_run(s, here, labels.data() + 1, 2, lows[cell + j], highs[cell + j]);
        }
      }
    }
    if (label_meeting_[s] == kNoMeeting) continue;
    const std::size_t cell = first_cell(label_meeting_[s]);
    set_label_ranges(s, lows.data() + cell, highs.data() + cell);
  }
  // The distinct values of every feature, and which of them each cell has.
  low_.resize(lows.size());
  high_.resize(lows.size());
  exponent_starts_.assign(1, 0);
  std::vector<double> seen;
  for (std::size_t g = 0; g < n_groups(); ++g)
    for (std::size_t j = 0, step = n_features_of(g); j < step; ++j) {
      seen.assign(1, 0.0);
      for (std::size_t cell = first_cells_[g] + j; cell < first_cells_[g + 1]; cell += step)
        seen.insert(seen.end(), {lows[cell], highs[cell]});
      std::sort(seen.begin(), seen.end());
      seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
      exponents_.insert(exponents_.end(), seen.begin(), seen.end());
      exponent_starts_.push_back(exponents_.size());
      const auto number = [&](double x) {
        return static_cast<std::uint32_t>(std::lower_bound(seen.begin(), seen.end(), x) - seen.begin());
      };
      for (std::size_t cell = first_cells_[g] + j; cell < first_cells_[g + 1]; cell += step)
        low_[cell] = number(lows[cell]), high_[cell] = number(highs[cell]);
    }
}

void Occurrences::clear(std::size_t s, double* cells) const {
  for (std::uint32_t meeting : meetings_of_sentence(s))
    std::fill_n(cells + first_cell(meeting), n_features_of(group_of_[meeting]), 0.0);
}

// Calls found(j) for every label pair and triple j of the gold path that has a weight.
template <class Found>
void Occurrences::each_gold_run(std::size_t s, Found found) const {
  const auto look_up = [&](std::span<const std::int32_t> places, std::size_t place, std::size_t first) {
    const auto at = std::lower_bound(places.begin(), places.end(), static_cast<std::int32_t>(place));
    if (at != places.end() && *at == static_cast<std::int32_t>(place)) found(first + (at - places.begin()));
  };
  each_part(gold_ + starts_[s], static_cast<std::size_t>(starts_[s + 1] - starts_[s]), L_, [&](const Part& part) {
    look_up(layout_.edge_places, part.cell(1, L_, stride_), 0);
    look_up(layout_.tri_places, part.cell(2, L_, stride_), layout_.edge_places.size());
  });
}

}  // namespace trellis
