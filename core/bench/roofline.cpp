// How fast the hottest loops are, and how fast the machine could be: `python -m benchmarks roofline` builds and runs this.
//
// Loops, on one thread and in float: emission sums, both passes over sentences, Viterbi, and the sums of attributes over
// tokens. For each the bytes it asks for and the operations it does, counted from the data. The machine: what one thread
// reads from memory, from L2 and from L1, and how many multiplications and additions it does a second. Prints one line
// of JSON a measurement.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include "weights/attribute_sums.hpp"
#include "engine/sum_product.hpp"
#include "weights/site_rows.hpp"
#include "engine/viterbi.hpp"

namespace {
using namespace trellis;

constexpr int kRounds = 9;

template <class Work>
double best_seconds(Work work) {
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto begun = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  }
  return best;
}

void tell(const char* what, double seconds, double bytes, double operations) {
  std::printf("{\"what\": \"%s\", \"seconds\": %.6g, \"bytes\": %.6g, \"operations\": %.6g}\n", what, seconds, bytes,
              operations);
}

// ---- the machine

// sum over a buffer, read again and again: bytes a second from wherever it fits. Sixteen sums, so that none waits.
TRELLIS_CLONES float read_all(const float* values, std::size_t n, std::size_t times) {
  Vector<float> sums[16] = {};
  for (std::size_t time = 0; time < times; ++time)
    for (std::size_t i = 0; i + 16 * kLanes<float> <= n; i += 16 * kLanes<float>)
      for (std::size_t k = 0; k < 16; ++k) sums[k] += lanes(values + i + k * kLanes<float>);
  Vector<float> total = {};
  for (const auto& sum : sums) total += sum;
  return total[0];
}

// x = x · a + b on twelve vectors: multiplications and additions a second, unfused as all kernels are.
TRELLIS_CLONES float multiply_and_add(std::size_t times) {
  Vector<float> x[12] = {};
  const Vector<float> a = Vector<float>{} + 0.999f, b = Vector<float>{} + 0.001f;
  for (std::size_t time = 0; time < times; ++time)
    for (auto& one : x) one = one * a + b;
  Vector<float> total = {};
  for (const auto& one : x) total += one;
  return total[0];
}

volatile float sink;

void measure_machine() {
  for (const auto& [what, bytes] :
       {std::pair{"read from memory", std::size_t{512} << 20}, {"read from L2", std::size_t{1} << 20},
        {"read from L1", std::size_t{24} << 10}}) {
    const std::vector<float> values(bytes / sizeof(float), 1.0f);
    const std::size_t times = std::max<std::size_t>(1, (std::size_t{512} << 20) / bytes);
    tell(what, best_seconds([&] { sink = read_all(values.data(), values.size(), times); }),
         static_cast<double>(bytes) * times, 0);
  }
  constexpr std::size_t kTimes = 20'000'000;
  tell("multiply and add", best_seconds([] { sink = multiply_and_add(kTimes); }), 0, kTimes * 12.0 * kLanes<float> * 2);
}

// ---- the loops

template <class T>
std::vector<T> read_array(const std::string& folder, const char* name) {
  std::ifstream file(folder + "/" + name, std::ios::binary | std::ios::ate);
  std::vector<T> values(static_cast<std::size_t>(file.tellg()) / sizeof(T));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
  return values;
}

TRELLIS_CLONES void emissions(const SiteRows<float>& rows, std::size_t n, float* emit) { rows.emissions(0, n, emit); }

TRELLIS_CLONES void sum_block(const AttributeSums<float>& sums, std::size_t block, const float* residual, double* row,
                              double* gradient) {
  for (std::size_t piece = 0; piece < sums.n_pieces(block); ++piece)
    sums.sum(block, piece, residual, row, gradient);
}

void measure_loops(const std::string& folder) {
  const auto starts = read_array<std::int64_t>(folder, "starts"), items = read_array<std::int64_t>(folder, "items");
  const auto ids = read_array<std::int32_t>(folder, "ids");
  const auto row_starts = read_array<std::uint32_t>(folder, "row_starts");
  const auto row_labels = read_array<std::uint16_t>(folder, "row_labels");
  const auto parameters = read_array<double>(folder, "parameters");
  const auto edge = read_array<float>(folder, "edge");  // [L + 1, stride]
  Layout layout;
  layout.n_labels = read_array<std::int64_t>(folder, "n_labels")[0];
  layout.n_attributes = row_starts.size() - 1;
  layout.row_starts = row_starts;
  layout.row_labels = row_labels;
  const Sites at{items.data(), ids.data(), nullptr};
  const std::size_t L = layout.n_labels, stride = padded(L), n_sentences = starts.size() - 1, n = starts[n_sentences];

  SiteRows<float> rows(layout, at, n);
  rows.set(parameters.data());
  double heavy = 0, light = 0;  // items of heavy rows, slots of light ones
  for (std::int32_t a : ids) rows.heavy.has(a) ? heavy += 1 : light += row_starts[a + 1] - row_starts[a];
  std::vector<float> emit(n * stride), node(n * stride), pairs((stride + 1) * stride);
  tell("emission sums", best_seconds([&] { emissions(rows, n, emit.data()); }),
       heavy * (4 + 4.0 * stride) + light * 8 + 4.0 * n * stride, heavy * stride + light);

  Factors<float> factors;
  make_factors(edge, {}, {}, L, factors);
  PassScratch<float> scratch;
  // Forward, backward and pairs: a multiplication and an addition each for all pairs of labels; exp takes about 20.
  const double passes = 3.0 * 2 * L * stride + 26.0 * stride;
  tell("forward and backward", best_seconds([&] {
         for (std::size_t s = 0; s < n_sentences; ++s) {
           const Expectations<float> x{.node = node.data() + starts[s] * stride, .pairs = pairs.data()};
           sink = static_cast<float>(sum_product(factors, emit.data() + starts[s] * stride, starts[s + 1] - starts[s],
                                                 nullptr, 1.0f, scratch, &x));
         }
       }),
       n * 4.0 * (6.0 * stride + 3.0 * L * stride), n * passes);

  Workspace<float> work;
  std::vector<std::int32_t> path(n);
  tell("Viterbi", best_seconds([&] {
         for (std::size_t s = 0; s < n_sentences; ++s) {
           const ChainView<float> chain({L, stride, edge.data()}, starts[s + 1] - starts[s],
                                        emit.data() + starts[s] * stride);
           sink = best_path(chain, work, path.data() + starts[s]);
         }
       }),
       n * 4.0 * (3.0 * stride + 1.0 * L * stride), n * 2.0 * L * stride);

  const AttributeSums<float> sums(layout, at, starts.data(), n_sentences, (1 << 20) / (4 * stride));
  std::vector<double> row(stride), gradient(row_labels.size());
  tell("gradient scatter", best_seconds([&] {
         for (std::size_t b = 0; b < sums.n_blocks(); ++b)
           sum_block(sums, b, node.data() + starts[sums.first_example(b)] * stride, row.data(), gradient.data());
       }),
       heavy * (4 + 4.0 * stride) + light * 8, heavy * stride + light);
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: roofline FOLDER\n");
    return 2;
  }
  measure_machine();
  measure_loops(words[1]);
}
