#include <array>

#include "engine/chain_passes.hpp"
#include "engine/viterbi.hpp"

namespace trellis {
namespace {

// A chain without label n-grams (best_lists.hpp). A node is a history, numbered by its index in delta: t, and z or, at order 2,
// y, z (y = 0 at t = 0). A way is the label that drops out of the history; ways into the goal are the last histories, z * L + y.
template <class R, class LabelsAt>
struct ChainGraph {
  using Real = R;
  static constexpr bool kOneTail = true, kStates = false;
  const ChainView<Real>& chain;
  LabelsAt labels_at;
  Real* delta;
  std::size_t size = chain.token_size(), stride = chain.stride;

  std::size_t goal() const { return chain.n_tokens * size; }
  std::size_t n_nodes() const { return goal() + 1; }
  Real best(std::size_t v) const { return delta[v]; }
  std::size_t label(std::size_t v) const { return v % size % stride; }
  std::array<std::size_t, 1> tails(std::size_t v, std::size_t way) const {
    const std::size_t t = v / size, before = (t - 1) * size;
    if (v == goal()) return {before + way % chain.n_labels * stride + way / chain.n_labels};
    return {chain.tri ? before + way * stride + (v - t * size) / stride : before + way};
  }
  template <class Visit>
  void each_way(std::size_t v, Visit visit) const {
    const std::size_t t = v / size, L = chain.n_labels;
    if (v == goal()) {
      const auto labels = labels_at(t - 1), middles = middles_at(chain, t - 1, labels_at);
      for (std::size_t j = 0; j < labels.size(); ++j)
        for (std::size_t i = 0; i < middles.size(); ++i) {
          const std::size_t y = middles[i], z = labels[j];
          visit(static_cast<std::uint32_t>(z * L + y), ended(delta[(t - 1) * size + y * stride + z], z));
        }
    } else if (t) {
      const auto [row, z] = row_of(v);
      const auto leavers = leavers_at(chain, t, labels_at);
      for (std::size_t i = 0; i < leavers.size(); ++i)
        visit(static_cast<std::uint32_t>(leavers[i]), extend<MaxPlus>(row, row.from[leavers[i] * row.from_step], leavers[i], z));
    }
  }
  template <class ScoreOf>
  Real score(std::size_t v, std::size_t way, ScoreOf of) const {
    if (v == goal()) return ended(of(0), way / chain.n_labels);
    const auto [row, z] = row_of(v);
    return extend<MaxPlus>(row, of(0), way, z);
  }

 private:
  Real ended(Real score, std::size_t z) const { return chain.end ? score + chain.end[z] : score; }
  // The extension of a history at t > 0: its index z in a row.
  std::pair<Row<Real>, std::size_t> row_of(std::size_t v) const {
    const std::size_t t = v / size, place = v - t * size, middle = chain.tri ? place / stride : 0;
    Real* here = delta + t * size;
    return {row_at<MaxPlus>(chain, t, middle, here - size, here), place - middle * stride};
  }
};

template <class Real, class LabelsAt>
std::size_t find(const ChainView<Real>& chain, const LabelsAt& labels_at, std::size_t k, Workspace<Real>& work,
                 std::int32_t* paths, Real* scores) {
  Real* delta = grow(work.delta, chain.n_tokens * chain.token_size());
  search_dense(chain, delta, nullptr);
  ChainGraph<Real, LabelsAt> graph{chain, labels_at, delta};
  return BestLists(graph, work.lists).paths(k, chain.n_tokens, paths, scores);
}

}  // namespace

template <class Real>
std::size_t k_best(const ChainView<Real>& chain, std::size_t k, Workspace<Real>& work, std::int32_t* paths, Real* scores) {
  if (k == 0) return 0;
  std::size_t n = 0;
  if (k == 1 || chain.n_tokens == 0) n = 0;  // handled by best_path
  else if (on_lattice(chain)) n = search_lattice(chain, work.histories).k_best(k, work.lists, paths, scores);
  else if (chain.ngrams) n = k_best_histories(chain, k, work.histories, work.lists, paths, scores);
  else if (chain.allowed) n = find(chain, Allowed{*chain.allowed}, k, work, paths, scores);
  else n = find(chain, Everything{chain.n_labels}, k, work, paths, scores);
  if (n) return n;
  scores[0] = best_path(chain, work, paths);
  return 1;
}

template std::size_t k_best(const ChainView<float>&, std::size_t, Workspace<float>&, std::int32_t*, float*);
template std::size_t k_best(const ChainView<double>&, std::size_t, Workspace<double>&, std::int32_t*, double*);

}  // namespace trellis
