#include "engine/listed_sums.hpp"

#include <cmath>
#include <utility>

namespace trellis {
namespace {

// Calls visit(triple, k) for those that exist of a pair of labels and a third one from a list; place [n_labels]: where
// labels stand in it, -1: nowhere.
template <class Visit>
TRELLIS_INLINE void each_triple(const Ngrams& ngrams, std::uint32_t pair, const ListedLabels& labels,
                                const std::vector<std::int32_t>& place, Visit visit) {
  if (ngrams.n_children(pair) <= labels.n) {
    ngrams.each_child(pair, [&](std::uint32_t child) TRELLIS_INLINE_LAMBDA {
      if (const std::int32_t k = place[ngrams.label(child)]; k >= 0) visit(child, static_cast<std::size_t>(k));
    });
    return;
  }
  for (std::size_t k = 0; k < labels.n; ++k)
    if (const std::uint32_t child = ngrams.find(pair, labels[k]); child != Ngrams::kNone) visit(child, k);
}

}  // namespace

//   alpha_t[y][z] = (sum_x alpha_{t-1}[x][y] · tri[x, y, z]) · edge[y][z] · emit_t[z]
double forward_listed(const ChainView<double>& chain, const FactorRange* ranges, ListedSumsWorkspace& w) {
  const std::size_t T = chain.n_tokens;
  const Ngrams& ngrams = *chain.ngrams->ngrams;
  const double* scores = chain.ngrams->scores;
  const ListsOf listed{*chain.allowed, static_cast<std::int32_t>(chain.n_labels)};
  listed.lay_out(T, w.at);
  if (w.alpha.size() < w.at[T]) w.alpha.resize(w.at[T]);
  if (w.place.size() < chain.n_labels) w.place.resize(chain.n_labels, -1);
  w.scales.resize(T), w.ends.resize(T), w.triples.clear();
  Scaling scaling;
  double least = 1;
  for (std::size_t t = 0; t < T; ++t) {
    const ListedLabels xs = listed(t, 2), ys = listed(t, 1), zs = listed(t, 0);
    const double *emit = chain.emit_at(t), *before = t ? w.alpha.data() + w.at[t - 1] : nullptr;
    double *alpha = w.alpha.data() + w.at[t], sum = 0;
    w.row.resize(zs.n);
    for (std::size_t k = 0; k < zs.n; ++k) w.place[zs[k]] = static_cast<std::int32_t>(k);
    for (std::size_t j = 0; j < ys.n; ++j) {
      double other = t ? 0 : 1;  // of pairs with which no triple begins
      std::fill(w.row.begin(), w.row.end(), 0.0);
      for (std::size_t i = 0; t && i < xs.n; ++i) {
        const double mass = before[i * ys.n + j];
        const std::uint32_t pair = beginning(ngrams, xs[i], ys[j]);
        if (pair == Ngrams::kNone) {
          other += mass;
          continue;
        }
        const std::size_t first = w.triples.size();
        each_triple(ngrams, pair, zs, w.place, [&](std::uint32_t triple, std::size_t k) TRELLIS_INLINE_LAMBDA {
          w.triples.push_back({static_cast<std::uint32_t>(i * ys.n + j), static_cast<std::uint32_t>(k), triple, w.row[k]});
        });
        for (double& sum_x : w.row) sum_x += mass;
        for (std::size_t n = first; n < w.triples.size(); ++n)
          w.row[w.triples[n].k] = w.triples[n].kept + mass * scores[w.triples[n].node];
      }
      const double* edge = chain.edge_at(t, ys[j]);
      for (std::size_t k = 0; k < zs.n; ++k)
        sum += alpha[j * zs.n + k] = (w.row[k] + other) * edge[zs[k]] * emit[zs[k]];
    }
    for (std::size_t k = 0; k < zs.n; ++k) w.place[zs[k]] = -1;
    if (!scaling.take(sum, ranges[t].most, least * ranges[t].least)) return kForbidden<double>;
    w.ends[t] = w.triples.size();
    w.scales[t] = 1 / sum;
    for (std::size_t i = w.at[t]; i < w.at[t + 1]; ++i) w.alpha[i] *= w.scales[t];
    least = least_of(w.alpha.data() + w.at[t], w.at[t + 1] - w.at[t]);
  }
  const ListedLabels ys = listed(T - 1, 1), zs = listed(T - 1, 0);
  w.beta.resize(ys.n * zs.n);
  double total = 0;
  for (std::size_t i = 0; i < w.beta.size(); ++i) {
    w.beta[i] = chain.end ? chain.end[zs[i % zs.n]] : 1;
    total += w.alpha[w.at[T - 1] + i] * w.beta[i];
  }
  if (!scaling.take(total, ranges[T].most, least * ranges[T].least)) return kForbidden<double>;
  for (double& beta : w.beta) beta /= total;
  return scaling.log_z();
}

//   after[y][z] = edge[y][z] · emit_t[z] · beta_t[y][z]
//   beta_{t-1}[x][y] = sum_z tri[x, y, z] · after[y][z],   P(x, y, z) = alpha_{t-1}[x][y] · tri[x, y, z] · after[y][z]
void backward_listed(const ChainView<double>& chain, ListedSumsWorkspace& w, const HistoryExpectations& wanted) {
  const double* scores = chain.ngrams->scores;
  const ListsOf listed{*chain.allowed, static_cast<std::int32_t>(chain.n_labels)};
  for (std::size_t t = chain.n_tokens; t-- > 0;) {
    const ListedLabels xs = listed(t, 2), ys = listed(t, 1), zs = listed(t, 0);
    for (std::size_t j = 0; j < ys.n; ++j)
      for (std::size_t k = 0; k < zs.n; ++k)
        expect_pair(wanted, chain, t, ys[j], zs[k], w.alpha[w.at[t] + j * zs.n + k] * w.beta[j * zs.n + k]);
    if (t == 0) break;
    const double *emit = chain.emit_at(t), *before = w.alpha.data() + w.at[t - 1];
    w.before.resize(xs.n * ys.n), w.row.resize(zs.n);
    auto triple = w.triples.begin() + static_cast<std::ptrdiff_t>(w.ends[t - 1]);
    const auto end = w.triples.begin() + static_cast<std::ptrdiff_t>(w.ends[t]);
    for (std::size_t j = 0; j < ys.n; ++j) {
      const double* edge = chain.edge_at(t, ys[j]);
      double all = 0;
      for (std::size_t k = 0; k < zs.n; ++k)
        all += w.row[k] = edge[zs[k]] * emit[zs[k]] * w.beta[j * zs.n + k] * w.scales[t];
      for (std::size_t i = 0; i < xs.n; ++i) {
        const std::size_t pair = i * ys.n + j;
        double& beta = w.before[pair] = all;
        const auto first = triple;
        for (; triple != end && triple->pair == pair; ++triple) {
          const double follows = scores[triple->node] * w.row[triple->k];
          if (wanted.ngrams) wanted.ngrams[triple->node] += wanted.weight * (before[pair] * follows);
          triple->kept = std::exchange(w.row[triple->k], follows);
        }
        if (triple == first) continue;
        beta = 0;
        for (const double follows : w.row) beta += follows;
        for (auto one = first; one != triple; ++one) w.row[one->k] = one->kept;
      }
    }
    for (std::size_t pair = 0; pair < w.before.size(); ++pair)  // of what is never met beta may be too large for a number
      if (before[pair] == 0) w.before[pair] = 0;
    w.beta.swap(w.before);
  }
}

}  // namespace trellis
