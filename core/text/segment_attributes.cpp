#include "text/segment_attributes.hpp"

#include <numeric>

#include "parallel.hpp"

namespace trellis {

SegmentVocabulary::SegmentVocabulary(std::vector<SegmentLook> looks, std::vector<std::int64_t> starts)
    : looks_(std::move(looks)), starts_(std::move(starts)), list_roots_(looks_.size(), -1) {
  auto n_roots = static_cast<std::int32_t>(n_templates());
  for (std::size_t i = 0; i < looks_.size(); ++i)
    if (looks_[i].kind == SegmentLook::kListed) list_roots_[i] = n_roots++;
  tree_ = SymbolTree(static_cast<std::size_t>(n_roots));
  attributes_.assign(tree_.size(), -1);
}

std::int32_t SegmentVocabulary::make(std::int32_t node, std::int32_t symbol) {
  const std::int32_t child = tree_.make(node, symbol);
  attributes_.resize(tree_.size(), -1);
  return child;
}

void SegmentVocabulary::add_entry(std::size_t look, std::span<const std::int32_t> text) {
  std::int32_t node = list_roots_[look];
  for (std::int32_t symbol : text) node = make(node, symbol);
  if (!text.empty()) attributes_[static_cast<std::size_t>(node)] = 0;
}

const SegmentLook* SegmentVocabulary::text_of(std::size_t k) const {
  const SegmentLook* const first = looks_.data() + starts_[k];
  return starts_[k] < starts_[k + 1] && first->kind >= SegmentLook::kText ? first : nullptr;
}

std::int32_t SegmentVocabulary::text_root(std::size_t k) const {
  const std::int32_t list = text_of(k) ? list_roots_[static_cast<std::size_t>(starts_[k])] : -1;
  return list < 0 ? static_cast<std::int32_t>(k) : list;
}

template <class Step>
std::int32_t SegmentVocabulary::walk(const SegmentSymbols& symbols, std::size_t k, std::int32_t text, std::int64_t first,
                                     std::int64_t last, std::int64_t begin, std::int64_t length, Step step) const {
  std::int32_t node = text;
  if (text >= 0 && text_root(k) >= static_cast<std::int32_t>(n_templates()))  // whether it is an entry of the list
    node = attributes_[static_cast<std::size_t>(text)] < 0 ? -1 : step(static_cast<std::int32_t>(k), 0);
  for (std::int64_t i = starts_[k] + (text_of(k) != nullptr); i < starts_[k + 1] && node >= 0; ++i) {
    const SegmentLook& look = looks_[static_cast<std::size_t>(i)];
    if (look.kind == SegmentLook::kLength) {
      node = step(node, static_cast<std::int32_t>(length));
      continue;
    }
    const std::int64_t t = (look.kind == SegmentLook::kFirst ? begin : begin + length - 1) + look.offset;
    const std::int32_t symbol = t < first || t >= last ? kOutside : symbols.views[static_cast<std::size_t>(look.view)][t];
    node = symbol == -1 ? -1 : step(node, symbol);
  }
  return node;
}

TokenLists SegmentVocabulary::learn(const SegmentSymbols& symbols, std::span<const std::int64_t> begins,
                                    std::span<const std::int64_t> lengths) {
  TokenLists out;
  std::size_t s = 0;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::int64_t begin = begins[i], length = lengths[i];
    while (begin >= symbols.starts[s + 1]) ++s;
    for (std::size_t k = 0; k < n_templates(); ++k) {
      std::int32_t node = text_root(k);
      const SegmentLook* const text = text_of(k);
      for (std::int64_t t = begin; text && t < begin + length && node >= 0; ++t) {
        const std::int32_t symbol = symbols.views[static_cast<std::size_t>(text->view)][t];
        node = symbol < 0 ? -1 : text->kind == SegmentLook::kListed ? tree_.find(node, symbol) : make(node, symbol);
      }
      node = walk(symbols, k, node, symbols.starts[s], symbols.starts[s + 1], begin, length,
                  [&](std::int32_t from, std::int32_t symbol) { return make(from, symbol); });
      if (node < 0) continue;
      std::int32_t& attribute = attributes_[static_cast<std::size_t>(node)];
      if (attribute < 0) attribute = n_attributes_++;
      out.ids.push_back(attribute);
    }
    out.end_token();
  }
  return out;
}

TokenLists SegmentVocabulary::extract(const SegmentSymbols& symbols, std::size_t longest, std::size_t n_threads) const {
  constexpr std::size_t kBlock = 64;  // sentences
  const auto step = [&](std::int32_t from, std::int32_t symbol) { return tree_.find(from, symbol); };
  const std::size_t n_tokens = symbols.n_sentences ? static_cast<std::size_t>(symbols.starts[symbols.n_sentences]) : 0;
  std::vector<std::vector<std::int32_t>> found((symbols.n_sentences + kBlock - 1) / kBlock);
  TokenLists lists;
  lists.starts.assign(n_tokens * longest + 1, 0);  // first the counts per site
  parallel_blocks(symbols.n_sentences, kBlock, n_threads, [&] { return std::vector<std::int32_t>(n_templates()); },
                  [&](std::vector<std::int32_t>& runs, std::size_t first_sentence, std::size_t last_sentence) {
    std::vector<std::int32_t>& out = found[first_sentence / kBlock];
    for (std::size_t s = first_sentence; s < last_sentence; ++s) {
      const std::int64_t first = symbols.starts[s], last = symbols.starts[s + 1];
      for (std::int64_t t = first; t < last; ++t) {
        for (std::size_t k = 0; k < n_templates(); ++k) runs[k] = text_root(k);
        for (std::size_t length = 1; length <= longest && t + static_cast<std::int64_t>(length) <= last; ++length) {
          const std::size_t before = out.size();
          for (std::size_t k = 0; k < n_templates(); ++k) {
            if (runs[k] < 0) continue;  // no longer text exists
            if (const SegmentLook* const text = text_of(k)) {
              const std::int32_t* const view = symbols.views[static_cast<std::size_t>(text->view)];
              const std::int32_t symbol = view[t + static_cast<std::int64_t>(length) - 1];
              runs[k] = symbol < 0 ? -1 : tree_.find(runs[k], symbol);
            }
            const std::int32_t node = walk(symbols, k, runs[k], first, last, t, static_cast<std::int64_t>(length), step);
            if (node >= 0 && attributes_[static_cast<std::size_t>(node)] >= 0) out.push_back(attributes_[static_cast<std::size_t>(node)]);
          }
          lists.starts[static_cast<std::size_t>(t) * longest + length] = static_cast<std::int64_t>(out.size() - before);
        }
      }
    }
  });
  std::partial_sum(lists.starts.begin(), lists.starts.end(), lists.starts.begin());
  lists.ids.reserve(static_cast<std::size_t>(lists.starts.back()));
  for (const std::vector<std::int32_t>& some : found) lists.ids.insert(lists.ids.end(), some.begin(), some.end());
  return lists;
}

SegmentVocabulary::Nodes SegmentVocabulary::nodes(std::span<const std::int32_t> rank) const {
  const std::size_t n = tree_.size(), n_roots = tree_.n_roots();
  // The tree of each node: lists are stored unchanged.
  std::vector<std::int32_t> attribute(attributes_), root(n), number(n);
  std::vector<bool> kept(n, false);
  for (std::size_t v = 0; v < n; ++v) {
    root[v] = v < n_roots ? static_cast<std::int32_t>(v) : root[static_cast<std::size_t>(tree_.parents[v])];
    if (attribute[v] >= 0 && static_cast<std::size_t>(root[v]) < n_templates()) attribute[v] = rank[static_cast<std::size_t>(attribute[v])];
  }
  for (std::size_t v = n; v-- > n_roots;)
    if (attribute[v] >= 0 || kept[v]) kept[v] = true, kept[static_cast<std::size_t>(tree_.parents[v])] = true;
  Nodes out;
  for (std::size_t v = 0; v < n; ++v) {
    if (v >= n_roots && !kept[v]) continue;
    number[v] = static_cast<std::int32_t>(out.parents.size());
    out.parents.push_back(v < n_roots ? -1 : number[static_cast<std::size_t>(tree_.parents[v])]);
    out.symbols.push_back(tree_.symbols[v]), out.attributes.push_back(attribute[v]);
  }
  return out;
}

bool SegmentVocabulary::set_nodes(std::span<const std::int32_t> parents, std::span<const std::int32_t> symbols,
                                  std::span<const std::int32_t> attributes, std::span<const std::int32_t> n_symbols) {
  const std::size_t n_roots = tree_.n_roots(), n = parents.size();
  if (n < n_roots || symbols.size() != n || attributes.size() != n) return false;
  std::vector<std::size_t> root(n), list_of(n_roots);  // list_of: the look of a list's root
  for (std::size_t i = 0; i < looks_.size(); ++i)
    if (list_roots_[i] >= 0) list_of[static_cast<std::size_t>(list_roots_[i])] = i;
  std::vector<bool> met(n, false);  // attributes, each of which must be at one node
  std::size_t n_met = 0;
  for (std::size_t v = 0; v < n; ++v) {
    if (v >= n_roots) {
      if (parents[v] < 0 || static_cast<std::size_t>(parents[v]) >= v || tree_.size() != v) return false;
      make(parents[v], symbols[v]);
      if (tree_.size() != v + 1) return false;  // duplicate node
    }
    root[v] = v < n_roots ? v : root[static_cast<std::size_t>(parents[v])];
    const std::int32_t attribute = attributes_[v] = attributes[v];
    if (v < n_roots) {
      if (attribute != -1) return false;
    } else if (root[v] >= n_templates()) {
      if (attribute < -1 || attribute > 0 || !known_symbol(looks_[list_of[root[v]]], symbols[v], n_symbols)) return false;
    } else if (attribute != -1) {
      const auto a = static_cast<std::size_t>(attribute);
      if (attribute < 0 || a >= n || met[a] || !is_path(v, root[v], n_symbols)) return false;
      met[a] = true, ++n_met;
      n_attributes_ = std::max(n_attributes_, attribute + 1);
    }
  }
  return n_met == static_cast<std::size_t>(n_attributes_);
}

bool SegmentVocabulary::known_symbol(const SegmentLook& look, std::int32_t symbol, std::span<const std::int32_t> n_symbols) {
  if (look.kind == SegmentLook::kLength) return symbol > 0;
  const bool may_be_outside = look.kind == SegmentLook::kFirst || look.kind == SegmentLook::kLast;
  return (symbol >= 0 && symbol < n_symbols[static_cast<std::size_t>(look.view)]) || (may_be_outside && symbol == kOutside);
}

bool SegmentVocabulary::is_path(std::size_t v, std::size_t k, std::span<const std::int32_t> n_symbols) const {
  const SegmentLook* const text = text_of(k);
  const auto up = [&] { v = static_cast<std::size_t>(tree_.parents[v]); };
  for (std::int64_t i = starts_[k + 1]; i-- > starts_[k] + (text != nullptr); up())
    if (v == k || !known_symbol(looks_[static_cast<std::size_t>(i)], tree_.symbols[v], n_symbols)) return false;
  if (!text || v == k) return !text && v == k;
  if (text->kind == SegmentLook::kListed) return tree_.symbols[v] == 0 && tree_.parents[v] == static_cast<std::int32_t>(k);
  for (; v != k; up())
    if (!known_symbol(*text, tree_.symbols[v], n_symbols)) return false;
  return true;
}

}  // namespace trellis
