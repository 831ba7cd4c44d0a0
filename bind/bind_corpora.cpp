// Weights and label n-grams of chains, encoded corpora, votes.
#include "data.hpp"
#include "growing.hpp"
#include "text/table.hpp"
#include "papers/voting.hpp"
#include "weights/seen_ngrams.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

// The updates of a voted perceptron, checked; keeps the arrays it points into.
struct VoteArrays {
  Longs counts, starts;
  UInts rows, places;
  Floats changes;
  FIELDS(counts, starts, rows, places, changes)
};
struct PyVotes {
  VoteArrays arrays;
  std::size_t n_labels;
  std::shared_ptr<PyNgrams> ngrams;  // or null
  Votes votes;

  PyVotes(VoteArrays arrays_, std::size_t n_attributes, std::size_t n_edge_attributes, std::size_t n_labels_, int order,
          std::shared_ptr<PyNgrams> ngrams_)
      : arrays(std::move(arrays_)), n_labels(n_labels_), ngrams(std::move(ngrams_)) {
    const auto& [counts, starts, rows, places, changes] = arrays;
    require(!ngrams || ngrams->ngrams.n_labels() == n_labels, "n-grams for other labels");
    const std::size_t n_triples = order == 2 ? (n_labels + 1) * (n_labels + 1) * padded(n_labels) : 0;
    const std::size_t pairs = (n_labels + 1) * padded(n_labels), pair_row = n_attributes + n_edge_attributes;
    check_updates(span(starts), span(rows), span(places), changes.size(), [&](std::uint32_t row, std::uint32_t place) {
      const std::size_t n_longer = ngrams ? ngrams->ngrams.size() : n_triples;
      return place < (row < n_attributes ? n_labels : row <= pair_row ? pairs : row == pair_row + 1 ? n_longer : 0);
    });
    if (counts.size() != starts.size()) throw nb::value_error("votes need one count a moment");
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts(i) < 0) throw nb::value_error("a negative number of votes");
    check_finite(changes, "a change that is not a finite number");
    make_read_only(arrays);
    votes = {starts.size() - 1, counts.data(), starts.data(), rows.data(), places.data(), changes.data(),
             n_attributes, n_edge_attributes, order, ngrams ? &ngrams->ngrams : nullptr};
  }

  Numpy<std::int32_t> decode(const Encoded& corpus, const Array<float, 2>& edge, const std::optional<Floats>& end,
                             std::size_t n_threads) const {
    LabelWeights labels = label_weights_from(edge, std::nullopt, std::nullopt);
    check_end(end, labels.n_labels);
    labels.end = end ? end->data() : nullptr;
    if (labels.n_labels != n_labels || corpus.n_labels != n_labels || corpus.n_attributes != votes.n_attributes ||
        corpus.n_edge_attributes != votes.n_edge_attributes)
      throw nb::value_error("votes of another model than the corpus was encoded for");
    std::vector<std::int32_t> paths(corpus.n_tokens());
    without_gil([&] {
      vote_all(votes, labels, corpus.data, corpus.starts.data(), corpus.n_sentences(), n_threads, paths.data());
    });
    return to_numpy(std::move(paths));
  }
};

// The numbers 0 .. n-1 in an order that depends on the seed alone: Fisher and Yates with SplitMix64.
Numpy<std::int64_t> shuffled(std::size_t n, std::uint64_t seed) {
  std::vector<std::int64_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::int64_t>(i);
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[mix(seed += 0x9e3779b97f4a7c15ULL) % i]);
  return to_numpy(std::move(order));
}

}  // namespace

Encoded::Encoded(Longs starts_, Kept<ListArrays> lists_, std::optional<Kept<ListArrays>> edge_lists_,
                 std::optional<Kept<SetArrays>> sets_, std::size_t n_attributes_, std::size_t n_edge_attributes_,
                 std::size_t n_labels_, std::optional<Bytes> histories_, std::optional<Kept<SegmentArrays>> segments_,
                 std::optional<Ints> same_)
    : starts(std::move(starts_)), lists(std::move(lists_)), edge_lists(std::move(edge_lists_)), sets(std::move(sets_)),
      histories(std::move(histories_)), segments(std::move(segments_)), same(std::move(same_)), n_attributes(n_attributes_),
      n_edge_attributes(n_edge_attributes_), n_labels(n_labels_) {
  check_labels(n_labels);
  check_sentences(starts);
  data.attributes = lists_from(lists, n_attributes, n_tokens());
  if (edge_lists) data.edge_attributes = lists_from(*edge_lists, n_edge_attributes, n_tokens());
  if (histories) {
    require(edge_lists && histories->size() == n_edge_attributes, "histories: one number per edge attribute");
    for (std::uint8_t n : span(*histories)) require(n >= 1, "histories: from one label on");
    const auto is_run = [](std::uint8_t n) { return n > 1 && n < kFar; };
    if (std::ranges::any_of(span(*histories), is_run)) data.histories = histories->data();
    data.has_pairs = std::ranges::count(span(*histories), 1) > 0;
    kinds = far_kinds(span(*histories));
  }
  if (same) check_same(*same, starts);
  if (!kinds.empty()) {
    require(kinds.back() != kSame || same, "same: needed by an attribute");
    near_lists = SplitLists(*edge_lists, histories->data(), false);
    far_lists = SplitLists(*edge_lists, histories->data(), true);
    data.edge_attributes = near_lists.empty() ? Sites{} : near_lists.sites();
    data.far = {far_lists.sites(), histories->data(), kinds, same ? same->data() : nullptr};
  }
  make_read_only(std::tie(starts, lists, edge_lists, sets, histories, same));
  if (segments) {
    const auto& [rules, of_segments, first] = static_cast<const SegmentArrays&>(*segments);
    require(rules && rules->core.n_labels == n_labels && first <= n_attributes && !histories && !sets, "segments of another model");
    check_numbers(of_segments.ids, n_attributes, "no such attribute of segments", static_cast<std::int32_t>(first));
    segment_sites = {&rules->core, lists_from(of_segments, n_attributes, n_tokens() * rules->core.longest), first};
    make_read_only(of_segments);
    data.segments = &segment_sites;
  }
  if (sets) data.sets = sets_from(*sets, n_labels, n_tokens(), &starts);
}

namespace {

struct CountedNgrams {
  std::vector<std::uint32_t> parents;
  std::vector<std::uint16_t> labels;
  std::vector<double> counts;  // of all n-grams, those of no label and of one first
  FIELDS(parents, labels, counts)
};
CountedNgrams seen_ngrams(std::size_t n_labels, std::size_t order, const Ints& gold, const Longs& starts,
    bool null, const std::optional<Doubles>& weights, const std::optional<NgramArrays>& first) {
  check_labels(n_labels);
  check_gold(gold, check_sentences(starts), n_labels, true);
  check_weights(weights, starts.size() - 1);
  Ngrams ngrams(n_labels, order);
  if (first) make_ngrams(*first, ngrams);
  std::vector<double> counts =
      add_seen(ngrams, gold.data(), starts.data(), starts.size() - 1, null, weights ? weights->data() : nullptr);
  auto [parents, labels] = ngram_state(ngrams);
  return {std::move(parents), std::move(labels), std::move(counts)};
}

std::pair<NgramsOut, Numpy<std::uint32_t>> needed_ngrams(std::size_t n_labels, std::size_t order, const NgramArrays& given,
                                                         const Floats& weights,
                                                         const UInts& columns) {
  const PyNgrams checked(n_labels, order, given, weights);
  const std::size_t n_pairs = (n_labels + 1) * padded(n_labels);
  require(all_below(span(columns), n_pairs + checked.ngrams.size()), "a row has a label out of range");
  std::vector<std::uint32_t> numbered(columns.data(), columns.data() + columns.size());
  auto ngrams = ngrams_out(checked.ngrams, checked.scores, n_pairs, numbered);
  return {std::move(ngrams), to_numpy(std::move(numbered))};
}

// Of every token the run of labels that ends in it, `history` labels before its own, as columns of edge rows: a cell of
// label pairs, or after those an n-gram; -1 where some of these labels are not known or there is no such n-gram.
Numpy<std::int32_t> label_runs(std::size_t n_labels, std::size_t order, const NgramArrays& given, const Ints& gold,
                               const Longs& starts, std::size_t history) {
  check_labels(n_labels);
  check_gold(gold, check_sentences(starts), n_labels, true);
  require(history >= 1 && history <= order, "a history longer than the order");
  Ngrams ngrams(n_labels, order);
  make_ngrams(given, ngrams);
  const std::size_t stride = padded(n_labels), n_pairs = (n_labels + 1) * stride;
  std::vector<std::int32_t> columns(gold.size(), -1);
  for (std::size_t s = 0; s + 1 < starts.size(); ++s)
    for (std::int64_t t = starts(s); t < starts(s + 1); ++t) {
      std::int64_t first = t - static_cast<std::int64_t>(history);  // NULL before the sentence
      std::uint32_t node = first < starts(s) ? ngrams.null() : Ngrams::kRoot;
      bool known = true;
      for (first = std::max(first, starts(s)); first <= t && known; ++first) {
        known = gold(first) >= 0;
        if (known) node = ngrams.find(node, static_cast<std::size_t>(gold(first))), known = node != Ngrams::kNone;
      }
      if (!known) continue;
      const std::size_t pair = ngrams.label(ngrams.parent(node)) * stride + ngrams.label(node);
      columns[static_cast<std::size_t>(t)] = static_cast<std::int32_t>(ngrams.length(node) < kScored ? pair : n_pairs + node);
    }
  return to_numpy(std::move(columns));
}

}  // namespace

void Encoded::check_fits(const Weights& weights) const {
  require(weights.labels.n_labels == n_labels && weights.n_attributes == n_attributes &&
              (!edge_lists || weights.n_edge_attributes == n_edge_attributes) &&
              (data.histories ? weights.ngrams != nullptr : !weights.has_runs),
          "weights of another model than the corpus was encoded for");
}

void bind_corpora(nb::module_& module) {
  nb::class_<Weights>(module, "Weights", "The weights of a chain, checked; local: labels are normalised one by one.")
      .def(nb::init<RowArrays<std::uint16_t>, std::optional<RowArrays<std::uint32_t>>, Array<float, 2>,
                    std::optional<Array<float, 3>>, std::optional<Floats>, const std::optional<PartArrays>&,
                    std::shared_ptr<PyNgrams>, bool>(),
           nb::kw_only(), "rows"_array, "edge_rows"_array.none(), "edge"_array, "tri"_array.none(), "end"_array.none(),
           "parts"_array.none() = nb::none(), "ngrams"_a.none() = nb::none(), "local"_a = false);
  nb::class_<PyNgrams>(module, "Ngrams", "Label n-grams of three labels and more with their weights, checked.")
      .def(nb::init<std::size_t, std::size_t, const NgramArrays&, const Floats&, std::size_t>(), "n_labels"_a,
           "order"_a, "ngrams"_array, "weights"_array, "beam"_a = 0);
  module.def("seen_ngrams", &seen_ngrams, "n_labels"_a, "order"_a, "gold"_array, "starts"_array, nb::kw_only(), "null"_a,
             "weights"_array.none(), "first"_array.none(),
             "Parents, last labels and counts of the label n-grams of training, after those given first.");
  module.def("needed_ngrams", &needed_ngrams, "n_labels"_a, "order"_a, "ngrams"_array, "weights"_array, "columns"_array,
             "Those n-grams that have a weight or are columns of edge rows, with all that are part of one: parents, last\n"
             "labels, weights; and the columns by their new numbers.");
  module.def("label_runs", &label_runs, "n_labels"_a, "order"_a, "ngrams"_array, "gold"_array, "starts"_array, "history"_a,
             "The run of labels that ends in each token, as a column of edge rows; -1 where there is none.");
  module.def("shuffled", &shuffled, "n"_a, "seed"_a, "0 .. n-1 shuffled, the same for the same seed everywhere.");
  nb::class_<Encoded>(module, "Encoded", "A corpus as attribute numbers, checked once.")
      .def(nb::init<Longs, Kept<ListArrays>, std::optional<Kept<ListArrays>>, std::optional<Kept<SetArrays>>, std::size_t,
                    std::size_t, std::size_t, std::optional<Bytes>, std::optional<Kept<SegmentArrays>>,
                    std::optional<Ints>>(),
           "starts"_array, "lists"_array, "edge_lists"_array.none(), "sets"_array.none(), "n_attributes"_a,
           "n_edge_attributes"_a, "n_labels"_a, "histories"_array.none() = nb::none(), "segments"_array.none() = nb::none(),
           "same"_array.none() = nb::none())
      .def_ro("starts", &Encoded::starts, "Where sentences begin, and the end of the last.")
      .def_ro("n_attributes", &Encoded::n_attributes)
      .def_ro("n_labels", &Encoded::n_labels)
      .def_ro("n_edge_attributes", &Encoded::n_edge_attributes)
      .def_ro("lists", &Encoded::lists, "The attributes of every token.")
      .def_ro("edge_lists", &Encoded::edge_lists, "The same of edge attributes, or None.")
      .def_ro("histories", &Encoded::histories, "About how many labels before each edge attribute is, or which one further\n"
              "back (core/engine/beam.hpp); None: one, all.")
      .def_prop_ro("has_runs", [](const Encoded& self) { return self.data.histories != nullptr; },
                   "Whether some are about more than one label.")
      .def_prop_ro("has_far", [](const Encoded& self) { return !self.kinds.empty(); },
                   "Whether some are about labels further back.")
      .def_ro("segments", &Encoded::segments, "Rules, lists of attributes and their first number; or None.")
      .def_ro("sets", &Encoded::sets, "The label set of each token; or None.");
  nb::class_<PyVotes>(module, "Votes", "The updates of a voted perceptron, ready to be replayed.")
      .def(nb::init<VoteArrays, std::size_t, std::size_t, std::size_t, int, std::shared_ptr<PyNgrams>>(),
           "votes"_a, "n_attributes"_a, "n_edge_attributes"_a,
           "n_labels"_a, "order"_array, "ngrams"_a.none() = nb::none())
      .def("decode", &PyVotes::decode, "corpus"_a, "edge"_array, "end"_array.none(), "n_threads"_a,
           "The path with the most votes of every sentence, one label a token.");
}
