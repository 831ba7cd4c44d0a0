#include "papers/boost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/elementary.hpp"
#include "parallel.hpp"

namespace trellis {
namespace {

constexpr double kRescale = 8;             // maximum change of the log risk before the scale is renewed
constexpr double kVanishes = -50;          // masses with a log below it, relative to the scale, are negligible
constexpr double kNoRisk = -60;            // a risk with a log below it is pure rounding error
constexpr double kNothing = 1e-12;         // gains below this share of the risk are rounding errors
constexpr double kRoundingOfSlope = 1e-14; // bound on the rounding error of an expectation
constexpr double kRounding = 3e-5;         // bound on the rounding error of the root of a sum of masses

}  // namespace

Booster::Booster(const Layout& layout, const Examples& examples, Bound bound, double max_step)
    : layout_(layout), examples_(examples), bound_(bound), max_step_(max_step), at_(layout, examples),
      sums_(layout, examples, false, true), log_weights_(examples.n_sentences), losses_(examples.n_sentences),
      most_(examples.n_sentences), mass_(examples.n_sentences), pull_(examples.n_sentences), stale_(examples.n_sentences),
      excess_(at_.low.size()), down_(at_.n_features()), up_(at_.n_features()), nearest_(at_.n_features(), 1),
      steps_(at_.n_features()), solved_(at_.n_features()) {
  for (std::size_t s = 0; s < examples.n_sentences && examples.weights; ++s) log_weights_[s] = log(examples.weights[s]);
  for (std::size_t k = 0; k < at_.n_features(); ++k)
    for (const double x : at_.exponents(k))
      if (x != 0) nearest_[k] = std::min(nearest_[k], std::fabs(x));
}

void Booster::begin(std::span<const double> parameters, double scale, std::size_t n_threads) {
  parameters_.assign(parameters.begin(), parameters.end());
  sums_.set(parameters_.data());
  std::vector<std::uint32_t> all(losses_.size());
  std::iota(all.begin(), all.end(), 0);
  run(all, n_threads);
  scale_ = kForbidden<double>;
  scale_ = std::isnan(scale) ? log_risk() : scale;
  if (!std::isfinite(scale_)) scale_ = 0;
  tally_all(n_threads);
}

// The loss of a sentence; its expectations are in the scratch.
double Booster::run_one(std::size_t s, Scratch& scratch) const {
  scratch.residual.resize((examples_.starts[s + 1] - examples_.starts[s]) * padded(layout_.n_labels));
  scratch.piece.slots.resize(sums_.n_slots());
  sums_.begin_piece(scratch.chain, scratch.piece);
  const double loss = sums_.run(s, 1.0, scratch.chain, scratch.residual.data());
  sums_.end_piece(scratch.chain);
  return std::isnan(loss) ? std::numeric_limits<double>::infinity() : std::max(0.0, loss);
}

// Computes loss and expectations of these sentences.
void Booster::run(std::span<const std::uint32_t> sentences, std::size_t n_threads) {
  parallel_blocks(sentences.size(), 1, n_threads, [] { return Scratch{}; }, [&](Scratch& scratch, std::size_t i, std::size_t) {
    const std::uint32_t s = sentences[i];
    losses_[s] = most_[s] = run_one(s, scratch);
    stale_[s] = 0;
    for (const std::uint32_t m : at_.meetings_of_sentence(s))
      std::fill(excess_.begin() + at_.meetings[m].first_cell, excess_.begin() + at_.meetings[m + 1].first_cell, 0.0);
    at_.each_excess(s, scratch.residual, scratch.piece, [&](std::size_t cell, double by) { excess_[cell] += by; });
  });
}

bool Booster::counts(std::size_t s) const { return log_weights_[s] + most_[s] - scale_ > kVanishes; }

void Booster::weigh(std::size_t s) {
  pull_[s] = counts(s) ? exp(log_weights_[s] + losses_[s] - scale_) : 0;
  mass_[s] = pull_[s] * -expm1(-losses_[s]);
}

// log sum_i weight_i (1 / p_i - 1), of logarithms: log(1 / p - 1) = loss + log(1 - exp(-loss))
double Booster::log_risk() const {
  double top = kForbidden<double>;
  std::vector<double> logs;
  for (std::size_t s = 0; s < losses_.size(); ++s) {
    if (!counts(s) || losses_[s] <= 0) continue;
    logs.push_back(log_weights_[s] + losses_[s] + log(-expm1(-losses_[s])));
    top = std::max(top, logs.back());
  }
  if (!std::isfinite(top)) return top;
  double sum = 0;
  for (double one : logs) sum += exp(one - top);
  return top + log(sum);
}

// D(i) s_i at L_i and D(i) (1 - s_i) at U_i; D(i) E_i[u] = pull_i · excess, all times R / exp(scale)
TRELLIS_INLINE Booster::Cell Booster::cell(std::size_t k, std::size_t cell, std::size_t s) const {
  if (at_.low[cell] == at_.high[cell]) return {0, 0, 0, 0};  // the feature has the same count on every path
  const double L = at_.exponents(k)[at_.low[cell]], U = at_.exponents(k)[at_.high[cell]];
  const double share = std::clamp((mass_[s] * U - pull_[s] * excess_[cell]) / (U - L), 0.0, mass_[s]);
  return {L, U, share, mass_[s] - share};
}

// A += sign · mass at L · |L|, B += sign · mass at U · U, over meetings sorted by group; each group is summed by one thread.
void Booster::tally(std::span<const std::uint32_t> meetings, double sign, std::size_t n_threads) {
  std::vector<std::size_t> firsts;  // the start of each group
  for (std::size_t i = 0; i < meetings.size(); ++i)
    if (i == 0 || at_.meetings[meetings[i]].group != at_.meetings[meetings[i - 1]].group) firsts.push_back(i);
  firsts.push_back(meetings.size());
  parallel_blocks(firsts.size() - 1, 16, n_threads, [] { return 0; }, [&](int, std::size_t begin, std::size_t end) {
    for (std::size_t i = firsts[begin]; i < firsts[end]; ++i) {
      const auto& [group, s, place, first_cell] = at_.meetings[meetings[i]];
      if (mass_[s] == 0) continue;
      const std::size_t first = at_.first_features[group];
      for (std::size_t j = 0; j < at_.n_features_of(group); ++j) {
        const Cell c = cell(first + j, first_cell + j, s);
        down_[first + j] -= sign * c.at_low * c.low;
        up_[first + j] += sign * c.at_high * c.high;
        solved_[first + j] = 0;
      }
    }
  });
}

void Booster::tally_all(std::size_t n_threads) {
  for (std::size_t s = 0; s < mass_.size(); ++s) weigh(s);
  std::fill(down_.begin(), down_.end(), 0.0);
  std::fill(up_.begin(), up_.end(), 0.0);
  std::fill(solved_.begin(), solved_.end(), 0);
  std::vector<std::uint32_t> all(at_.first_meetings.back());
  std::iota(all.begin(), all.end(), 0);
  tally(all, 1, n_threads);
}

// Calls visit(sentence, cell) for the sentences that a feature can occur in.
template <class Visit>
TRELLIS_INLINE void Booster::each_meeting(std::size_t k, Visit visit) const {
  const std::size_t g = at_.group_of_feature(k), first = at_.first_meetings[g], n = at_.n_features_of(g);
  std::size_t cell = at_.meetings[first].first_cell + k - at_.first_features[g];
  for (std::size_t m = first; m < at_.first_meetings[g + 1]; ++m, cell += n) visit(at_.meetings[m].sentence, cell);
}

// sum_i D(i) E_i[u], recomputed
double Booster::pulled(std::size_t k) const {
  double sum = 0;
  each_meeting(k, [&](std::size_t s, std::size_t cell) { sum += pull_[s] * excess_[cell]; });
  return sum;
}

// Minimises the tight bound: recomputes its coefficients from all sentences, then runs a line search.
LineStep Booster::tight_step(std::size_t k) {
  coefficients_.assign(at_.exponents(k).size(), 0.0);
  each_meeting(k, [&](std::size_t s, std::size_t place) {
    if (mass_[s] == 0) return;
    const Cell c = cell(k, place, s);
    coefficients_[at_.low[place]] += c.at_low;
    coefficients_[at_.high[place]] += c.at_high;
  });
  return least(coefficients_, at_.exponents(k), max_step_);
}

// w = log(-L s / (U (1 - s))) / (U - L), within max_step                                                         (9)
LineStep Booster::loose_step(std::size_t k, double drawn, double risk) const {
  const double low = at_.exponents(k).front(), high = at_.exponents(k).back();
  if (low == high) return {0, 0};
  const double s = std::clamp((high - drawn / risk) / (high - low), 0.0, 1.0), down = -low * s, up = high * (1 - s);
  if (up == down) return {0, 0};
  const double step = down <= 0 ? -max_step_ : up <= 0 ? max_step_ : log(down / up) / (high - low);
  const double size = std::clamp(step, -max_step_, max_step_);
  return {size, risk * (s * expm1(size * low) + (1 - s) * expm1(size * high))};
}

// The feature with the largest possible gain is solved for first, then all whose possible gain exceeds the best gain so far.
// For the loose bound, the possible gain is the gain of the stored sums, up to rounding.
Chosen Booster::choose(std::size_t n_threads) {
  const double risk = std::accumulate(mass_.begin(), mass_.end(), 0.0);
  if (!(risk > 0) || !std::isfinite(risk)) return {};
  const bool loose = bound_ == Bound::loose;
  std::vector<double> promises(at_.n_features());
  for (std::size_t k = 0; k < promises.size(); ++k) {
    const double root = std::fabs(std::sqrt(std::max(down_[k], 0.0)) - std::sqrt(std::max(up_[k], 0.0))) + kRounding;
    promises[k] = loose ? loose_step(k, up_[k] - down_[k], risk).gain * (1 + 1e-9) - kRounding * kRounding
                        : -root * root / nearest_[k];
  }
  double best = -kNothing * risk;
  const auto solve = [&](std::size_t k) {
    if (loose) steps_[k] = loose_step(k, pulled(k), risk);
    else if (!solved_[k]) steps_[k] = tight_step(k), solved_[k] = 1;
    best = std::min(best, steps_[k].gain);
  };
  if (!promises.empty()) solve(std::min_element(promises.begin(), promises.end()) - promises.begin());
  for (std::size_t k = 0; k < promises.size(); ++k)
    if (promises[k] <= best) solve(k);
  std::size_t k = 0;
  while (k < promises.size() && !(promises[k] <= best && steps_[k].gain == best)) ++k;
  if (k == promises.size()) return {};
  LineStep step = steps_[k];
  if (bound_ == Bound::exact)
    if (const LineStep exact = least(pulled(k), step.size, max_step_, [&](double w) { return exact_at(k, w, n_threads); });
        exact.gain < 0)  // if it fails, the step of the tight bound is used
      step = exact;
  return {static_cast<std::int64_t>(k), step.size, log1p(std::max(step.gain / risk, -1.0))};
}

Touched Booster::step(std::size_t feature, double size, std::size_t n_threads) {
  parameters_[feature] += size;
  sums_.change(feature, parameters_[feature]);
  std::vector<std::uint32_t> sentences, meetings;
  Touched touched;
  each_meeting(feature, [&](std::size_t s, std::size_t cell) {
    // |change of the loss| <= |w| (U_i - L_i): sentences that are negligible even then are deferred.
    most_[s] += std::fabs(size) * (at_.exponents(feature)[at_.high[cell]] - at_.exponents(feature)[at_.low[cell]]);
    stale_[s] = 1;
    if (!counts(s)) return;
    sentences.push_back(static_cast<std::uint32_t>(s));
    const auto met = at_.meetings_of_sentence(s);
    meetings.insert(meetings.end(), met.begin(), met.end());
    touched.tokens += examples_.starts[s + 1] - examples_.starts[s];
  });
  touched.sentences = sentences.size();
  std::sort(meetings.begin(), meetings.end());
  tally(meetings, -1, n_threads);
  run(sentences, n_threads);
  for (std::uint32_t s : sentences) weigh(s);
  tally(meetings, 1, n_threads);
  rescale(n_threads);
  return touched;
}

// If the risk has moved far from the scale, set a new one: the risk of the current sentences, or the upper bound of a deferred
// sentence. Deferred sentences that are not negligible on this scale are run, until none is left.
void Booster::rescale(std::size_t n_threads) {
  bool changed = false;
  for (double risk = log_risk(); std::fabs(risk - scale_) > kRescale && scale_ > kNoRisk; risk = log_risk()) {
    scale_ = risk;
    for (std::size_t s = 0; s < stale_.size(); ++s)
      if (stale_[s]) scale_ = std::max(scale_, log_weights_[s] + most_[s]);
    std::vector<std::uint32_t> waiting;
    for (std::size_t s = 0; s < stale_.size(); ++s)
      if (stale_[s] && counts(s)) waiting.push_back(static_cast<std::uint32_t>(s));
    run(waiting, n_threads);
    changed = true;
  }
  if (changed) tally_all(n_threads);
}

// R(w) = sum_i weight_i (exp(loss_i(w)) - 1), and its slope sum_i weight_i exp(loss_i(w)) (E_w[Phi_k] - Phi_k(gold))
LinePoint Booster::exact_at(std::size_t k, double w, std::size_t n_threads) {
  constexpr double kMostLog = 600;  // larger exponents would overflow
  struct Run {
    std::size_t sentence, cell;
    double value = 0, slope = 0, weight = 0;
  };
  std::vector<Run> runs;
  LinePoint out{0, 0};
  each_meeting(k, [&](std::size_t s, std::size_t place) {
    if (mass_[s] == 0) return;
    const Cell c = cell(k, place, s);
    if (c.high > c.low + at_.whole()) {
      runs.push_back({s, place});
      return;
    }
    out.value += c.at_low * expm1(c.low * w) + c.at_high * expm1(c.high * w);
    out.slope += c.low * c.at_low * exp(c.low * w) + c.high * c.at_high * exp(c.high * w);
  });
  if (runs.empty()) return out;
  sums_.change(k, parameters_[k] + w);
  parallel_blocks(runs.size(), 1, n_threads, [] { return Scratch{}; }, [&](Scratch& scratch, std::size_t i, std::size_t) {
    Run& run = runs[i];
    const double loss = run_one(run.sentence, scratch);
    run.weight = exp(std::min(kMostLog, log_weights_[run.sentence] + loss - scale_));
    run.value = run.weight * -expm1(-loss) - mass_[run.sentence];
    at_.each_excess(run.sentence, scratch.residual, scratch.piece, [&](std::size_t cell, double by) {
      if (cell == run.cell) run.slope += run.weight * by;
    });
  });
  sums_.change(k, parameters_[k]);
  for (const Run& run : runs) out.value += run.value, out.slope += run.slope, out.rounding += kRoundingOfSlope * run.weight;
  return out;
}

}  // namespace trellis
