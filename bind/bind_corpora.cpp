// Weights and label n-grams of chains, encoded corpora, votes.
#include <numeric>

#include "data.hpp"
#include "growing.hpp"
#include "text/table.hpp"
#include "papers/voting.hpp"
#include "weights/seen_ngrams.hpp"

using namespace trellis;

namespace {

// The updates of a voted perceptron, validated; keeps its arrays alive.
struct PyVotes {
  Longs counts, starts;
  UInts rows, places;
  Floats changes;
  std::shared_ptr<Weights> weights;
  int order;
  ARGUMENTS(counts, starts, rows, places, changes, weights, order)
  Votes core;

  void begin() {
    const Ngrams* const ngrams = weights->ngrams ? &weights->ngrams->ngrams : nullptr;
    const std::size_t L = weights->n_labels(), pairs = (L + 1) * padded(L);
    const std::size_t n = weights->n_attributes, pair_row = n + weights->n_edge_attributes;
    const std::size_t n_longer = ngrams ? ngrams->size() : order == 2 ? (L + 1) * pairs : 0;
    check_updates(starts, rows, places, changes.size(), [&](std::uint32_t row, std::uint32_t place) {
      return place < (row < n ? L : row <= pair_row ? pairs : row == pair_row + 1 ? n_longer : 0);
    });
    require(counts.size() == starts.size(), "votes must have one count per update");
    for (std::int64_t count : counts) require(count >= 0, "negative number of votes");
    check_finite(changes, "changes must be finite numbers");
    core = {starts.size() - 1, counts.data(), starts.data(), rows.data(), places.data(), changes.data(),
            n, weights->n_edge_attributes, order, ngrams};
  }

  std::vector<std::int32_t> decode(const Encoded& corpus, std::size_t n_threads) const {
    corpus.check_fits(*weights);
    return filled<std::int32_t>(corpus.n_tokens(), [&](std::int32_t* paths) {
      vote_all(core, weights->core.labels, corpus.data, corpus.starts.data(), corpus.n_sentences(), n_threads, paths);
    });
  }
};

// A permutation of 0 .. n-1 that depends on the seed alone: Fisher-Yates shuffle with SplitMix64.
std::vector<std::int64_t> shuffled(std::size_t n, std::uint64_t seed) {
  std::vector<std::int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[mix(seed += 0x9e3779b97f4a7c15ULL) % i]);
  return order;
}

}  // namespace

void Encoded::begin() {
  check_labels(n_labels);
  check_sentences(starts);
  if (disk) spill = std::make_unique<Spill>(nb::cast<std::string>(disk->attr("folder"))), data.spill = spill.get();
  const auto give_back = [&] {
    if (disk) disk->attr("give_back")();
  };
  data.attributes = lists_from(lists, n_attributes, n_tokens(), give_back);
  if (edge_lists) data.edge_attributes = lists_from(*edge_lists, n_edge_attributes, n_tokens(), give_back);
  if (histories) {
    require(edge_lists && histories->size() == n_edge_attributes, "histories must have one number per edge attribute");
    for (std::uint8_t n : *histories) require(n >= 1, "histories must be at least 1");
    const auto is_run = [](std::uint8_t n) { return n > 1 && n < kFar; };
    if (std::ranges::any_of(*histories, is_run)) data.histories = histories->data();
    data.has_pairs = std::ranges::count(*histories, 1) > 0;
    kinds = far_kinds(*histories);
  }
  if (same) check_same(*same, starts);
  if (!kinds.empty()) {
    require(kinds.back() != kSame || same, "same is required by an attribute");
    near_lists = some_of(*edge_lists, *histories, false);
    far_lists = some_of(*edge_lists, *histories, true);
    data.edge_attributes = near_lists.ids.empty() ? Sites{} : sites_of(near_lists);
    data.far = {sites_of(far_lists), histories->data(), kinds, data_of(same)};
  }
  if (segments) {
    const auto& [rules, of_segments, first] = static_cast<const SegmentArrays&>(*segments);
    require(rules->core.n_labels == n_labels && first <= n_attributes && !histories && !sets, "the segments belong to another model");
    check_numbers(of_segments.ids, n_attributes, "segment attribute out of range", static_cast<std::int32_t>(first));
    segment_sites = {&rules->core, lists_from(of_segments, n_attributes, n_tokens() * rules->core.longest), first};
    data.segments = &segment_sites;
  }
  if (sets) data.sets = sets_from(*sets, n_labels, n_tokens(), &starts);
}

namespace {

// The label n-grams of training, after those given first, and the counts of all, starting with those of no label and of one.
std::pair<NgramState, std::vector<double>> seen_ngrams(std::size_t n_labels, std::size_t order, const Ints& gold,
                                                       const Longs& starts, bool null, const std::optional<Doubles>& weights,
                                                       const std::optional<NgramArrays>& first) {
  check_labels(n_labels);
  check_gold(gold, check_sentences(starts), n_labels, true);
  check_weights(weights, starts.size() - 1);
  Ngrams ngrams(n_labels, order);
  if (first) make_ngrams(first->parents, first->labels, ngrams);
  std::vector<double> counts = add_seen(ngrams, gold.data(), starts.data(), starts.size() - 1, null, data_of(weights));
  return {ngram_state(ngrams), std::move(counts)};
}

std::pair<NgramsOut, std::vector<std::uint32_t>> needed_ngrams(std::size_t n_labels, std::size_t order, const NgramArrays& arrays,
                                                               const Floats& weights, std::vector<std::uint32_t> columns) {
  const PyNgrams checked(n_labels, order, arrays, weights);
  const std::size_t n_pairs = (n_labels + 1) * padded(n_labels);
  require(all_below(columns, n_pairs + checked.ngrams.size()), "label out of range in a row");
  auto ngrams = ngrams_out(checked.ngrams, checked.scores, n_pairs, columns);
  return {std::move(ngrams), std::move(columns)};
}

}  // namespace

void Encoded::check_fits(const Weights& weights) const {
  require(weights.n_labels() == n_labels && weights.n_attributes == n_attributes &&
              (!edge_lists || weights.n_edge_attributes == n_edge_attributes) &&
              (data.histories ? weights.ngrams != nullptr : !weights.has_runs),
          "the corpus was encoded for another model than these weights");
}

void bind_corpora(nb::module_& module) {
  nb::class_<PyNgrams>(module, "Ngrams", "Label n-grams of three labels and more with their weights, checked.")
      .def(nb::init<std::size_t, std::size_t, const NgramArrays&, const Floats&, std::size_t>(), "n_labels"_a, "order"_a,
           "ngrams"_a, "weights"_a, "beam"_a = 0);
  bind_class<Weights>(module, "Weights", "The weights of a chain, checked; local: labels are normalised one by one.");
  module.def("seen_ngrams", &seen_ngrams, "n_labels"_a, "order"_a, "gold"_a, "starts"_a, nb::kw_only(), "null"_a,
             "weights"_a.none(), "first"_a.none());
  module.def("needed_ngrams", &needed_ngrams, "n_labels"_a, "order"_a, "ngrams"_a, "weights"_a, "columns"_a,
             "Those n-grams that have a weight or are columns of edge rows, with all that are part of one: parents, last\n"
             "labels, weights; and the columns by their new numbers.");
  module.def("shuffled", &shuffled, "n"_a, "seed"_a, "0 .. n-1 shuffled, the same for the same seed everywhere.");
  module.def("give_back_pages", &Spill::give_back, "Leaves mapped memory to the system, which reads it again as needed.");
  bind_class<Encoded>(module, "Encoded", "A corpus as attribute numbers, checked once.")
      .def_ro("starts", &Encoded::starts, "Where sentences begin, and the end of the last.")
      .def_ro("n_attributes", &Encoded::n_attributes)
      .def_ro("n_labels", &Encoded::n_labels)
      .def_ro("n_edge_attributes", &Encoded::n_edge_attributes)
      .def_ro("lists", &Encoded::lists, "The attributes of every token.")
      .def_ro("edge_lists", &Encoded::edge_lists, "The same of edge attributes, or None.")
      .def_ro("histories", &Encoded::histories, "The kind of each (core/engine/beam.hpp); None: all are about one label before.")
      .def_prop_ro("has_runs", [](const Encoded& self) { return self.data.histories != nullptr; }, "Some about several labels.")
      .def_prop_ro("has_far", [](const Encoded& self) { return !self.kinds.empty(); }, "Some about labels further back.")
      .def_ro("segments", &Encoded::segments, "Rules, lists of attributes and their first number; or None.")
      .def_ro("sets", &Encoded::sets, "The label set of each token; or None.");
  bind_class<PyVotes>(module, "Votes", "The updates of a voted perceptron, ready to be replayed.")
      .def("decode", &PyVotes::decode, "corpus"_a, "n_threads"_a,
           "The path with the most votes of every sentence, one label per token.");
}
