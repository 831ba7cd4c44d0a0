// The hot entries of sentence sums, compiled once per instruction set.
#include "learn/sentence_sums.hpp"

namespace trellis {
namespace {

TRELLIS_CLONES void emissions_float(const SentenceSums<float>& o, std::size_t begin, std::size_t end, float* emit) {
  o.emissions_body(begin, end, emit);
}
TRELLIS_CLONES void emissions_double(const SentenceSums<double>& o, std::size_t begin, std::size_t end, double* emit) {
  o.emissions_body(begin, end, emit);
}
TRELLIS_CLONES double sums_float(const SentenceSums<float>& o, const float* emit, std::size_t n, const float* token_edge,
                                 float weight, SumProductScratch<float>& w, const Expectations<float>* x) {
  return o.sums_body(emit, n, token_edge, weight, w, x);
}
TRELLIS_CLONES double sums_double(const SentenceSums<double>& o, const double* emit, std::size_t n,
                                  const double* token_edge, double weight, SumProductScratch<double>& w,
                                  const Expectations<double>* x) {
  return o.sums_body(emit, n, token_edge, weight, w, x);
}

}  // namespace

template <>
void SentenceSums<float>::emissions_entry(std::size_t begin, std::size_t end, float* emit) const {
  emissions_float(*this, begin, end, emit);
}
template <>
void SentenceSums<double>::emissions_entry(std::size_t begin, std::size_t end, double* emit) const {
  emissions_double(*this, begin, end, emit);
}
template <>
double SentenceSums<float>::sums_entry(const float* emit, std::size_t n, const float* token_edge, float weight,
                                       SumProductScratch<float>& w, const Expectations<float>* x) const {
  return sums_float(*this, emit, n, token_edge, weight, w, x);
}
template <>
double SentenceSums<double>::sums_entry(const double* emit, std::size_t n, const double* token_edge, double weight,
                                        SumProductScratch<double>& w, const Expectations<double>* x) const {
  return sums_double(*this, emit, n, token_edge, weight, w, x);
}

}  // namespace trellis
