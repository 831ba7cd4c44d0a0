// Semi-Markov chains: what segments may be, their attributes, and the best, the k best and the sums over all segmentations.
#include "batch.hpp"
#include "segments.hpp"
#include "text/segment_attributes.hpp"
#include "weights.hpp"

using namespace nb::literals;

constexpr std::size_t kLongest = 1024;  // every token has a site for each length

PySegmentRules::PySegmentRules(std::size_t n_labels, std::size_t longest, const Array<std::int32_t, 2>& shapes,
                               const Ints& columns, const Array<std::uint8_t, 2>& follows) {
  const auto L = static_cast<std::int32_t>(n_labels);
  check_labels(n_labels);
  require(longest >= 1 && longest <= kLongest, "the longest segment has from 1 to 1024 tokens");
  require(shapes.shape(1) == 6, "shapes are [n, 6]: column, longest, labels of single, first, middle and last tokens");
  require(columns.size() == n_labels, "columns: one per label");
  require(follows.shape(0) == n_labels + 1 && follows.shape(1) == n_labels + 1, "follows must be [labels + 1, labels + 1]");
  check_numbers(columns, n_labels, "columns: no such label");
  core.n_labels = n_labels, core.longest = longest;
  for (std::size_t k = 0; k < shapes.shape(0); ++k) {
    const std::int32_t* row = shapes.data() + 6 * k;
    require(row[0] >= 0 && row[0] < L, "shapes: no such column");
    require(row[1] >= 1 && static_cast<std::size_t>(row[1]) <= longest, "shapes: longer than the longest segment");
    for (std::size_t i = 2; i < 6; ++i) require(row[i] >= -1 && row[i] < L, "shapes: no such label");
    core.shapes.push_back({row[0], row[1], row[2], row[3], row[4], row[5]});
  }
  core.columns.assign(columns.data(), columns.data() + n_labels);
  core.follows.assign(follows.data(), follows.data() + follows.size());
}

namespace {

// What segments of a batch give by their attributes.
struct SegmentWeights {
  const SegmentRules& rules;
  Rows<std::uint16_t> rows;
  Sites attributes;

  SegmentWeights(const PySegmentRules& given, const ChainBatch<float>& batch, const Weights& weights, const ListArrays& lists)
      : rules(given.core), rows(weights.rows),
        attributes(lists_from(lists, weights.n_attributes, batch.n_tokens * given.core.longest)) {
    require(rules.n_labels == batch.n_labels && weights.labels.n_labels == batch.n_labels && !weights.parts.any(),
            "segments of other labels");
  }
  void fill(std::size_t begin, std::size_t n, std::size_t stride, std::vector<float>& of) const {
    of.assign(n * rules.longest * stride, 0);
    add_rows(rows, attributes, begin * rules.longest, (begin + n) * rules.longest, stride, of.data());
  }
};

struct State {
  SegmentLattice lattice;
  std::vector<float> of{};
  std::vector<double> scores{};
};

// Sentence i's paths, [k, T_i], stand from k * starts[i] on; what is not filled holds -1 and minus infinity.
CountedPaths segment_paths(const PySegmentRules& rules, const PotentialArrays<float>& tables, const Longs& starts,
                           const AllowedSets& allowed, const Weights& weights_given, const ListArrays& lists, std::size_t k, std::size_t n_threads) {
  const ChainBatch<float> batch(tables, starts, allowed);
  const SegmentWeights weights(rules, batch, weights_given, lists);
  PathLists found(batch, k);
  for_each_sentence(batch, n_threads, [&] { return State{SegmentLattice(rules.core)}; },
                    [&](State& state, const ChainView<float>& chain, std::size_t i) {
    weights.fill(batch.start(i), chain.n_tokens, chain.stride, state.of);
    state.lattice.load(chain, state.of.data());
    double* const scores = found.scores_of(i);
    if (k == 1) {
      *scores = state.lattice.best(found.paths_of(i));
      found.counts[i] = *scores > kForbidden<double>;
    } else {
      found.counts[i] = static_cast<std::int64_t>(state.lattice.k_best(k, found.paths_of(i), scores));
    }
  });
  return std::move(found).out();
}

// log Z [n_sentences], P(z at t) [n_tokens, L], P(y, z at t) [n_tokens, L + 1, L] if asked for, and P of the segments that
// `spans` [n, 4] asks for: sentence, begin, end, column of its type, sentences ascending.
std::tuple<Numpy<double>, Numpy<double>, std::optional<Numpy<double>>, Numpy<double>> segment_marginals(
    const PySegmentRules& rules, const PotentialArrays<float>& tables, const Longs& starts, const AllowedSets& allowed,
    const Weights& weights_given, const ListArrays& lists, double temperature, bool pairs, const SpanRows& spans,
    std::size_t n_threads) {
  const ChainBatch<float> batch(tables, starts, allowed);
  const SegmentWeights weights(rules, batch, weights_given, lists);
  require(temperature > 0 && std::isfinite(temperature), "temperature must be a positive number");
  const std::size_t n = batch.n_tokens, L = batch.n_labels, n_spans = spans.shape(0);
  const std::vector<std::size_t> first = first_spans(batch, spans);
  std::vector<double> log_z(batch.n_sentences), node(n * L), edge(pairs ? n * (L + 1) * L : 0), found(n_spans);
  for_each_sentence(batch, n_threads, [&] { return State{SegmentLattice(rules.core)}; },
                    [&](State& state, const ChainView<float>& chain, std::size_t i) {
    const std::size_t begin = batch.start(i);
    weights.fill(begin, chain.n_tokens, chain.stride, state.of);
    state.lattice.load(chain, state.of.data(), temperature);
    log_z[i] = state.lattice.sum();
    if (!std::isfinite(log_z[i])) return;
    state.lattice.find_marginals();
    const auto add_pair = [&](std::size_t t, std::size_t y, std::size_t z, double p) {
      if (pairs) edge[((begin + t) * (L + 1) + y) * L + z] += p;
    };
    state.lattice.each_marginal(true, add_pair, [&](std::size_t at, std::size_t length, const SegmentShape& shape, double p) {
      each_label(shape, at, length, [&](std::size_t t, std::size_t z) { node[(begin + t) * L + z] += p; },
                 [&](std::size_t t, std::size_t y, std::size_t z) { add_pair(t, y, z, p); });
      for (std::size_t q = first[i]; q < first[i + 1]; ++q)
        if (spans(q, 1) == static_cast<std::int64_t>(at) && spans(q, 2) == static_cast<std::int64_t>(at + length) && spans(q, 3) == shape.column)
          found[q] += p;
    });
  });
  std::optional<Numpy<double>> of_pairs;
  if (pairs) of_pairs = to_numpy(std::move(edge), {n, L + 1, L});
  return {to_numpy(std::move(log_z)), to_numpy(std::move(node), {n, L}), of_pairs, to_numpy(std::move(found))};
}

// Templates of segments with the attributes that were met, as Python holds them.
struct PySegmentVocabulary {
  std::size_t n_views = 0;
  std::vector<SegmentLook> looks;
  std::optional<SegmentVocabulary> core;

  struct NodeArrays {
    Ints parents, symbols, attributes;
    Ints n_symbols;  // of each view
    FIELDS(parents, symbols, attributes, n_symbols)
  };

  PySegmentVocabulary(const Array<std::int32_t, 2>& given, const Longs& starts, const std::optional<NodeArrays>& nodes) {
    require(given.shape(1) == 3, "looks are [n, 3]: kind, view, offset");
    check_starts(starts, given.shape(0));
    constexpr std::int32_t kFar = 1 << 16;
    for (std::size_t i = 0; i < given.shape(0); ++i) {
      const std::int32_t *row = given.data() + 3 * i, kind = row[0];
      require(kind >= SegmentLook::kLength && kind <= SegmentLook::kListed, "looks: no such kind");
      require(row[1] >= 0 && row[1] < kFar && row[2] >= -kFar && row[2] <= kFar, "a look out of range");
      looks.push_back({static_cast<SegmentLook::Kind>(kind), row[1], row[2]});
      if (kind != SegmentLook::kLength) n_views = std::max(n_views, static_cast<std::size_t>(row[1]) + 1);
    }
    for (std::size_t k = 0; k + 1 < starts.size(); ++k)
      for (std::int64_t i = starts(k) + 1; i < starts(k + 1); ++i)
        require(looks[static_cast<std::size_t>(i)].kind < SegmentLook::kText, "only the first look of a template is a text");
    core.emplace(looks, std::vector<std::int64_t>(starts.data(), starts.data() + starts.size()));
    if (nodes) {
      const auto& [parents, symbols, attributes, n_symbols] = *nodes;
      require(n_symbols.size() >= n_views, "how many symbols every view has");
      require(core->set_nodes(span(parents), span(symbols), span(attributes), span(n_symbols)), "attributes of segments that make no sense");
    }
  }

  void add_entry(std::size_t look, const Ints& text) {
    require(look < looks.size() && looks[look].kind == SegmentLook::kListed, "no look at a list");
    core->add_entry(look, span(text));
  }
  SegmentSymbols symbols(const std::vector<Ints>& views, const Longs& starts) const {
    const std::size_t n_tokens = check_sentences(starts);
    require(views.size() >= n_views, "a view for every look");
    SegmentSymbols out{{}, starts.data(), starts.size() - 1};
    for (const auto& view : views) {
      require(view.size() == n_tokens, "one symbol per token");
      check_numbers(view, 0x7fffffff, "a symbol out of range", -1);
      out.views.push_back(view.data());
    }
    return out;
  }
  using ListsOut = std::tuple<Numpy<std::int64_t>, Numpy<std::int32_t>>;
  ListsOut learn(const std::vector<Ints>& views, const Longs& starts, const Longs& begins, const Longs& lengths) {
    const SegmentSymbols given = symbols(views, starts);
    require(begins.size() == lengths.size(), "one length per segment");
    for (std::size_t i = 0, s = 0; i < begins.size(); ++i) {
      require(lengths(i) >= 1 && begins(i) >= (i ? begins(i - 1) : 0), "segments in the order of their tokens");
      while (s + 1 < starts.size() && begins(i) >= starts(s + 1)) ++s;
      require(s + 1 < starts.size() && begins(i) + lengths(i) <= starts(s + 1), "a segment that leaves its sentence");
    }
    std::vector<std::int64_t> list_starts{0};
    std::vector<std::int32_t> ids;
    without_gil([&] { core->learn(given, span(begins), span(lengths), list_starts, ids); });
    return {to_numpy(std::move(list_starts)), to_numpy(std::move(ids))};
  }
  ListsOut extract(const std::vector<Ints>& views, const Longs& starts, std::size_t longest,
                   std::size_t n_threads) const {
    const SegmentSymbols given = symbols(views, starts);
    require(longest >= 1 && longest <= kLongest, "the longest segment has from 1 to 1024 tokens");
    std::vector<std::int64_t> list_starts;
    std::vector<std::int32_t> ids;
    without_gil([&] { core->extract(given, longest, n_threads, list_starts, ids); });
    return {to_numpy(std::move(list_starts)), to_numpy(std::move(ids))};
  }
  struct NodesOut {
    std::vector<std::int32_t> parents, symbols, attributes;
    FIELDS(parents, symbols, attributes)
  };
  NodesOut nodes(const Ints& rank) const {
    require(rank.size() == static_cast<std::size_t>(core->n_attributes()), "one number per attribute");
    SegmentVocabulary::Nodes out = core->nodes(span(rank));
    return NodesOut{std::move(out.parents), std::move(out.symbols), std::move(out.attributes)};
  }
};

}  // namespace

void bind_segments(nb::module_& module) {
  nb::class_<PySegmentRules>(module, "SegmentRules", "What segments may be: their labels and lengths, and which follow which.")
      .def(nb::init<std::size_t, std::size_t, const Array<std::int32_t, 2>&, const Ints&, const Array<std::uint8_t, 2>&>(),
           "n_labels"_a, "longest"_a, "shapes"_array, "columns"_array, "follows"_array);
  module.def("segment_paths", &segment_paths, "rules"_a, "tables"_array, "starts"_array, "allowed"_array.none(), "weights"_a,
             "lists"_array, "k"_a, "n_threads"_a, "The k best segmentations as label paths, their scores and how many there are.");
  module.def("segment_marginals", &segment_marginals, "rules"_a, "tables"_array, "starts"_array, "allowed"_array.none(), "weights"_a,
             "lists"_array, "temperature"_a, "pairs"_a, "spans"_array, "n_threads"_a,
             "log Z, probabilities of labels, of label pairs if asked for, and of some segments.");
  nb::class_<PySegmentVocabulary>(module, "SegmentVocabulary", "Attributes of whole segments by their templates.")
      .def(nb::init<const Array<std::int32_t, 2>&, const Longs&, const std::optional<PySegmentVocabulary::NodeArrays>&>(),
           "looks"_array, "starts"_array, "nodes"_array.none() = nb::none())
      .def_prop_ro("n_attributes", [](const PySegmentVocabulary& self) { return self.core->n_attributes(); })
      .def("add_entry", guarded(&PySegmentVocabulary::add_entry), "look"_a, "text"_array, "A text of a list, by its symbols.")
      .def("learn", guarded(&PySegmentVocabulary::learn), "views"_array, "starts"_array, "begins"_array, "lengths"_array,
           "Number the attributes of some segments: a list for each.")
      .def("extract", guarded(&PySegmentVocabulary::extract), "views"_array, "starts"_array, "longest"_a, "n_threads"_a,
           "The known attributes of all segments: site t * longest + length - 1.")
      .def("nodes", guarded(&PySegmentVocabulary::nodes), "rank"_array, "The tree with attributes renumbered: parents, symbols, attributes.");
}
