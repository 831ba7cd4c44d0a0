// Conversion of learners and growing weights from and to Python. A learner lists the state that later epochs
// depend on in fields(archive); the functions here do this for state shared by learners, and validate it on input.
#pragma once
#include "learn/mixing.hpp"
#include "learn/mixture_steps.hpp"
#include "ngrams.hpp"
#include "weights/growing_chain.hpp"

// The rule of an online learner by its name.
trellis::Rule rule_from(const std::string& name, std::size_t k, double c);

// ------------------------------------------------------------ weights

// The weight, or its average over training.
struct Mean {
  bool average;
  double n;
  float operator()(float weight, double sum) const {
    return average && n > 0 ? static_cast<float>((n * weight - sum) / n) : weight;
  }
};
std::vector<float> means(const trellis::LearntTable& table, const Mean& mean);
RowsOut rows_out(const trellis::GrowingRows& rows, const Mean& mean);

struct NgramsOut {
  std::vector<std::uint32_t> parents;
  std::vector<std::uint16_t> labels;
  std::vector<float> weights;
  FIELDS(parents, labels, weights)
};
// The n-grams with a weight, their own or with an attribute (`columns` of rows, from n_pairs on), and all their parts,
// and no others; or `all`. Columns are renumbered.
NgramsOut ngrams_out(const trellis::Ngrams& ngrams, const std::vector<float>& weights, std::size_t n_pairs,
                     span<std::uint32_t> columns, bool all = false);

// Weights of a chain; zeros are dropped from rows.
struct ChainOut {
  RowsOut rows, edge_rows;
  Numpy<float> edge, tri;  // [L + 1, stride], [L + 1, L + 1, stride] or empty
  std::optional<NgramsOut> ngrams;
  FIELDS(rows, edge_rows, edge, tri, ngrams)
};
ChainOut weights_of(const trellis::GrowingChain& chain, const Mean& mean, bool all_ngrams = false);

// ------------------------------------------------------------ state for later epochs

// A table of the same size as when it was written; missing variances are 1.
void table_fields(Archive& archive, const std::string& name, trellis::LearntTable& table);
// Rows of weights; unchanged rows are skipped.
void row_fields(Archive& archive, trellis::GrowingRows& rows, const std::string& name = "rows",
                const trellis::Ngrams* ngrams = nullptr);
// All weights of a chain; when read, the chain must be newly created.
void chain_fields(Archive& archive, trellis::GrowingChain& chain);

RECORD(trellis::WeightChanges, keys, ends, means, precisions)
RECORD(trellis::UpdateLog, clocks, starts, rows, places, changes)
// Updates in order. has_weight(row, place) returns whether that weight exists.
template <class HasWeight>
void log_fields(Archive& archive, trellis::UpdateLog& log, HasWeight has_weight) {
  archive("log", log);
  require(log.clocks.size() + 1 == log.starts.size(), "updates have inconsistent sizes");
  if (archive.reads) check_updates(log.starts, log.rows, log.places, log.changes.size(), has_weight);
}

// Mixtures of Frank-Wolfe: parts as numbers, `width` each, by to_numbers(part), an array that begins with its site, and
// part_from(example, numbers), which validates them.
struct MixtureState {
  std::vector<std::int64_t> starts;  // [n_examples + 1]
  std::vector<std::uint32_t> parts;  // [n_parts, width]
  std::vector<double> amounts;       // [n_parts]
  std::vector<double> costs;         // [n_examples]
  FIELDS(starts, parts, amounts, costs)
};
template <class Part, class ToNumbers, class PartFrom>
void mixture_fields(Archive& archive, trellis::MixtureSteps<Part>& steps, ToNumbers to_numbers, PartFrom part_from) {
  constexpr std::size_t width = std::tuple_size_v<decltype(to_numbers(Part()))>;
  archive("clock", steps.clock), archive("dual", steps.dual);
  MixtureState state{{0}, {}, {}, {}};
  auto& [starts, parts, amounts, costs] = state;
  for (const auto& mixture : steps.mixtures) {
    for (const auto& [part, amount] : mixture.parts) {
      const auto numbers = to_numbers(part);
      parts.insert(parts.end(), numbers.begin(), numbers.end()), amounts.push_back(amount);
    }
    starts.push_back(static_cast<std::int64_t>(amounts.size())), costs.push_back(mixture.cost);
  }
  archive("mixtures", state);
  if (!archive.reads) return;
  const std::size_t n = steps.mixtures.size();
  check_starts(starts, amounts.size());
  require(starts.size() == n + 1 && costs.size() == n && parts.size() == width * amounts.size(), "the mixtures belong to other examples");
  for (std::size_t i = 0; i < n; ++i) {
    auto& mixture = steps.mixtures[i];
    mixture.parts.clear(), mixture.cost = costs[i];
    for (auto p = static_cast<std::size_t>(starts[i]); p < static_cast<std::size_t>(starts[i + 1]); ++p) {
      const Part part = part_from(i, parts.data() + p * width);
      require(mixture.parts.empty() || mixture.parts.back().part.site <= part.site, "sites must be in ascending order");
      mixture.parts.push_back({part, amounts[p]});
    }
  }
}

// ------------------------------------------------------------ learners

// A learner of a structure. In addition to its constructor it has
//   Examples                  what it goes over, checked; size()
//   check(examples)           that they are of the kind of its weights
//   pass(examples, pass)      one pass over them
//   learnt(average)           what it has learnt, for Python
//   fields(archive, examples) all that later epochs depend on; examples are null where they are written
struct Pass {
  span<const std::int64_t> order;
  const double* scales;  // [n_examples], or null: all one
  std::size_t batch, n_threads;
  const trellis::Patience::GoOn& go_on;
};
template <class Learner>
auto bind_learner(nb::module_& module, const char* name, const char* doc) {
  using Examples = typename Learner::Examples;
  const auto epoch = +[](Learner& self, const Examples& examples, const Longs& order, const std::optional<Doubles>& weights,
                         std::size_t batch, std::size_t n_threads) {
    require(batch >= 1, "batch must be positive");
    self.check(examples);
    check_order(order, examples.size()), check_weights(weights, examples.size());
    const auto result = interruptible([&](const auto& go_on) {
      return self.pass(examples, Pass{order, data_of(weights), batch, n_threads, go_on});
    });
    if constexpr (requires { result.gap; }) return std::make_tuple(result.mistakes, result.updates, result.gap);
    else return std::make_tuple(result.mistakes, result.updates);
  };
  const auto state = +[](Learner& self) {
    Archive archive;
    self.fields(archive, nullptr);
    return archive.dict;
  };
  const auto restore = +[](Learner& self, const NamedArrays& state, const Examples* examples) {
    if constexpr (requires { self.steps.mixtures; }) require(examples, "mixtures need their examples");
    if (examples) self.check(*examples);
    Archive archive(state);
    self.fields(archive, examples);
  };
  return nb::class_<Learner>(module, name, doc)
      .def("epoch", guarded(epoch), "examples"_a, "order"_a, "weights"_a.none(), "batch"_a = 1, "n_threads"_a = 1,
           "One pass over the examples in that order: places mistaken, examples that made a step, of Frank-Wolfe the gaps.")
      .def("weights", guarded(+[](const Learner& self, bool average) { return self.learnt(average); }), "average"_a,
           "What it has learnt: the last weights, or their average over all steps.")
      .def("state", guarded(state), "All that later epochs depend on, as named arrays.")
      .def("restore", guarded(restore), "state"_a, "examples"_a.none() = nb::none(),
           "Go on from that state; self must be as it was made. Mixtures are checked against the examples.");
}
// An online learner, with the number of examples seen and the updates in order.
template <class Learner>
auto bind_online(nb::module_& module, const char* name, const char* doc) {
  return bind_learner<Learner>(module, name, doc)
      .def_prop_ro("clock", [](const Learner& self) { return self.clock; }, "Examples seen.")
      .def("log", guarded(+[](const Learner& self) { return self.steps.log; }),
           "Updates in turn: examples seen before each, starts, rows, places and changes.");
}
// A learner whose weights have the same keys in all trainings, so that several can be mixed. It has mixed(), its weights;
// has_weight(row, place); and take_weights(other), for a learner of the same kind.
template <class Learner>
auto bind_mixed(nb::module_& module, const char* name, const char* doc) {
  const auto begin_at = +[](Learner& self, const Learner& other) {
    self.take_weights(other);
    self.clock = other.clock;
    self.steps.merge_all();  // changes that cancel in an example are no change
  };
  const auto changes_since = +[](Learner& self, Learner& start) {
    require(self.clock > start.clock, "no example was seen since the start");
    return changes_between(start.mixed(), start.clock, self.mixed(), self.clock);
  };
  const auto add = +[](Learner& self, const trellis::WeightChanges& changes) {
    const auto& [keys, ends, means, precisions] = changes;
    const std::size_t n = keys.size(), n_precisions = self.steps.rule().has_variances() ? n : 0;
    require(ends.size() == n && means.size() == n && precisions.size() == n_precisions, "changes have inconsistent sizes");
    for (const std::uint64_t key : keys)
      require(self.has_weight(static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key)), "weight out of range");
    add_round(self.mixed(), self.clock, changes);
  };
  return bind_online<Learner>(module, name, doc)
      .def("begin_at", guarded(begin_at), "other"_a, "Take over the weights and the clock of a learner of the same kind.")
      .def("changes_since", guarded(changes_since), "start"_a, "What its weights changed by since those of another.")
      .def("add_round", guarded(add), "changes"_a,
           "Add mixed changes to the weights and to their averages over rounds, which the clock counts.");
}
// A learner by Frank-Wolfe.
template <class Learner>
auto bind_frank_wolfe(nb::module_& module, const char* name, const char* doc) {
  using Examples = typename Learner::Examples;
  const auto renew = +[](Learner& self, const Examples& examples, const std::optional<Doubles>& weights) {
    self.check(examples), check_weights(weights, examples.size());
    const WithoutGil released;
    self.renew(examples, data_of(weights));
  };
  return bind_learner<Learner>(module, name, doc)
      .def_prop_ro("dual", [](const Learner& self) { return self.steps.dual; }, "The dual objective.")
      .def("renew", guarded(renew), "examples"_a, "weights"_a.none(), "Weights and dual anew from all mixtures.");
}

// Members of online learners of structures other than chains.
template <class Weights>
struct OnlineSteps {
  trellis::Steps steps;
  Weights weights;
  std::int64_t clock = 0;
  Pinned pinned = {};

  Mean mean(bool average) const { return {average, static_cast<double>(clock)}; }
  // One pass, where make() returns a structure with the current weights.
  template <class Make>
  trellis::EpochResult pass_over(Make make, const Pass& pass) {
    const auto [order, scales, batch, n_threads, go_on] = pass;
    return trellis::online_pass(make, weights, steps, clock, order.data(), order.size(), scales, batch, n_threads, go_on);
  }
};
