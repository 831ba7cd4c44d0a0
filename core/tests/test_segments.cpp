// Segmentations against a list of them all, and the tree of segment attributes.
#include <algorithm>
#include <random>

#include "check.hpp"
#include "engine/segments.hpp"
#include "learn/segments.hpp"
#include "text/segment_attributes.hpp"

using namespace trellis;

static_assert(PartStructure<Segments<GrowingChain>>);

namespace {

// Labels O, B-A, I-A, B-B, I-B in IOB2.
SegmentRules iob2(std::int32_t longest) {
  SegmentRules rules{5, static_cast<std::size_t>(longest), {{0, 1, 0, -1, -1, -1}, {1, longest, 1, 1, 2, 2}, {3, 2, 3, 3, 4, 4}},
                     {0, 1, 1, 3, 3}, {}};
  for (std::size_t y = 0; y <= 5; ++y)
    for (std::size_t z = 0; z <= 5; ++z) rules.follows.push_back(z != 2 && z != 4);
  return rules;
}

struct Sentence {
  std::size_t n, stride = padded(5);
  std::vector<float> emit, edge, end, of;

  Sentence(unsigned seed, std::size_t n_, std::size_t longest) : n(n_) {
    std::mt19937 random(seed);
    const auto number = [&] { return random() % 9 ? static_cast<float>(random() % 5) - 2 : kForbidden<float>; };
    for (auto* table : {&emit, &edge, &end, &of})
      table->resize((table == &emit ? n : table == &edge ? 6 : table == &end ? 1 : n * longest) * stride);
    for (auto* table : {&emit, &edge, &end}) std::ranges::generate(*table, number);
    std::ranges::generate(of, [&] { return static_cast<float>(random() % 3); });
  }
  ChainView<float> chain() const {
    LabelTables<float> labels{5, stride, edge.data(), nullptr, end.data()};
    return {labels, n, emit.data()};
  }
};

// All label paths of n tokens that are segmentations, with their scores.
std::vector<std::pair<double, std::vector<std::int32_t>>> all_of(const SegmentRules& rules, const Sentence& x) {
  std::vector<std::pair<double, std::vector<std::int32_t>>> out;
  std::vector<std::int32_t> path(x.n, 0);
  for (;;) {
    bool fits = x.n == 0 || (path[0] != 2 && path[0] != 4);
    for (std::size_t t = 1; t < x.n; ++t) fits &= (path[t] != 2 && path[t] != 4) || path[t - 1] == path[t] || path[t - 1] == path[t] - 1;
    if (fits) {
      double score = path_score(x.chain(), path.data());
      each_segment(rules, path.data(), x.n, [&](std::size_t begin, std::size_t length) {
        const std::int32_t column = rules.columns[static_cast<std::size_t>(path[begin])];
        if (length > (column == 3 ? 2 : rules.longest)) score = kForbidden<double>;
        else score += x.of[(begin * rules.longest + length - 1) * x.stride + static_cast<std::size_t>(column)];
      });
      if (score > kForbidden<double>) out.push_back({score, path});
    }
    std::size_t t = 0;
    while (t < x.n && ++path[t] == 5) path[t++] = 0;
    if (t == x.n) return out;
  }
}

}  // namespace

TEST(segmentations_are_those_that_can_be_listed) {
  const SegmentRules rules = iob2(3);
  SegmentLattice lattice(rules);
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Sentence x(seed, seed % 6, rules.longest);
    auto all = all_of(rules, x);
    lattice.load(x.chain(), x.of.data());
    std::vector<std::int32_t> path(x.n), paths((all.size() + 1) * x.n);
    std::vector<double> scores(all.size() + 1);
    double best = kForbidden<double>, total = 0;
    for (const auto& one : all) best = std::max(best, one.first);
    CHECK(lattice.best(path.data()) == best);
    if (!all.empty() && x.n) CHECK(std::ranges::find(all, std::pair(best, path)) != all.end());
    CHECK(lattice.k_best(all.size() + 1, paths.data(), scores.data()) == all.size());
    std::ranges::sort(all, std::greater<>(), [](const auto& one) { return one.first; });
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(scores[i] == all[i].first), total += std::exp(all[i].first);
    const double log_z = lattice.sum();
    CHECK(all.empty() ? log_z == best : std::fabs(log_z - std::log(total)) < 1e-9);
    if (all.empty() || !x.n) continue;
    lattice.find_marginals();
    double labels = 0;
    lattice.each_marginal(seed % 2, [](std::size_t, std::size_t, std::size_t, double) {},
                          [&](std::size_t, std::size_t length, const SegmentShape&, double p) { labels += p * static_cast<double>(length); });
    CHECK(std::fabs(labels - static_cast<double>(x.n)) < 1e-9);
  }
}

TEST(attributes_of_segments_are_those_of_training) {
  // word[segment]; word[last] & length; a list of one text.
  const std::vector<SegmentLook> looks{{SegmentLook::kText, 0, 0}, {SegmentLook::kLast, 0, 1}, {SegmentLook::kLength, 0, 0},
                                       {SegmentLook::kListed, 0, 0}};
  SegmentVocabulary growing(looks, {0, 1, 3, 4});
  growing.add_entry(3, std::vector<std::int32_t>{7, 8});
  const std::vector<std::int32_t> words{7, 8, 9, 7, -1};
  const std::vector<std::int64_t> starts{0, 3, 5}, begins{0, 2, 3}, lengths{2, 1, 1};
  const SegmentSymbols symbols{{words.data()}, starts.data(), 2};
  const TokenLists seen = growing.learn(symbols, begins, lengths);
  CHECK((seen.starts == std::vector<std::int64_t>{0, 3, 5, 6}));
  CHECK((seen.ids == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}));  // what follows the last word is outside; or says nothing
  for (const std::size_t n_threads : {1, 3}) {
    const std::vector<std::int64_t> sites = growing.extract(symbols, 2, n_threads).starts;
    CHECK(sites.size() == 11 && sites[2] - sites[1] == 3);  // the first two words of the first sentence
  }
  const std::vector<std::int32_t> rank{-1, -1, 0, 1, -1, -1};
  const SegmentVocabulary::Nodes nodes = growing.nodes(rank);
  SegmentVocabulary frozen(looks, {0, 1, 3, 4});
  const std::vector<std::int32_t> n_symbols{10};
  CHECK(frozen.set_nodes(nodes.parents, nodes.symbols, nodes.attributes, n_symbols));
  CHECK(frozen.n_attributes() == 2);
  CHECK((frozen.extract(symbols, 2, 1).ids == std::vector<std::int32_t>{0, 1}));
  std::vector<std::int32_t> twice(nodes.parents);
  for (std::int32_t& parent : twice) parent = std::min(parent + 1, static_cast<std::int32_t>(twice.size()) - 1);
  const auto makes_sense = [&](const std::vector<std::int32_t>& parents, const std::vector<std::int32_t>& of,
                               const std::vector<std::int32_t>& attributes, const std::vector<std::int32_t>& sizes) {
    return SegmentVocabulary(looks, {0, 1, 3, 4}).set_nodes(parents, of, attributes, sizes);
  };
  CHECK(makes_sense(nodes.parents, nodes.symbols, nodes.attributes, n_symbols));
  CHECK(!makes_sense(twice, nodes.symbols, nodes.attributes, n_symbols));
  CHECK(!makes_sense(nodes.parents, nodes.symbols, nodes.attributes, {9}));  // fewer words than symbols
  for (std::size_t v = 0; v < nodes.attributes.size(); ++v)
    for (const std::int32_t other : {-2, 0, 1, 2, 0x7fffffff}) {
      if (other == nodes.attributes[v] || (other == 0 && nodes.symbols[v] == 7)) continue;  // the list may have the first word, too
      std::vector<std::int32_t> worse(nodes.attributes);
      worse[v] = other;
      CHECK(!makes_sense(nodes.parents, nodes.symbols, worse, n_symbols));
    }
}
