#include "learn/sentence_sums.hpp"

#include <algorithm>
#include <cmath>

#include "weights/local_chain.hpp"
#include "weights/potentials.hpp"

namespace trellis {
namespace {

#define TRELLIS_INSTANCES(Real)                                                                                             \
  TRELLIS_CLONES void sum_emissions(const SiteRows<Real>& rows, std::size_t begin, std::size_t end, Real* emit) {           \
    rows.emissions(begin, end, emit);                                                                                       \
  }
TRELLIS_FOR_REALS(TRELLIS_INSTANCES)
#undef TRELLIS_INSTANCES

}  // namespace

template <class Real>
SentenceSums<Real>::SentenceSums(const Layout& layout, const Examples& examples, bool local, bool few_rows)
    : rows(layout, examples.data.attributes, examples.n_tokens(), few_rows, lists(layout, examples.data), examples.data.spill),
      layout_(layout), examples_(examples), data_(examples.data), local_(local), L_(layout.n_labels), stride_(padded(layout.n_labels)),
      pair_cells_((L_ + 1) * stride_), triple_cells_(layout.order == 2 && !layout.ngrams ? (L_ + 1) * pair_cells_ : 0),
      edge_(pair_cells_), tri_(longer_cells(), 0), end_(layout.end_base.begin(), layout.end_base.end()) {
  if (!layout_.ngrams || local_) return;
  places_.assign(pair_cells_, -1);
  for (std::size_t i = 0; i < layout_.edge_places.size(); ++i) places_[layout_.edge_places[i]] = static_cast<std::int32_t>(i);
}

template <class Real>
void SentenceSums<Real>::set(const double* parameters) {
  rows.set(parameters);
  const double* pairs = parameters + layout_.row_labels.size() + n_edge_slots();
  const double* triples = pairs + layout_.edge_places.size();
  slot_weights.resize(n_slots());
  for (std::size_t s = 0; s < n_slots(); ++s) slot_weights[s] = static_cast<Real>(parameters[parameter_of(s)]);
  for (std::size_t i = 0; i < pair_cells_; ++i) edge_[i] = layout_.edge_base[i];
  for (std::size_t i = 0; i < layout_.edge_places.size(); ++i) set_pair(i, pairs[i]);
  for (std::size_t i = 0; i < layout_.tri_places.size(); ++i) set_triple(i, triples[i]);
  set_factors(true);
}

template <class Real>
void SentenceSums<Real>::set_factors(bool all) {
  if (!layout_.ngrams) make_factors(edge_, tri_, end_, L_, factors_);
  if (local_ || !layout_.ngrams) return;
  if (all) histories_.set(*layout_.ngrams, edge_, tri_, end_);
  else histories_.set(*layout_.ngrams, edge_, tri_, end_, layout_.edge_places);
}

template <class Real>
void SentenceSums<Real>::change(std::size_t k, double value) {
  const std::size_t first_edge_slot = layout_.row_labels.size(), first_pair = first_edge_slot + n_edge_slots();
  const std::size_t first_triple = first_pair + layout_.edge_places.size();
  if (k < first_edge_slot) return rows.change(k, static_cast<Real>(value));
  if (k < first_pair) {
    slot_weights[k - first_edge_slot] = static_cast<Real>(value);
    return;
  }
  k < first_triple ? set_pair(k - first_pair, value) : set_triple(k - first_triple, value);
  set_factors(true);
}

template <class Real>
void SentenceSums<Real>::begin_piece(Scratch& w, Piece& piece) const {
  w.piece = &piece;
  piece.pairs.assign(n_pairs(), 0);
  piece.triples.assign(longer_cells(), 0);
  if (layout_.ngrams) return;
  w.pairs.assign((stride_ + 1) * stride_, 0);
  w.pair_sums.assign(pair_cells_, 0);
  w.triples.assign(triple_cells_ ? (stride_ + 1) * pair_cells_ : 0, 0);
}

// P(y, z) = product · E[y][z]; the same for triples
template <class Real>
void SentenceSums<Real>::end_piece(const Scratch& w) const {
  if (local_ || layout_.ngrams) return;
  for (std::size_t i = 0; i < pair_cells_; ++i)
    w.piece->pairs[i] += static_cast<double>(w.pairs[i]) * factors_.edge[i] + w.pair_sums[i];
  for (std::size_t i = 0; i < triple_cells_; ++i)
    w.piece->triples[i] += static_cast<double>(w.triples[i]) * factors_.tri[i];
}

template <class Real>
double SentenceSums<Real>::run(std::size_t s, double weight, Scratch& w, Real* residual) const {
  w.begin = examples_.starts[s], w.n = examples_.starts[s + 1] - w.begin, w.weight = weight, w.residual = residual;
  if (w.n == 0) return 0;
  potentials(w);
  const double loss = local_ ? local_sentence(w) : sentence(w);
  if (residual) layout_.parts.spread(w.n, residual);
  return loss;
}

// emit[t, z] = sum over attributes a at t of value(a) · w[a, z], in local decisions minus infinity for labels the dictionary
// forbids
// edge[t, y, z] = edge[y, z] + sum over edge attributes a at t of value(a) · w[a, (y, z)]
template <class Real>
void SentenceSums<Real>::potentials(Scratch& w) const {
  const std::size_t begin = w.begin, n = w.n;
  w.emit.resize(n * padded(layout_.n_columns()));
  sum_emissions(rows, begin, begin + n, w.emit.data());
  layout_.parts.fold(n, w.emit.data());
  for (std::size_t t = 0; t < n && data_.sets.starts && local_; ++t)
    forbid_others(labels_of(data_.sets, begin + t), L_, w.emit.data() + t * stride_);
  const Rows<std::uint32_t, Real> edge_rows{layout_.edge_row_starts.data(), layout_.edge_row_labels.data(), slot_weights.data()};
  fill_edges(edge_rows, edge_.data(), pair_cells_, layout_.ngrams, data_, begin, begin + n, stride_, w.emit.data(), w.token_edge,
             w.runs);
}

// loss_i = log Z - score(gold)
template <class Real>
double SentenceSums<Real>::sentence(Scratch& w) const {
  const std::size_t begin = w.begin, n = w.n;
  const std::int32_t* gold = examples_.gold + begin;
  const bool is_known = std::all_of(gold, gold + n, [](std::int32_t label) { return label >= 0; });
  LabelSets sets = data_.sets;
  if (sets.starts) sets.set_of_token += begin;
  const double log_z = all_paths(w, w.weight, sets.starts ? &sets : nullptr);
  if (is_known) return log_z - gold_path(w);
  // Minus the same sums over the labels consistent with the partial labels.
  w.known.clear();
  for (std::size_t t = begin; t < begin + n; ++t) {
    const ListedLabels listed = examples_.gold[t] < 0 ? labels_of(examples_.partial, t) : ListedLabels{examples_.gold + t, 1};
    for (std::size_t i = 0; i < listed.size(); ++i)
      if (!data_.sets.starts || allows(data_.sets, t, listed[i])) w.known.labels.push_back(static_cast<std::int32_t>(listed[i]));
    w.known.end_token();
  }
  sets = w.known.view();
  return log_z - all_paths(w, -w.weight, &sets);
}

template <class Real>
double SentenceSums<Real>::gold_path(const Scratch& w) const {
  const std::size_t begin = w.begin, n = w.n;
  double score = 0;
  each_part(examples_.gold + begin, n, L_, [&](const Part& part) {
    const std::size_t t = part.token, z = part.z, pair = part.cell(1, L_, stride_), triple = part.cell(2, L_, stride_);
    const Real edge = edges_by_token() ? w.token_edge[t * pair_cells_ + pair] : edge_[pair];
    score += static_cast<double>(w.emit[t * stride_ + z]) + edge + (triple_cells_ ? tri_[triple] : 0);
    if (w.residual) {
      w.residual[t * stride_ + z] -= static_cast<Real>(w.weight);
      if (const std::ptrdiff_t place = places_.empty() ? static_cast<std::ptrdiff_t>(pair) : places_[pair]; place >= 0)
        w.piece->pairs[place] -= w.weight;
      if (triple_cells_) w.piece->triples[triple] -= w.weight;
      if (!data_.histories)
        add_edge_slots(begin + t, *w.piece, [&](std::uint32_t place) { return place == pair ? -w.weight : 0.0; });
    }
  });
  if (layout_.ngrams) score += gold_ngrams(w);
  return end_.empty() ? score : score + end_[examples_.gold[begin + n - 1]];
}

// The scores of label n-grams in the gold path, including those with edge attributes.
template <class Real>
double SentenceSums<Real>::gold_ngrams(const Scratch& w) const {
  const Ngrams& ngrams = *layout_.ngrams;
  const std::size_t begin = w.begin, n = w.n;
  const TokenNgrams<double>& runs = w.runs.ngrams;
  std::vector<std::uint32_t> gold(data_.histories ? ngrams.order() + 2 : 0);  // by length
  double score = 0;
  std::size_t y = L_;
  each_ngram(ngrams, examples_.gold + begin, n, [&](std::size_t t, std::uint32_t node) {
    score += histories_.total(node);
    for (std::uint32_t g = node; w.residual && ngrams.length(g) >= kScored; g = ngrams.shorter(g))
      w.piece->triples[g] -= w.weight;
    if (!data_.histories) return;
    std::fill(gold.begin(), gold.end(), Ngrams::kNone);
    for (std::uint32_t g = node; g != Ngrams::kRoot; g = ngrams.shorter(g)) gold[ngrams.length(g)] = g;
    const auto is_gold = [&](std::uint32_t g) { return gold[ngrams.length(g)] == g; };
    for (std::size_t i = runs.starts[t]; i < runs.starts[t + 1]; ++i)
      if (is_gold(runs.nodes[i])) score += runs.scores[i];
    const std::size_t pair = y * stride_ + ngrams.label(node);
    if (w.residual)
      add_edge_slots(begin + t, *w.piece, [&](std::uint32_t place) {
        return (place < pair_cells_ ? place == pair : is_gold(static_cast<std::uint32_t>(place - pair_cells_))) ? -w.weight : 0.0;
      });
    y = ngrams.label(node);
  });
  return score;
}

// Sums over listed labels if lists are short: false if they are not, or if products underflow.
template <class Real>
bool SentenceSums<Real>::listed_paths(Scratch& w, double weight, const LabelSets& allowed, double& log_z) const {
  const std::size_t begin = w.begin, n = w.n;
  const LabelTables<Real> tables{L_, stride_, edge_.data(), triple_cells_ ? tri_.data() : nullptr, end_.empty() ? nullptr : end_.data()};
  const ChainView<Real> chain(tables, n, w.emit.data(), nullptr, &allowed);
  if (!w.listed.is_worth(chain)) return false;
  log_z = w.listed.sum(chain);
  if (!std::isfinite(log_z)) return false;
  for (std::size_t t = 0; t < n; ++t)
    if (const std::int32_t gold = examples_.gold[begin + t]; gold >= 0 && !allows(allowed, t, static_cast<std::size_t>(gold)))
      w.emit[t * stride_ + static_cast<std::size_t>(gold)] = kForbidden<Real>;
  if (!w.residual) return true;
  if (weight == w.weight) std::fill_n(w.residual, n * stride_, Real(0));
  w.listed.each_step([&](std::size_t t, std::size_t x, std::size_t y, std::size_t z, double p) TRELLIS_INLINE_LAMBDA {
    p *= weight;
    w.residual[t * stride_ + z] += static_cast<Real>(p);
    w.piece->pairs[y * stride_ + z] += p;
    if (triple_cells_) w.piece->triples[(x * (L_ + 1) + y) * stride_ + z] += p;
  });
  return true;
}

// Sums over all paths of w.emit and of segments, minus the gold path's score by segment attributes; adds sign · weight ·
// expectations to residual and w.piece. Returns log Z. Dense tables by scaled products; if their factors underflow, in
// log space in double: slow but exact.
template <class Real>
double SentenceSums<Real>::all_paths(Scratch& w, double weight, const LabelSets* allowed) const {
  const std::size_t begin = w.begin, n = w.n;
  const bool by_token = edges_by_token(), dense = !layout_.ngrams && !data_.segments;
  const bool is_second = weight != w.weight;  // for partial labels: added to the first sums
  double log_z = 0;
  if (dense && allowed && !by_token && listed_paths(w, weight, *allowed, log_z)) return log_z;
  for (std::size_t t = 0; t < n && allowed && !layout_.ngrams; ++t)
    forbid_others(labels_of(*allowed, t), L_, w.emit.data() + t * stride_);
  if (dense) {
    const auto signed_weight = static_cast<Real>(weight);
    Expectations<Real> x{.node = w.residual, .add = is_second};
    if (w.residual && triple_cells_) x.triples = w.triples.data();
    if (w.residual && by_token) w.token_pairs.resize(n * pair_cells_), x.token_pairs = w.token_pairs.data();
    else (triple_cells_ ? x.pair_sums : x.pairs) = triple_cells_ ? w.pair_sums.data() : w.pairs.data();
    log_z = sum_product(factors_, w.emit.data(), n, by_token ? w.token_edge.data() : nullptr, signed_weight,
                        w.passes, w.residual ? &x : nullptr);
    for (std::size_t t = 0; t < n && x.token_pairs && std::isfinite(log_z); ++t) {
      const Real* pairs = w.token_pairs.data() + t * pair_cells_;
      for (std::size_t i = t ? 0 : L_ * stride_; i < (t ? L_ * stride_ : pair_cells_); ++i)
        w.piece->pairs[i] += signed_weight * pairs[i];
      add_edge_slots(begin + t, *w.piece, [&](std::uint32_t place) {
        return (place / stride_ == L_) == (t == 0) ? static_cast<double>(signed_weight) * pairs[place] : 0.0;
      });
    }
    if (std::isfinite(log_z)) return log_z;
  }
  auto& [emit, edge, node, token_pairs, token_ngrams, of_node] = w.slow;
  emit.assign(w.emit.begin(), w.emit.begin() + n * stride_);
  if (by_token) edge.assign(w.token_edge.begin(), w.token_edge.begin() + n * pair_cells_);
  const double* token_edge = by_token ? edge.data() : nullptr;
  HistoryExpectations wanted;
  if (w.residual) {
    node.assign(n * stride_, 0);
    if (by_token) token_pairs.assign(n * pair_cells_, 0);
    token_ngrams.resize(w.runs.ngrams.nodes.size());
    wanted = {node.data(), by_token ? token_pairs.data() : nullptr, w.piece->pairs.data(), w.piece->triples.data(),
              data_.histories ? token_ngrams.data() : nullptr, weight, places_.empty() ? nullptr : places_.data()};
  }
  if (data_.segments) {
    log_z = segment_sums(w, wanted);
  } else if (layout_.ngrams) {
    log_z = histories_.sum(n, emit.data(), token_edge, data_.histories ? &w.runs.ngrams : nullptr, allowed, w.histories, wanted);
  } else {
    w.tables.n_labels = L_, w.tables.stride = stride_;
    w.tables.edge.assign(edge_.begin(), edge_.end());
    w.tables.tri.assign(tri_.begin(), tri_.end());
    w.tables.end.assign(end_.begin(), end_.end());
    log_z = exact_sums(w.tables.view(n, emit.data(), token_edge), w.states, wanted);
  }
  if (!w.residual) return log_z;
  for (std::size_t i = 0; i < n * stride_; ++i)
    w.residual[i] = static_cast<Real>(weight * node[i] + (is_second ? w.residual[i] : 0));
  const TokenNgrams<double>& runs = w.runs.ngrams;
  if (data_.histories) of_node.resize(layout_.ngrams->size());
  for (std::size_t t = 0; t < n && data_.edge_attributes.starts; ++t) {
    if (data_.histories)
      for (std::size_t i = runs.starts[t]; i < runs.starts[t + 1]; ++i) of_node[runs.nodes[i]] = token_ngrams[i];
    add_edge_slots(begin + t, *w.piece, [&, &of_node = of_node, &token_pairs = token_pairs, &node = node](std::uint32_t place) {
      if (place >= pair_cells_) return of_node[place - pair_cells_];
      if (by_token) return weight * token_pairs[t * pair_cells_ + place];
      return t == 0 ? weight * node[place % stride_] : 0.0;
    });
  }
  return log_z;
}

// Sums over all segmentations; the last slots accumulate the gradient of segment attributes.
template <class Real>
double SentenceSums<Real>::segment_sums(Scratch& w, const HistoryExpectations& wanted) const {
  const SegmentSites& sites = *data_.segments;
  const std::size_t begin = w.begin, n = w.n, longest = sites.rules->longest, first = first_of_segments();
  // Calls visit(cell, value, slot) for the features of all segments.
  const auto each_slot = [&](auto visit) TRELLIS_INLINE_LAMBDA {
    for (std::size_t site = 0; site < n * longest; ++site)
      sites.attributes.each(begin * longest + site, [&](std::int32_t a, float value) TRELLIS_INLINE_LAMBDA {
        for (std::uint32_t k = layout_.row_starts[a]; k < layout_.row_starts[a + 1]; ++k)
          visit(site * stride_ + layout_.row_labels[k], static_cast<Real>(value), n_edge_slots() + k - first);
      });
  };
  // of[site, z] = sum over attributes a of the segment of value(a) · w[a, z]
  w.of_segments.assign(n * longest * stride_, 0);
  each_slot([&](std::size_t cell, Real value, std::size_t slot) TRELLIS_INLINE_LAMBDA {
    w.of_segments[cell] += value * slot_weights[slot];
  });
  if (!w.lattice) w.lattice.emplace(*sites.rules);
  const LabelTables<Real> labels{L_, stride_, edge_.data(), nullptr, end_.empty() ? nullptr : end_.data()};
  w.lattice->load(ChainView<Real>(labels, n, w.emit.data(), edges_by_token() ? w.token_edge.data() : nullptr),
                  w.of_segments.data());
  double loss = w.lattice->sum();
  const auto each_gold = [&](auto visit) {
    each_segment(*sites.rules, examples_.gold + begin, n, [&](std::size_t at, std::size_t length) {
      const auto column = static_cast<std::size_t>(sites.rules->columns[examples_.gold[begin + at]]);
      if (length <= longest) visit((at * longest + length - 1) * stride_ + column);
    });
  };
  each_gold([&](std::size_t cell) { loss -= w.of_segments[cell]; });
  if (!wanted.any() || !std::isfinite(loss)) return loss;
  w.lattice->find_marginals();
  HistoryExpectations of_pairs = wanted;  // with labels of segments
  of_pairs.node = nullptr;
  const ChainView<double> shape({L_, stride_}, n, nullptr);
  const auto add_pair = [&](std::size_t t, std::size_t y, std::size_t z, double p) { expect_pair(of_pairs, shape, t, y, z, p); };
  const double weight = wanted.weight;
  std::fill(w.of_segments.begin(), w.of_segments.end(), Real(0));  // from here on, residuals
  w.lattice->each_marginal(edges_by_token(), add_pair, [&](std::size_t at, std::size_t length, const SegmentShape& shape, double p) {
    each_label(shape, at, length, [&](std::size_t t, std::size_t z) { wanted.node[t * stride_ + z] += p; },
               [&](std::size_t t, std::size_t y, std::size_t z) { add_pair(t, y, z, p); });
    w.of_segments[(at * longest + length - 1) * stride_ + static_cast<std::size_t>(shape.column)] += static_cast<Real>(weight * p);
  });
  each_gold([&](std::size_t cell) { w.of_segments[cell] -= static_cast<Real>(weight); });
  each_slot([&](std::size_t cell, Real value, std::size_t slot) TRELLIS_INLINE_LAMBDA {
    w.piece->slots[slot] += value * w.of_segments[cell];
  });
  return loss;
}

// Maximum entropy: -log P(z | gold labels before it, observations) of every token.
template <class Real>
double SentenceSums<Real>::local_sentence(Scratch& w) const {
  const std::size_t begin = w.begin, n = w.n;
  const ChainView<Real> chain({L_, stride_, edge_.data(), triple_cells_ ? tri_.data() : nullptr}, n, w.emit.data(),
                              edges_by_token() ? w.token_edge.data() : nullptr);
  const Ngrams* ngrams = layout_.ngrams;
  std::uint32_t state = ngrams ? ngrams->null() : Ngrams::kRoot;
  // Calls visit(g) for the n-grams of three labels and more that extend a state of the labels.
  const auto each_longer = [&](std::uint32_t c, auto visit) {
    for (; ngrams && ngrams->length(c) + 1 >= kScored; c = ngrams->shorter(c)) ngrams->each_child(c, visit);
  };
  double loss = 0;
  each_part(examples_.gold + begin, n, L_, [&](const Part& part) {
    Real* p = w.emit.data() + part.token * stride_;  // P(z) replaces its scores
    const Real* longer = triple_cells_ ? chain.tri_at(part.x, part.y) : nullptr;
    if (ngrams) {
      w.longer.assign(stride_, 0);
      each_longer(state, [&](std::uint32_t g) { w.longer[ngrams->label(g)] += tri_[g]; });
      longer = w.longer.data();
    }
    loss += decide(chain, part, longer, p);
    const std::uint32_t before = state;
    if (ngrams) state = ngrams->state(ngrams->longest(state, part.z));
    if (!w.residual) return;
    const std::size_t pair = part.y * stride_, triple = (part.x * (L_ + 1) + part.y) * stride_;
    Real* residual = w.residual + part.token * stride_;
    for (std::size_t z = 0; z < stride_; ++z) {
      const double r = w.weight * (p[z] - (z == part.z ? 1.0 : 0.0));
      residual[z] = static_cast<Real>(r);
      w.piece->pairs[pair + z] += r;
      if (triple_cells_) w.piece->triples[triple + z] += r;
    }
    each_longer(before, [&](std::uint32_t g) { w.piece->triples[g] += residual[ngrams->label(g)]; });
    add_edge_slots(begin + part.token, *w.piece, [&](std::uint32_t place) {
      return place / stride_ == part.y ? static_cast<double>(residual[place % stride_]) : 0.0;
    });
  });
  return loss;
}

template class SentenceSums<float>;
template class SentenceSums<double>;

}  // namespace trellis
