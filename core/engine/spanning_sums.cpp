#include "engine/spanning_sums.hpp"

#include <numeric>

#include "engine/elementary.hpp"
#include "engine/row.hpp"

namespace trellis {
namespace {

constexpr std::size_t whole(std::size_t n) { return (n + kLanes<double> - 1) / kLanes<double> * kLanes<double>; }
constexpr std::size_t vector_of(std::size_t i) { return i / kLanes<double> * kLanes<double>; }

// Operations of the passes beyond those of a semiring; terms come in whole vectors from `begin` to before `end`.
struct Products : SumProduct {
  static constexpr double kZero = 0, kOne = 1;
  TRELLIS_INLINE static double divide(double a, double b) { return a / b; }
  TRELLIS_INLINE static double log_of(double a) { return log(a); }
  // first + sum_i a[i] · b[i]
  TRELLIS_INLINE static double dot(double first, const double* a, const double* b, std::size_t begin, std::size_t end) {
    Vector<double> totals{};
    for (std::size_t i = begin; i < end; i += kLanes<double>) totals += lanes(a + i) * lanes(b + i);
    return first + ((totals[0] + totals[1]) + (totals[2] + totals[3]));
  }
  TRELLIS_INLINE static double sum(const double* a, std::size_t begin, std::size_t end) {
    Vector<double> totals{};
    for (std::size_t i = begin; i < end; i += kLanes<double>) totals += lanes(a + i);
    return (totals[0] + totals[1]) + (totals[2] + totals[3]);
  }
};
struct Logs : MaxPlus {
  static constexpr double kZero = kForbidden<double>, kOne = 0;
  TRELLIS_INLINE static double divide(double a, double b) { return a - b; }
  TRELLIS_INLINE static double log_of(double a) { return a; }
  template <class Term>
  TRELLIS_INLINE static double log_sum(double first, std::size_t begin, std::size_t end, Term term) {
    Vector<double> tops = Vector<double>{} + first;
    for (std::size_t i = begin; i < end; i += kLanes<double>) tops = MaxPlus::plus(tops, term(i));
    const double top = largest_of<double>(tops);
    if (top == kZero) return top;
    Vector<double> totals = exp_lanes(Vector<double>{first - top, kZero, kZero, kZero});
    for (std::size_t i = begin; i < end; i += kLanes<double>) totals += exp_lanes(term(i) - top);
    const double total = (totals[0] + totals[1]) + (totals[2] + totals[3]);
    return total == 1 ? top : top + log(total);
  }
  TRELLIS_INLINE static double dot(double first, const double* a, const double* b, std::size_t begin, std::size_t end) {
    return log_sum(first, begin, end, [&](std::size_t i) TRELLIS_INLINE_LAMBDA { return lanes(a + i) + lanes(b + i); });
  }
  TRELLIS_INLINE static double sum(const double* a, std::size_t begin, std::size_t end) {
    return log_sum(kZero, begin, end, [&](std::size_t i) TRELLIS_INLINE_LAMBDA { return lanes(a + i); });
  }
};

// Products are accurate while every nonzero number is within these bounds: underflow,
// below 1e-308, is then negligible.
constexpr double kLeast = 1e-200, kMost = 1e200, kLeastTotal = 1e-250;
constexpr double kLeastScore = -460;  // log kLeast

// Whether a dot product is out of bounds, except an exact zero with a zero factor in each term.
TRELLIS_INLINE bool is_lost(double result, double first, const double* a, const double* b, std::size_t begin, std::size_t end) {
  if (result > kLeast && result < kMost) return false;
  if (result != 0 || first != 0) return true;
  for (std::size_t i = begin; i < end; ++i)
    if (a[i] != 0 && b[i] != 0) return true;
  return false;
}

}  // namespace

// One place after another; the paths through earlier places are summed at once, so that each number costs one logarithm.
template <class S>
TRELLIS_INLINE SpanningSums::Outcome SpanningSums::eliminate_any(Level& level, Level& next, double& pivots, bool& closed) {
  const std::size_t n = level.n, n_out = level.n_out, width = whole(n_out), row = whole(n + 1), n_next = n - n_out;
  level.to_out.assign(n * width, S::kZero);
  level.onward.assign(n_out * row, S::kZero);
  level.onward_from.assign((n + 1) * width, S::kZero);
  double *to_out = level.to_out.data(), *onward = level.onward.data(), *onward_from = level.onward_from.data();
  bool closed_here = false, lost = false;
  const auto rate = [&](std::size_t i, std::size_t j, std::size_t n_before) TRELLIS_INLINE_LAMBDA {
    const double direct = j == n && closed_here ? S::kZero : level.rates[level.order[i] * (n + 1) + level.order[j]];
    const double *a = to_out + i * width, *b = onward_from + j * width;
    const double result = S::dot(direct, a, b, 0, whole(n_before));
    if constexpr (std::is_same_v<S, Products>) lost |= is_lost(result, direct, a, b, 0, n_before);
    return result;
  };
  for (std::size_t k = 0; k < n_out; ++k) {
    double* own = onward + k * row;
    for (std::size_t j = k + 1; j < n; ++j) own[j] = rate(k, j, k);
    const double root = rate(k, n, k);
    if (closed) own[n] = root;
    double out = S::sum(own, vector_of(k + 1), row);
    if (lost) return kLost;
    if (out == S::kZero) {
      if (closed || root == S::kZero) return kNoTree;
      closed = closed_here = true;
      for (std::size_t l = 0; l < k; ++l) onward[l * row + n] = onward_from[n * width + l] = S::kZero;
      out = root;
    }
    pivots += S::log_of(out);
    own[n] = root;
    for (std::size_t j = k + 1; j <= n; ++j) onward_from[j * width + k] = own[j] = S::divide(own[j], out);
    for (std::size_t i = k + 1; i < n; ++i) to_out[i * width + k] = rate(i, k, k);
  }
  next.n = n_next;
  next.words.resize(n_next), next.rates.resize(n_next * (n_next + 1));
  for (std::size_t i = 0; i < n_next; ++i) {
    next.words[i] = level.words[level.order[n_out + i]];
    for (std::size_t j = 0; j <= n_next; ++j)
      next.rates[i * (n_next + 1) + j] = i == j ? S::kZero : rate(n_out + i, n_out + j, n_out);
  }
  return lost ? kLost : kDone;
}

template <class S>
TRELLIS_INLINE SpanningSums::Outcome SpanningSums::go_back_any(std::size_t depth, double pivots, std::size_t closed_at) {
  const std::size_t m = levels_[depth].words[0], stride = n_ + 1;
  bool lost = false;
  root_[m] = S::kZero;
  for (std::size_t d = depth; d-- > 0;) {
    const Level& level = levels_[d];
    const std::size_t n = level.n, n_out = level.n_out, row = whole(n + 1);
    std::fill_n(values_.data(), row, S::kZero);
    for (std::size_t i = n_out; i < n; ++i) values_[i] = root_[level.words[level.order[i]]];
    values_[n] = closed_at == kNever || closed_at <= d ? S::kOne : S::kZero;
    for (std::size_t k = n_out; k-- > 0;) {
      const double* own = level.onward.data() + k * row;
      values_[k] = S::dot(S::kZero, own, values_.data(), vector_of(k + 1), row);
      if constexpr (std::is_same_v<S, Products>) lost |= is_lost(values_[k], 0, own, values_.data(), k + 1, n + 1);
      root_[level.words[level.order[k]]] = values_[k];
    }
  }
  root_[0] = closed_at == kNever ? S::kOne : S::kZero;
  double top = S::kZero, total = 0;
  for (std::size_t h = 0; h <= n_; ++h) top = std::max(top, arcs_[h * stride + m] = S::times(factors_[h * stride + m], root_[h]));
  if (lost || (std::is_same_v<S, Products> && !(top > kLeastTotal))) return kLost;
  if (top == S::kZero) return kNoTree;
  for (std::size_t h = 0; h <= n_; ++h) {
    double& arc = arcs_[h * stride + m];
    total += arc = std::is_same_v<S, Products> ? arc / top : exp(arc - top);
  }
  for (std::size_t h = 0; h <= n_; ++h) arcs_[h * stride + m] /= total;
  log_z_ = pivots + S::log_of(top) + log(total);
  return kDone;
}

TRELLIS_CLONES SpanningSums::Outcome SpanningSums::eliminate(Level& level, Level& next, double& pivots, bool& closed) {
  return by_logs_ ? eliminate_any<Logs>(level, next, pivots, closed) : eliminate_any<Products>(level, next, pivots, closed);
}
TRELLIS_CLONES SpanningSums::Outcome SpanningSums::go_back(std::size_t depth, double pivots, std::size_t closed_at) {
  return by_logs_ ? go_back_any<Logs>(depth, pivots, closed_at) : go_back_any<Products>(depth, pivots, closed_at);
}

// The first half remains, then the second half.
SpanningSums::Outcome SpanningSums::descend(std::size_t depth, double pivots, std::size_t closed_at) {
  if (levels_[depth].n == 1) return go_back(depth, pivots, closed_at);
  if (levels_.size() == depth + 1) levels_.emplace_back();
  for (bool first : {true, false}) {
    Level& level = levels_[depth];
    const std::size_t n = level.n, half = n / 2;
    level.n_out = first ? n - half : half;
    level.order.resize(n + 1);
    for (std::size_t i = 0; i <= n; ++i) level.order[i] = i == n || !first ? i : i < n - half ? half + i : i - (n - half);
    double product = pivots;
    bool closed = closed_at != kNever;
    if (const Outcome outcome = eliminate(level, levels_[depth + 1], product, closed); outcome != kDone) return outcome;
    const std::size_t at = closed && closed_at == kNever ? depth : closed_at;
    if (const Outcome outcome = descend(depth + 1, product, at); outcome != kDone) return outcome;
  }
  return kDone;
}

double SpanningSums::sum(const TreeScores& scores, double* arcs) {
  const std::size_t n = n_ = scores.n, stride = n + 1;
  std::fill_n(arcs, stride * stride, 0.0);
  if (n == 0) return 0;
  arcs_ = arcs;
  factors_.assign(stride * stride, kForbidden<double>), root_.resize(stride), values_.resize(whole(stride));
  double taken_out = 0, least = 0;
  for (std::size_t m = 1; m <= n; ++m) {
    double top = kForbidden<double>;
    for (std::size_t h = 0; h <= n; ++h)
      if (h != m) top = std::max(top, scores.arc(h, m));
    if (top == kForbidden<double>) return top;
    for (std::size_t h = 0; h <= n; ++h)
      if (h != m && scores.arc(h, m) != kForbidden<double>)
        least = std::min(least, factors_[h * stride + m] = scores.arc(h, m) - top);
    taken_out += top;
  }
  Outcome outcome = kLost;
  if (least > kLeastScore) {
    by_logs_ = false;
    logs_ = factors_;
    for (double& factor : factors_) factor = factor == 0 ? 1 : exp(factor);
    outcome = start();
    if (outcome == kLost) factors_.swap(logs_);
  }
  if (outcome == kLost) by_logs_ = true, outcome = start();
  if (outcome == kDone) return log_z_ + taken_out;
  std::fill_n(arcs, stride * stride, 0.0);
  return kForbidden<double>;
}

SpanningSums::Outcome SpanningSums::start() {
  const std::size_t n = n_, stride = n + 1;
  if (levels_.empty()) levels_.emplace_back();
  Level& all = levels_[0];
  all.n = n;
  all.words.resize(n), all.rates.resize(n * stride);
  std::iota(all.words.begin(), all.words.end(), std::size_t{1});
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) all.rates[i * stride + j] = factors_[(j + 1) * stride + i + 1];
    all.rates[i * stride + n] = factors_[i + 1];
  }
  return descend(0, 0, kNever);
}

}  // namespace trellis
