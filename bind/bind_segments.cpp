// Semi-Markov chains: segment types, their attributes, and the best, the k best and the sums over all segmentations.
#include "batch.hpp"
#include "data.hpp"
#include "text/segment_attributes.hpp"

constexpr std::size_t kLongest = 1024;  // every token has a site for each length

void PySegmentRules::begin() {
  const auto L = static_cast<std::int32_t>(n_labels);
  check_labels(n_labels);
  require(longest >= 1 && longest <= kLongest, "the longest segment must have from 1 to 1024 tokens");
  require(shapes.shape(1) == 6, "shapes must be [n, 6]: column, longest, labels of single, first, middle and last tokens");
  require(columns.size() == n_labels, "there must be one column per label");
  require(follows.shape(0) == n_labels + 1 && follows.shape(1) == n_labels + 1, "follows must be [labels + 1, labels + 1]");
  check_numbers(columns, n_labels, "columns: label out of range");
  core.n_labels = n_labels, core.longest = longest;
  for (std::size_t k = 0; k < shapes.shape(0); ++k) {
    const std::int32_t* row = shapes.data() + 6 * k;
    require(row[0] >= 0 && row[0] < L, "shapes: column out of range");
    require(row[1] >= 1 && static_cast<std::size_t>(row[1]) <= longest, "shapes: longer than the longest segment");
    for (std::size_t i = 2; i < 6; ++i) require(row[i] >= -1 && row[i] < L, "shapes: label out of range");
    core.shapes.push_back({row[0], row[1], row[2], row[3], row[4], row[5]});
  }
  core.columns.assign(columns.begin(), columns.end());
  core.follows.assign(follows.begin(), follows.end());
}

RECORD(trellis::SegmentVocabulary::Nodes, parents, symbols, attributes)

namespace {

// With scores of segments by their attributes.
struct SegmentBatch : ChainBatch<float> {
  std::shared_ptr<PySegmentRules> rules;
  std::shared_ptr<Weights> weights;
  ListArrays lists;
  FIELDS(tables, starts, allowed, rules, weights, lists)
  Sites attributes;

  void begin() {
    ChainBatch::begin();
    attributes = lists_from(lists, weights->n_attributes, n_tokens * rules->longest);
    require(rules->n_labels == n_labels && weights->n_labels() == n_labels && !weights->core.parts.any(),
            "segments of other labels");
  }
  // Calls work(lattice, i) for every sentence.
  template <class Work>
  void each(double temperature, std::size_t n_threads, Work work) const {
    const auto make = [&] { return std::pair(SegmentLattice(rules->core), std::vector<float>()); };
    for_each_sentence(*this, n_threads, make, [&](auto& state, const ChainView<float>& chain, std::size_t i) {
      auto& [lattice, of] = state;
      of.assign(chain.n_tokens * rules->longest * chain.stride, 0);
      add_rows(weights->core.rows, attributes, start(i) * rules->longest, start(i + 1) * rules->longest, chain.stride, of.data());
      lattice.load(chain, of.data(), temperature);
      work(lattice, i);
    });
  }
};

// The k best segmentations as label paths (PathLists).
CountedPaths segment_paths(const SegmentBatch& batch, std::size_t k, std::size_t n_threads) {
  PathLists found(batch, k);
  batch.each(1, n_threads, [&](SegmentLattice& lattice, std::size_t i) {
    double* const scores = found.scores_of(i);
    if (k == 1) {
      *scores = lattice.best(found.paths_of(i));
      found.counts[i] = *scores > kForbidden<double>;
    } else {
      found.counts[i] = static_cast<std::int64_t>(lattice.k_best(k, found.paths_of(i), scores));
    }
  });
  return std::move(found).out();
}

// As marginals of chains; and P of the segments in `spans` [n, 4]: sentence, begin, end, column of its type,
// sentences ascending.
std::pair<Sums, std::vector<double>> segment_marginals(const SegmentBatch& batch, double temperature, int reach,
                                                       const SpanRows& spans, std::size_t n_threads) {
  require(temperature > 0 && std::isfinite(temperature), "temperature must be a positive number");
  const std::size_t n = batch.n_tokens, L = batch.n_labels;
  const std::vector<std::size_t> first = first_spans(batch, spans);
  std::vector<double> log_z(batch.n_sentences), node(n * L), edge(reach > 1 ? n * (L + 1) * L : 0), found(spans.shape(0));
  batch.each(temperature, n_threads, [&](SegmentLattice& lattice, std::size_t i) {
    const std::size_t begin = batch.start(i);
    log_z[i] = lattice.sum();
    if (!std::isfinite(log_z[i])) return;
    lattice.find_marginals();
    const auto add_pair = [&](std::size_t t, std::size_t y, std::size_t z, double p) {
      if (reach > 1) edge[((begin + t) * (L + 1) + y) * L + z] += p;
    };
    lattice.each_marginal(true, add_pair, [&](std::size_t at, std::size_t length, const SegmentShape& shape, double p) {
      each_label(shape, at, length, [&](std::size_t t, std::size_t z) { node[(begin + t) * L + z] += p; },
                 [&](std::size_t t, std::size_t y, std::size_t z) { add_pair(t, y, z, p); });
      for (std::size_t q = first[i]; q < first[i + 1]; ++q)
        if (spans(q, 1) == static_cast<std::int64_t>(at) && spans(q, 2) == static_cast<std::int64_t>(at + length) &&
            spans(q, 3) == shape.column)
          found[q] += p;
    });
  });
  return {sums_out(L, std::move(log_z), std::move(node), std::move(edge)), std::move(found)};
}

// Templates of segments with the known attributes, as in Python.
struct PySegmentVocabulary {
  struct NodeArrays {
    Ints parents, symbols, attributes;
    Ints n_symbols;  // of each view
    FIELDS(parents, symbols, attributes, n_symbols)
  };
  Array<std::int32_t, 2> looks;  // [n, 3]: kind, view, offset
  Longs starts;
  std::optional<NodeArrays> nodes;
  ARGUMENTS(looks, starts, nodes)
  std::size_t n_views = 0;
  std::vector<SegmentLook> all;
  std::optional<SegmentVocabulary> core;

  void begin() {
    require(looks.shape(1) == 3, "looks must be [n, 3]: kind, view, offset");
    check_starts(starts, looks.shape(0));
    constexpr std::int32_t kFar = 1 << 16;
    for (std::size_t i = 0; i < looks.shape(0); ++i) {
      const std::int32_t *row = looks.data() + 3 * i, kind = row[0];
      require(kind >= SegmentLook::kLength && kind <= SegmentLook::kListed, "looks: unknown kind");
      require(row[1] >= 0 && row[1] < kFar && row[2] >= -kFar && row[2] <= kFar, "look out of range");
      all.push_back({static_cast<SegmentLook::Kind>(kind), row[1], row[2]});
      if (kind != SegmentLook::kLength) n_views = std::max(n_views, static_cast<std::size_t>(row[1]) + 1);
    }
    for (std::size_t k = 0; k + 1 < starts.size(); ++k)
      for (std::int64_t i = starts(k) + 1; i < starts(k + 1); ++i)
        require(all[static_cast<std::size_t>(i)].kind < SegmentLook::kText, "only the first look of a template can be a text");
    core.emplace(all, std::vector<std::int64_t>(starts.begin(), starts.end()));
    if (nodes) {
      const auto& [parents, symbols, attributes, n_symbols] = *nodes;
      require(n_symbols.size() >= n_views, "there must be one number of symbols per view");
      require(core->set_nodes(parents, symbols, attributes, n_symbols), "invalid attributes of segments");
    }
  }

  void add_entry(std::size_t look, const Ints& text) {
    require(look < all.size() && all[look].kind == SegmentLook::kListed, "a list without a look");
    core->add_entry(look, text);
  }
  SegmentSymbols symbols(const std::vector<Ints>& views, const Longs& sentences) const {
    const std::size_t n_tokens = check_sentences(sentences);
    require(views.size() >= n_views, "there must be one view per look");
    SegmentSymbols out{{}, sentences.data(), sentences.size() - 1};
    for (const auto& view : views) {
      require(view.size() == n_tokens, "there must be one symbol per token");
      check_numbers(view, 0x7fffffff, "symbol out of range", -1);
      out.views.push_back(view.data());
    }
    return out;
  }
  TokenLists learn(const std::vector<Ints>& views, const Longs& sentences, const Longs& begins, const Longs& lengths) {
    const SegmentSymbols tokens = symbols(views, sentences);
    require(begins.size() == lengths.size(), "there must be one length per segment");
    for (std::size_t i = 0, s = 0; i < begins.size(); ++i) {
      require(lengths(i) >= 1 && begins(i) >= (i ? begins(i - 1) : 0), "segments must be sorted by token");
      while (s + 1 < sentences.size() && begins(i) >= sentences(s + 1)) ++s;
      require(s + 1 < sentences.size() && begins(i) + lengths(i) <= sentences(s + 1), "a segment exceeds its sentence");
    }
    return without_gil([&] { return core->learn(tokens, begins, lengths); });
  }
  TokenLists extract(const std::vector<Ints>& views, const Longs& sentences, std::size_t longest, std::size_t n_threads) const {
    const SegmentSymbols tokens = symbols(views, sentences);
    require(longest >= 1 && longest <= kLongest, "the longest segment must have from 1 to 1024 tokens");
    return without_gil([&] { return core->extract(tokens, longest, n_threads); });
  }
  SegmentVocabulary::Nodes renumbered(const Ints& rank) const {
    require(rank.size() == static_cast<std::size_t>(core->n_attributes()), "there must be one number per attribute");
    return core->nodes(rank);
  }
};

}  // namespace

void bind_segments(nb::module_& module) {
  bind_class<PySegmentRules>(module, "SegmentRules", "What segments may be: their labels and lengths, and which follow which.");
  module.def("segment_paths", &segment_paths, "chains"_a, "k"_a, "n_threads"_a);
  module.def("segment_marginals", &segment_marginals, "chains"_a, "temperature"_a, "reach"_a, "spans"_a, "n_threads"_a);
  bind_class<PySegmentVocabulary>(module, "SegmentVocabulary", "Attributes of whole segments by their templates.")
      .def_prop_ro("n_attributes", [](const PySegmentVocabulary& self) { return self.core->n_attributes(); })
      .def("add_entry", guarded(&PySegmentVocabulary::add_entry), "look"_a, "text"_a, "A text of a list, by its symbols.")
      .def("learn", guarded(&PySegmentVocabulary::learn), "views"_a, "starts"_a, "begins"_a, "lengths"_a,
           "Number the attributes of some segments: a list for each.")
      .def("extract", guarded(&PySegmentVocabulary::extract), "views"_a, "starts"_a, "longest"_a, "n_threads"_a,
           "The known attributes of all segments: site t * longest + length - 1.")
      .def("nodes", guarded(&PySegmentVocabulary::renumbered), "rank"_a,
           "The tree with attributes renumbered: parents, symbols, attributes.");
}
