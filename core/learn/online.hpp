// Learners by epochs: decode a sentence, step away from what is wrong, go on. One call, one epoch.
//
// All of them change the weights by   w += sum_i a_i · V (Phi(x, gold) - Phi(x, y_i))   and differ in which paths y_i
// they look at, in how large a step a_i is, and in whether every weight has a variance V of its own (else 1).
#pragma once
#include "weights/growing_chain.hpp"
#include "engine/kbest.hpp"
#include "weights/linear_chain.hpp"
#include "learn/margin_qp.hpp"
#include "parallel.hpp"

namespace trellis {

struct EpochResult {
  std::int64_t mistakes = 0;  // tokens whose best label was not the gold one
  std::int64_t updates = 0;   // sentences that made a step
};

// How large the steps are. With d = Phi(gold) - Phi(y), y the best path, loss = cost(y) - w · d:
//   perceptron   y by score           a = 1
//   PA           y by score           a = (sqrt(cost) - w · d) / |d|²
//   PA-I         y by score           a = min(C, (sqrt(cost) - w · d) / |d|²)
//   PA-II        y by score           a = (sqrt(cost) - w · d) / (|d|² + 1 / 2C)
//   MIRA         y by score + cost    the k best, see MarginQp
//   AROW         y by score + cost    a = loss / (d · V d + r),   then 1 / V += d² / r
struct Rule {
  enum Kind { kPerceptron, kPa, kPa1, kPa2, kMira, kArow };
  Kind kind = kPerceptron;
  std::size_t k = 1;  // paths that MIRA looks at
  double c = 1;       // C, or r of AROW

  bool augmented() const { return kind == kMira || kind == kArow; }
  bool has_variances() const { return kind == kArow; }
};

// What is learnt from.
struct Examples {
  const ChainData& data;
  const std::int64_t* starts;       // [n_sentences + 1]
  const std::int32_t* gold;         // [n_tokens], -1 where `partial` says which labels it may be
  LabelSets partial{};              // over all tokens, or starts null
  const double* weights = nullptr;  // [n_sentences] by which steps are multiplied, or null
  const float* costs = nullptr;     // [n_labels, n_labels] of gold label and another, or null: one a wrong label
};

// Every update in turn, kept for voting: update u is the changes starts[u] .. starts[u + 1].
struct UpdateLog {
  std::vector<std::int64_t> clocks;  // [n_updates] examples seen before it
  std::vector<std::int64_t> starts{0};
  std::vector<std::uint32_t> rows, places;
  std::vector<float> changes;
};

// Weights while they are learnt, with their sums u[s] for averaging. After N examples in all,
//   gamma[s] = (N · w[s] - u[s]) / N
// is the average of weight s over the N moments after each example.
class Online : public GrowingChain {
 public:
  // At order 0 label pairs have no weights, at order 2 label triples have some too. With `log` updates are kept.
  Online(std::size_t n_attributes, std::size_t n_edge_attributes, std::size_t n_labels, int order, const Rule& rule,
         bool log);

  // One pass over the sentences in the given order. A sentence whose gold path is forbidden (by minus infinity among
  // the weights of label pairs or last labels) teaches nothing.
  // Every tenth of a second `go_on` is asked; where it says no the pass ends there.
  EpochResult epoch(const Examples& examples, const std::int64_t* order, std::size_t n_sentences,
                    const Patience::GoOn& go_on = {});

  Rule rule;
  std::int64_t clock = 0;                            // examples seen
  bool logs;
  UpdateLog log;

 private:
  struct Sentence;
  void collect(const ChainData& data, std::size_t begin, std::size_t n, const std::int32_t* right,
               const std::int32_t* wrong, Changes& out);
  double score(const Changes& changes);
  double norm(const Changes& changes);
  bool step(const Sentence& sentence, std::size_t n_paths, double scale);
  void apply(const Changes& changes, double scale);

  // Scratch.
  ChainScratch chain_;
  KBestWorkspace<float> kbest_;
  std::vector<float> constrained_, scores_;
  std::vector<std::int32_t> right_, paths_;
  std::vector<Changes> changes_;
  std::vector<double> losses_, gram_;
  MarginQp qp_;
};

}  // namespace trellis
