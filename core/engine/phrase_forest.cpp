#include "engine/phrase_forest.hpp"

#include <stdexcept>

namespace trellis {

bool PhraseForest::build(const WordTags& words, const Remaining* remaining) {
  constexpr std::size_t kMostEdges = std::size_t(1) << 27;
  n_ = words.n_words();
  const std::size_t n_symbols = grammar_.n_symbols();
  all_edges_.clear(), all_starts_.assign(1, 0), all_tails_.clear();
  tops_.clear();
  node_at_.assign(n_ * n_symbols, -1);
  std::int32_t goal = -1;
  for (std::size_t j = 1; j <= n_; ++j) {
    for (std::size_t i = j; i-- > 0;) {
      const std::size_t cell = cell_of(i, j);
      candidates_.clear();
      if (j - i == 1) {
        for (const WordTag& one : words.of(i))
          if (may_be(remaining, false, cell, static_cast<std::size_t>(one.tag)))
            candidates_.push_back({one.tag, static_cast<std::int32_t>(grammar_.tag_number(static_cast<std::size_t>(one.tag))), 0, -1, -1});
      } else {
        for (std::size_t k = i + 1; k < j; ++k) {
          const std::int32_t* rights = node_at_.data() + k * n_symbols;
          if (!tops_.size_of(cell_of(k, j))) continue;
          for (const Item& left : tops_[cell_of(i, k)]) {
            const auto symbol = static_cast<std::size_t>(left.symbol);
            const auto add = [&](std::span<const PhraseGrammar::WithLeft> rules) {
              for (const auto& [parent, child, rule] : rules)
                if (const std::int32_t right = rights[child]; right >= 0 && may_be(remaining, false, cell, static_cast<std::size_t>(parent)))
                  candidates_.push_back({parent, rule, static_cast<std::int32_t>(k), left.node, right});
            };
            add(grammar_.before_phrases(symbol));
            if (j - k == 1)
              for (const WordTag& one : words.of(k)) add(grammar_.before_tag(symbol, static_cast<std::size_t>(one.tag)));
          }
        }
      }
      const std::size_t first_bottom = all_starts_.size() - 1;
      add_cell(i, j);
      const std::vector<std::int32_t> bottoms(symbols_);
      candidates_.clear();
      for (std::size_t b = 0; b < bottoms.size(); ++b)
        for (const std::int32_t r : grammar_.with_bottom(static_cast<std::size_t>(bottoms[b]))) {
          const UnaryRule& rule = grammar_.unary(static_cast<std::size_t>(r));
          if (may_be(remaining, true, cell, static_cast<std::size_t>(rule.top)))
            candidates_.push_back({rule.top, static_cast<std::int32_t>(grammar_.unary_number(static_cast<std::size_t>(r))), 0,
                                   static_cast<std::int32_t>(first_bottom + b), -1});
        }
      const std::size_t first_top = all_starts_.size() - 1;
      add_cell(i, j);
      for (std::size_t a = 0; a < symbols_.size(); ++a) {
        const auto node = static_cast<std::int32_t>(first_top + a);
        tops_.items.push_back({symbols_[a], node});
        node_at_[i * n_symbols + static_cast<std::size_t>(symbols_[a])] = node;
        if (j == n_ && i == 0 && static_cast<std::size_t>(symbols_[a]) == grammar_.root()) goal = node;
      }
      tops_.end_group();
      if (all_edges_.size() > kMostEdges) throw std::length_error("a sentence has more than 2^27 rules over spans; prune more");
    }
    // The next word ends other spans.
    for (std::size_t i = 0; i < j; ++i)
      for (const Item& top : tops_[cell_of(i, j)]) node_at_[i * n_symbols + static_cast<std::size_t>(top.symbol)] = -1;
  }
  edges_.clear(), in_starts_.assign(1, 0), tail_starts_.assign(1, 0), tails_.clear(), spans_.clear();
  if (goal < 0) return false;
  all_starts_.resize(static_cast<std::size_t>(goal) + 2);  // the goal is the last node
  cut();
  return true;
}

// Nodes for the parents among the candidates, with the candidates as edges.
void PhraseForest::add_cell(std::size_t i, std::size_t j) {
  symbols_.clear();
  for (const Candidate& one : candidates_)
    if (counts_[static_cast<std::size_t>(one.parent)]++ == 0) symbols_.push_back(one.parent);
  std::sort(symbols_.begin(), symbols_.end());
  std::size_t next = all_edges_.size();
  for (const std::int32_t symbol : symbols_) {
    const std::size_t size = counts_[static_cast<std::size_t>(symbol)];
    counts_[static_cast<std::size_t>(symbol)] = next, next += size;
    all_starts_.push_back(static_cast<std::int64_t>(next));
  }
  all_edges_.resize(next), all_tails_.resize(2 * next);
  for (const Candidate& one : candidates_) {
    const std::size_t e = counts_[static_cast<std::size_t>(one.parent)]++;
    all_edges_[e] = {one.rule, static_cast<std::int32_t>(i), one.split, static_cast<std::int32_t>(j)};
    all_tails_[2 * e] = one.left, all_tails_[2 * e + 1] = one.right;
  }
  for (const std::int32_t symbol : symbols_) counts_[static_cast<std::size_t>(symbol)] = 0;
}

// Removes the nodes that are not below the goal.
void PhraseForest::cut() {
  const std::size_t n_nodes = all_starts_.size() - 1;
  number_.assign(n_nodes, -1);
  number_[n_nodes - 1] = 0;
  std::size_t n_edges = 0;
  for (std::size_t v = n_nodes; v-- > 0;) {
    if (number_[v] < 0) continue;
    const auto begin = static_cast<std::size_t>(all_starts_[v]), end = static_cast<std::size_t>(all_starts_[v + 1]);
    n_edges += end - begin;
    for (std::size_t t = 2 * begin; t < 2 * end; ++t)
      if (all_tails_[t] >= 0) number_[static_cast<std::size_t>(all_tails_[t])] = 0;
  }
  edges_.reserve(n_edges), tail_starts_.reserve(n_edges + 1), tails_.reserve(2 * n_edges);
  std::int32_t n = 0;
  for (std::size_t v = 0; v < n_nodes; ++v) {
    if (number_[v] < 0) continue;
    number_[v] = n++;
    for (auto e = static_cast<std::size_t>(all_starts_[v]); e < static_cast<std::size_t>(all_starts_[v + 1]); ++e) {
      const ForestEdge& edge = all_edges_[e];
      if (spans_.empty() || spans_.back().begin != edge.begin || spans_.back().end != edge.end)
        spans_.push_back({edge.begin, edge.end, edges_.size()});
      edges_.push_back(edge);
      for (std::size_t t = 2 * e; t < 2 * e + 2; ++t)
        if (all_tails_[t] >= 0) tails_.push_back(number_[static_cast<std::size_t>(all_tails_[t])]);
      tail_starts_.push_back(static_cast<std::int64_t>(tails_.size()));
    }
    in_starts_.push_back(static_cast<std::int64_t>(edges_.size()));
  }
}

std::int64_t PhraseForest::find(const ForestEdge& wanted) const {
  const auto before = [](const Span& span, const ForestEdge& edge) {
    return span.end != edge.end ? span.end < edge.end : span.begin > edge.begin;
  };
  const auto span = std::lower_bound(spans_.begin(), spans_.end(), wanted, before);
  if (span == spans_.end() || span->begin != wanted.begin || span->end != wanted.end) return -1;
  const std::size_t last = span + 1 == spans_.end() ? edges_.size() : (span + 1)->first_edge;
  for (std::size_t e = span->first_edge; e < last; ++e)
    if (edges_[e] == wanted) return static_cast<std::int64_t>(e);
  return -1;
}

}  // namespace trellis
