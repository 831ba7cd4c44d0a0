// Passes over a hypergraph. The inside pass is the same for every semiring:
//
//   in[v] = sum over edges e into v of value[e] · product over tails u of e of in[u],   of a leaf: one
//
// It gives the best derivation, log Z and counts. The outside pass distributes the probability of the goal:
//
//   P(goal) = 1,   P(e) = P(head) · share[e],   P(u) += P(e) for each tail u of e
//
// with share[e] = the term of e / in[head]; no outside sums are needed.
#pragma once
#include <stdexcept>

#include "engine/best_lists.hpp"
#include "engine/elementary.hpp"
#include "engine/hypergraph.hpp"
#include "engine/semiring.hpp"

namespace trellis {

// in [n_nodes] in the semiring S, over value(e). terms(e, n) returns room for the n terms from edge e on, which S may modify.
template <class S, class Values, class Terms>
TRELLIS_INLINE void inside(const HypergraphView& graph, Values value, Terms terms, double* in) {
  for (std::size_t v = 0, e = 0; v < graph.n_nodes; ++v) {
    const std::size_t n = graph.n_in(v);
    if (n == 0) {
      in[v] = S::template one<double>;
      continue;
    }
    double* own = terms(e, n);
    if (graph.tail_starts) {
      for (std::size_t i = 0; i < n; ++i) {
        double term = value(e + i);
        for (std::int32_t u : graph.tails_of(e + i)) term = S::times(term, in[u]);
        own[i] = term;
      }
    } else {
      for (std::size_t i = 0; i < n; ++i) own[i] = S::times(value(e + i), in[graph.tails[e + i]]);
    }
    in[v] = S::sum(own, n);
    e += n;
  }
}

// Semirings with a sum over a run of terms.
struct BestOf : MaxPlus {
  template <class Real>
  TRELLIS_INLINE static Real sum(const Real* terms, std::size_t n) {
    Real top = terms[0];
    for (std::size_t i = 1; i < n; ++i) top = plus(top, terms[i]);
    return top;
  }
};
struct CountOf : SumProduct {
  TRELLIS_INLINE static double sum(const double* terms, std::size_t n) {
    double total = 0;
    for (std::size_t i = 0; i < n; ++i) total += terms[i];
    return total;
  }
};
// log Z; each term becomes its share of the sum, exp(term) / Z.
struct LogSumOf : MaxPlus {
  TRELLIS_INLINE static double sum(double* terms, std::size_t n) {
    const double top = BestOf::sum(terms, n);
    if (n == 1 || top == zero<double>) {
      std::fill_n(terms, n, top == zero<double> ? 0.0 : 1.0);
      return top;
    }
    Vector<double> totals{};
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) totals += lanes_at(terms + i) = exp_lanes(lanes(terms + i) - top);
    if (i < n) {
      Vector<double> left = Vector<double>{} + zero<double>;
      for (std::size_t j = i; j < n; ++j) left[j - i] = terms[j] - top;
      totals += left = exp_lanes(left);
      for (std::size_t j = i; j < n; ++j) terms[j] = left[j - i];
    }
    const double total = (totals[0] + totals[1]) + (totals[2] + totals[3]), scale = 1 / total;
    for (std::size_t j = 0; j < n; ++j) terms[j] *= scale;
    return top + log(total);
  }
};
// A derivation of so many edges is an error (std::length_error): reused nodes can give a small hypergraph a derivation of
// exponential length.
inline constexpr std::size_t kLongestDerivation = std::size_t(1) << 24;
inline void check_length(std::size_t n_edges) {
  if (n_edges >= kLongestDerivation) throw std::length_error("a derivation has more than 2^24 edges");
}

// Scratch of one thread.
struct HypergraphWorkspace {
  std::vector<double> in, mass;       // [n_nodes]
  std::vector<double> terms, shares;  // [edges into a node], [n_edges]
  std::vector<std::size_t> open;  // nodes not yet expanded
  BestListsScratch<double> lists;
};

// The best derivation by scores [n_edges]: its edges from the goal down, the tails of an edge from first to last.
// Returns its score; minus infinity and no edges if every derivation is forbidden. Ties: the first edge wins, decided
// from the goal down.
double best_derivation(const HypergraphView& graph, const double* scores, HypergraphWorkspace& work,
                       std::vector<std::int64_t>& edges);

// in [n_nodes]: the scores of the best derivations of all nodes.
double* best_scores(const HypergraphView& graph, const double* scores, HypergraphWorkspace& work);

// log Z over all derivations; work.in becomes the log inside sum of every node, work.shares the share of each edge in its head's.
double sum_derivations(const HypergraphView& graph, const double* scores, HypergraphWorkspace& work);

// After sum_derivations with a finite log Z: expected counts of edges [n_edges] and nodes [n_nodes] in a derivation.
// Either may be null.
void derivation_marginals(const HypergraphView& graph, HypergraphWorkspace& work, double* edges, double* nodes);

// The number of derivations that are not forbidden; rounded beyond 2^53.
double count_derivations(const HypergraphView& graph, const double* scores, HypergraphWorkspace& work);

// k best derivations. Ties: the first edge wins, then the best derivations of its first tails.
class KBestDerivations {
 public:
  // Scores [n_edges] and the workspace must stay unchanged while derivations are requested.
  KBestDerivations(const HypergraphView& graph, const double* scores, HypergraphWorkspace& work)
      : graph_{graph, scores, best_scores(graph, scores, work)}, lists_(graph_, work.lists) {}
  KBestDerivations(const KBestDerivations&) = delete;

  // Whether there are k derivations that are not forbidden; afterwards those up to k are available.
  bool find(std::size_t k) { return lists_.find(k); }
  double score(std::size_t rank) { return lists_.score(rank); }
  // The edges of a derivation of the goal, from the goal down, tails from first to last.
  void edges(std::size_t rank, std::vector<std::int64_t>& edges) {
    edges.clear();
    lists_.each(rank, [&](std::size_t, std::uint32_t edge) {
      check_length(edges.size());
      edges.push_back(edge);
    });
  }

 private:
  // Ways are edges.
  struct Graph {
    using Real = double;
    static constexpr bool kOneTail = false, kStates = false;
    HypergraphView view;
    const double *scores, *in;

    std::size_t goal() const { return view.goal; }
    std::size_t n_nodes() const { return view.n_nodes; }
    double best(std::size_t v) const { return in[v]; }
    std::span<const std::int32_t> tails(std::size_t, std::size_t edge) const { return view.tails_of(edge); }
    template <class Visit>
    void each_way(std::size_t v, Visit visit) const {
      for (std::int64_t e = view.in_starts[v]; e < view.in_starts[v + 1]; ++e) {
        const auto edge = static_cast<std::uint32_t>(e);
        visit(edge, score(v, edge, [&](std::size_t i) { return in[view.tails_of(edge)[i]]; }));
      }
    }
    template <class ScoreOf>
    double score(std::size_t, std::size_t edge, ScoreOf of) const {
      double total = scores[edge];
      for (std::size_t i = 0; i < view.tails_of(edge).size(); ++i) total += of(i);
      return total;
    }
  };

  Graph graph_;
  BestLists<Graph> lists_;
};

}  // namespace trellis
