// Losses over a corpus and their gradients, for learners that go by gradients: the log loss of a chain (CRF), the same
// weighted by sentence (exponential loss), and of local decisions (maximum entropy).
//
// For sentence i with weight q_i:  loss_i = log Z_i - score(gold_i),  gradient = sum_i q_i (E_i[Phi] - Phi(gold_i)).
// Where labels are partial, score(gold) becomes log Z over the paths that agree with what is known, and Phi(gold) the
// expectation over them.
//
// The gradient of an attribute is a sum over the tokens it stands at. First all sentences are run and what is expected
// minus what is gold is kept for every token; then each attribute sums over its tokens. Both steps are cut into pieces
// that do not depend on the number of threads, so neither do the bits.
#pragma once
#include <memory>
#include <span>

#include "linear_chain.hpp"
#include "sum_product.hpp"

namespace trellis {

struct Layout {
  std::size_t n_labels = 0, n_attributes = 0, n_edge_attributes = 0;
  int order = 1;
  // Parameters: slots of rows, slots of edge rows, then label pairs, then label triples.
  std::span<const std::uint32_t> row_starts;       // [n_attributes + 1]
  std::span<const std::uint16_t> row_labels;       // [n_slots]
  std::span<const std::uint32_t> edge_row_starts;  // [n_edge_attributes + 1]
  std::span<const std::uint32_t> edge_row_labels;  // [n_edge_slots] previous * stride + label
  std::span<const std::int32_t> edge_places;       // which cells of [L+1, stride] have a weight
  std::span<const std::int32_t> tri_places;        // which cells of [L+1, L+1, stride]
  std::span<const float> edge_base;                // [L+1, stride] fixed: 0, or minus infinity for what is forbidden
  std::span<const float> end_base;                 // [stride], or empty

  std::size_t n_parameters() const {
    return row_labels.size() + edge_row_labels.size() + edge_places.size() + tri_places.size();
  }
};

struct Gold {
  const std::int32_t* labels = nullptr;  // [n_tokens], -1 where the label is not fully known
  LabelSets partial{};                   // what it may be; set_of_token null: all labels are known
};

// Stochastic steps, each parameter with a rate of its own (AdaGrad): for every sentence, and every parameter it touches,
//   g = gradient + 2 c2 share w;  squares += g²;  w -= rate / sqrt(squares) · g, then c1 · share of that rate nearer to 0
// `share` is one over the number of times the parameter is touched in a pass, so that a pass has the penalty once.
struct AdaGrad {
  double rate = 0.1, c1 = 0, c2 = 0;
};

class Objective {
 public:
  virtual ~Objective() = default;
  // loss_i of all sentences.
  virtual void losses(const double* parameters, std::size_t n_threads, double* losses) = 0;
  // The same, and sum_i weights[i] · gradient of loss_i. Weights null: all one.
  virtual void gradient(const double* parameters, const double* weights, std::size_t n_threads, double* losses,
                        double* gradient) = 0;
  // One pass over the sentences in that order, changing parameters and squares after each; loss_i as it was met.
  virtual void pass(const AdaGrad& rule, const std::int64_t* order, std::size_t n, const double* weights,
                    double* parameters, double* squares, double* losses) = 0;
};

// `local`: each label given the gold labels before it (maximum entropy), instead of whole paths. `single`: in float.
std::unique_ptr<Objective> make_objective(const Layout& layout, const ChainData& data, const std::int64_t* starts,
                                          std::size_t n_sentences, const Gold& gold, bool local, bool single);

}  // namespace trellis
