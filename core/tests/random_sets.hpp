// Random labels for every token of a sentence, one at least.
#pragma once
#include <random>
#include <vector>

#include "engine/chain.hpp"

namespace trellis::testing {

struct RandomSets {
  std::vector<std::int32_t> set_of_token, labels;
  std::vector<std::int64_t> starts{0};
  LabelSets sets{};

  void fill_sets(std::size_t n_tokens, std::size_t n_labels, std::mt19937& random) {
    for (std::size_t t = 0; t < n_tokens; ++t) {
      set_of_token.push_back(static_cast<std::int32_t>(t));
      const std::size_t sure = random() % n_labels;
      for (std::size_t z = 0; z < n_labels; ++z)
        if (z == sure || random() % 2) labels.push_back(static_cast<std::int32_t>(z));
      starts.push_back(static_cast<std::int64_t>(labels.size()));
    }
    sets = {set_of_token.data(), starts.data(), labels.data()};
  }
};

}  // namespace trellis::testing
