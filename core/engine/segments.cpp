#include "engine/segments.hpp"

#include <set>

#include "engine/elementary.hpp"

namespace trellis {

SegmentLattice::SegmentLattice(const SegmentRules& rules) : rules_(rules) {
  std::set<std::int32_t> begins, ends;
  for (const SegmentShape& shape : rules.shapes) {
    if (shape.has(1)) begins.insert(shape.single), ends.insert(shape.single);
    if (shape.has(2)) begins.insert(shape.first), ends.insert(shape.last);
  }
  begins_.assign(begins.begin(), begins.end());
  for (std::int32_t label : ends) {
    Ending ending{static_cast<std::size_t>(label), {}, {}};
    for (std::size_t k = 0; k < rules.shapes.size(); ++k) {
      if (rules.shapes[k].has(1) && rules.shapes[k].single == label) ending.singles.push_back(k);
      if (rules.shapes[k].has(2) && rules.shapes[k].last == label) ending.longer.push_back(k);
    }
    std::ranges::stable_sort(ending.longer, {}, [&](std::size_t k) { return rules.shapes[k].first; });
    for (std::size_t k : ending.longer) longest_ = std::max(longest_, static_cast<std::size_t>(rules.shapes[k].longest));
    ends_.push_back(std::move(ending));
  }
}

// The lattice for n tokens; that for fewer tokens is a prefix of it. A node without incoming edges would be a leaf, so it gets a
// forbidden edge from the start, which is neither a step nor a segment.
void SegmentLattice::grow(std::size_t n) {
  const std::size_t L = rules_.n_labels;
  std::vector<std::size_t> place(L);  // of a label that begins segments, in begins_
  for (std::size_t s = 0; s < begins_.size(); ++s) place[begins_[s]] = s;
  const auto add = [&](std::size_t tail, std::size_t t, std::size_t length, std::size_t a, std::size_t b) {
    tails_.push_back(static_cast<std::int32_t>(tail));
    edges_.push_back({static_cast<std::int32_t>(t), static_cast<std::int32_t>(length), static_cast<std::int32_t>(a),
                      static_cast<std::int32_t>(b)});
  };
  const auto end_node = [&] {
    if (in_starts_.back() == static_cast<std::int64_t>(edges_.size())) add(0, 0, 0, L, L);
    in_starts_.push_back(static_cast<std::int64_t>(edges_.size()));
  };
  for (std::size_t t = n_grown_; t < n; ++t) {
    const auto before = [&](std::size_t token, std::size_t label) { return 1 + token * size() + place[label]; };
    const auto after = [&](std::size_t token, std::size_t e) { return 1 + token * size() + begins_.size() + e; };
    for (std::size_t z : begins_) {
      if (t == 0 && rules_.may_follow(L, z)) add(0, t, 0, L, z);
      for (std::size_t e = 0; t > 0 && e < ends_.size(); ++e)
        if (rules_.may_follow(ends_[e].label, z)) add(after(t - 1, e), t, 0, ends_[e].label, z);
      end_node();
    }
    for (const Ending& ending : ends_) {
      for (std::size_t k : ending.singles) add(before(t, ending.label), t, 1, k, 0);
      for (std::size_t length = 2; length <= std::min(t + 1, longest_); ++length)
        for (std::size_t k : ending.longer)
          if (rules_.shapes[k].has(length)) add(before(t + 1 - length, rules_.shapes[k].first_label(length)), t, length, k, 0);
      end_node();
    }
    for (std::size_t e = 0; e < ends_.size(); ++e)
      if (rules_.may_follow(ends_[e].label, L)) add(after(t, e), t, 0, ends_[e].label, L);
    end_node();
  }
  n_grown_ = n;
  every_step_ = n > 1 && n_steps(1) == begins_.size() * ends_.size();
}

// Edges in the order in which grow() created them.
template <class Real>
void SegmentLattice::load(const ChainView<Real>& chain, const Real* of, double temperature) {
  const std::size_t n = n_ = chain.n_tokens, L = chain.n_labels;
  if (n > n_grown_) grow(std::max(n, 2 * n_grown_));
  view_.n_nodes = 1 + n * size(), view_.goal = view_.n_nodes - 1;
  view_.in_starts = in_starts_.data(), view_.tail_starts = nullptr, view_.tails = tails_.data();
  view_.n_edges = static_cast<std::size_t>(in_starts_[view_.n_nodes]);
  if (scores_.size() < view_.n_edges) scores_.resize(view_.n_edges);
  emit_.resize(n * L);
  for (std::size_t t = 0; t < n; ++t) {
    double* row = emit_.data() + t * L;
    std::copy_n(chain.emit_at(t), L, row);
    if (chain.allowed) forbid_others(labels_of(*chain.allowed, t), L, row);
  }
  const auto emit = [&](std::size_t t, std::int32_t z) { return emit_[t * L + static_cast<std::size_t>(z)]; };
  const auto edge = [&](std::size_t t, std::int32_t y, std::int32_t z) {
    return static_cast<double>(chain.edge_at(t, static_cast<std::size_t>(y))[z]);
  };
  const auto own = [&](std::size_t begin, std::size_t length, const SegmentShape& shape) {
    return of ? static_cast<double>(of[(begin * rules_.longest + length - 1) * chain.stride + static_cast<std::size_t>(shape.column)]) : 0.0;
  };
  std::size_t e = 0;
  steps_are_shared_ = !chain.edge_per_token;
  const auto is_dummy = [&] { return edges_[e].length == 0 && edges_[e].a == static_cast<std::int32_t>(L) && edges_[e].b == edges_[e].a; };
  for (std::size_t t = 0; t < n; ++t) {
    // Steps between segments, then segments by their last label, then the end of the sentence.
    if (const auto last = e + n_steps(t); t > 1 && steps_are_shared_) {
      std::copy_n(scores_.begin() + static_cast<std::ptrdiff_t>(first_step(1)), n_steps(t), scores_.begin() + static_cast<std::ptrdiff_t>(e));
      e = last;
    } else {
      for (; e < last; ++e) scores_[e] = is_dummy() ? kForbidden<double> : edge(t, edges_[e].a, edges_[e].b) / temperature;
    }
    for (const Ending& ending : ends_) {
      const std::size_t first = e;
      for (std::size_t k : ending.singles) scores_[e++] = (emit(t, rules_.shapes[k].single) + own(t, 1, rules_.shapes[k])) / temperature;
      const double last = emit(t, static_cast<std::int32_t>(ending.label));
      rests_.assign(ending.longer.size(), last);  // labels of the tokens after t + 1 - length
      for (std::size_t length = 2; length <= std::min(t + 1, longest_); ++length)
        for (std::size_t i = 0; i < ending.longer.size(); ++i) {
          const SegmentShape& shape = rules_.shapes[ending.longer[i]];
          if (!shape.has(length)) continue;
          const std::size_t begin = t + 1 - length;
          const std::int32_t next = length == 2 ? shape.last : shape.middle;
          const double labels = (emit(begin, shape.first) + edge(begin + 1, shape.first, next)) + rests_[i];
          scores_[e++] = (labels + own(begin, length, shape)) / temperature;
          if (shape.middle >= 0) rests_[i] = (emit(begin, shape.middle) + edge(begin + 1, shape.middle, next)) + rests_[i];
        }
      if (e == first) scores_[e++] = kForbidden<double>;
    }
    for (const auto last = static_cast<std::size_t>(in_starts_[1 + (t + 1) * size()]); e < last; ++e)
      scores_[e] = is_dummy() ? kForbidden<double> : chain.end ? chain.end[edges_[e].a] / temperature : 0.0;
  }
}
template void SegmentLattice::load(const ChainView<float>&, const float*, double);
template void SegmentLattice::load(const ChainView<double>&, const double*, double);

void SegmentLattice::read(const std::vector<std::int64_t>& edges, std::int32_t* path) const {
  for (std::int64_t e : edges) {
    const auto& [token, length, a, b] = edges_[static_cast<std::size_t>(e)];
    for (std::int32_t i = 0; i < length; ++i)
      path[token - length + 1 + i] = static_cast<std::int32_t>(
          rules_.shapes[static_cast<std::size_t>(a)].label(static_cast<std::size_t>(i), static_cast<std::size_t>(length)));
  }
}

double SegmentLattice::best(std::int32_t* path) {
  const double score = best_derivation(view_, scores_.data(), work_, derivation_);
  if (derivation_.empty()) std::fill_n(path, n_, 0);
  read(derivation_, path);
  return score;
}

std::size_t SegmentLattice::k_best(std::size_t k, std::int32_t* paths, double* scores) {
  KBestDerivations derivations(view_, scores_.data(), work_);
  std::size_t found = 0;
  for (; found < k && derivations.find(found + 1); ++found) {
    derivations.edges(found, derivation_);
    read(derivation_, paths + found * n_);
    scores[found] = derivations.score(found);
  }
  return found;
}

namespace {

// As LogSumOf::sum, over n terms with their tails: terms[i] = value[i] + in[tails[i]].
TRELLIS_CLONES double log_sum(const double* values, const std::int32_t* tails, const double* in, std::size_t n, double* terms) {
  for (std::size_t i = 0; i < n; ++i) terms[i] = values[i] + in[tails[i]];
  return LogSumOf::sum(terms, n);
}

// The same for terms that are products: terms[i] becomes x[i] · factors[i] / sum; returns the sum.
TRELLIS_CLONES double sum_of_products(const double* x, const double* factors, std::size_t n, double* terms) {
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) total += terms[i] = x[i] * factors[i];
  if (total > 0)
    for (std::size_t i = 0; i < n; ++i) terms[i] *= 1 / total;
  return total;
}

}  // namespace

// As sum_derivations. The steps between segments are the same at every token and make up most edges: they are factors, so that
// a token needs one exponential per label. All factors are at most 1; sums so small that
// underflow (below 1e-308) might matter are recomputed in log space.
double SegmentLattice::sum() {
  work_.in.resize(view_.n_nodes), work_.shares.resize(view_.n_edges);
  double *in = work_.in.data(), *shares = work_.shares.data();
  in[0] = 0;
  const bool by_factors = steps_are_shared_ && n_ > 2 && every_step_;
  constexpr double kLeastTotal = 1e-280;
  const std::size_t E = ends_.size();
  double greatest = kForbidden<double>;  // of the steps
  if (by_factors) {
    factors_.resize(n_steps(1)), x_.resize(E);
    for (std::size_t i = 0; i < factors_.size(); ++i) greatest = std::max(greatest, scores_[first_step(1) + i]);
    for (std::size_t i = 0; i < factors_.size(); ++i)
      factors_[i] = greatest == kForbidden<double> ? 0 : exp(scores_[first_step(1) + i] - greatest);
  }
  for (std::size_t v = 1, t = 0; t < n_; ++t) {
    double top = kForbidden<double>;
    if (by_factors && t) {
      const double* after = in + v - 1 - E;
      top = *std::max_element(after, after + E);
      for (std::size_t e = 0; e < E; ++e) x_[e] = top == kForbidden<double> ? 0 : exp(after[e] - top);
    }
    for (const std::size_t last = 1 + (t + 1) * size(), steps = v + begins_.size(); v < last; ++v) {
      const auto e = static_cast<std::size_t>(in_starts_[v]), n = view_.n_in(v);
      if (by_factors && t && v < steps) {
        const double total = sum_of_products(x_.data(), factors_.data() + (e - first_step(t)), n, shares + e);
        in[v] = top + greatest + log(total);
        if (total > kLeastTotal) continue;
      }
      in[v] = log_sum(scores_.data() + e, tails_.data() + e, in, n, shares + e);
    }
  }
  return in[view_.goal];
}

void SegmentLattice::find_marginals() {
  marginals_.resize(edges_.size());
  derivation_marginals(view_, work_, marginals_.data(), nullptr);
}

}  // namespace trellis
