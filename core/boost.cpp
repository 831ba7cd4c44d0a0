#include "boost.hpp"

#include <algorithm>
#include <numeric>

#include "parallel.hpp"

namespace trellis {
namespace {

constexpr std::size_t kBlock = 32;                         // meetings whose sums are kept together, at the least
constexpr std::size_t kRoom = std::size_t{1} << 21;        // coefficients that the blocks of a group may take
constexpr std::size_t kUnit = 64;                          // features summed by one thread at a time
constexpr std::size_t kMostCounts = 4096;                  // distinct counts of one feature in one sentence
constexpr double kRescale = 300;                           // nepers that the risk may fall before it is measured anew
constexpr double kNothing = 1e-12;                         // gains below this share of the risk are rounding

}  // namespace

Booster::Booster(const Layout& layout, const ChainData& data, const std::int64_t* starts, std::size_t n_sentences,
                 const std::int32_t* gold, const double* weights, Bound bound, double max_step)
    : layout_(layout), data_(data), starts_(starts), n_sentences_(n_sentences), gold_(gold), weights_(weights),
      bound_(bound), max_step_(max_step), at_(layout, data, starts, n_sentences, gold), sums_(layout, data, starts, gold),
      losses_(n_sentences), mass_(n_sentences), pull_(n_sentences), excess_(at_.n_cells()), gains_(at_.n_features()),
      steps_(at_.n_features()), solved_(at_.n_features()) {
  lay_out_blocks();
}

void Booster::lay_out_blocks() {
  coefficient_starts_.assign(1, 0);
  for (std::size_t k = 0; k < at_.n_features(); ++k)
    coefficient_starts_.push_back(coefficient_starts_.back() + (bound_ == Bound::loose ? 1 : at_.n_exponents(k)));
  coefficients_.assign(coefficient_starts_.back(), 0);
  block_starts_.assign(1, 0);
  first_blocks_.assign(1, 0);
  for (std::size_t g = 0; g < at_.n_groups(); ++g) {
    const std::size_t first = at_.first_feature(g), last = first + at_.n_features_of(g);
    const std::size_t width = coefficient_starts_[last] - coefficient_starts_[first];
    const std::size_t n = at_.first_meeting(g + 1) - at_.first_meeting(g);
    const std::size_t most = std::max<std::size_t>(1, kRoom / std::max<std::size_t>(1, width));
    block_sizes_.push_back(std::max(kBlock, (n + most - 1) / most));
    const std::size_t n_blocks = (n + block_sizes_[g] - 1) / block_sizes_[g];
    // A group of one block sums straight into its coefficients.
    block_starts_.push_back(block_starts_.back() + (n_blocks > 1 ? n_blocks * width : 0));
    first_blocks_.push_back(first_blocks_.back() + n_blocks);
    for (std::size_t k = first; n > 0 && k < last; k += kUnit)
      units_.push_back({static_cast<std::uint32_t>(g), static_cast<std::uint32_t>(k),
                        static_cast<std::uint32_t>(std::min(last, k + kUnit))});
  }
  block_coefficients_.assign(block_starts_.back(), 0);
  dirty_blocks_.assign(first_blocks_.back(), 0);
  dirty_groups_.assign(at_.n_groups(), 0);
}

void Booster::begin(std::span<const double> parameters, double scale, std::size_t n_threads) {
  sums_.set(parameters);
  std::vector<std::uint32_t> all(n_sentences_);
  std::iota(all.begin(), all.end(), 0);
  scale_ = 0;
  run(all, n_threads);
  scale_ = std::isnan(scale) ? log_risk() : scale;
  if (!std::isfinite(scale_)) scale_ = 0;
  for (std::size_t s = 0; s < n_sentences_; ++s) weigh(s);
  mark_all();
  sum_dirty(n_threads);
}

// Loss and expectations of these sentences.
void Booster::run(std::span<const std::uint32_t> sentences, std::size_t n_threads) {
  parallel_blocks(sentences.size(), 1, n_threads, [] { return SentenceSums::Scratch{}; },
                  [&](SentenceSums::Scratch& w, std::size_t i, std::size_t) {
                    const std::uint32_t s = sentences[i];
                    losses_[s] = sums_.run(s, w);
                    at_.fill(s, w.node, w.pairs, w.triples, w.token_pairs, excess_.data());
                  });
}

void Booster::weigh(std::size_t s) {
  const double weight = weights_ ? weights_[s] : 1;
  pull_[s] = weight > 0 ? std::exp(std::log(weight) + losses_[s] - scale_) : 0;
  mass_[s] = pull_[s] * -std::expm1(-losses_[s]);
}

// log sum_i weight_i (1 / p_i - 1), of logarithms: log(1 / p - 1) = loss + log(1 - exp(-loss))
double Booster::log_risk() const {
  double top = kForbidden<double>;
  std::vector<double> logs;
  for (std::size_t s = 0; s < n_sentences_; ++s) {
    const double weight = weights_ ? weights_[s] : 1;
    if (weight <= 0 || losses_[s] <= 0) continue;
    logs.push_back(std::log(weight) + losses_[s] + std::log(-std::expm1(-losses_[s])));
    top = std::max(top, logs.back());
  }
  if (!std::isfinite(top)) return top;
  double sum = 0;
  for (double one : logs) sum += std::exp(one - top);
  return top + std::log(sum);
}

double Booster::total() const { return std::accumulate(mass_.begin(), mass_.end(), 0.0); }

void Booster::mark(std::size_t s) {
  for (std::uint32_t meeting : at_.meetings_of_sentence(s)) {
    const std::size_t g = at_.group_of_meeting(meeting);
    dirty_groups_[g] = 1;
    dirty_blocks_[first_blocks_[g] + (meeting - at_.first_meeting(g)) / block_sizes_[g]] = 1;
  }
}

void Booster::mark_all() {
  std::fill(dirty_blocks_.begin(), dirty_blocks_.end(), 1);
  std::fill(dirty_groups_.begin(), dirty_groups_.end(), 1);
}

void Booster::sum_dirty(std::size_t n_threads) {
  constexpr std::size_t kUnits = 16;
  parallel_blocks(units_.size(), kUnits, n_threads, [] { return 0; }, [&](int, std::size_t first, std::size_t last) {
    for (std::size_t u = first; u < last; ++u)
      if (dirty_groups_[units_[u].group]) sum_unit(units_[u]);
  });
  std::fill(dirty_blocks_.begin(), dirty_blocks_.end(), 0);
  std::fill(dirty_groups_.begin(), dirty_groups_.end(), 0);
}

void Booster::sum_unit(const Unit& unit) {
  const std::size_t g = unit.group, n_blocks = first_blocks_[g + 1] - first_blocks_[g];
  for (std::size_t b = 0; b < n_blocks; ++b)
    if (dirty_blocks_[first_blocks_[g] + b]) sum_block(unit, b);
  const std::size_t first = coefficient_starts_[unit.first], last = coefficient_starts_[unit.last];
  if (n_blocks > 1) {
    const std::size_t group_first = coefficient_starts_[at_.first_feature(g)];
    const std::size_t width = coefficient_starts_[at_.first_feature(g) + at_.n_features_of(g)] - group_first;
    std::fill(coefficients_.begin() + first, coefficients_.begin() + last, 0.0);
    for (std::size_t b = 0; b < n_blocks; ++b) {
      const double* from = block_coefficients_.data() + block_starts_[g] + b * width - group_first;
      for (std::size_t i = first; i < last; ++i) coefficients_[i] += from[i];
    }
  }
  if (bound_ == Bound::loose) return;
  for (std::size_t k = unit.first; k < unit.last; ++k) {
    gains_[k] = least_possible(tight_sum(k));
    solved_[k] = 0;
  }
}

// loose:  c = sum_i D(i) E_i[u]
// tight:  c[L_i] += D(i) s_i,  c[U_i] += D(i) (1 - s_i);  D(i) E_i[u] = pull_i · excess_i, both times R / exp(scale)
void Booster::sum_block(const Unit& unit, std::size_t block) {
  const std::size_t g = unit.group, first = at_.first_feature(g), n = at_.n_features_of(g);
  const std::size_t group_first = coefficient_starts_[first], width = coefficient_starts_[first + n] - group_first;
  const bool alone = first_blocks_[g + 1] - first_blocks_[g] == 1;
  double* out = (alone ? coefficients_.data() : block_coefficients_.data() + block_starts_[g] + block * width - group_first);
  std::fill(out + coefficient_starts_[unit.first], out + coefficient_starts_[unit.last], 0.0);
  const std::size_t begin = at_.first_meeting(g) + block * block_sizes_[g];
  const std::size_t end = std::min(at_.first_meeting(g + 1), begin + block_sizes_[g]);
  for (std::size_t meeting = begin; meeting < end; ++meeting) {
    const std::size_t s = at_.sentence_of(meeting), cell = at_.first_cell(meeting) - first;
    const double mass = mass_[s], pull = pull_[s];
    if (mass == 0) continue;
    for (std::size_t k = unit.first; k < unit.last; ++k) {
      const double drawn = pull * excess_[cell + k];
      double* c = out + coefficient_starts_[k];
      if (bound_ == Bound::loose) {
        *c += drawn;
        continue;
      }
      const std::uint32_t low = at_.low_number(cell + k), high = at_.high_number(cell + k);
      if (low == high) continue;  // it occurs as often on every path
      const double L = at_.exponent(k, low), U = at_.exponent(k, high);
      const double share = std::clamp((mass * U - drawn) / (U - L), 0.0, mass);
      c[low] += share;
      c[high] += mass - share;
    }
  }
}

ExponentialSum Booster::tight_sum(std::size_t k) const {
  return {coefficients_.data() + coefficient_starts_[k], at_.n_exponents(k), at_.low(k), at_.exponents(k)};
}

// w = log(-L s / (U (1 - s))) / (U - L), within max_step                                                         (9)
Step Booster::loose_step(std::size_t k) const {
  const Range r = range(k);
  if (r.low == r.high) return {0, 0};
  const double down = -r.low * r.s, up = r.high * (1 - r.s);
  if (up == down) return {0, 0};
  const double step = down <= 0 ? -max_step_ : up <= 0 ? max_step_ : std::log(down / up) / (r.high - r.low);
  const double size = std::clamp(step, -max_step_, max_step_);
  return {size, r.s * std::expm1(size * r.low) + (1 - r.s) * std::expm1(size * r.high)};
}

Chosen Booster::choose(std::size_t n_threads) {
  const double risk = total();
  if (!(risk > 0) || !std::isfinite(risk)) return {};
  Chosen chosen = bound_ == Bound::loose ? choose_loose(n_threads) : choose_tight();
  if (chosen.feature < 0) return chosen;
  if (bound_ == Bound::exact) {
    const Step exact = exact_step(chosen.feature, n_threads);
    if (exact.gain < 0) {
      chosen.step = exact.size;
      chosen.log_bound = std::log1p(std::max(exact.gain, -1.0));
    }
  }
  return chosen;
}

Chosen Booster::choose_loose(std::size_t n_threads) {
  constexpr std::size_t kFeatures = 4096;
  const std::size_t n = at_.n_features();
  parallel_blocks(n, kFeatures, n_threads, [] { return 0; }, [&](int, std::size_t first, std::size_t last) {
    for (std::size_t k = first; k < last; ++k) {
      const Step step = loose_step(k);
      gains_[k] = step.gain;
      steps_[k] = step.size;
    }
  });
  const std::size_t best = std::min_element(gains_.begin(), gains_.end()) - gains_.begin();
  if (n == 0 || !(gains_[best] < -kNothing)) return {};
  return {static_cast<std::int64_t>(best), steps_[best], std::log1p(gains_[best])};
}

// Most features cannot gain as much as the best one found so far, and are not solved for.
Chosen Booster::choose_tight() {
  const double risk = total();
  const std::size_t n = at_.n_features();
  double best = -kNothing * risk;
  for (std::size_t k = 0; k < n; ++k)
    if (solved_[k]) best = std::min(best, gains_[k]);
  for (std::size_t k = 0; k < n; ++k) {
    if (solved_[k] || gains_[k] > best) continue;
    const Step step = least(tight_sum(k), max_step_);
    gains_[k] = step.gain;
    steps_[k] = step.size;
    solved_[k] = 1;
    best = std::min(best, step.gain);
  }
  for (std::size_t k = 0; k < n; ++k)
    if (solved_[k] && gains_[k] == best)
      return {static_cast<std::int64_t>(k), steps_[k], std::log1p(std::max(best / risk, -1.0))};
  return {};
}

Touched Booster::step(std::size_t feature, double size, std::size_t n_threads) {
  sums_.change(feature, parameters()[feature] + size);
  const std::size_t g = at_.group_of_feature(feature);
  std::vector<std::uint32_t> sentences;
  Touched touched;
  for (std::size_t m = at_.first_meeting(g); m < at_.first_meeting(g + 1); ++m) {
    sentences.push_back(static_cast<std::uint32_t>(at_.sentence_of(m)));
    touched.tokens += starts_[at_.sentence_of(m) + 1] - starts_[at_.sentence_of(m)];
  }
  touched.sentences = sentences.size();
  run(sentences, n_threads);
  for (std::uint32_t s : sentences) weigh(s), mark(s);
  const double risk = log_risk();
  if (std::isfinite(risk) && std::fabs(risk - scale_) > kRescale) {
    scale_ = risk;
    for (std::size_t s = 0; s < n_sentences_; ++s) weigh(s);
    mark_all();
  }
  for (std::size_t h = 0; h < at_.n_groups(); ++h)
    if (dirty_groups_[h]) touched.features += at_.n_features_of(h);
  sum_dirty(n_threads);
  return touched;
}

std::vector<Booster::Meeting> Booster::meetings(std::size_t k) const {
  const std::size_t g = at_.group_of_feature(k);
  std::vector<Meeting> out;
  for (std::size_t m = at_.first_meeting(g); m < at_.first_meeting(g + 1); ++m) {
    const std::size_t s = at_.sentence_of(m), cell = at_.first_cell(m) + k - at_.first_feature(g);
    const double low = at_.exponent(k, at_.low_number(cell)), high = at_.exponent(k, at_.high_number(cell));
    const double expected = mass_[s] > 0 ? excess_[cell] / -std::expm1(-losses_[s]) : 0;
    out.push_back({s, low, high, low < high ? (high - expected) / (high - low) : 0});
  }
  return out;
}

Booster::Range Booster::range(std::size_t k) const {
  const double low = at_.lowest(k), high = at_.highest(k);
  double drawn = 0;
  if (bound_ == Bound::loose) {
    drawn = coefficients_[coefficient_starts_[k]];
  } else {
    for (const Meeting& m : meetings(k)) drawn += mass_[m.sentence] * (m.high - m.s * (m.high - m.low));
  }
  return {low, high, low < high ? std::clamp((high - drawn / total()) / (high - low), 0.0, 1.0) : 0};
}

double Booster::loose_bound(std::size_t k, double step) const {
  const Range r = range(k);
  return r.s * std::exp(step * r.low) + (1 - r.s) * std::exp(step * r.high);
}

double Booster::tight_bound(std::size_t k, double step) const {
  double sum = 0;
  for (const Meeting& m : meetings(k))
    if (m.low < m.high)
      sum += mass_[m.sentence] * (m.s * std::expm1(step * m.low) + (1 - m.s) * std::expm1(step * m.high));
  return 1 + sum / total();
}

double Booster::exact(std::size_t k, double step, std::size_t n_threads) const {
  const Exponents f = exact_sum(k, n_threads);
  const ExponentialSum sum{f.coefficients.data(), f.values.size(), 0, f.values.data()};
  return 1 + value_at(sum, step) / total();
}

Step Booster::exact_step(std::size_t k, std::size_t n_threads) const {
  const Exponents f = exact_sum(k, n_threads);
  const Step step = least({f.coefficients.data(), f.values.size(), 0, f.values.data()}, max_step_);
  return {step.size, step.gain / total()};
}

// What feature k counts in sentence s, token by token.
Counted Booster::counted(std::size_t k, std::size_t s) const {
  const std::size_t begin = starts_[s], n = starts_[s + 1] - begin, L = layout_.n_labels, stride = padded(L);
  const std::size_t first_edge = layout_.row_labels.size(), first_pair = first_edge + layout_.edge_row_labels.size();
  const std::size_t first_triple = first_pair + layout_.edge_places.size(), g = at_.group_of_feature(k);
  Counted out;
  out.values.assign(n, 0.0);
  if (k < first_edge) {
    const TokenAttributes& at = data_.attributes;
    out.z = layout_.row_labels[k];
    for (std::size_t t = 0; t < n; ++t)
      for (std::int64_t i = at.starts[begin + t]; i < at.starts[begin + t + 1]; ++i)
        if (static_cast<std::size_t>(at.ids[i]) == g) out.values[t] += at.values ? at.values[i] : 1;
    return out;
  }
  const std::size_t place = k < first_pair     ? layout_.edge_row_labels[k - first_edge]
                            : k < first_triple ? layout_.edge_places[k - first_pair]
                                               : layout_.tri_places[k - first_triple];
  out.z = place % stride;
  out.y = place / stride % (L + 1);
  if (k >= first_triple) out.x = place / stride / (L + 1);
  for (std::size_t t = 0; t < n; ++t) {
    // NULL stands before the sentence, and nowhere else.
    if ((out.y == L) != (t == 0)) continue;
    if (out.x != Counted::kAny && (out.x == L) != (t < 2)) continue;
    if (k >= first_pair) {
      out.values[t] = 1;
      continue;
    }
    const TokenAttributes& at = data_.edge_attributes;
    for (std::int64_t i = at.starts[begin + t]; i < at.starts[begin + t + 1]; ++i)
      if (layout_.n_attributes + at.ids[i] == g) out.values[t] += 1;
  }
  return out;
}

// sum_i D(i) sum_y pi_i(y) exp(w u(y)) as a sum over the values of u: each sentence gives pull_i · P(Phi_k = c) to
// u = c - Phi_k(gold). The gold path itself is at u = 0, where no step makes a difference.
Booster::Exponents Booster::exact_sum(std::size_t k, std::size_t n_threads) const {
  const std::size_t g = at_.group_of_feature(k), first = at_.first_meeting(g), n = at_.first_meeting(g + 1) - first;
  std::vector<CountDistribution> found(n);
  std::vector<std::uint8_t> failed(n, 0);
  struct State {
    SentenceSums::Scratch chain;
    AccumulatorScratch accumulators;
  };
  parallel_blocks(n, 1, n_threads, [] { return State{}; }, [&](State& state, std::size_t i, std::size_t) {
    const std::size_t s = at_.sentence_of(first + i), begin = starts_[s], length = starts_[s + 1] - begin;
    if (mass_[s] == 0) return;
    const Counted feature = counted(k, s);
    sums_.fill_potentials(s, state.chain);
    failed[i] = !count_distribution(sums_, state.chain, length, feature, kMostCounts, state.accumulators, found[i]);
    double gold = 0;
    for (std::size_t t = 0; t < length; ++t) {
      const auto label = [&](std::size_t back) {
        return t < back ? layout_.n_labels : static_cast<std::size_t>(gold_[begin + t - back]);
      };
      if (label(0) == feature.z && (feature.y == Counted::kAny || label(1) == feature.y) &&
          (feature.x == Counted::kAny || label(2) == feature.x))
        gold += feature.values[t];
    }
    for (double& count : found[i].counts) count -= gold;
  });
  std::vector<std::pair<double, double>> terms;
  for (std::size_t i = 0; i < n; ++i) {
    if (failed[i]) return {};
    for (std::size_t j = 0; j < found[i].counts.size(); ++j)
      terms.emplace_back(found[i].counts[j], pull_[at_.sentence_of(first + i)] * found[i].probabilities[j]);
  }
  std::stable_sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Exponents out;
  for (const auto& [value, coefficient] : terms) {
    if (out.values.empty() || out.values.back() != value) out.values.push_back(value), out.coefficients.push_back(0);
    out.coefficients.back() += coefficient;
  }
  return out;
}

}  // namespace trellis
