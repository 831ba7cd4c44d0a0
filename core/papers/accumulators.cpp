#include "papers/accumulators.hpp"

#include <algorithm>
#include <cmath>

namespace trellis {
namespace {

TRELLIS_CLONES void load(const Factors<double>& f, const double* emit, std::size_t n, const double* token_edge,
                         PassScratch<double>& w) {
  load_factors(f, emit, n, token_edge, w);
}

// Extends all paths of one count by token t; those in which the feature occurs there go to `moves`, unless it is null.
TRELLIS_CLONES void extend(const ChainView<double>& chain, std::size_t t, const Counted& feature, const double* from,
                           double* to, double* moves) {
  const Everything labels_at{chain.n_labels};
  const AllLabels middles = middles_at(chain, t, labels_at), leavers = leavers_at(chain, t, labels_at);
  const bool second = chain.tri != nullptr, pair = feature.y != Counted::kAny, triple = feature.x != Counted::kAny;
  for (std::size_t middle = 0; middle < middles.size(); ++middle) {
    const Row<double> row = row_at<SumProduct>(chain, t, middle, from, to);
    reduce_all<SumProduct>(row, leavers, chain.stride);
    if (!moves || (second && pair && t && middle != feature.y)) continue;
    const std::size_t z = feature.z, at = middle * chain.stride + z;
    if (second ? triple && t > 1 : pair && t > 0) {
      // The part that comes from the feature's label; the rest is summed anew without it, not by a difference that could
      // lose it.
      const std::size_t label = second ? feature.x : feature.y;
      const auto part = [&](std::size_t i) { return row.from[i * row.from_step] * row.table[i * row.table_step + z]; };
      const double onward = (row.edge ? row.edge[z] : 1) * row.emit[z];
      double rest = 0;
      for (std::size_t i = 0; i < leavers.size(); ++i)
        if (i != label) rest += part(i);
      moves[at] += part(label) * onward;
      to[at] = rest * onward;
    } else {
      moves[at] += to[at];
      to[at] = 0;
    }
  }
}

}  // namespace

bool count_distribution(const Factors<double>& f, const double* emit, std::size_t n, const double* token_edge,
                        const Counted& feature, std::size_t most, AccumulatorScratch& s, CountDistribution& out) {
  load(f, emit, n, token_edge, s.passes);
  const ChainView<double> chain = f.view(n, s.passes.emit.data(), token_edge ? s.passes.edge.data() : nullptr);
  const std::size_t width = chain.token_size();
  s.counts.assign(1, 0.0);
  s.alpha.assign(1, std::vector<double>(width, 0.0));
  s.buffer.assign(width, 0.0);
  Losses<double> losses(chain.n_labels);
  for (std::size_t t = 0; t < n; ++t) {
    // Counts after this token: those before, and those with its value added.
    const double value = feature.values[t];
    s.next_counts = s.counts;
    if (value != 0)
      for (double count : s.counts) s.next_counts.push_back(count + value);
    std::sort(s.next_counts.begin(), s.next_counts.end());
    s.next_counts.erase(std::unique(s.next_counts.begin(), s.next_counts.end()), s.next_counts.end());
    if (s.next_counts.size() > most) return false;
    if (s.next.size() < s.next_counts.size()) s.next.resize(s.next_counts.size());
    for (std::size_t c = 0; c < s.next_counts.size(); ++c) s.next[c].assign(width, 0.0);
    const auto number = [&](double count) {
      return std::lower_bound(s.next_counts.begin(), s.next_counts.end(), count) - s.next_counts.begin();
    };
    for (std::size_t c = 0; c < s.counts.size(); ++c) {
      double* stays = s.next[number(s.counts[c])].data();
      double* moves = value != 0 ? s.next[number(s.counts[c] + value)].data() : nullptr;
      extend(chain, t, feature, s.alpha[c].data(), s.buffer.data(), moves);
      for (std::size_t i = 0; i < (t ? width : chain.stride); ++i) stays[i] += s.buffer[i];
    }
    // Scaled, so that nothing overflows.
    double total = 0;
    for (std::size_t c = 0; c < s.next_counts.size(); ++c)
      for (double a : s.next[c]) total += a;
    if (!(total > 0) || !std::isfinite(total)) return false;
    for (std::size_t c = 0; c < s.next_counts.size(); ++c)
      for (double& a : s.next[c]) a /= total;
    // What comes later is the same for all counts of a history, so that losses matter as those of their sums do.
    s.buffer.assign(width, 0.0);
    for (std::size_t c = 0; c < s.next_counts.size(); ++c)
      for (std::size_t i = 0; i < width; ++i) s.buffer[i] += s.next[c][i];
    if (losses.matter(s.buffer.data(), chain.tri && t ? chain.n_labels : 1, chain.stride, total)) return false;
    std::swap(s.alpha, s.next);
    s.counts = s.next_counts;
  }
  out.counts = s.counts;
  out.probabilities.assign(s.counts.size(), 0.0);
  double total = 0;
  for (std::size_t c = 0; c < s.counts.size(); ++c)
    for (std::size_t i = 0; i < s.alpha[c].size(); ++i)
      out.probabilities[c] += s.alpha[c][i] * (f.end.empty() ? 1.0 : f.end[i % f.stride]);
  for (double p : out.probabilities) total += p;
  if (!(total > 0) || losses.matter_at_end(total)) return false;
  for (double& p : out.probabilities) p /= total;
  return true;
}

}  // namespace trellis
