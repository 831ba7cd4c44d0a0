// Weights that grow while they are learnt, on their way from and to Python. A learner lists what later epochs depend on in
// fields(archive); the functions here do that for what learners have in common, with the checks of what is read.
#pragma once
#include <numeric>

#include "learn/mixture_steps.hpp"
#include "ngrams.hpp"
#include "weights/growing_chain.hpp"

// With n-grams for rows of edge attributes.
inline void set_rows(trellis::GrowingRows& rows, const RowArrays<std::uint32_t>& given, bool grows,
                     const trellis::Ngrams* ngrams = nullptr) {
  const trellis::Rows<std::uint32_t> from = run_rows_from(given, rows.n_labels(), ngrams);
  require(given.starts.size() == rows.n_attributes() + 1, "one row per attribute");
  if (!grows) rows.stop_growing();
  for (std::size_t a = 0; a < rows.n_attributes(); ++a)
    for (std::uint32_t s = from.starts[a]; s < from.starts[a + 1]; ++s)
      rows.set(static_cast<std::int32_t>(a), from.labels[s], from.weights[s]);
}

// ------------------------------------------------------------ what is learnt

// The weight itself, or its average over all moments of training.
struct Mean {
  bool average;
  double n;
  float operator()(float weight, double sum) const {
    return average && n > 0 ? static_cast<float>((n * weight - sum) / n) : weight;
  }
};
inline std::vector<float> means(const trellis::LearntTable& table, const Mean& mean) {
  std::vector<float> out(table.weights.size());
  for (std::size_t s = 0; s < out.size(); ++s) out[s] = mean(table.weights[s], table.sums[s]);
  return out;
}

inline RowsOut rows_out(const trellis::GrowingRows& rows, const Mean& mean) {
  RowsOut to{std::vector<std::uint32_t>(rows.n_attributes() + 1), {}, {}};
  rows.each([&](std::size_t a, std::uint32_t label, float weight, double sum, float) {
    const float value = mean(weight, sum);
    if (value != 0) ++to.starts[a + 1], to.labels.push_back(label), to.weights.push_back(value);
  });
  std::partial_sum(to.starts.begin(), to.starts.end(), to.starts.begin());
  return to;
}

struct NgramsOut {
  std::vector<std::uint32_t> parents;
  std::vector<std::uint16_t> labels;
  std::vector<float> weights;
  FIELDS(parents, labels, weights)
};
// Those with a weight, of their own or with an attribute (`columns` of rows, from n_pairs on), all that are part of one,
// and no others; or `all`. Columns get their new numbers.
inline NgramsOut ngrams_out(const trellis::Ngrams& ngrams, const std::vector<float>& weights, std::size_t n_pairs,
                            std::span<std::uint32_t> columns, bool all = false) {
  std::vector<std::uint8_t> kept(ngrams.size(), all);
  std::vector<float> out;
  for (std::uint32_t column : columns)
    if (column >= n_pairs) kept[column - n_pairs] = 1;
  for (auto g = static_cast<std::uint32_t>(ngrams.size()); g-- > 0;) {
    kept[g] |= ngrams.length(g) <= 1 || (ngrams.length(g) >= trellis::kScored && weights[g] != 0);
    if (kept[g]) kept[ngrams.parent(g)] = kept[ngrams.shorter(g)] = 1;
  }
  for (std::uint32_t g = 0; g < ngrams.size(); ++g)
    if (kept[g] && ngrams.length(g) > 1) out.push_back(ngrams.length(g) < trellis::kScored ? 0 : weights[g]);
  auto [parents, labels] = ngram_state(ngrams, &kept);
  std::vector<std::uint32_t> number(ngrams.size());
  std::exclusive_scan(kept.begin(), kept.end(), number.begin(), 0u);
  for (std::uint32_t& column : columns)
    if (column >= n_pairs) column = static_cast<std::uint32_t>(n_pairs + number[column - n_pairs]);
  return {std::move(parents), std::move(labels), std::move(out)};
}

// Weights of a chain; those of zero are left out of rows.
struct ChainOut {
  RowsOut rows, edge_rows;
  Numpy<float> edge, tri;  // [L + 1, stride], [L + 1, L + 1, stride] or empty
  std::optional<NgramsOut> ngrams;
  FIELDS(rows, edge_rows, edge, tri, ngrams)
};
inline ChainOut weights_of(const trellis::GrowingChain& self, const Mean& mean, bool all_ngrams = false) {
  const std::size_t n = self.n_labels + 1;
  std::vector<float> pairs = means(self.edge, mean), longer = means(self.tri, mean);
  ChainOut out{rows_out(self.rows, mean), rows_out(self.edge_rows, mean), {}, {}, std::nullopt};
  if (self.ngrams) out.ngrams = ngrams_out(*self.ngrams, longer, pairs.size(), out.edge_rows.labels, all_ngrams), longer.clear();
  out.edge = to_numpy(std::move(pairs), {n, self.stride});
  out.tri = to_numpy(std::move(longer), {self.order == 2 && !self.ngrams ? n : 0, n, self.stride});
  return out;
}

// ------------------------------------------------------------ what later epochs depend on

// A table of the same size as when it was written.
template <class Archive>
void table_fields(Archive& archive, const std::string& name, trellis::LearntTable& table) {
  const std::size_t n = table.weights.size(), n_variances = table.variances.size();
  archive(name + ".weights", table.weights), archive(name + ".sums", table.sums), archive(name + ".variances", table.variances);
  require(table.weights.size() == n && table.sums.size() == n && table.variances.size() == n_variances, "weights of another training");
}

// Rows of weights, and beside each its sum for averaging and its variance; those that training has not changed are left out.
struct RowState {
  std::vector<std::uint32_t> starts, labels;
  std::vector<float> weights;
  std::vector<double> sums;
  std::vector<float> variances;
  FIELDS(starts, labels, weights, sums, variances)
};
template <class Archive>
void row_fields(Archive& archive, const std::string& name, trellis::GrowingRows& rows, const trellis::Ngrams* ngrams = nullptr) {
  RowState state{std::vector<std::uint32_t>(rows.n_attributes() + 1), {}, {}, {}, {}};
  auto& [starts, labels, weights, sums, variances] = state;
  if constexpr (!Archive::kReads) {
    rows.each([&](std::size_t a, std::uint32_t label, float weight, double sum, float variance) {
      if (weight == 0 && sum == 0 && variance == 1) return;
      ++starts[a + 1], labels.push_back(label), weights.push_back(weight), sums.push_back(sum), variances.push_back(variance);
    });
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
  }
  archive(name, state);
  if constexpr (Archive::kReads) {
    check_run_rows(starts, labels, rows.n_labels(), ngrams);
    const std::size_t n = labels.size();
    require(starts.size() == rows.n_attributes() + 1 && weights.size() == n && sums.size() == n && variances.size() == n,
            "rows of another training");
    for (std::size_t a = 0; a < rows.n_attributes(); ++a)
      for (std::uint32_t s = starts[a]; s < starts[a + 1]; ++s) {
        const trellis::LearntWeight place = rows.make(static_cast<std::int32_t>(a), labels[s]);
        *place.weight = weights[s];
        *place.sum = sums[s];
        if (place.variance) *place.variance = variances[s];
      }
  }
}

// All weights of a chain; one that reads them is as it was made.
template <class Archive>
void chain_fields(Archive& archive, trellis::GrowingChain& self) {
  NgramState ngrams;
  if (!Archive::kReads && self.ngrams) ngrams = ngram_state(*self.ngrams);
  archive("ngrams", ngrams);
  if constexpr (Archive::kReads) {
    require(self.ngrams || ngrams.parents.empty(), "n-grams of another training");
    if (self.ngrams) {
      self.ngrams.emplace(self.n_labels, static_cast<std::size_t>(self.order));
      make_ngrams(ngrams.parents, ngrams.labels, *self.ngrams);
      self.ngrams_grown();
    }
  }
  table_fields(archive, "edge", self.edge), table_fields(archive, "tri", self.tri);
  if (Archive::kReads && self.ngrams) self.ngrams_given();
  row_fields(archive, "rows", self.rows);
  row_fields(archive, "edge_rows", self.edge_rows, self.ngrams ? &*self.ngrams : nullptr);
}

// Updates in turn. has_weight(row, place) says whether there is such a weight.
template <class Archive, class HasWeight>
void log_fields(Archive& archive, trellis::UpdateLog& log, HasWeight has_weight) {
  archive("log.clocks", log.clocks), archive("log.starts", log.starts), archive("log.rows", log.rows);
  archive("log.places", log.places), archive("log.changes", log.changes);
  if constexpr (Archive::kReads) {
    require(log.clocks.size() + 1 == log.starts.size(), "updates that do not fit together");
    check_updates(log.starts, log.rows, log.places, log.changes.size(), has_weight);
  }
}

struct LogOut {
  std::vector<std::int64_t> clocks, starts;
  std::vector<std::uint32_t> rows, places;
  std::vector<float> changes;
  FIELDS(clocks, starts, rows, places, changes)
};

// Mixtures of Frank-Wolfe: the numbers of parts, `width` of each, by to_numbers(part), an array that begins with its site, and
// part_from(example, numbers), which checks them.
struct MixtureState {
  std::vector<std::int64_t> starts;  // [n_examples + 1]
  std::vector<std::uint32_t> parts;  // [n_parts, width]
  std::vector<double> amounts;       // [n_parts]
  std::vector<double> costs;         // [n_examples]
  FIELDS(starts, parts, amounts, costs)
};
template <class Archive, class Part, class ToNumbers, class PartFrom>
void mixture_fields(Archive& archive, trellis::MixtureSteps<Part>& steps, ToNumbers to_numbers, PartFrom part_from) {
  constexpr std::size_t width = std::tuple_size_v<decltype(to_numbers(Part()))>;
  archive("clock", steps.clock), archive("dual", steps.dual);
  MixtureState state{{0}, {}, {}, {}};
  auto& [starts, parts, amounts, costs] = state;
  if constexpr (!Archive::kReads)
    for (const auto& mixture : steps.mixtures) {
      for (const auto& [part, amount] : mixture.parts) {
        const auto numbers = to_numbers(part);
        parts.insert(parts.end(), numbers.begin(), numbers.end()), amounts.push_back(amount);
      }
      starts.push_back(static_cast<std::int64_t>(amounts.size())), costs.push_back(mixture.cost);
    }
  archive("mixtures", state);
  if constexpr (Archive::kReads) {
    const std::size_t n = steps.mixtures.size();
    check_starts<std::int64_t>(starts, amounts.size());
    require(starts.size() == n + 1 && costs.size() == n && parts.size() == width * amounts.size(), "mixtures of other examples");
    for (std::size_t i = 0; i < n; ++i) {
      auto& own = steps.mixtures[i].parts;
      own.clear(), steps.mixtures[i].cost = costs[i];
      for (auto p = static_cast<std::size_t>(starts[i]); p < static_cast<std::size_t>(starts[i + 1]); ++p) {
        own.push_back({part_from(i, parts.data() + p * width), amounts[p]});
        require(own.size() < 2 || own[own.size() - 2].part.site <= own.back().part.site, "sites must ascend");
      }
    }
  }
}

// ------------------------------------------------------------ learners

// A learner of a structure as Python calls it. It brings
//   Examples                  what it goes over, checked; size()
//   check(examples)           that they are of the kind of its weights
//   pass(examples, pass)      one pass over them
//   learnt(average)           what it has learnt, for Python
//   fields(archive, examples) all that later epochs depend on; examples are null where they are written
// and its constructor.
struct Pass {
  std::span<const std::int64_t> order;
  const double* scales;  // [n_examples], or null: all one
  std::size_t batch, n_threads;
  const trellis::Patience::GoOn& go_on;
};
template <class Learner>
struct PyLearner : Learner {
  using Learner::Learner;
  using Examples = typename Learner::Examples;
  using Weights = std::optional<Doubles>;

  // (places mistaken, examples that made a step), and of Frank-Wolfe the gaps as they were met.
  auto epoch(const Examples& examples, const Longs& order, const Weights& weights, std::size_t batch, std::size_t n_threads) {
    require(batch >= 1, "batch must be positive");
    this->check(examples);
    check_order(order, examples.size()), check_weights(weights, examples.size());
    const auto result = interruptible([&](const auto& go_on) {
      return this->pass(examples, Pass{span(order), weights ? weights->data() : nullptr, batch, n_threads, go_on});
    });
    if constexpr (requires { result.gap; }) return std::make_tuple(result.mistakes, result.updates, result.gap);
    else return std::make_tuple(result.mistakes, result.updates);
  }
  void renew(const Examples& examples, const Weights& weights) {
    this->check(examples), check_weights(weights, examples.size());
    const WithoutGil released;
    Learner::renew(examples, weights ? weights->data() : nullptr);
  }
  LogOut log() const {
    const trellis::UpdateLog& all = this->steps.log;
    return {all.clocks, all.starts, all.rows, all.places, all.changes};
  }
  NamedArrays state() const {
    OutArchive archive;
    const_cast<PyLearner&>(*this).fields(archive, nullptr);  // which it only reads
    return archive.dict;
  }
  // Mixtures are checked against the examples.
  void restore(const NamedArrays& state, const Examples* examples) {
    if constexpr (requires { this->steps.mixtures; }) require(examples, "mixtures need their examples");
    if (examples) this->check(*examples);
    InArchive archive(state);
    this->fields(archive, examples);
  }
};

template <class Learner>
auto bind_learner(nb::module_& module, const char* name, const char* doc) {
  using Self = PyLearner<Learner>;
  return nb::class_<Self>(module, name, doc)
      .def("epoch", guarded(&Self::epoch), nb::arg("examples"), "order"_array, "weights"_array.none(), nb::arg("batch") = 1,
           nb::arg("n_threads") = 1, "One pass over the examples in that order: (places mistaken, examples that made a step, ...).")
      .def("weights", guarded(+[](const Self& self, bool average) { return self.learnt(average); }), nb::arg("average"),
           "What it has learnt: the last weights, or their average over all steps.")
      .def("state", guarded(&Self::state), "All that later epochs depend on, as named arrays.")
      .def("restore", guarded(&Self::restore), nb::arg("state"), nb::arg("examples").none() = nb::none(),
           "Go on from that state; self must be as it was made.");
}
// An online learner: with the number of examples seen, and the updates in turn.
template <class Learner>
auto bind_online(nb::module_& module, const char* name, const char* doc) {
  using Self = PyLearner<Learner>;
  return bind_learner<Learner>(module, name, doc)
      .def_prop_ro("clock", [](const Self& self) { return self.clock; }, "Examples seen.")
      .def("log", guarded(&Self::log), "Updates in turn: examples seen before each, starts, rows, places and changes.");
}
// One by Frank-Wolfe.
template <class Learner>
auto bind_frank_wolfe(nb::module_& module, const char* name, const char* doc) {
  using Self = PyLearner<Learner>;
  return bind_learner<Learner>(module, name, doc)
      .def_prop_ro("dual", [](const Self& self) { return self.steps.dual; }, "The dual objective.")
      .def("renew", guarded(&Self::renew), nb::arg("examples"), "weights"_array.none(), "Weights and dual anew from all mixtures.");
}

// One pass of an online learner, where make() gives a structure by the weights of now.
template <class Make, class Weights>
trellis::EpochResult pass_over(Make make, Weights& weights, trellis::Steps& steps, std::int64_t& clock, const Pass& pass) {
  const auto [order, scales, batch, n_threads, go_on] = pass;
  return trellis::online_pass(make, weights, steps, clock, order.data(), order.size(), scales, batch, n_threads, go_on);
}
