// Learning labels that see labels further back: memory and threads; what is learnt is tested by twins in Python.
#include <random>
#include <vector>

#include "check.hpp"
#include "engine/beam.hpp"
#include "learn/chain_learners.hpp"

namespace {
using namespace trellis;

struct Corpus {
  std::vector<std::int64_t> starts{0}, attribute_starts{0}, far_starts{0};
  std::vector<std::int32_t> gold, attributes, far, same;
  std::vector<std::uint8_t> about{kFar + 2, kFar + 3, kAny, kSame}, kinds = about;
  ChainData data{};

  explicit Corpus(unsigned seed) {
    std::mt19937 random(seed);
    for (int s = 0; s < 12; ++s) {
      const std::size_t n = random() % 6, begin = gold.size();
      for (std::size_t t = 0; t < n; ++t) {
        attributes.push_back(static_cast<std::int32_t>(random() % 3));
        attribute_starts.push_back(static_cast<std::int64_t>(attributes.size()));
        for (std::int32_t a = 0; a < 4; ++a) far.push_back(a);
        far_starts.push_back(static_cast<std::int64_t>(far.size()));
        std::int32_t last = -1;
        for (std::size_t u = begin; u < begin + t; ++u)
          if (attributes[u] == attributes.back()) last = static_cast<std::int32_t>(u - begin);
        same.push_back(last);
        gold.push_back(last < 0 ? attributes.back() : 3);  // a word's label is 3 from the second time on
      }
      starts.push_back(static_cast<std::int64_t>(gold.size()));
    }
    data.attributes = {attribute_starts.data(), attributes.data(), nullptr};
    data.far = {{far_starts.data(), far.data(), nullptr}, about.data(), kinds, same.data()};
  }
};

TEST(learning_labels_further_back) {
  const Corpus corpus(7);
  const Examples examples{corpus.data, corpus.starts.data(), corpus.gold.data()};
  std::vector<std::int64_t> order;
  for (std::size_t s = 0; s + 1 < corpus.starts.size(); ++s) order.push_back(static_cast<std::int64_t>(s));
  for (Rule rule : {Rule{Rule::kPerceptron}, Rule{Rule::kMira, 3, 0.5}, Rule{Rule::kArow, 1, 1.0}})
    for (Update update : {Update::kStandard, Update::kEarly, Update::kMaxViolation})
      for (int chain_order : {1, 2, 3})
        for (std::size_t batch : {1, 4}) {
          std::vector<float> learnt[2];
          for (std::size_t n_threads : {1, 2}) {
            Online online(3, 4, 4, chain_order, chain_order > 2, rule, false);
            online.beam = 2, online.update = update;
            EpochResult last;
            for (int epoch = 0; epoch < 30; ++epoch)
              last = online.epoch(examples, order.data(), order.size(), batch, n_threads, {});
            if (!rule.augmented()) CHECK(last.mistakes == 0);  // others find the best by score + cost
            online.edge_rows.each([&](std::size_t, std::uint32_t, float weight, double, float) {
              learnt[n_threads - 1].push_back(weight);
            });
          }
          CHECK(!learnt[0].empty());
          CHECK(learnt[0] == learnt[1]);
        }
}

}  // namespace
