// Hypergraphs: best derivations, k best, sums, marginals, counts and expectations, many at a time on threads.
#include "engine/hypergraph_kbest.hpp"
#include "hypergraphs.hpp"
#include "parallel.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

// Scores of derivations; where the edges of each begin, and the edges, by their numbers within their hypergraph.
using Derivations = std::tuple<Numpy<double>, Numpy<std::int64_t>, Numpy<std::int64_t>>;

Hypergraphs checked(const Longs& node_counts, const Longs& edge_starts, const Ints& heads, const Longs& tail_starts,
                           const Ints& tails, const Ints& goals) {
  require(edge_starts.size() == node_counts.size() + 1 && goals.size() == node_counts.size(), "one of each per hypergraph");
  require(tail_starts.size() == heads.size() + 1, "one list of tails per edge");
  check_starts(edge_starts, heads.size());
  check_starts(tail_starts, tails.size());
  std::int64_t n_nodes = 0;
  for (std::int64_t n : span(node_counts)) {
    require(n > 0 && n <= std::numeric_limits<std::int32_t>::max(), "a hypergraph has from 1 to 2^31 - 1 nodes");
    require(!__builtin_add_overflow(n_nodes, n, &n_nodes), "too many nodes");
  }
  const HypergraphArrays given{span(node_counts), span(edge_starts), span(heads), span(tail_starts), span(tails), span(goals)};
  const std::string wrong = wrong_with(given);
  require(wrong.empty(), wrong.c_str());
  return without_gil([&] { return Hypergraphs(given); });
}

// Hypergraphs with what is asked of them.
struct Asked {
  const Hypergraphs& graphs;

  // Scores as they must be, in the order of the edges here; call(scores) is made without the GIL.
  template <class Call>
  auto with(const Doubles& scores, Call call) const {
    require(scores.size() == graphs.n_edges(), "one score per edge");
    require(are_scores(scores.data(), 1, scores.size(), 0), "scores must be numbers below infinity");
    return without_gil([&] {
      std::vector<double> scratch;
      return call(graphs.sorted(scores.data(), scratch));
    });
  }
  // Calls work(g, view, first edge, workspace) for all hypergraphs.
  template <class Work>
  void each(std::size_t n_threads, Work work) const {
    parallel_blocks(graphs.size(), 1, n_threads, [] { return HypergraphWorkspace(); },
                    [&](HypergraphWorkspace& scratch, std::size_t first, std::size_t last) {
      for (std::size_t g = first; g < last; ++g) work(g, graphs[g], graphs.first_edge(g), scratch);
    });
  }
  // Edges as they were given.
  std::vector<std::int64_t> named(std::size_t g, std::vector<std::int64_t> edges) const {
    const std::size_t first = graphs.first_edge(g);
    for (std::int64_t& e : edges) e = static_cast<std::int64_t>(graphs.given(first + static_cast<std::size_t>(e)) - first);
    return edges;
  }
  template <class Number>
  Numpy<Number> as_given(std::vector<Number> by_edge) const {
    std::vector<Number> out(by_edge.size());
    for (std::size_t e = 0; e < out.size(); ++e) out[graphs.given(e)] = by_edge[e];
    return to_numpy(std::move(out));
  }

  Derivations best(const Doubles& scores, std::size_t n_threads) const {
    std::vector<double> best(graphs.size());
    std::vector<std::vector<std::int64_t>> edges(graphs.size());
    with(scores, [&](const double* sorted) {
      each(n_threads, [&](std::size_t g, const HypergraphView& graph, std::size_t first, HypergraphWorkspace& work) {
        best[g] = best_derivation(graph, sorted + first, work, edges[g]);
        edges[g] = named(g, std::move(edges[g]));
      });
    });
    return packed(std::move(best), edges);
  }

  // Of hypergraph g derivations starts[g] .. starts[g + 1].
  std::tuple<Numpy<std::int64_t>, Derivations> k_best(const Doubles& scores, std::size_t k, std::size_t n_threads) const {
    std::vector<std::vector<double>> found(graphs.size());
    std::vector<std::vector<std::vector<std::int64_t>>> edges(graphs.size());
    with(scores, [&](const double* sorted) {
      each(n_threads, [&](std::size_t g, const HypergraphView& graph, std::size_t first, HypergraphWorkspace& work) {
        KBestDerivations derivations(graph, sorted + first, work);
        for (std::size_t rank = 0; rank < k && derivations.find(rank + 1); ++rank) {
          found[g].push_back(derivations.score(rank));
          derivations.edges(rank, edges[g].emplace_back());
          edges[g].back() = named(g, std::move(edges[g].back()));
        }
      });
    });
    std::vector<std::int64_t> starts{0};
    std::vector<double> all;
    std::vector<std::vector<std::int64_t>> all_edges;
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      all.insert(all.end(), found[g].begin(), found[g].end());
      for (auto& one : edges[g]) all_edges.push_back(std::move(one));
      starts.push_back(static_cast<std::int64_t>(all.size()));
    }
    return {to_numpy(std::move(starts)), packed(std::move(all), all_edges)};
  }

  // log Z [n], and how often edges and nodes are in a derivation; 0 where all derivations are forbidden.
  std::tuple<Numpy<double>, Numpy<double>, Numpy<double>> marginals(const Doubles& scores, std::size_t n_threads) const {
    std::vector<double> log_z(graphs.size()), edges(graphs.n_edges()), nodes(graphs.n_nodes());
    with(scores, [&](const double* sorted) {
      each(n_threads, [&](std::size_t g, const HypergraphView& graph, std::size_t first, HypergraphWorkspace& work) {
        log_z[g] = sum_derivations(graph, sorted + first, work);
        if (log_z[g] != kForbidden<double>)
          derivation_marginals(graph, work, edges.data() + first, nodes.data() + graphs.first_node(g));
      });
    });
    return {to_numpy(std::move(log_z)), as_given(std::move(edges)), to_numpy(std::move(nodes))};
  }

  // log Z [n], and log sums of all nodes.
  std::tuple<Numpy<double>, Numpy<double>> inside(const Doubles& scores, std::size_t n_threads) const {
    std::vector<double> log_z(graphs.size()), nodes(graphs.n_nodes());
    with(scores, [&](const double* sorted) {
      each(n_threads, [&](std::size_t g, const HypergraphView& graph, std::size_t first, HypergraphWorkspace& work) {
        log_z[g] = sum_derivations(graph, sorted + first, work);
        std::copy_n(work.in.data(), graph.n_nodes, nodes.data() + graphs.first_node(g));
      });
    });
    return {to_numpy(std::move(log_z)), to_numpy(std::move(nodes))};
  }

  Numpy<double> counts(const Doubles& scores, std::size_t n_threads) const {
    return numbers(scores, n_threads, [](const HypergraphView& graph, const double* own, std::size_t, HypergraphWorkspace& work) {
      return count_derivations(graph, own, work);
    });
  }

  Numpy<double> expectations(const Doubles& scores, const Doubles& values, std::size_t n_threads) const {
    require(values.size() == graphs.n_edges(), "one value per edge");
    check_finite(values, "values must be finite numbers");
    std::vector<double> scratch;
    const double* sorted = graphs.sorted(values.data(), scratch);
    return numbers(scores, n_threads, [&](const HypergraphView& graph, const double* own, std::size_t first, HypergraphWorkspace& work) {
      return expect(graph, own, sorted + first, work);
    });
  }

 private:
  // One number per hypergraph.
  template <class Work>
  Numpy<double> numbers(const Doubles& scores, std::size_t n_threads, Work work) const {
    std::vector<double> out(graphs.size());
    with(scores, [&](const double* sorted) {
      each(n_threads, [&](std::size_t g, const HypergraphView& graph, std::size_t first, HypergraphWorkspace& scratch) {
        out[g] = work(graph, sorted + first, first, scratch);
      });
    });
    return to_numpy(std::move(out));
  }
  static Derivations packed(std::vector<double> scores, const std::vector<std::vector<std::int64_t>>& edges) {
    std::vector<std::int64_t> starts{0}, all;
    for (const auto& one : edges) {
      all.insert(all.end(), one.begin(), one.end());
      starts.push_back(static_cast<std::int64_t>(all.size()));
    }
    return {to_numpy(std::move(scores)), to_numpy(std::move(starts)), to_numpy(std::move(all))};
  }
};

// The same as a method of Python's class.
template <class Result, class... Given>
auto asked(Result (Asked::*method)(Given...) const) {
  return [method](const PyHypergraphs& self, Given... given) { return (Asked{self.graphs}.*method)(given...); };
}

}  // namespace

void bind_hypergraphs(nb::module_& module) {
  nb::class_<PyHypergraphs>(module, "Hypergraphs", "Hypergraphs without cycles, one after the other.")
      .def("__init__", [](PyHypergraphs* self, const Longs& node_counts, const Longs& edge_starts,
                          const Ints& heads, const Longs& tail_starts,
                          const Ints& tails, const Ints& goals) {
        new (self) PyHypergraphs{checked(node_counts, edge_starts, heads, tail_starts, tails, goals)};
      }, "node_counts"_array, "edge_starts"_array, "heads"_array, "tail_starts"_array, "tails"_array, "goals"_array)
      .def("best", asked(&Asked::best), "scores"_array, "n_threads"_a, "The best derivation of each: (scores, starts, edges).")
      .def("k_best", asked(&Asked::k_best), "scores"_array, "k"_a, "n_threads"_a,
           "Up to k derivations of each, best first: (starts, (scores, starts of edges, edges)).")
      .def("marginals", asked(&Asked::marginals), "scores"_array, "n_threads"_a, "(log Z, of edges, of nodes)")
      .def("inside", asked(&Asked::inside), "scores"_array, "n_threads"_a, "(log Z, log sums of nodes)")
      .def("counts", asked(&Asked::counts), "scores"_array, "n_threads"_a, "How many derivations are not forbidden.")
      .def("expectations", asked(&Asked::expectations), "scores"_array, "values"_array, "n_threads"_a,
           "The mean over derivations of the sum of their edges' values.");
}
