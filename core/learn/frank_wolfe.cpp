#include "learn/frank_wolfe.hpp"

#include <algorithm>
#include <cmath>

namespace trellis {
namespace {

// Amounts that should cancel may leave this share of them; no float of w would notice it.
constexpr double kNothing = 1e-12;
// Scores are sums of floats: a gap that is a smaller share of the cost than this may be their rounding.
constexpr double kRounding = 1e-7;

}  // namespace

template <class Each>
void FrankWolfe::spread(const ChainData& data, std::size_t begin, const MixturePart* parts, std::size_t n_parts,
                        Each each) {
  // A label's features are the same whatever stands before it.
  labels_.clear();
  for (std::size_t p = 0; p < n_parts; ++p) {
    auto at = labels_.begin();
    while (at != labels_.end() && at->z != parts[p].z) ++at;
    if (at == labels_.end()) labels_.push_back(parts[p]);
    else at->amount += parts[p].amount;
  }
  const auto add = [&](const MixturePart& part, int reach) {
    each_feature(data, begin, part.labels(), reach, n_labels, [&](std::uint32_t row, std::uint32_t place, float value) {
      each(Change{row, place, part.amount * value});
    });
  };
  double most = 0;
  for (std::size_t p = 0; p < n_parts; ++p) most = std::max(most, std::fabs(parts[p].amount));
  for (const MixturePart& label : labels_)
    if (std::fabs(label.amount) > kNothing * most) add(label, 0);
  for (std::size_t p = 0; p < n_parts; ++p)
    for (int reach = 1; reach <= order; ++reach) add(parts[p], reach);
}

// (w_s - w_i) / C_i: by labels into direction_, by features into change_. Path null: s is the gold path.
void FrankWolfe::direct(const Examples& examples, std::size_t begin, std::size_t n, const Block& block,
                        const std::int32_t* path) {
  const std::int32_t* gold = examples.gold + begin;
  auto part_of = [&](const std::int32_t* labels, std::size_t t, double amount) {
    const Part part = part_at(labels, t, n_labels);
    return MixturePart{static_cast<std::uint32_t>(t), static_cast<std::uint16_t>(order < 2 ? 0 : part.x),
                       static_cast<std::uint16_t>(order < 1 ? 0 : part.y), static_cast<std::uint16_t>(part.z), amount};
  };
  auto same = [](const MixturePart& a, const MixturePart& b) { return a.x == b.x && a.y == b.y && a.z == b.z; };
  direction_.clear(), held_.clear(), change_.clear();
  std::size_t next = 0;
  for (std::size_t t = 0; t < n; ++t) {
    const std::size_t first = direction_.size();
    for (; next < block.parts.size() && block.parts[next].token == t; ++next) {
      direction_.push_back(block.parts[next]);
      direction_.back().amount = -block.parts[next].amount;
      held_.push_back(block.parts[next].amount);
    }
    auto add = [&](const MixturePart& part) {
      for (std::size_t i = first; i < direction_.size(); ++i)
        if (same(direction_[i], part)) {
          direction_[i].amount += part.amount;
          return;
        }
      direction_.push_back(part), held_.push_back(0);
    };
    if (path) {
      const MixturePart right = part_of(gold, t, 1), wrong = part_of(path, t, -1);
      if (!same(right, wrong)) add(right), add(wrong);
    }
    if (direction_.size() > first)
      spread(examples.data, begin, direction_.data() + first, direction_.size() - first,
             [&](const Change& change) { change_.add(change); });
  }
}

// |change_|². On the way all weights that it changes are asked for: they and, farther apart, their sums lie scattered.
double FrankWolfe::look_up() {
  double norm = 0;
  places_.clear();
  for (const Change& change : change_.entries()) {
    norm += change.by * change.by;
    places_.push_back(find(change.row, change.place));
    __builtin_prefetch(places_.back().weight, 1);
    __builtin_prefetch(places_.back().sum, 1);
  }
  return norm;
}

// w += scale · change_. Weights that there are come first: those that come into being may move the others.
void FrankWolfe::apply(double scale) {
  const double now = moments() - static_cast<double>(clock);  // of all steps before this one
  auto add = [&](const LearntWeight& place, double by) {
    const float old = *place.weight;
    *place.weight += static_cast<float>(scale * by);
    *place.sum += now * (static_cast<double>(*place.weight) - old);
  };
  const Changes& changes = change_.entries();
  bool missing = false;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (std::fabs(changes[i].by) < kNothing) continue;
    if (places_[i].weight) add(places_[i], changes[i].by);
    else missing = true;
  }
  if (!missing) return;
  for (std::size_t i = 0; i < changes.size(); ++i)
    if (!places_[i].weight && std::fabs(changes[i].by) >= kNothing) add(make(changes[i].row, changes[i].place), changes[i].by);
}

bool FrankWolfe::step(const Examples& examples, std::size_t sentence, double c_i, StepsResult& result) {
  const std::size_t begin = examples.starts[sentence], n = examples.starts[sentence + 1] - begin;
  const std::int32_t* gold = examples.gold + begin;
  const ChainView<float> chain = GrowingChain::chain(examples.data, begin, begin + n, margin_.potentials);
  const Violation worst = most_violated(chain, order, {zero_one, examples.costs}, gold, margin_);
  if (!worst.possible) return false;
  if (worst.path)
    for (std::size_t t = 0; t < n; ++t) result.mistakes += worst.path[t] != gold[t];

  // gap_i / C_i = H_i(w) - (cost(a_i) - w · v_i)
  Block& block = blocks[sentence];
  double score = 0;
  for (const MixturePart& part : block.parts) score += part.amount * potential(chain, order, part.labels());
  const double gap = worst.loss - (block.cost - score);
  if (!(gap > kRounding * (1 + worst.cost))) return false;
  result.gap += c_i * gap;

  direct(examples, begin, n, block, worst.path);
  const double norm = look_up();  // |w_s - w_i|² / C_i²
  const double size = gap < c_i * norm ? gap / (c_i * norm) : 1;
  apply(size * c_i);
  // Not a share of 1: where values of attributes are great, all steps are small.
  double most = 0;
  for (std::size_t i = 0; i < direction_.size(); ++i) {
    direction_[i].amount = held_[i] + size * direction_[i].amount;
    most = std::max({most, std::fabs(held_[i]), std::fabs(direction_[i].amount)});
  }
  block.parts.clear();
  for (const MixturePart& part : direction_)
    if (std::fabs(part.amount) > kNothing * most) block.parts.push_back(part);
  block.cost += size * (worst.cost - block.cost);
  dual += c_i * size * (gap - 0.5 * size * c_i * norm);
  return true;
}

StepsResult FrankWolfe::epoch(const Examples& examples, const std::int64_t* sentences, std::size_t n_sentences,
                              const Patience::GoOn& go_on) {
  Patience patience(go_on);
  StepsResult result;
  for (std::size_t i = 0; i < n_sentences; ++i) {
    if (patience.ended()) break;
    ++clock;
    const auto s = static_cast<std::size_t>(sentences[i]);
    const double c_i = examples.weights ? c * examples.weights[s] : c;
    if (c_i > 0 && examples.starts[s] < examples.starts[s + 1]) result.updates += step(examples, s, c_i, result);
  }
  return result;
}

void FrankWolfe::renew(const Examples& examples) {
  // In its sums, which are double.
  GrowingChain exact(rows.n_attributes(), edge_rows.n_attributes(), n_labels, order, false, parts);
  double costs = 0, norm = 0;
  for (std::size_t s = 0; s < blocks.size(); ++s) {
    const double c_i = examples.weights ? c * examples.weights[s] : c;
    const std::vector<MixturePart>& parts = blocks[s].parts;
    costs += c_i * blocks[s].cost;
    for (std::size_t first = 0, last = 0; first < parts.size(); first = last) {
      while (last < parts.size() && parts[last].token == parts[first].token) ++last;
      spread(examples.data, static_cast<std::size_t>(examples.starts[s]), parts.data() + first, last - first,
             [&](const Change& change) { *exact.make(change.row, change.place).sum += c_i * change.by; });
    }
  }
  const double now = moments();
  auto set = [&](std::size_t row, std::size_t place) {
    const auto r = static_cast<std::uint32_t>(row), p = static_cast<std::uint32_t>(place);
    const LearntWeight to = find(r, p);
    if (std::isinf(*to.weight)) return;  // forbidden
    const double* sum = exact.find(r, p).sum;
    const double value = sum ? *sum : 0;
    const float old = *to.weight;
    *to.weight = static_cast<float>(value);
    *to.sum += now * (static_cast<double>(*to.weight) - old);
    norm += value * value;
  };
  const std::size_t n = rows.n_attributes();
  rows.each([&](std::size_t a, std::uint32_t place, float, double, float) { set(a, place); });
  edge_rows.each([&](std::size_t a, std::uint32_t place, float, double, float) { set(n + a, place); });
  for (std::size_t i = 0; i < edge.weights.size(); ++i) set(pair_row(), i);
  for (std::size_t i = 0; i < tri.weights.size(); ++i) set(pair_row() + 1, i);
  dual = costs - 0.5 * norm;
}

}  // namespace trellis
