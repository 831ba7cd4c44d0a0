// The scores of one sentence: locations of its types' records, attributes of its templates, and sums of weights.
#include "tag/decoder_state.hpp"

namespace trellis {

// emit[t, z] = bias[z] + sum over looks of vector[type at t + offset, z] + sum over joint attributes a of w[a, z]
//            + sum over given attributes a of value(a) · w[a, z]
// Scores of the filter, if there is one, come after those of rows.
TRELLIS_CLONES void Decoder::sum_emissions(const Batch& batch, std::size_t begin, std::size_t n, const Rows<std::uint16_t>& rows,
                                           Buffers& buffers) const {
  const std::size_t stride = row_stride_, n_joint = joint_.size(), n_before = heavy_stride_;
  const Rows<std::uint16_t> filter = model_.filter;
  const float *const *const vectors = buffers.vectors.data(), *const bias = bias_.data();
  const std::span<const PlacedLook> looks = buffers.looks;
  const std::int32_t* const ids = buffers.ids.data();
  float* here = buffers.emit.data();
  for (std::size_t t = 0; t < n; ++t, here += stride) {
    each_block<float>(stride, [&](auto chunks, std::size_t z) TRELLIS_INLINE_LAMBDA {
      Vector<float> total[chunks];
      for (std::size_t c = 0; c < chunks; ++c) total[c] = lanes(bias + z + c * kLanes<float>);
      sum_heavy<float>(0, looks.size(), [&](std::size_t k) TRELLIS_INLINE_LAMBDA {
        return vectors[looks[k].first + t] + looks[k].slot;
      }, static_cast<const float*>(nullptr), z, total);
      for (std::size_t c = 0; c < chunks; ++c) lanes_at(here + z + c * kLanes<float>) = total[c];
    });
    for (std::size_t j = 0; j < n_joint; ++j)
      if (const std::int32_t id = ids[j * n + t]; id >= 0) rows.add_to(id, 1, here);
    if (!filter.starts) continue;
    for (std::size_t j = 0; j < n_joint; ++j)
      if (const std::int32_t id = ids[j * n + t]; id >= 0) filter.add_to(id, 1, here + n_before);
  }
  if (batch.bag.ids.empty()) return;
  add_rows(rows, sites_of(batch.bag), begin, begin + n, stride, buffers.emit.data());
  if (filter.starts) add_rows(filter, sites_of(batch.bag), begin, begin + n, stride, buffers.emit.data() + n_before);
}

void Decoder::place(const Batch& batch, std::size_t sentence, Buffers& buffers) const {
  const std::int64_t begin = batch.starts[sentence];
  const std::size_t n = batch.starts[sentence + 1] - begin, reach = model_.plan.reach, width = n + 2 * reach;
  buffers.views.resize(model_.columns.size() * width);
  buffers.vectors.resize(model_.columns.size() * width);
  for (std::size_t c = 0; c < model_.columns.size(); ++c) {
    const std::int32_t** views = buffers.views.data() + c * width;
    const float** vectors = buffers.vectors.data() + c * width;
    const Lexicon& lexicon = *(*batch.lexicons)[c];
    const std::size_t vector_size = n_slots_[c] * row_stride_;
    const auto put = [&](std::size_t at, std::int32_t type) {
      views[at] = lexicon.views(type), vectors[at] = lexicon.vectors(type);
    };
    for (std::size_t d = 0; d < reach; ++d) {  // distance d + 1 before the sentence is id d, after it reach + d
      put(reach - d - 1, Lexicon::outside(static_cast<std::int32_t>(d)));
      put(reach + n + d, Lexicon::outside(static_cast<std::int32_t>(reach + d)));
    }
    if (c == n_given()) match(n, buffers);  // the other columns are derived from the placed ones
    const auto [matcher, where] = c < n_given() ? Derived{} : model_.derived[c - n_given()];
    const std::size_t row = static_cast<std::size_t>(matcher) * Dictionary::kWhere + static_cast<std::size_t>(where);
    const std::int32_t* codes = c < n_given() ? batch.codes[c].data() + begin : buffers.matched.data() + row * n;
    for (std::size_t t = 0; t < n; ++t) {
      put(reach + t, codes[t]);
      for (std::size_t i = 0; i < vector_size; i += 16) __builtin_prefetch(vectors[reach + t] + i);  // a cache line
    }
  }
}

// The dictionary values of the tokens of a sentence whose input columns are placed.
void Decoder::match(std::size_t n, Buffers& buffers) const {
  buffers.symbols.resize(n);
  buffers.matched.resize(model_.matchers.size() * Dictionary::kWhere * n);
  for (std::size_t m = 0; m < model_.matchers.size(); ++m) {
    const Matcher& matcher = model_.matchers[m];
    const std::int32_t first_id = 2 * model_.plan.reach;
    const std::int32_t* const* views = buffers.views.data() + static_cast<std::size_t>(matcher.column) * (n + first_id) + model_.plan.reach;
    for (std::size_t t = 0; t < n; ++t) buffers.symbols[t] = std::max(views[t][matcher.view] - first_id, -1);
    matcher.dictionary->match(buffers.symbols, Dictionary::kAnyone, buffers.matched.data() + m * Dictionary::kWhere * n);
  }
}

// keys[t] = the packed ids of template `number` at token t, kSilent if a view is undefined.
void Decoder::pack(std::int32_t number, std::size_t n, const Buffers& buffers, std::uint64_t* keys) const {
  const Template& shape = model_.plan.templates[number];
  std::fill_n(keys, n, 0);
  for (std::int32_t a = shape.first_atom; a < shape.last_atom; ++a) {
    const Atom atom = model_.plan.atoms[a];
    const auto [column, view] = model_.plan.view_of(atom);
    const std::int32_t* const* views = buffers.views.data() + place_of(column, n, atom.offset);
    for (std::size_t t = 0; t < n; ++t) keys[t] = pack_id(keys[t], atom, views[t][view], model_.vocabulary.known_folds());
  }
}

// ids[t] = the attribute of template `number` at token t, -1 if unknown.
void Decoder::find(std::int32_t number, std::size_t n, Buffers& buffers, std::int32_t* ids) const {
  if (buffers.keys.size() < n) buffers.keys.resize(n);
  pack(number, n, buffers, buffers.keys.data());
  for (std::size_t t = 0; t < n; ++t) ids[t] = model_.vocabulary.find(model_.plan.templates[number], buffers.keys[t]);
}

void Decoder::fill(const Batch& batch, std::size_t sentence, const Heavy& heavy, Buffers& buffers, bool open) const {
  const std::int64_t begin = batch.starts[sentence];
  const std::size_t n = batch.starts[sentence + 1] - begin, stride = row_stride_, n_joint = joint_.size();
  if (n == 0) return;
  place(batch, sentence, buffers);
  if (buffers.emit.size() < n * stride) buffers.emit.resize(n * stride);
  if (buffers.keys.size() < n * n_joint) buffers.keys.resize(n * n_joint);
  if (buffers.ids.size() < n * n_joint) buffers.ids.resize(n * n_joint);

  // Joint templates in three rounds, so that memory accesses of one round overlap with the work of another:
  // pack the keys, find the attributes, add their rows.
  for (std::size_t j = 0; j < n_joint; ++j) {
    std::uint64_t* keys = buffers.keys.data() + j * n;
    pack(joint_[j], n, buffers, keys);
    const FrozenTable& table = model_.vocabulary.tables[model_.plan.templates[joint_[j]].table];
    for (std::size_t t = 0; t < n; ++t) table.prefetch(keys[t]);
  }
  for (std::size_t j = 0; j < n_joint; ++j) {
    const Template& shape = model_.plan.templates[joint_[j]];
    for (std::size_t i = j * n; i < (j + 1) * n; ++i)
      if (buffers.ids[i] = model_.vocabulary.find(shape, buffers.keys[i]); buffers.ids[i] >= 0) model_.rows.prefetch_row(buffers.ids[i]);
  }
  for (std::size_t i = 0; i < n_joint * n; ++i)
    if (buffers.ids[i] >= 0) model_.rows.prefetch_slots(buffers.ids[i]);

  const bool made = heavy.made.load(std::memory_order_acquire);
  buffers.looks.clear();
  for (const Look& look : looks_) buffers.looks.push_back({place_of(look.column, n, look.offset), look.slot * stride});
  sum_emissions(batch, static_cast<std::size_t>(begin), n,
                {model_.rows.starts, model_.rows.labels, model_.rows.weights, made ? &heavy.rows : nullptr}, buffers);
  if (has_filter()) filter_labels(batch, begin, n, buffers);
  model_.parts.fold(n, buffers.emit.data());

  if (model_.sets.starts) {
    buffers.sets.resize(n);
    for (std::size_t t = 0; t < n; ++t) buffers.sets[t] = set_of(batch, begin + t);
  }
  if (edges_by_token() || has_runs()) sum_edges(batch.pair_bag, begin, n, buffers);
  if (!model_.local) return;
  LabelSets sets = sets_in(buffers);
  if (open) sets.starts = nullptr;
  normalizer_.normalize(buffers.chain(model_.labels, sets, 0, n, edges_by_token()), buffers.emit.data(),
                        buffers.edge.data(), buffers.runs.ngrams, buffers.local);
}

// The candidates of every token of a sentence. Afterwards the stride of label scores is the same as without a filter.
void Decoder::filter_labels(const Batch& batch, std::size_t begin, std::size_t n, Buffers& buffers) const {
  const std::size_t labels_stride = model_.labels.stride;
  double* levels_emit = model_.levels ? buffers.levels.emit(n, labels_stride) : nullptr;
  buffers.candidates.clear();
  for (std::size_t t = 0; t < n; ++t) {
    float* emit = buffers.emit.data() + t * row_stride_;
    const float* scores = emit + heavy_stride_;
    if (const std::int32_t set = set_of(batch, begin + t); set >= 0) {
      add_candidates(scores, labels_of({&set, model_.sets.starts, model_.sets.labels}, 0), model_.rule, -1, buffers.candidates);
    } else {
      add_candidates(scores, AllLabels{model_.labels.n_labels}, model_.rule, -1, buffers.candidates);
    }
    for (std::size_t z = 0; levels_emit && z < labels_stride; ++z) levels_emit[t * labels_stride + z] = static_cast<double>(scores[z]);
    std::copy_n(emit, heavy_stride_, buffers.emit.data() + t * heavy_stride_);
  }
  for (std::size_t k = 0; k < model_.margins.size(); ++k) {  // the output of one level is the input of the next
    buffers.levels.open(k + 1, buffers.candidates.view(), n);
    buffers.levels.lay_out(*model_.levels);
    buffers.candidates.clear();
    buffers.levels.prune(model_.margins[k], false, buffers.candidates);
  }
}

// The candidates of the current sentence; starts null: all labels.
LabelSets Decoder::sets_in(const Buffers& buffers) const {
  if (has_filter()) return buffers.candidates.view();
  return {buffers.sets.data(), model_.sets.starts, model_.sets.labels};
}

// edge[t, y, z] = edge[y, z] + sum over edge attributes a at t of w[a, y, z] + sum over free-form ones of value(a) · w[a, y, z]
// and the scores of n-grams at t
void Decoder::sum_edges(const TokenLists& pairs, std::size_t begin, std::size_t n, Buffers& buffers) const {
  const std::size_t stride = model_.labels.stride, size = (model_.labels.n_labels + 1) * stride;
  const bool by_token = edges_by_token();
  if (by_token) share_edges(model_.labels.edge, size, n, buffers.edge);
  if (buffers.ids.size() < n * edge_.size()) buffers.ids.resize(n * edge_.size());
  for (std::size_t j = 0; j < edge_.size(); ++j) find(edge_[j], n, buffers, buffers.ids.data() + j * n);
  if (has_runs()) buffers.runs.clear(model_.labels.ngrams->ngrams->size());  // scores of n-grams are listed token by token
  for (std::size_t t = 0; t < n; ++t) {
    float* edge = by_token ? buffers.edge.data() + t * size : nullptr;
    const auto add = [&](std::int32_t a, float value) {
      if (!has_runs()) model_.edge_rows.add_to(a, value, edge);
      else buffers.runs.add_row(model_.edge_rows, a, value, size, edge, t == 0 ? buffers.emit.data() : nullptr, stride);
    };
    for (std::size_t j = 0; j < edge_.size(); ++j)
      if (const std::int32_t a = buffers.ids[j * n + t]; a >= 0) add(a, 1);
    if (!has_runs()) continue;
    if (!pairs.ids.empty()) sites_of(pairs).each(begin + t, add);
    buffers.runs.end_token();
  }
  if (!has_runs() && !pairs.ids.empty()) add_rows(model_.edge_rows, sites_of(pairs), begin, begin + n, size, buffers.edge.data());
}

// The chain of the current sentence.
ChainView<float> Decoder::chain_in(Buffers& buffers, const LabelSets& sets, std::size_t n) const {
  ChainView<float> chain = buffers.chain(model_.labels, sets, 0, n, edges_by_token());
  if (ngrams_by_token()) buffers.add_runs(chain);
  if (model_.local) buffers.ngrams.relaxed = {};  // bounds without normalisation are too loose
  return chain;
}

}  // namespace trellis
