// Dictionaries against a search of all runs of tokens.
#include "text/dictionary.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "check.hpp"

namespace {
using namespace trellis;
using Run = std::vector<std::int32_t>;
using Entries = std::map<Run, std::set<std::int32_t>>;  // with the folds that have them

std::vector<std::int32_t> searched(const Entries& entries, const Run& text, std::int32_t asks) {
  const std::size_t n = text.size();
  std::vector<std::int32_t> values(4 * n, asks == Dictionary::kNobody ? Dictionary::kSilent : 0), longest(n);
  std::fill(values.begin() + static_cast<std::ptrdiff_t>(3 * n), values.end(), Dictionary::kSilent);
  if (asks == Dictionary::kNobody) return values;
  for (std::size_t begin = 0; begin < n; ++begin)
    for (std::size_t end = begin + 1; end <= n; ++end) {
      const auto entry = entries.find(Run(text.begin() + begin, text.begin() + end));
      if (entry == entries.end() || (entry->second.size() == 1 && entry->second.contains(asks))) continue;
      const auto length = static_cast<std::int32_t>(std::min<std::size_t>(end - begin, Dictionary::kMost));
      longest[begin] = static_cast<std::int32_t>(end - begin);
      for (std::size_t t = begin; t < end; ++t) {
        if (t == begin) values[t] = std::max(values[t], length);
        if (t + 1 == end) values[n + t] = std::max(values[n + t], length);
        if (t != begin && t + 1 != end) values[2 * n + t] = std::max(values[2 * n + t], length);
      }
    }
  for (std::size_t t = 0; t < n; t += std::max<std::size_t>(1, static_cast<std::size_t>(longest[t]))) {
    std::int32_t* parts = values.data() + 3 * n + t;
    if (longest[t] == 0) continue;
    std::fill_n(parts, longest[t], Dictionary::kInner);
    parts[0] = Dictionary::kFirst;
    parts[longest[t] - 1] = longest[t] == 1 ? Dictionary::kOnly : Dictionary::kLast;
  }
  return values;
}

}  // namespace

TEST(dictionaries_answer_as_a_search_of_all_runs_does) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const std::int32_t n_symbols = 1 + static_cast<std::int32_t>(random() % 3);
    const auto run = [&](std::size_t n, std::int32_t least) {
      Run out(n);
      for (std::int32_t& symbol : out) symbol = least + static_cast<std::int32_t>(random() % static_cast<unsigned>(n_symbols - least));
      return out;
    };
    Dictionary dictionary(static_cast<std::size_t>(n_symbols));
    Entries entries;
    for (std::size_t i = random() % 8; i > 0; --i) {
      const Run entry = run(1 + random() % 9, 0);
      const auto fold = static_cast<std::int32_t>(random() % 3);
      dictionary.add(entry, fold);
      entries[entry].insert(fold);
    }
    const Run text = run(random() % 14, -1);
    for (std::int32_t asks = Dictionary::kNobody; asks < 3; ++asks) {
      std::vector<std::int32_t> values(4 * text.size(), 99);
      dictionary.match(text, asks, values.data());
      CHECK(values == searched(entries, text, asks));
    }
  }
}
