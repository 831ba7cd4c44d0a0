#include "learn/accumulators.hpp"

#include <algorithm>

#include "engine/sum_product.hpp"

namespace trellis {
namespace {

// to[z] += sum_y from[y] E[y][z] e[z] over the labels y before
TRELLIS_CLONES void extend_pairs(const double* from, const double* edge, const double* e, std::size_t L,
                                 std::size_t stride, double* to) {
  for (std::size_t z = 0; z < stride; z += kLanes<double>) {
    Vector<double> sum = {};
    for (std::size_t y = 0; y < L; ++y) sum += from[y] * lanes(edge + y * stride + z);
    lanes(to + z) += sum * lanes(e + z);
  }
}

// to[y][z] += E[y][z] e[z] · sum_x from[x][y] F[x][y][z]
TRELLIS_CLONES void extend_triples(const double* from, const double* tri, const double* edge, const double* e,
                                   std::size_t L, std::size_t stride, double* to) {
  for (std::size_t y = 0; y < L; ++y)
    for (std::size_t z = 0; z < stride; z += kLanes<double>) {
      Vector<double> sum = {};
      for (std::size_t x = 0; x < L; ++x) sum += from[x * stride + y] * lanes(tri + (x * (L + 1) + y) * stride + z);
      lanes(to + y * stride + z) += sum * lanes(edge + y * stride + z) * lanes(e + z);
    }
}

}  // namespace

bool count_distribution(const ChainExpectations& sums, const ChainExpectations::Scratch& w, std::size_t n, const Counted& feature,
                        std::size_t most, AccumulatorScratch& s, CountDistribution& out) {
  const ChainExpectations::Exponentials& f = sums.exponentials();
  const std::size_t L = sums.n_labels(), stride = padded(L), cells = sums.pair_cells();
  const bool second = sums.triple_cells() != 0;
  const std::size_t width = second ? L * stride : stride;
  s.e.resize(stride);
  s.edge.resize(cells);
  s.counts.assign(1, 0.0);
  s.alpha.assign(1, std::vector<double>(width, 0.0));
  for (std::size_t t = 0; t < n; ++t) {
    exp_row(w.emit.data() + t * stride, L, stride, s.e.data());
    const double* edge = f.edge.data();
    if (sums.edges_by_token()) {
      for (std::size_t y = 0; y <= L; ++y)
        for (std::size_t z = 0; z < stride; ++z) {
          const double score = w.token_edge[t * cells + y * stride + z];
          s.edge[y * stride + z] = z < L ? std::exp(score) : 0;
        }
      edge = s.edge.data();
    }
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
      // Extend by one token; the cells in which the feature occurs go to `moves`.
      const double* from = s.alpha[c].data();
      s.buffer.assign(width, 0.0);
      double* to = s.buffer.data();
      if (t == 0) {
        for (std::size_t z = 0; z < L; ++z)
          to[z] = edge[L * stride + z] * s.e[z] * (second ? f.tri[(L * (L + 1) + L) * stride + z] : 1.0);
      } else if (!second) {
        extend_pairs(from, edge, s.e.data(), L, stride, to);
      } else if (t == 1) {
        for (std::size_t y = 0; y < L; ++y)
          for (std::size_t z = 0; z < L; ++z)
            to[y * stride + z] = from[y] * f.tri[(L * (L + 1) + y) * stride + z] * edge[y * stride + z] * s.e[z];
      } else {
        extend_triples(from, f.tri.data(), edge, s.e.data(), L, stride, to);
      }
      const std::size_t rows = second && t ? L : 1;
      if (moves) {
        // What the feature takes of one cell: all of it, or the part that comes from its labels before.
        const auto take = [&](std::size_t at, double part) {
          moves[at] += part;
          to[at] = part == to[at] ? 0 : to[at] - part;
        };
        const std::size_t z = feature.z;
        if (feature.y == Counted::kAny) {
          for (std::size_t row = 0; row < rows; ++row) take(row * stride + z, to[row * stride + z]);
        } else if (t == 0) {
          take(z, to[z]);
        } else if (feature.x == Counted::kAny) {
          if (second) {
            take(feature.y * stride + z, to[feature.y * stride + z]);
          } else {
            // The rest is summed anew without its label, not by a difference that could lose it.
            double rest = 0;
            for (std::size_t y = 0; y < L; ++y)
              if (y != feature.y) rest += from[y] * edge[y * stride + z];
            moves[z] += from[feature.y] * edge[feature.y * stride + z] * s.e[z];
            to[z] = rest * s.e[z];
          }
        } else if (t == 1) {
          take(feature.y * stride + z, to[feature.y * stride + z]);
        } else {
          const std::size_t at = feature.y * stride + z;
          const double after = edge[at] * s.e[z];
          double rest = 0;
          for (std::size_t x = 0; x < L; ++x)
            if (x != feature.x) rest += from[x * stride + feature.y] * f.tri[(x * (L + 1) + feature.y) * stride + z];
          moves[at] += from[feature.x * stride + feature.y] * f.tri[(feature.x * (L + 1) + feature.y) * stride + z] * after;
          to[at] = rest * after;
        }
      }
      for (std::size_t i = 0; i < rows * stride; ++i) stays[i] += to[i];
    }
    // Scaled, so that nothing overflows.
    double total = 0;
    for (std::size_t c = 0; c < s.next_counts.size(); ++c)
      for (double a : s.next[c]) total += a;
    if (!(total > 0) || !std::isfinite(total)) return false;
    for (std::size_t c = 0; c < s.next_counts.size(); ++c)
      for (double& a : s.next[c]) a /= total;
    std::swap(s.alpha, s.next);
    s.counts = s.next_counts;
  }
  out.counts = s.counts;
  out.probabilities.assign(s.counts.size(), 0.0);
  double total = 0;
  for (std::size_t c = 0; c < s.counts.size(); ++c)
    for (std::size_t i = 0; i < s.alpha[c].size(); ++i)
      out.probabilities[c] += s.alpha[c][i] * (f.end.empty() ? 1.0 : f.end[i % stride]);
  for (double p : out.probabilities) total += p;
  if (!(total > 0)) return false;
  for (double& p : out.probabilities) p /= total;
  return true;
}

}  // namespace trellis
