// Encoded corpora, decoding them, and the learners that train on them.
#include <cmath>

#include "data.hpp"
#include "growing.hpp"
#include "learn/online.hpp"
#include "rule.hpp"
#include "text/table.hpp"
#include "papers/voting.hpp"
#include "weights/seen_ngrams.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

using LogState = std::tuple<Array<std::int64_t, 1>, Array<std::int64_t, 1>, Array<std::uint32_t, 1>,
                            Array<std::uint32_t, 1>, Array<float, 1>>;

std::pair<std::int64_t, std::int64_t> epoch(Online& self, const Encoded& corpus, const Array<std::int32_t, 1>& gold,
                                            const Array<std::int64_t, 1>& order, const std::optional<SetArrays>& partial,
                                            const std::optional<Array<double, 1>>& weights,
                                            const std::optional<Array<float, 2>>& costs, std::size_t batch,
                                            std::size_t n_threads) {
  const std::size_t n = corpus.n_tokens();
  require(batch >= 1, "batch must be positive");
  if (self.n_labels != corpus.n_labels || self.rows.n_attributes() != corpus.n_attributes ||
      self.edge_rows.n_attributes() != corpus.n_edge_attributes || (corpus.data.histories && !self.ngrams))
    throw nb::value_error("a corpus encoded for another model");
  require(corpus.kinds.empty() || (self.beam >= 1 && !partial), "labels further back need a beam and known labels");
  check_gold(gold, n, self.n_labels, partial.has_value());
  check_order(order, corpus.n_sentences());
  check_weights(weights, corpus.n_sentences());
  check_costs(costs, self.n_labels);
  Examples examples{corpus.data, corpus.starts.data(), gold.data()};
  if (partial) examples.partial = sets_from(*partial, self.n_labels, n);
  if (weights) examples.weights = weights->data();
  if (costs) examples.costs = costs->data();
  const EpochResult result =
      interruptible([&](const auto& go_on) { return self.epoch(examples, order.data(), order.size(), batch, n_threads, go_on); });
  return {result.mistakes, result.updates};
}

auto log_state(const UpdateLog& log) {
  return std::make_tuple(to_numpy(log.clocks), to_numpy(log.starts), to_numpy(log.rows), to_numpy(log.places),
                         to_numpy(log.changes));
}
// All that is needed to go on as if nothing had happened.
auto state_of(const Online& self) {
  return std::make_tuple(self.clock, row_state(self.rows), row_state(self.edge_rows),
                         table_state(self.edge), table_state(self.tri), log_state(self.steps.log),
                         ngram_state(self));
}
void check_log(const Array<std::int64_t, 1>& starts, const Array<std::uint32_t, 1>& rows,
               const Array<std::uint32_t, 1>& places, const Array<float, 1>& changes, std::size_t n_attributes,
               std::size_t n_edge_attributes, std::size_t n_labels, std::size_t n_longer) {
  check_starts(starts, rows.size());
  const std::size_t n = rows.size(), pair_row = n_attributes + n_edge_attributes;
  require(places.size() == n && changes.size() == n, "updates that do not fit together");
  const std::size_t pairs = (n_labels + 1) * padded(n_labels);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t end = rows(i) < n_attributes    ? n_labels
                            : rows(i) <= pair_row     ? pairs
                            : rows(i) == pair_row + 1 ? n_longer
                                                      : 0;
    if (places(i) >= end) throw nb::value_error("an update of a weight that there is not");
  }
  for (std::size_t u = 0; u + 1 < starts.size(); ++u)
    for (std::int64_t i = starts(u) + 1; i < starts(u + 1); ++i)
      if (rows(i) < rows(i - 1)) throw nb::value_error("an update whose rows do not rise");
}
void restore(Online& self, std::int64_t clock, const RowState& rows, const RowState& edge_rows, const TableState& edge,
             const TableState& tri, const LogState& log, const NgramArrays& ngrams) {
  const auto& [clocks, starts, log_rows, places, changes] = log;
  restore_ngrams(self, ngrams, tri);
  check_log(starts, log_rows, places, changes, self.rows.n_attributes(), self.edge_rows.n_attributes(), self.n_labels,
            self.tri.weights.size());
  if (clocks.size() + 1 != starts.size()) throw nb::value_error("updates that do not fit together");
  restore_rows(self.rows, rows);
  restore_table(self.edge, edge);
  restore_rows(self.edge_rows, edge_rows, self.ngrams ? &*self.ngrams : nullptr);
  self.clock = clock;
  UpdateLog& to = self.steps.log;
  to.clocks.assign(clocks.data(), clocks.data() + clocks.size());
  to.starts.assign(starts.data(), starts.data() + starts.size());
  to.rows.assign(log_rows.data(), log_rows.data() + log_rows.size());
  to.places.assign(places.data(), places.data() + places.size());
  to.changes.assign(changes.data(), changes.data() + changes.size());
}

// Every weight that is not zero becomes the first update, for voting after a warm start.
void log_initial(Online& self) {
  UpdateLog& log = self.steps.log;
  self.each_weight([&](std::uint32_t row, std::uint32_t place) {
    const float weight = *self.find(row, place).weight;
    if (weight != 0 && !std::isinf(weight)) log.add(row, place, weight);
  });
  log.end_update(0);
}

// The updates of a voted perceptron, checked; keeps the arrays it points into.
struct PyVotes {
  Array<std::int64_t, 1> counts, starts;
  Array<std::uint32_t, 1> rows, places;
  Array<float, 1> changes;
  std::size_t n_labels;
  std::shared_ptr<PyNgrams> ngrams;  // or null
  Votes votes;

  PyVotes(Array<std::int64_t, 1> counts_, Array<std::int64_t, 1> starts_, Array<std::uint32_t, 1> rows_,
          Array<std::uint32_t, 1> places_, Array<float, 1> changes_, std::size_t n_attributes,
          std::size_t n_edge_attributes, std::size_t n_labels_, int order, std::shared_ptr<PyNgrams> ngrams_)
      : counts(std::move(counts_)), starts(std::move(starts_)), rows(std::move(rows_)), places(std::move(places_)),
        changes(std::move(changes_)), n_labels(n_labels_), ngrams(std::move(ngrams_)) {
    require(!ngrams || ngrams->ngrams.n_labels() == n_labels, "n-grams for other labels");
    const std::size_t n_triples = order == 2 ? (n_labels + 1) * (n_labels + 1) * padded(n_labels) : 0;
    check_log(starts, rows, places, changes, n_attributes, n_edge_attributes, n_labels,
              ngrams ? ngrams->ngrams.size() : n_triples);
    if (counts.size() != starts.size()) throw nb::value_error("votes need one count a moment");
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts(i) < 0) throw nb::value_error("a negative number of votes");
    check_finite(changes, "a change that is not a finite number");
    make_read_only(std::tie(counts, starts, rows, places));
    votes = {starts.size() - 1, counts.data(), starts.data(), rows.data(), places.data(), changes.data(),
             n_attributes, n_edge_attributes, order, ngrams ? &ngrams->ngrams : nullptr};
  }

  Numpy<std::int32_t> decode(const Encoded& corpus, const Array<float, 2>& edge, const std::optional<Array<float, 1>>& end,
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

Encoded::Encoded(Array<std::int64_t, 1> starts_, ListArrays lists_, std::optional<ListArrays> edge_lists_,
                 std::optional<SetArrays> sets_, std::size_t n_attributes_, std::size_t n_edge_attributes_,
                 std::size_t n_labels_, std::optional<Array<std::uint8_t, 1>> histories_, std::optional<SegmentArrays> segments_,
                 std::optional<Array<std::int32_t, 1>> same_)
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
    const auto& [rules, of_segments, first] = *segments;
    require(rules && rules->core.n_labels == n_labels && first <= n_attributes && !histories && !sets, "segments of another model");
    check_numbers(std::get<1>(of_segments), n_attributes, "no such attribute of segments", static_cast<std::int32_t>(first));
    segment_sites = {&rules->core, lists_from(of_segments, n_attributes, n_tokens() * rules->core.longest), first};
    make_read_only(of_segments);
    data.segments = &segment_sites;
  }
  if (sets) data.sets = sets_from(*sets, n_labels, n_tokens(), &starts);
}

namespace {

std::tuple<Numpy<std::uint32_t>, Numpy<std::uint16_t>, Numpy<double>> seen_ngrams(
    std::size_t n_labels, std::size_t order, const Array<std::int32_t, 1>& gold, const Array<std::int64_t, 1>& starts,
    bool null, const std::optional<Array<double, 1>>& weights, const std::optional<NgramArrays>& first) {
  check_labels(n_labels);
  check_gold(gold, check_sentences(starts), n_labels, true);
  check_weights(weights, starts.size() - 1);
  Ngrams ngrams(n_labels, order);
  if (first) make_ngrams(*first, ngrams);
  std::vector<double> counts =
      add_seen(ngrams, gold.data(), starts.data(), starts.size() - 1, null, weights ? weights->data() : nullptr);
  auto [parents, labels] = ngram_arrays(ngrams);
  return {parents, labels, to_numpy(std::move(counts))};
}

std::pair<NgramsOut, Numpy<std::uint32_t>> needed_ngrams(std::size_t n_labels, std::size_t order, const NgramArrays& given,
                                                         const Array<float, 1>& weights,
                                                         const Array<std::uint32_t, 1>& columns) {
  const PyNgrams checked(n_labels, order, given, weights);
  const std::size_t n_pairs = (n_labels + 1) * padded(n_labels);
  require(all_below(span(columns), n_pairs + checked.ngrams.size()), "a row has a label out of range");
  std::vector<std::uint32_t> numbered(columns.data(), columns.data() + columns.size());
  auto ngrams = ngrams_out(checked.ngrams, checked.scores, n_pairs, numbered);
  return {std::move(ngrams), to_numpy(std::move(numbered))};
}

// Of every token the run of labels that ends in it, `history` labels before its own, as columns of edge rows: a cell of
// label pairs, or after those an n-gram; -1 where some of these labels are not known or there is no such n-gram.
Numpy<std::int32_t> label_runs(std::size_t n_labels, std::size_t order, const NgramArrays& given, const Array<std::int32_t, 1>& gold,
                               const Array<std::int64_t, 1>& starts, std::size_t history) {
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

void bind_learners(nb::module_& module) {
  nb::class_<Weights>(module, "Weights", "The weights of a chain, checked; local: labels are normalised one by one.")
      .def(nb::init<RowArrays<std::uint16_t>, std::optional<RowArrays<std::uint32_t>>, Array<float, 2>,
                    std::optional<Array<float, 3>>, std::optional<Array<float, 1>>, const std::optional<PartArrays>&,
                    std::shared_ptr<PyNgrams>, bool>(),
           nb::kw_only(), "rows"_array, "edge_rows"_array.none(), "edge"_array, "tri"_array.none(), "end"_array.none(),
           "parts"_array.none() = nb::none(), "ngrams"_a.none() = nb::none(), "local"_a = false);
  nb::class_<PyNgrams>(module, "Ngrams", "Label n-grams of three labels and more with their weights, checked.")
      .def(nb::init<std::size_t, std::size_t, const NgramArrays&, const Array<float, 1>&, std::size_t>(), "n_labels"_a,
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
      .def(nb::init<Array<std::int64_t, 1>, ListArrays, std::optional<ListArrays>, std::optional<SetArrays>, std::size_t,
                    std::size_t, std::size_t, std::optional<Array<std::uint8_t, 1>>, std::optional<SegmentArrays>,
                    std::optional<Array<std::int32_t, 1>>>(),
           "starts"_array, "lists"_array, "edge_lists"_array.none(), "sets"_array.none(), "n_attributes"_a,
           "n_edge_attributes"_a, "n_labels"_a, "histories"_array.none() = nb::none(), "segments"_array.none() = nb::none(),
           "same"_array.none() = nb::none())
      .def_ro("starts", &Encoded::starts, "Where sentences begin, and the end of the last.")
      .def_ro("n_attributes", &Encoded::n_attributes)
      .def_ro("n_labels", &Encoded::n_labels)
      .def_ro("n_edge_attributes", &Encoded::n_edge_attributes)
      .def_ro("lists", &Encoded::lists, "starts, ids, values (empty: all one) of the attributes of every token.")
      .def_ro("edge_lists", &Encoded::edge_lists, "The same of edge attributes, or None.")
      .def_ro("histories", &Encoded::histories, "About how many labels before each edge attribute is, or which one further\n"
              "back (core/engine/beam.hpp); None: one, all.")
      .def_prop_ro("has_runs", [](const Encoded& self) { return self.data.histories != nullptr; },
                   "Whether some are about more than one label.")
      .def_prop_ro("has_far", [](const Encoded& self) { return !self.kinds.empty(); },
                   "Whether some are about labels further back.")
      .def_prop_ro("segment_lists", [](const Encoded& self) {
        return self.segments ? std::optional(std::get<1>(*self.segments)) : std::nullopt;
      }, "The attributes of segments, or None.")
      .def_ro("sets", &Encoded::sets, "The label set of each token, set starts, set labels; or None.");
  nb::class_<Online>(module, "Online", "Weights of a chain while a learner by epochs changes them.")
      .def("__init__", [](Online* self, std::size_t n_attributes, std::size_t n_edge_attributes, std::size_t n_labels,
                          int order, bool sparse, const std::string& rule, std::size_t k, double c, bool log,
                          const std::optional<PartArrays>& parts) {
        check_labels(n_labels);
        check_chain_order(order, sparse);
        new (self) Online(n_attributes, n_edge_attributes, n_labels, order, sparse, rule_from(rule, k, c), log,
                          parts_from(parts, n_labels));
      }, "n_attributes"_a, "n_edge_attributes"_a, "n_labels"_a, "order"_array, "sparse"_a, "rule"_a, "k"_array, "c"_a,
           "log"_a, "parts"_array.none() = nb::none())
      .def("set_rows", guarded(+[](Online& self, const RowArrays<std::uint32_t>& rows, bool grows) {
        set_rows(self.rows, rows, grows);
      }), "rows"_array, "grows"_a, "Begin with these rows; unless they grow, attributes get no other labels.")
      .def("set_edge_rows", guarded(+[](Online& self, const RowArrays<std::uint32_t>& rows) {
        set_rows(self.edge_rows, rows, true, self.ngrams ? &*self.ngrams : nullptr);
      }), "rows"_array)
      .def("set_labels", guarded(+[](Online& self, const Array<float, 1>& edge, const Array<float, 1>& tri,
                            const Array<float, 1>& end) {
        copy_to(self.tri.weights, tri);
        set_labels(self, edge, end);
      }), "edge"_array, "tri"_array, "end"_array, "Begin with these weights of label pairs, triples and last labels (or none).")
      .def("set_beam", guarded(+[](Online& self, std::size_t beam, const std::string& update) {
        self.beam = self.ngram_scores.beam = beam;
        self.update = update == "early" ? Update::kEarly : update == "standard" ? Update::kStandard : Update::kMaxViolation;
      }), "beam"_a, "update"_a, "Best paths are looked for among so many states per token; 0: all.")
      .def("set_ngrams", guarded(+[](Online& self, const NgramArrays& given, const Array<float, 1>& weights) {
        require(self.ngrams && self.ngrams->size() == self.n_labels + 2, "n-grams for another training");
        make_ngrams(given, *self.ngrams);
        self.ngrams_grown();
        require(weights.size() == std::get<0>(given).size(), "n-grams need one weight each");
        std::copy_n(weights.data(), weights.size(), self.tri.weights.data() + self.n_labels + 2);
        self.ngrams_given();
      }), "ngrams"_array, "weights"_array, "Begin with these n-grams of two labels and more: parents and last labels; weights.")
      .def("log_initial", guarded(&log_initial), "The weights it begins with are the first update in the log.")
      .def("epoch", guarded(&epoch), "corpus"_a, "gold"_array, "order"_array, "partial"_array.none(), "weights"_array.none(), "costs"_array.none(),
           "batch"_a = 1, "n_threads"_a = 1,
           "One epoch over the sentences in that order: (tokens mistaken, sentences that made a step).")
      .def("weights", guarded(+[](const Online& self, bool average) {
        return weights_of(self, {average, static_cast<double>(self.clock)}, self.steps.logs());
      }), "average"_a, "(rows, edge rows, edge, tri, n-grams): the last weights or their averages; with a log all n-grams are kept.")
      .def_prop_ro("clock", [](const Online& self) { return self.clock; }, "Examples seen.")
      .def("log", guarded(+[](const Online& self) { return log_state(self.steps.log); }), "(clocks, starts, rows, places, changes).")
      .def("state", guarded(&state_of), "(clock, rows, edge rows, edge, tri, log, n-grams).")
      .def("restore", guarded(&restore), "clock"_a, "rows"_array, "edge_rows"_array, "edge"_array, "tri"_array, "log"_a, "ngrams"_array,
           "Go on from that state; self must be as it was made.");
  nb::class_<PyVotes>(module, "Votes", "The updates of a voted perceptron, ready to be replayed.")
      .def(nb::init<Array<std::int64_t, 1>, Array<std::int64_t, 1>, Array<std::uint32_t, 1>, Array<std::uint32_t, 1>,
                    Array<float, 1>, std::size_t, std::size_t, std::size_t, int, std::shared_ptr<PyNgrams>>(),
           "counts"_array, "starts"_array, "rows"_array, "places"_array, "changes"_array, "n_attributes"_a, "n_edge_attributes"_a,
           "n_labels"_a, "order"_array, "ngrams"_a.none() = nb::none())
      .def("decode", &PyVotes::decode, "corpus"_a, "edge"_array, "end"_array.none(), "n_threads"_a,
           "The path with the most votes of every sentence, one label a token.");
}
