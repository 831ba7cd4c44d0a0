// Kernels against dense vectors, expansions against their definition, and the dual over all label sequences.
#include <random>

#include "check.hpp"
#include "papers/dual_chain.hpp"

using namespace trellis;

namespace {

constexpr std::size_t kAttributes = 7;

// A corpus of short sentences whose attributes have values, some of them twice at a token.
struct Toy {
  std::size_t n_labels;
  std::vector<std::int64_t> starts{0}, list_starts{0};
  std::vector<std::int32_t> ids, gold;
  std::vector<float> values;
  ChainData data;

  Toy(unsigned seed, std::size_t L, bool valued) : n_labels(L) {
    std::mt19937 random(seed);
    auto below = [&](std::size_t n) { return static_cast<std::int32_t>(random() % n); };
    for (int s = 0; s < 7; ++s) {
      for (int t = below(4); t > 0; --t) {
        for (int i = below(4); i > 0; --i) {
          ids.push_back(below(kAttributes));
          values.push_back(static_cast<float>(below(9) - 4) / 4);
        }
        list_starts.push_back(static_cast<std::int64_t>(ids.size()));
        gold.push_back(below(L));
      }
      starts.push_back(static_cast<std::int64_t>(gold.size()));
    }
    data.attributes = {list_starts.data(), ids.data(), valued ? values.data() : nullptr};
  }
  std::size_t n_tokens() const { return gold.size(); }
  std::size_t n_sentences() const { return starts.size() - 1; }
  std::vector<double> dense(std::size_t t) const {
    std::vector<double> x(kAttributes, 0.0);
    for (std::int64_t i = list_starts[t]; i < list_starts[t + 1]; ++i)
      x[static_cast<std::size_t>(ids[i])] += data.attributes.values ? values[i] : 1;
    return x;
  }
  double k(const Kernel& kernel, std::size_t s, std::size_t t) const {
    const std::vector<double> a = dense(s), b = dense(t);
    double product = 0, norm_a = 0, norm_b = 0;
    for (std::size_t i = 0; i < kAttributes; ++i) product += a[i] * b[i], norm_a += a[i] * a[i], norm_b += b[i] * b[i];
    if (kernel.kind == Kernel::kRbf) return std::exp(-kernel.gamma * (norm_a + norm_b - 2 * product));
    if (kernel.kind == Kernel::kLinear) return product;
    return std::pow(kernel.gamma * product + kernel.coef0, kernel.degree);
  }
  DualProblem problem(int order) const {
    return {{.data = data, .starts = starts.data(), .gold = gold.data(), .n_sentences = n_sentences()}, kAttributes, n_labels, order};
  }
};

const Kernel kKernels[] = {{Kernel::kLinear, 1, 1, 0},
                           {Kernel::kPolynomial, 3, 0.5, 1},
                           {Kernel::kRbf, 1, 0.3, 0}};

std::vector<std::int64_t> all_of(const Toy& toy) {
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < toy.n_sentences(); ++i) order.push_back(static_cast<std::int64_t>(i));
  return order;
}

}  // namespace

TEST(gram_blocks_are_kernel_values_kept_or_not) {
  for (const Kernel& kernel : kKernels)
    for (bool valued : {false, true})
      for (std::size_t memory : {std::size_t{0}, std::size_t{400}, std::size_t{1} << 20}) {
        const Toy toy(3, 3, valued);
        Gram gram(kernel, toy.problem(1), kAttributes, nullptr, memory);
        gram.fill(2);
        std::vector<double> scratch, own_scratch;
        for (std::size_t i = 0; i < toy.n_sentences(); ++i) {
          const std::size_t begin = toy.starts[i], n = toy.starts[i + 1] - begin;
          const GramBlock block = gram.block(i, scratch);
          const double* own = gram.own(i, own_scratch);
          for (std::size_t s = 0; s < n; ++s) {
            for (std::size_t t = 0; t < toy.n_tokens(); ++t)
              CHECK_NEAR(block.data[t * block.stride + s], toy.k(kernel, t, begin + s), 1e-9);
            for (std::size_t t = 0; t < n; ++t) CHECK(own[s * n + t] == block.data[(begin + t) * block.stride + s]);
          }
        }
      }
}

TEST(expansions_are_sums_of_kernel_values) {
  const Toy toy(5, 3, true);
  std::mt19937 random(1);
  std::vector<Coefficient> coefficients;
  for (std::uint32_t o = 0; o < toy.n_tokens(); ++o)
    for (std::uint32_t z = 0; z < 3; ++z)
      if (random() % 2) coefficients.push_back({o, z, static_cast<double>(random() % 9) - 4});
  for (const Kernel& kernel : kKernels) {
    const Observations support(toy.data.attributes, toy.n_tokens(), kAttributes);
    std::vector<double> emit(toy.n_tokens() * 3), again(emit.size());
    expand_tokens(kernel, support, coefficients, toy.data.attributes, toy.n_tokens(), 3, 1, emit.data());
    expand_tokens(kernel, support, coefficients, toy.data.attributes, toy.n_tokens(), 3, 3, again.data());
    CHECK(emit == again);
    for (std::size_t t = 0; t < toy.n_tokens(); ++t)
      for (std::size_t z = 0; z < 3; ++z) {
        double total = 0;
        for (const Coefficient& one : coefficients)
          if (one.label == z) total += one.coef * toy.k(kernel, t, one.observation);
        CHECK_NEAR(emit[t * 3 + z], total, 1e-8);
      }
  }
}

// |w|² by sequences and their inner products, and by the scores that w gives: the decomposition (17) to (19).
TEST(margins_are_inner_products_of_sequences) {
  for (const Kernel& kernel : kKernels)
    for (int order : {0, 1, 2}) {
      const Toy toy(7, 3, false);
      const std::vector<std::int64_t> all = all_of(toy);
      DualChain chain(toy.problem(order), kernel, nullptr, 1 << 20);
      PassResult last;
      for (int pass = 0; pass < 3000; ++pass) {
        const double before = chain.dual;
        last = chain.margin_pass(all.data(), all.size(), 0.5, 1e-7, order == 1, 2);
        CHECK(chain.dual >= before - 1e-12);
        if (last.updates == 0) break;
      }
      CHECK(last.updates == 0);
      CHECK(last.violation <= 1e-7);
      CHECK(last.gap >= -1e-9 && last.gap <= 0.5 * 1e-7 * static_cast<double>(toy.n_sentences()));
      // dual = sum alpha cost - ½ |w|², with |w|² over every pair of sequences by its definition.
      struct One {
        std::size_t sentence;
        const Sequence* of;
      };
      std::vector<One> support;
      double costs = 0, norm = 0;
      for (std::size_t i = 0; i < chain.sets.size(); ++i) {
        double used = 0;
        for (const Sequence& one : chain.sets[i]) {
          support.push_back({i, &one});
          costs += one.alpha * one.cost;
          used += one.alpha;
          CHECK(one.alpha > 0);
        }
        CHECK(used <= 0.5 + 1e-9);
      }
      for (const auto& [i, a] : support)
        for (const auto& [j, b] : support) {
          double product = 0;
          for (const Change& one : a->pairs)
            for (const Change& other : b->pairs) product += one.key() == other.key() ? one.by * other.by : 0;
          for (const Change& one : a->labels)
            for (const Change& other : b->labels)
              if (one.place == other.place)
                product += one.by * other.by * toy.k(kernel, toy.starts[i] + one.row, toy.starts[j] + other.row);
          norm += a->alpha * b->alpha * product;
        }
      CHECK_NEAR(chain.dual, costs - norm / 2, 1e-6);
    }
}

TEST(a_programme_solved_from_anywhere_has_one_value) {
  std::mt19937 random(11);
  auto unit = [&] { return static_cast<double>(random() % 1000) / 1000; };
  for (int trial = 0; trial < 50; ++trial) {
    const std::size_t n = 1 + random() % 5;
    std::vector<double> roots(n * n), gram(n * n, 0.0), losses(n), start(n);
    for (double& root : roots) root = unit() - 0.5;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t k = 0; k < n; ++k) gram[i * n + j] += roots[i * n + k] * roots[j * n + k];
    for (std::size_t i = 0; i < n; ++i) losses[i] = 2 * unit() - 0.5, start[i] = unit() / static_cast<double>(n);
    const auto value = [&](const std::vector<double>& a) {
      double total = 0;
      for (std::size_t i = 0; i < n; ++i) {
        total += a[i] * losses[i];
        for (std::size_t j = 0; j < n; ++j) total -= 0.5 * a[i] * a[j] * gram[i * n + j];
      }
      return total;
    };
    MarginQp cold, warm;
    CHECK_NEAR(value(cold.solve(losses, gram, 1.0)), value(warm.solve(losses, gram, 1.0, start)), 1e-7);
  }
}
