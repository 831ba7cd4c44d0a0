// Kernel values between the tokens of a training corpus, in blocks of one sentence with all tokens.
#pragma once
#include <optional>

#include "learn/examples.hpp"
#include "papers/kernel.hpp"

namespace trellis {

// k(x_t, x_s) = data[t * stride + s], t any token, s a token of one sentence counted from its first.
struct GramBlock {
  const double* data;
  std::size_t stride;
};

// Passes visit sentences in turn, so what was used last is wanted last: blocks stay where they fit, from the first
// sentence on, and the others are computed anew each time. A block has the same bits either way.
class Gram {
 public:
  // `given` is a whole matrix [n_tokens, n_tokens], for kernels that are not functions of products; else null.
  Gram(const Kernel& kernel, const Examples& examples, std::size_t n_attributes, const double* given, std::size_t memory);

  // Compute the blocks that are kept, by n_threads; the first call alone has something to do.
  void fill(std::size_t n_threads);
  // The block of sentence i, in `scratch` if it is not kept.
  GramBlock block(std::size_t i, std::vector<double>& scratch) const;
  // k(x_t, x_s) of the tokens of sentence i alone, [n, n].
  const double* own(std::size_t i, std::vector<double>& scratch) const;

 private:
  void compute(std::size_t i, double* out, std::vector<double>& row) const;

  Kernel kernel_;
  const std::int64_t* starts_;  // [n_sentences + 1]
  std::size_t n_tokens_;
  const double* given_;
  Observations observations_;
  std::vector<std::vector<double>> kept_;  // of the first sentences, [n_tokens, length]; of the linear kernel none
  bool filled_ = false;
};

}  // namespace trellis
