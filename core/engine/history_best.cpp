// Forward by maxima over states; the way back asks again which states before could give the score that is there.
#include "engine/history_best.hpp"

#include <algorithm>
#include <queue>

namespace trellis {
namespace {

// What may follow at most: ahead[t][y] >= the score of all that comes after label y at token t, by the relaxed chain,
//   ahead_{t-1}[y] = max_z relaxed[z][y] + (emit_t[z] + ahead_t[z])
// Gives a score that some path has: that of the relaxed chain's best.
template <class Real>
TRELLIS_INLINE Real look_ahead(const ChainView<Real>& chain, HistoryWorkspace<Real>& work) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride;
  const Real* relaxed = chain.ngrams->relaxed;
  if (work.ahead.size() < T * stride) work.ahead.resize(T * stride);
  Real* last = work.ahead.data() + (T - 1) * stride;
  std::fill_n(last, stride, Real(0));
  if (chain.end) std::copy_n(chain.end, L, last);
  for (std::size_t t = T - 1; t > 0; --t) {
    const Real *emit = chain.emit_at(t), *after = work.ahead.data() + t * stride;
    each_block<Real>(stride, [&](auto n_vectors, std::size_t y) TRELLIS_INLINE_LAMBDA {
      constexpr std::size_t N = n_vectors, step = kLanes<Real>;
      Vector<Real> most[N];
      for (std::size_t c = 0; c < N; ++c) most[c] = (emit[0] + after[0]) + lanes(relaxed + y + c * step);
      for (std::size_t z = 1; z < L; ++z)
        for (std::size_t c = 0; c < N; ++c)
          most[c] = MaxPlus::plus(most[c], (emit[z] + after[z]) + lanes(relaxed + z * stride + y + c * step));
      for (std::size_t c = 0; c < N; ++c) lanes(work.ahead.data() + (t - 1) * stride + y + c * step) = most[c];
    });
  }
  work.path.resize(T);
  for (std::size_t t = 0; t < T; ++t) {
    std::size_t best = 0;
    const auto value = [&](std::size_t z) {
      const Real pair = t ? relaxed[z * stride + static_cast<std::size_t>(work.path[t - 1])] : chain.edge_at(0, L)[z];
      return (pair + chain.emit_at(t)[z]) + work.ahead[t * stride + z];
    };
    for (std::size_t z = 1; z < L; ++z)
      if (value(z) > value(best)) best = z;
    work.path[t] = static_cast<std::int32_t>(best);
  }
  return path_score(chain, work.path.data());
}

// Without the states through which no path can reach a score that some path has. What rounding may add up to is far
// below the slack.
template <class Real>
void drop_hopeless(const Ngrams& ngrams, const Real* ahead, Real reached, StateList<Real>& alpha) {
  const Real least = reached - Real(1e-4) * (1 + std::fabs(reached));
  std::size_t n = 0;
  for (std::size_t i = 0; i < alpha.size(); ++i)
    if (alpha.values[i] + ahead[ngrams.label(alpha.states[i])] >= least)
      alpha.states[n] = alpha.states[i], alpha.values[n++] = alpha.values[i];
  alpha.states.resize(n), alpha.values.resize(n);
}

// alpha of all tokens; false where no path is possible. `drops`: of states that may be on the best path alone.
template <class Real>
TRELLIS_INLINE bool run_any(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, bool drops) {
  drops &= chain.ngrams->relaxed && !chain.edge_per_token && !chain.ngrams->by_token && !chain.allowed;
  const Real reached = drops ? look_ahead(chain, work) : 0;
  drops &= reached != kForbidden<Real>;
  work.passes.begin(chain);
  if (work.alpha.size() < chain.n_tokens + 1) work.alpha.resize(chain.n_tokens + 1);
  work.alpha[0] = {{chain.ngrams->ngrams->null()}, {0}};
  for (std::size_t t = 0; t < chain.n_tokens; ++t) {
    work.passes.template at_token<MaxPlus>(t, [&](const auto& labels, const auto& score) TRELLIS_INLINE_LAMBDA {
      work.passes.template forward<MaxPlus>(labels, score, work.alpha[t], work.alpha[t + 1]);
    });
    if (work.alpha[t + 1].size() == 0) return false;
    if (drops) drop_hopeless(*chain.ngrams->ngrams, work.ahead.data() + t * chain.stride, reached, work.alpha[t + 1]);
  }
  return true;
}
TRELLIS_CLONES bool run(const ChainView<float>& chain, HistoryWorkspace<float>& work, bool drops) {
  return run_any(chain, work, drops);
}
TRELLIS_CLONES bool run(const ChainView<double>& chain, HistoryWorkspace<double>& work, bool drops) {
  return run_any(chain, work, drops);
}

template <class Real>
Real end_score(const ChainView<Real>& chain, std::uint32_t state, Real score) {
  return chain.end ? score + chain.end[chain.ngrams->ngrams->label(state)] : score;
}

// Calls visit(i, state, total, edge, emit) for states i before token t that may go to one of the wanted states, which have one
// last label: where they go with that label, and by which scores.
template <class Real, class Visit>
void each_step(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, std::size_t t,
               std::span<const std::uint32_t> wanted, Visit visit) {
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  const std::size_t z = ngrams.label(wanted[0]);
  // A state of two labels and more is reached from states that end in all but its last.
  const std::uint32_t parent = wanted.size() == 1 ? ngrams.parent(wanted[0]) : Ngrams::kRoot;
  work.passes.template at_token<MaxPlus>(t, [&](const auto& labels, const auto& score) {
    const Real emit = labels.emit[labels.at(z)];
    const std::vector<std::uint32_t>& before = work.alpha[t].states;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (parent != Ngrams::kRoot && ngrams.label(before[i]) != ngrams.label(parent)) continue;
      const std::uint32_t node = ngrams.longest(before[i], z);
      visit(i, ngrams.state(node), score(node), chain.edge_at(t, ngrams.label(before[i]))[z], emit);
    }
  });
}

}  // namespace

// The states that the best paths may be in are kept together: all with one last label, the lowest. Before them
//   d: ((alpha_{t-1}[d] + total_t[g]) + edge_t[y][z]) + emit_t[z] = alpha_t[state of g]
template <class Real>
Real best_history(const ChainView<Real>& chain, HistoryWorkspace<Real>& work, std::int32_t* path) {
  const std::size_t T = chain.n_tokens;
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  if (T == 0) return 0;
  Real best = kForbidden<Real>;
  const bool possible = run(chain, work, true);
  const StateList<Real>& last = work.alpha[T];
  for (std::size_t i = 0; possible && i < last.size(); ++i)
    best = std::max(best, end_score(chain, last.states[i], last.values[i]));
  if (best == kForbidden<Real>) {
    for (std::size_t t = 0; t < T; ++t) path[t] = chain.allowed ? labels_of(*chain.allowed, t).labels[0] : 0;
    return best;
  }
  // Of the states offered those with the lowest last label.
  auto &tied = work.tied, &before = work.before;
  const auto offer = [&](std::uint32_t state) {
    if (!before.empty() && ngrams.label(state) > ngrams.label(before[0])) return;
    if (!before.empty() && ngrams.label(state) < ngrams.label(before[0])) before.clear();
    before.push_back(state);
  };
  if (work.place.size() < ngrams.size()) work.place.resize(ngrams.size(), -1);
  before.clear();
  for (std::size_t i = 0; i < last.size(); ++i)
    if (end_score(chain, last.states[i], last.values[i]) == best) offer(last.states[i]);
  for (std::size_t t = T; t-- > 0;) {
    tied.swap(before);
    const std::size_t z = ngrams.label(tied[0]);
    path[t] = static_cast<std::int32_t>(z);
    if (t == 0) break;
    before.clear();
    const StateList<Real>&here = work.alpha[t + 1], &from = work.alpha[t];
    for (std::uint32_t state : tied) work.place[state] = 0;
    for (std::size_t i = 0; i < here.size(); ++i)
      if (work.place[here.states[i]] >= 0) work.place[here.states[i]] = static_cast<std::int32_t>(i);
    each_step(chain, work, t, tied, [&](std::size_t i, std::uint32_t state, Real total, Real edge, Real emit) {
      const std::int32_t place = work.place[state];
      if (place >= 0 && ((from.values[i] + total) + edge) + emit == here.values[static_cast<std::size_t>(place)])
        offer(from.states[i]);
    });
    for (std::uint32_t state : tied) work.place[state] = -1;
  }
  return best;
}

// The total of the longest n-gram with what it gives at its token.
template <class Real>
Real ngram_total(const NgramScores<Real>& scores, std::size_t t, std::uint32_t node) {
  const Ngrams& ngrams = *scores.ngrams;
  if (ngrams.length(node) < kScored) return 0;
  Real own = scores.scores[node];
  if (const TokenNgrams<Real>* at = scores.by_token)
    for (std::size_t i = at->starts[t]; i < at->starts[t + 1]; ++i)
      if (at->nodes[i] == node) own += at->scores[i];
  return ngrams.length(node) == kScored ? own : ngram_total(scores, t, ngrams.shorter(node)) + own;
}

template <class Real>
Real history_score(const ChainView<Real>& chain, const std::int32_t* path) {
  Real total = 0;
  each_ngram(*chain.ngrams->ngrams, path, chain.n_tokens, [&](std::size_t t, std::uint32_t node) {
    const std::size_t y = t ? static_cast<std::size_t>(path[t - 1]) : chain.n_labels;
    total = ((total + ngram_total(*chain.ngrams, t, node)) + chain.edge_at(t, y)[path[t]]) + chain.emit_at(t)[path[t]];
  });
  return chain.end && chain.n_tokens ? total + chain.end[path[chain.n_tokens - 1]] : total;
}

namespace {

// The end of a path from token t on; what comes before it is known to score alpha of the state before.
template <class Real>
struct Ending {
  Real estimate;             // the best score of a path that ends so
  std::uint32_t t;           // its first token
  std::uint32_t before;      // the state before it, by its place in alpha[t]
  std::int32_t rest;         // the ending from t + 1 on, -1: none
  std::int32_t label;
  Real after;                // what its labels from t on give
};

}  // namespace

// Endings grow backwards, the most promising first: alpha says exactly what the best beginning gives, so the first k
// endings that reach the front are the k best paths.
template <class Real>
std::size_t k_best_histories(const ChainView<Real>& chain, std::size_t k, HistoryWorkspace<Real>& work, std::int32_t* paths,
                   Real* scores) {
  const std::size_t T = chain.n_tokens;
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  if (T == 0) {
    scores[0] = 0;
    return 1;
  }
  if (!run(chain, work, false)) {
    scores[0] = best_history(chain, work, paths);
    return 1;
  }
  std::vector<Ending<Real>> endings;
  const auto label_at = [&](std::int32_t e, std::size_t t) {
    while (endings[static_cast<std::size_t>(e)].t < t) e = endings[static_cast<std::size_t>(e)].rest;
    return endings[static_cast<std::size_t>(e)].label;
  };
  const auto worse = [&](std::int32_t a, std::int32_t b) {
    const Ending<Real>&x = endings[static_cast<std::size_t>(a)], &y = endings[static_cast<std::size_t>(b)];
    if (x.estimate != y.estimate) return x.estimate < y.estimate;
    for (std::size_t t = T; t-- > std::max(x.t, y.t);)
      if (label_at(a, t) != label_at(b, t)) return label_at(a, t) > label_at(b, t);
    return x.t != y.t ? x.t < y.t : a > b;  // of equally good ones the shorter: what it grows into may come first
  };
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, decltype(worse)> open(worse);
  // All ways into a state of token t.
  const auto grow = [&](std::size_t t, std::uint32_t state, Real after, std::int32_t rest) {
    each_step(chain, work, t, std::span(&state, 1), [&](std::size_t i, std::uint32_t to, Real total, Real edge, Real emit) {
      if (to != state) return;
      const Real whole = ((total + edge) + emit) + after, estimate = work.alpha[t].values[i] + whole;
      if (estimate == kForbidden<Real>) return;
      endings.push_back({estimate, static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(i), rest,
                         static_cast<std::int32_t>(ngrams.label(state)), whole});
      open.push(static_cast<std::int32_t>(endings.size() - 1));
    });
  };
  for (std::uint32_t state : work.alpha[T].states) grow(T - 1, state, end_score(chain, state, Real(0)), -1);
  std::size_t n = 0;
  while (!open.empty() && n < k) {
    const std::int32_t e = open.top();
    open.pop();
    const Ending<Real> found = endings[static_cast<std::size_t>(e)];
    if (found.t > 0) {
      grow(found.t - 1, work.alpha[found.t].states[found.before], found.after, e);
      continue;
    }
    std::int32_t* path = paths + n * T;
    for (std::size_t t = 0; t < T; ++t) path[t] = label_at(e, t);
    ++n;
  }
  if (n == 0) {
    scores[0] = best_history(chain, work, paths);
    return 1;
  }
  for (std::size_t i = 0; i < n; ++i) scores[i] = history_score(chain, paths + i * T);
  return n;
}

template float best_history(const ChainView<float>&, HistoryWorkspace<float>&, std::int32_t*);
template double best_history(const ChainView<double>&, HistoryWorkspace<double>&, std::int32_t*);
template float ngram_total(const NgramScores<float>&, std::size_t, std::uint32_t);
template double ngram_total(const NgramScores<double>&, std::size_t, std::uint32_t);
template float history_score(const ChainView<float>&, const std::int32_t*);
template double history_score(const ChainView<double>&, const std::int32_t*);
template std::size_t k_best_histories(const ChainView<float>&, std::size_t, HistoryWorkspace<float>&, std::int32_t*, float*);
template std::size_t k_best_histories(const ChainView<double>&, std::size_t, HistoryWorkspace<double>&, std::int32_t*, double*);

}  // namespace trellis
