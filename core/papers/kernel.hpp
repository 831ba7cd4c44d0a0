// Kernels over observations: sparse vectors of attributes, their inner products, and functions of those; their values between
// the tokens of a training corpus.
#pragma once
#include <vector>

#include "engine/elementary.hpp"
#include "groups.hpp"
#include "learn/examples.hpp"
#include "learn/sparse.hpp"

namespace trellis {

// k(a, b) as a function of <a, b>, |a|² and |b|²; not available for a kernel given as a matrix.
struct Kernel {
  enum Kind { kLinear, kPolynomial, kRbf, kGiven };
  Kind kind = kLinear;
  int degree = 1;
  double gamma = 1, coef0 = 0;

  //   linear  <a, b>      polynomial  (gamma <a, b> + coef0)^degree      RBF  exp(-gamma |a - b|²)
  TRELLIS_INLINE double value(double product, double norm_a, double norm_b) const {
    if (kind == kRbf) return exp(-gamma * (norm_a + norm_b - 2 * product));
    if (kind != kPolynomial) return product;
    const double base = gamma * product + coef0;
    double power = base;
    for (int i = 1; i < degree; ++i) power *= base;
    return power;
  }
};

// One attribute of an observation, or one observation of an attribute.
struct Item {
  std::int32_t number;
  float by;

  std::int32_t key() const { return number; }
};

// The attributes of token t, ascending, without duplicates: then products are symmetric to the bit.
void items_of(const Sites& lists, std::size_t t, std::vector<Item>& out);

// Sparse vectors with an inverted index by attribute, for inner products.
class Observations {
 public:
  Observations() = default;
  Observations(const Sites& lists, std::size_t n, std::size_t n_attributes);

  std::size_t size() const { return norms_.size(); }
  double norm(std::size_t o) const { return norms_[o]; }  // |x|²

  // out[o] = <x, o> for every observation o; unknown attributes of x are ignored.
  void products(std::span<const Item> x, double* out) const;
  // out[o * stride + column] = k(x, o) for every o; `row` is scratch.
  void column(const Kernel& kernel, std::span<const Item> x, std::size_t stride, std::size_t column, double* out,
              std::vector<double>& row) const;
  std::span<const Item> operator[](std::size_t o) const { return items_[o]; }

 private:
  Groups<Item> items_;         // of every observation, ascending
  Groups<Item> postings_;      // of every attribute, by observation
  std::vector<double> norms_;  // [size]
};

// What an observation adds to a label's score: coef · k(x, observation).
struct Coefficient {
  std::uint32_t observation, label;
  double coef;
};

// out[z, s] += sum over coefficients (o, z) of coef · k[o, s]: columns s lie side by side, n_columns of them; rows of
// k are k_stride apart.
void expand(const std::vector<Coefficient>& coefficients, const double* k, std::size_t k_stride, std::size_t n_columns,
            double* out);

// Emissions of a kernel model: emit[t, z] = sum_o coef(o, z) k(x_t, o), by n_threads.
void expand_tokens(const Kernel& kernel, const Observations& support, const std::vector<Coefficient>& coefficients,
                   const Sites& lists, std::size_t n_tokens, std::size_t n_labels, std::size_t n_threads,
                   double* emit);

// k(x_t, x_s) = data[t * stride + s], t any token, s a token of one sentence counted from its first.
struct GramBlock {
  const double* data;
  std::size_t stride;
};

// Kernel values between the tokens of a corpus, in blocks of one sentence with all tokens.
// Passes visit sentences in order, so the most recently used block is needed last: blocks that fit stay in memory, from the first
// sentence on, and the others are recomputed each time. A block has the same bits either way.
class Gram {
 public:
  // `given` is a whole matrix [n_tokens, n_tokens], for kernels that are not functions of products; else null.
  Gram(const Kernel& kernel, const Examples& examples, std::size_t n_attributes, const double* given, std::size_t memory);

  // Computes the cached blocks, by n_threads; only the first call does work.
  void fill(std::size_t n_threads);
  // The block of sentence i, in `scratch` if it is not cached.
  GramBlock block(std::size_t i, std::vector<double>& scratch) const;
  // k(x_t, x_s) within sentence i, [n, n].
  const double* own(std::size_t i, std::vector<double>& scratch) const;

 private:
  void compute(std::size_t i, double* out, std::vector<double>& row) const;

  Kernel kernel_;
  const std::int64_t* starts_;  // [n_sentences + 1]
  std::size_t n_tokens_;
  const double* given_;
  Observations observations_;
  std::vector<std::vector<double>> kept_;  // of the first sentences, [n_tokens, length]; empty for the linear kernel
};

}  // namespace trellis
