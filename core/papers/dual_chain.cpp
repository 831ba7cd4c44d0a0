#include "papers/dual_chain.hpp"

#include <algorithm>

namespace trellis {
namespace {

constexpr double kRoundingOfAlpha = 1e-12;  // rounding error of an alpha, relative to the total or its former value

TRELLIS_CLONES void add_dense(const HeavyRows<double>& rows, const Sites& at, std::size_t begin, std::size_t end,
                              std::size_t stride, double* emit) {
  add_rows(rows, at, begin, end, stride, emit);
}

}  // namespace

DualChain::DualChain(const DualProblem& problem, const Kernel& kernel, const double* given, std::size_t memory)
    : sets(problem.n_sentences), problem_(problem), kernel_(kernel), stride_(padded(problem.n_labels)),
      gram_(kernel, problem, problem.n_attributes, given, memory),
      now_(weights()) {
  if (problem.end) end_.assign(problem.end, problem.end + stride_);
}

double DualChain::cost(std::size_t i, const std::vector<std::int32_t>& path) const {
  return Margin{false, problem_.costs}.cost(problem_.gold + problem_.starts[i], path.data(), path.size(), problem_.n_labels);
}

// ------------------------------------------------------------ sequences and w

Sequence DualChain::sequence(std::size_t i, std::vector<std::int32_t> path, bool hamming) const {
  const std::size_t null = problem_.n_labels;
  Sequence out;
  for (const auto& [labels, by] : {std::pair{problem_.gold + problem_.starts[i], 1.0},
                                   std::pair{static_cast<const std::int32_t*>(path.data()), -1.0}})
    each_part(labels, path.size(), null, [&, by = by](const Part& part) {
      for (int reach = 0; reach <= problem_.order; ++reach)
        (reach ? out.pairs : out.labels)
            .push_back({static_cast<std::uint32_t>(reach ? reach - 1 : static_cast<int>(part.token)),
                        static_cast<std::uint32_t>(part.cell(reach, null, stride_)), by});
    });
  merge(out.labels);
  merge(out.pairs);
  out.cost = hamming ? cost(i, path) : 1;
  out.path = std::move(path);
  return out;
}

// w += by · (Phi(gold) - Phi(y)), except what is stored in expansions
void DualChain::add(std::size_t i, const Sequence& sequence, double by, DualWeights& weights) const {
  for (const auto& [row, place, part] : sequence.pairs) (row ? weights.tri : weights.edge)[place] += by * part;
  if (!linear()) return;
  for (const Change& one : sequence.labels)
    problem_.data.attributes.each(static_cast<std::size_t>(problem_.starts[i]) + one.row, [&](std::int32_t a, double value) {
      weights.rows.make(a)[one.place] += by * one.by * value;
    });
}

// beta(t, z) of the tokens of sentence i: recomputed from its alphas, so that rounding does not accumulate
void DualChain::expand_sentence(std::size_t i, DualWeights& weights) const {
  if (linear()) return;
  Changes beta;
  for (const Sequence& one : sets[i])
    for (const auto& [token, label, part] : one.labels) beta.push_back({token, label, one.alpha * part});
  merge(beta);
  weights.expansions[i].clear();
  const auto begin = static_cast<std::uint32_t>(problem_.starts[i]);
  for (const auto& [token, label, coef] : beta) weights.expansions[i].push_back({begin + token, label, coef});
}

DualWeights DualChain::weights() const {
  const std::size_t L = problem_.n_labels, n_pairs = (L + 1) * stride_;
  DualWeights out{std::vector<double>(n_pairs, 0.0),
                  std::vector<double>(problem_.order == 2 ? (L + 1) * n_pairs : 0, 0.0),
                  HeavyRows<double>(linear() ? problem_.n_attributes : 0, stride_),
                  std::vector<std::vector<Coefficient>>(linear() ? 0 : problem_.n_sentences)};
  if (problem_.edge) std::copy_n(problem_.edge, n_pairs, out.edge.data());
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (const Sequence& one : sets[i]) add(i, one, one.alpha, out);
    expand_sentence(i, out);
  }
  return out;
}

void DualChain::restore(std::size_t i, std::vector<std::int32_t> path, double alpha, double past) {
  sets[i].push_back(sequence(i, std::move(path), false));
  sets[i].back().alpha = alpha;
  sets[i].back().past = past;
}

std::size_t DualChain::find(std::size_t i, const std::vector<std::int32_t>& path) const {
  return static_cast<std::size_t>(std::ranges::find(sets[i], path, &Sequence::path) - sets[i].begin());
}

// <Phi(gold) - Phi(a), Phi(gold) - Phi(b)> (equation 15)
double DualChain::product(std::size_t i, const Sequence& a, const Sequence& b, const double* own) const {
  const std::size_t n = problem_.starts[i + 1] - problem_.starts[i];
  double total = dot(a.pairs, b.pairs);
  for (const Change& one : a.labels)
    for (const Change& other : b.labels)
      if (one.place == other.place) total += one.by * other.by * own[one.row * n + other.row];
  return total;
}

// Inner products of the whole working set, [m, m]; known ones are not recomputed.
const std::vector<double>& DualChain::products_of(std::size_t i) {
  std::vector<Sequence>& set = sets[i];
  const std::size_t m = set.size();
  const double* own = set.back().products.empty() ? gram_.own(i, own_) : nullptr;
  products_.resize(m * m);
  for (std::size_t a = 0; a < m; ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      if (set[a].products.size() == b) set[a].products.push_back(product(i, set[a], set[b], own));
      products_[a * m + b] = products_[b * m + a] = set[a].products[b];
    }
  return products_;
}

// Removes sequences without alpha from the working set.
void DualChain::remove_idle(std::size_t i) {
  const auto is_idle = [](const Sequence& one) { return one.alpha == 0; };
  for (Sequence& one : sets[i]) {
    std::size_t n = 0;
    for (std::size_t b = 0; b < one.products.size(); ++b)
      if (!is_idle(sets[i][b])) one.products[n++] = one.products[b];
    one.products.resize(n);
  }
  std::erase_if(sets[i], is_idle);
}

// ------------------------------------------------------------ potentials

ChainView<double> DualChain::chain_of(std::size_t i) {
  const std::size_t begin = problem_.starts[i], n = problem_.starts[i + 1] - begin;
  std::vector<double>& emit = potentials_.emit;
  emit.assign(n * stride_, 0.0);
  if (linear()) {
    add_dense(now_.rows, problem_.data.attributes, begin, begin + n, stride_, emit.data());
  } else {
    const GramBlock block = gram_.block(i, block_);
    sums_.assign(problem_.n_labels * n, 0.0);
    for (const auto& expansion : now_.expansions) expand(expansion, block.data, block.stride, n, sums_.data());
    for (std::size_t s = 0; s < n; ++s)
      for (std::size_t z = 0; z < problem_.n_labels; ++z) emit[s * stride_ + z] = sums_[z * n + s];
  }
  return potentials_.chain({problem_.n_labels, stride_, now_.edge.data(), now_.tri.empty() ? nullptr : now_.tri.data(),
                            end_.empty() ? nullptr : end_.data()},
                           problem_.data.sets, begin, n, false);
}

// ------------------------------------------------------------ passes

template <class Visit>
PassResult DualChain::pass(const std::int64_t* order, std::size_t n, std::size_t n_threads, const Patience::GoOn& go_on,
                           Visit visit) {
  Patience patience(go_on);
  gram_.fill(n_threads);
  now_ = weights();  // from alpha alone: a resumed pass begins with the same bits
  PassResult result;
  for (std::size_t k = 0; k < n; ++k, ++clock) {
    const auto i = static_cast<std::size_t>(order[k]);
    const double weight = problem_.weights ? problem_.weights[i] : 1;
    if (patience.ended()) break;
    if (problem_.starts[i] != problem_.starts[i + 1] && weight != 0) visit(i, weight, result);
  }
  return result;
}

PassResult DualChain::margin_pass(const std::int64_t* order, std::size_t n, double c, double epsilon, bool hamming,
                                  std::size_t n_threads, const Patience::GoOn& go_on) {
  if (hamming)  // costs are not stored in a state
    for (std::size_t i = 0; i < sets.size(); ++i)
      for (Sequence& one : sets[i]) one.cost = cost(i, one.path);
  // Algorithm 3, lines 4 to 9.
  return pass(order, n, n_threads, go_on, [&](std::size_t i, double weight, PassResult& result) {
    const ChainView<double> chain = chain_of(i);
    if (path_score(chain, problem_.gold + problem_.starts[i]) == kForbidden<double>) return;  // skipped
    add_rival(i, chain, hamming, result);
    const bool changes = violates(i, chain, c * weight, epsilon, result);
    if (changes) optimize(i, c * weight, epsilon / 10);
    remove_idle(i);
    if (changes) expand_sentence(i, now_);
    result.updates += changes;
  });
}

// The sequence that violates its constraint most joins the working set: the best one other than gold by score + cost,
// found by 2-best Viterbi.
void DualChain::add_rival(std::size_t i, const ChainView<double>& chain, bool hamming, PassResult& result) {
  const std::size_t n = chain.n_tokens;
  const std::int32_t* gold = problem_.gold + problem_.starts[i];
  ChainView<double> dearer = chain;
  if (hamming) {
    augmented_ = potentials_.emit;
    Margin{false, problem_.costs}.add_to(gold, n, problem_.n_labels, stride_, augmented_.data());
    dearer.emit = augmented_.data();
  }
  paths_.resize(2 * n);
  double scores[2];
  const std::size_t n_paths = k_best(dearer, 2, viterbi_, paths_.data(), scores);
  for (std::size_t t = 0; t < n; ++t) result.mistakes += paths_[t] != gold[t];
  const std::size_t first = std::equal(gold, gold + n, paths_.data()) ? 1 : 0;
  if (first >= n_paths) return;
  std::vector<std::int32_t> rival(paths_.data() + first * n, paths_.data() + (first + 1) * n);
  if (find(i, rival) == sets[i].size()) sets[i].push_back(sequence(i, std::move(rival), hamming));
}

// With loss(y) = cost(y) - (score(gold) - score(y)), and the gold sequence with loss 0 that takes the rest
// of c, sentence i is at its optimum if no sequence has a greater loss than those with alpha > 0. The greatest
// loss is xi_i; a sequence with alpha > 0 and a loss lower by more than epsilon violates that. Losses go into losses_.
bool DualChain::violates(std::size_t i, const ChainView<double>& chain, double c, double epsilon, PassResult& result) {
  const double right = path_score(chain, problem_.gold + problem_.starts[i]);
  double rest = c, top = 0, held = 0;
  losses_.clear();
  for (const Sequence& one : sets[i]) {
    losses_.push_back(one.cost - (right - path_score(chain, one.path.data())));
    top = std::max(top, losses_.back());
    held += one.alpha * losses_.back();
    rest -= one.alpha;
  }
  double low = rest > kRoundingOfAlpha * c ? 0 : top;
  for (std::size_t y = 0; y < losses_.size(); ++y)
    if (sets[i][y].alpha > 0) low = std::min(low, losses_[y]);
  result.violation = std::max(result.violation, top - low);
  result.gap += c * top - held;
  return top - low > epsilon;
}

// Solves the dual over the alphas of sentence i, all others fixed, until slopes differ by at most `tolerance`; updates w.
void DualChain::optimize(std::size_t i, double c, double tolerance) {
  std::vector<Sequence>& set = sets[i];
  const std::vector<double>& gram = products_of(i);
  const std::size_t m = set.size();
  alphas_.clear();
  for (const Sequence& one : set) alphas_.push_back(one.alpha);
  // The losses without the contribution of this sentence to w.
  for (std::size_t a = 0; a < m; ++a)
    for (std::size_t b = 0; b < m; ++b) losses_[a] += gram[a * m + b] * alphas_[b];
  chosen_ = qp_.solve(losses_, gram, c, alphas_, tolerance);
  // Not relative to c: alphas are of the order 1 / |Phi|², which is small if attribute values are large.
  double most = 0;
  for (std::size_t a = 0; a < m; ++a) most = std::max({most, alphas_[a], chosen_[a]});
  for (double& alpha : chosen_)
    if (alpha <= kRoundingOfAlpha * most) alpha = 0;
  // The terms of the dual that depend on this sentence: sum_a alpha_a (loss_a - ½ sum_b G_ab alpha_b).
  const auto value = [&](const std::vector<double>& alpha) {
    double total = 0;
    for (std::size_t a = 0; a < m; ++a) {
      double slope = losses_[a];
      for (std::size_t b = 0; b < m; ++b) slope -= 0.5 * gram[a * m + b] * alpha[b];
      total += alpha[a] * slope;
    }
    return total;
  };
  dual += value(chosen_) - value(alphas_);
  for (std::size_t y = 0; y < m; ++y) {
    if (chosen_[y] != alphas_[y]) add(i, set[y], chosen_[y] - alphas_[y], now_);
    set[y].alpha = chosen_[y];
  }
}

PassResult DualChain::perceptron_pass(const std::int64_t* order, std::size_t n, std::size_t n_threads,
                                      const Patience::GoOn& go_on) {
  return pass(order, n, n_threads, go_on, [&](std::size_t i, double weight, PassResult& result) {
    const ChainView<double> chain = chain_of(i);
    const std::int32_t* gold = problem_.gold + problem_.starts[i];
    std::vector<std::int32_t> path(chain.n_tokens);
    best_path(chain, viterbi_, path.data());
    for (std::size_t t = 0; t < path.size(); ++t) result.mistakes += path[t] != gold[t];
    if (std::equal(path.begin(), path.end(), gold) || path_score(chain, gold) == kForbidden<double>) return;
    const std::size_t at = find(i, path);
    if (at == sets[i].size()) sets[i].push_back(sequence(i, std::move(path), false));
    Sequence& one = sets[i][at];
    one.alpha += weight;
    one.past += weight * static_cast<double>(clock);
    add(i, one, weight, now_);
    expand_sentence(i, now_);
    ++result.updates;
  });
}

}  // namespace trellis
