// Updates of online learners. All of them change weights by   w += sum_i a_i · V d_i,   d_i = Phi(gold) - Phi(y_i),
// and differ in the outputs y_i, in the step size a_i, and in whether every weight has a variance V
// of its own (else 1). This file is independent of the structure: it uses only the sparse vectors d_i and the costs of the y_i.
#pragma once
#include <cmath>
#include <numeric>

#include "learn/margin_qp.hpp"
#include "learn/sparse.hpp"
#include "weights/growing_rows.hpp"

namespace trellis {

// Step sizes, with loss = cost(y) - w · d:
//   perceptron   y by score           a = 1
//   PA           y by score           a = (sqrt(cost) - w · d) / |d|²
//   PA-I         y by score           a = min(C, (sqrt(cost) - w · d) / |d|²)
//   PA-II        y by score           a = (sqrt(cost) - w · d) / (|d|² + 1 / 2C)
//   MIRA         y by score + cost    the k best, see MarginQp
//   AROW         y by score + cost    a = loss / (d · V d + r),   then 1 / V += d² / r
struct Rule {
  enum Kind { kPerceptron, kPa, kPa1, kPa2, kMira, kArow };
  Kind kind = kPerceptron;
  std::size_t k = 1;  // number of outputs for MIRA
  double c = 1;       // C, or r of AROW

  bool augmented() const { return kind == kMira || kind == kArow; }
  bool has_variances() const { return kind == kArow; }
  bool reads_costs() const { return kind != kPerceptron; }
};

// All updates in order, for voting: update u is the changes starts[u] .. starts[u + 1].
struct UpdateLog {
  std::vector<std::int64_t> clocks;  // [n_updates] examples seen before it
  std::vector<std::int64_t> starts{0};
  std::vector<std::uint32_t> rows, places;
  std::vector<float> changes;

  void add(std::uint32_t row, std::uint32_t place, float by) {
    rows.push_back(row), places.push_back(place), changes.push_back(by);
  }
  void end_update(std::int64_t clock) {
    clocks.push_back(clock);
    starts.push_back(static_cast<std::int64_t>(rows.size()));
  }
};

// One example at a time: clear(), add() for each wrong output, take(). Weights have find(row, place) and make(row,
// place), which return a weight, its sum for averaging, u[s] = sum over updates of (examples seen before) · (change), and
// its variance (null: 1); find returns nulls if the weight does not exist.
class Steps {
 public:
  Steps(const Rule& rule, bool logs) : rule_(rule), logs_(logs), merges_(rule.kind != Rule::kPerceptron || logs) {}
  const Rule& rule() const { return rule_; }
  bool logs() const { return logs_; }
  UpdateLog log;

  void clear() { costs_.clear(); }
  // Whether steps use merged vectors: only the plain perceptron adds entries unmerged, without a log and merge_all() (merged, a
  // weight whose changes cancel in an example does not change at all); several outputs are merged together.
  bool merges() const { return merges_ && rule_.k == 1; }
  void merge_all() { merges_ = true; }
  // The vector d of one more wrong output, for the caller to fill.
  Changes& add(double cost) {
    costs_.push_back(cost);
    if (changes_.size() < costs_.size()) changes_.resize(costs_.size());
    changes_[costs_.size() - 1].clear();
    return changes_[costs_.size() - 1];
  }

  // The step away from the added outputs; false if none is needed. `clock`: examples seen before. `merged`: the
  // vectors are already merged, if merges() is true.
  template <class Weights>
  bool take(Weights& weights, double scale, std::int64_t clock, bool merged = false) {
    const std::size_t n = costs_.size();
    if (n == 0) return false;
    if (!merges_) {
      apply(weights, changes_[0], scale, clock);
      return true;
    }
    if (rule_.kind == Rule::kMira && n > 1) return take_several(weights, scale, clock);
    if (!merged || !merges()) merge(changes_[0]);
    costs_[0] = (rule_.augmented() ? costs_[0] : std::sqrt(costs_[0])) - score(weights, changes_[0]);
    return take_one(weights, scale, clock);
  }

 private:
  // MIRA with several outputs, whose vectors share most weights: rows of one table, each weight looked up once.
  template <class Weights>
  [[gnu::flatten, gnu::noinline]] bool take_several(Weights& weights, double scale, std::int64_t clock) {
    const std::size_t n = costs_.size();
    const auto row_of = [&](std::size_t e) { return table_.data() + e * n; };
    together_.clear(), table_.clear();
    for (std::size_t i = 0; i < n; ++i)
      for (const Change& change : changes_[i]) {
        const std::size_t e = together_.add(change);
        if (e * n == table_.size()) table_.resize(table_.size() + n, 0);
        row_of(e)[i] += change.by;
      }
    const Changes& all = together_.entries();
    gram_.assign(n * n, 0), found_.resize(all.size());
    // Features of one part have equal rows, one after the other; these are summed together.
    for (std::size_t first = 0, last; first < all.size(); first = last) {
      const double* const d = row_of(first);
      double weight = 0;
      for (last = first; last < all.size() && std::equal(d, d + n, row_of(last)); ++last) {
        found_[last] = weights.find(all[last].row, all[last].place);
        if (!found_[last].weight) continue;
        __builtin_prefetch(found_[last].sum, 1);
        weight += *found_[last].weight;
      }
      for (std::size_t i = 0; i < n; ++i) {
        if (d[i] == 0) continue;
        costs_[i] -= d[i] * weight;
        for (std::size_t j = 0; j <= i; ++j) gram_[i * n + j] += static_cast<double>(last - first) * d[i] * d[j];
      }
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j) gram_[j * n + i] = gram_[i * n + j];
    const std::vector<double>& sizes = qp_.solve(costs_, gram_, rule_.c);
    // Weights are created last, as that may move others.
    for (const bool made : {false, true})
      for (std::size_t u = 0; u < all.size(); ++u) {
        if (made == (found_[u].weight != nullptr)) continue;
        const auto [row, place, sum] = all[u];
        if (const double by = std::inner_product(sizes.begin(), sizes.end(), row_of(u), 0.0); by != 0)
          step(made ? weights.make(row, place) : found_[u], {row, place, by}, scale, clock);
      }
    return std::any_of(sizes.begin(), sizes.end(), [](double size) { return size > 0; });
  }

  template <class Weights>
  bool take_one(Weights& weights, double scale, std::int64_t clock) {
    double size = 1;
    if (rule_.kind != Rule::kPerceptron) {
      const double loss = costs_[0], length = norm();
      const double least = rule_.kind == Rule::kMira ? MarginQp::kTolerance * std::max(1.0, loss) : 0;
      if (!(loss > least) || length == 0) return false;
      switch (rule_.kind) {
        case Rule::kMira:
        case Rule::kPa1: size = std::min(rule_.c, loss / length); break;
        case Rule::kPa2: size = loss / (length + 1 / (2 * rule_.c)); break;
        case Rule::kArow: size = loss / (length + rule_.c); break;
        default: size = loss / length; break;
      }
    }
    apply_found(weights, scale * size, clock);
    if (logs_) {
      for (const Change& change : changes_[0]) log.add(change.row, change.place, static_cast<float>(scale * change.by));
      log.end_update(clock);
    }
    return true;
  }

  // w · d. Stores the locations of the weights for the step, and prefetches the sums that the step will change: they lie
  // scattered, far from their weights.
  template <class Weights>
  [[gnu::flatten, gnu::noinline]] double score(Weights& weights, const Changes& changes) {
    double total = 0;
    found_.clear();
    for (const Change& change : changes) {
      const LearntWeight place = weights.find(change.row, change.place);
      found_.push_back(place);
      if (!place.weight) continue;
      __builtin_prefetch(place.sum, 1);
      total += change.by * *place.weight;
    }
    return total;
  }

  // d · V d of the last scored vector
  double norm() const {
    const Changes& d = changes_[0];
    double total = 0;
    for (std::size_t i = 0; i < d.size(); ++i) total += d[i].by * d[i].by * (found_[i].variance ? *found_[i].variance : 1);
    return total;
  }

  // w += scale · V d. The sums use the rounded change of the float, so that averages are those of the floats.
  template <class Weights>
  [[gnu::flatten, gnu::noinline]] static void apply(Weights& weights, const Changes& changes, double scale, std::int64_t clock) {
    for (const Change& change : changes) step(weights.make(change.row, change.place), change, scale, clock);
  }
  TRELLIS_INLINE static void step(LearntWeight at, const Change& change, double scale, std::int64_t clock) {
    const float old = *at.weight;
    *at.weight += static_cast<float>(scale * change.by * (at.variance ? *at.variance : 1));
    *at.sum += static_cast<double>(clock) * (static_cast<double>(*at.weight) - old);
  }
  // The same for the last scored vector, merged, so that steps on its entries are independent. Weights are created
  // last, as that may move others.
  template <class Weights>
  [[gnu::flatten, gnu::noinline]] void apply_found(Weights& weights, double scale, std::int64_t clock) {
    const Changes& d = changes_[0];
    const auto both = [&](const LearntWeight& at, const Change& change) {
      step(at, change, scale, clock);
      if (rule_.kind == Rule::kArow)  // 1 / V += d² / r
        *at.variance = static_cast<float>(1 / (1 / static_cast<double>(*at.variance) + change.by * change.by / rule_.c));
    };
    std::size_t n_made = 0;
    for (std::size_t i = 0; i < d.size(); ++i)
      if (found_[i].weight) both(found_[i], d[i]);
      else ++n_made;
    for (std::size_t i = 0; n_made && i < d.size(); ++i)
      if (!found_[i].weight) both(weights.make(d[i].row, d[i].place), d[i]);
  }

  Rule rule_;
  bool logs_, merges_;
  std::vector<Changes> changes_;       // d_i; as many as ever needed
  std::vector<LearntWeight> found_;    // locations of the weights of the last scored vector
  std::vector<double> costs_, gram_;   // costs, then losses, [n]; [n, n]
  // For several vectors together:
  SparseSum together_;
  std::vector<double> table_;  // [n_entries, n] amounts
  MarginQp qp_;
};

}  // namespace trellis
