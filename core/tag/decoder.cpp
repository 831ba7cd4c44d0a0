#include "tag/decoder.hpp"

#include <exception>
#include <stdexcept>

#include "engine/viterbi.hpp"
#include "parallel.hpp"

namespace trellis {

namespace {

// Where a look finds its vector for token t: vectors[first + t] + slot.
struct PlacedLook {
  std::size_t first;  // column * (n + 2 * reach) + reach + offset
  std::size_t slot;   // of floats in the record
};

}  // namespace

// Scratch of one thread. Where records lie is looked up once per token and column, for positions -reach .. n + reach.
struct Decoder::Buffers : Potentials<float> {
  std::vector<const std::int32_t*> views;  // [n_columns, n + 2 * reach] view ids of what stands there
  std::vector<const float*> vectors;       // [n_columns, n + 2 * reach] its summed weights
  std::vector<std::int32_t> symbols;       // [n] of a matcher
  std::vector<std::int32_t> matched;       // [n_matchers, 3, n] what dictionaries say
  std::vector<std::uint64_t> keys;         // [n_joint, n]
  std::vector<std::int32_t> ids, sets;     // [n_joint or n_edge, n], [n]
  std::vector<PlacedLook> looks;           // [n_looks]
  TokenSets candidates;                    // where there is a filter
  LevelSentence levels;                    // of which it has more
  LocalScratch local;
  Workspace<float> viterbi;

  // What grows with the length of a sentence.
  std::size_t bytes() const {
    return (emit.capacity() + edge.capacity()) * sizeof(float) + (keys.capacity() + views.capacity() + vectors.capacity()) * 8 +
           (ids.capacity() + matched.capacity()) * sizeof(std::int32_t) + runs.ngrams.nodes.capacity() * 8 + levels.bytes() +
           viterbi.bytes();
  }
};

// What tagging changes. The child of a fork begins with a new one: a lock of the old one may be held by a thread that the
// child does not have.
struct Decoder::State {
  int forks;         // of this process when it was made
  std::mutex mutex;  // of the lexicons
  std::shared_ptr<Lexicons> lexicons;
  std::mutex spare_mutex;
  std::vector<std::unique_ptr<Buffers>> spare;
  Heavy heavy;
  explicit State(int forks_) : forks(forks_) { spare.reserve(kMostSpare); }  // so that returning a buffer allocates nothing
  static constexpr std::size_t kMostSpare = 4;
};

namespace {

// emit[t, z] = bias[z] + sum over looks of vector[type at t + offset, z] + sum over joint attributes a of w[a, z]
//            + sum over given attributes a of value(a) · w[a, z]
struct Sum {
  const float* const* vectors;  // [n_columns, n + 2 * reach]
  std::span<const PlacedLook> looks;
  std::size_t n, stride;
  const std::int32_t* ids;  // [n_joint, n], -1 where silent
  std::size_t n_joint;
  const float* bias;  // [stride]
  Sites bags;         // of all sentences, or starts null
  std::size_t begin;  // the sentence's first token
};

// Scores of the filter, if it has rows, come after those of rows, which are `n_before`.
TRELLIS_CLONES void sum_emissions(const Sum& sum, const Rows<std::uint16_t>& rows, const Rows<std::uint16_t>& filter,
                                  std::size_t n_before, float* const emit) {
  float* here = emit;
  for (std::size_t t = 0; t < sum.n; ++t, here += sum.stride) {
    each_block<float>(sum.stride, [&](auto chunks, std::size_t z) TRELLIS_INLINE_LAMBDA {
      Vector<float> total[chunks];
      for (std::size_t c = 0; c < chunks; ++c) total[c] = lanes(sum.bias + z + c * kLanes<float>);
      sum_heavy<float>(0, sum.looks.size(), [&](std::size_t k) TRELLIS_INLINE_LAMBDA {
        return sum.vectors[sum.looks[k].first + t] + sum.looks[k].slot;
      }, static_cast<const float*>(nullptr), z, total);
      for (std::size_t c = 0; c < chunks; ++c) lanes_at(here + z + c * kLanes<float>) = total[c];
    });
    for (std::size_t j = 0; j < sum.n_joint; ++j)
      if (const std::int32_t id = sum.ids[j * sum.n + t]; id >= 0) rows.add_to(id, 1, here);
    if (!filter.starts) continue;
    for (std::size_t j = 0; j < sum.n_joint; ++j)
      if (const std::int32_t id = sum.ids[j * sum.n + t]; id >= 0) filter.add_to(id, 1, here + n_before);
  }
  if (!sum.bags.starts) return;
  add_rows(rows, sum.bags, sum.begin, sum.begin + sum.n, sum.stride, emit);
  if (filter.starts) add_rows(filter, sum.bags, sum.begin, sum.begin + sum.n, sum.stride, emit + n_before);
}

std::atomic<int> n_forks = 0;
[[maybe_unused]] const int counts_forks = pthread_atfork(nullptr, nullptr, [] { ++n_forks; });

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> n = 0;
  return ++n;
}

}  // namespace

Decoder::Decoder(TaggerModel model, std::size_t cache_bytes)
    : model_(std::move(model)), cache_bytes_(cache_bytes), number_(next_number()),
      normalizer_(model_.local ? LocalNormalizer(model_.labels) : LocalNormalizer()), n_slots_(model_.columns.size()),
      heavy_stride_(padded(model_.parts.width(model_.labels.n_labels))),
      row_stride_(heavy_stride_ + (has_filter() ? model_.labels.stride : 0)), bias_(row_stride_), state_(new State(n_forks)) {
  dimensions_.resize(model_.plan.templates.size());
  for (std::size_t k = 0; k + model_.n_far < model_.plan.templates.size(); ++k) {
    const Template& shape = model_.plan.templates[k];
    const Atom* first = model_.plan.atoms.data() + shape.first_atom;
    const Atom* last = model_.plan.atoms.data() + shape.last_atom;
    const auto [column, view] = first == last ? ColumnView{} : model_.plan.view_of(*first);
    const auto* vectors = first == last || model_.columns[column].vectors.empty() ? nullptr : &model_.columns[column].vectors[view];
    for (std::size_t d = 0; vectors && d < vectors->width; ++d)
      dimensions_[k].push_back(attribute_of(shape, [&](const Atom&) { return static_cast<std::int32_t>(d) + 2 * model_.plan.reach; }));
    const bool alone = std::all_of(first, last, [&, column = column](const Atom& atom) {
      return model_.plan.view_of(atom).column == column && atom.offset == first->offset;
    });
    if (k >= model_.n_emission) {
      edge_.push_back(static_cast<std::int32_t>(k));
    } else if (first == last) {
      add_row(attribute_of(shape, [](const Atom&) { return 0; }), 1, bias_.data());
    } else if (!alone) {
      joint_.push_back(static_cast<std::int32_t>(k));
    } else {
      auto look = std::find_if(looks_.begin(), looks_.end(), [&, column = column](const Look& other) {
        return other.column == column && other.offset == first->offset;
      });
      if (look == looks_.end()) look = looks_.insert(look, Look{column, first->offset, n_slots_[column]++, {}});
      look->templates.push_back(static_cast<std::int32_t>(k));
    }
  }
  for (std::size_t e = 0; e < model_.endings.size(); ++e)
    longest_ending_ = std::max(longest_ending_, static_cast<std::size_t>(model_.endings.starts[e + 1] - model_.endings.starts[e]));
  const auto n_outside = static_cast<std::size_t>(2 * model_.plan.reach);
  constexpr std::size_t kMostOutside = std::size_t{1} << 26;  // floats; a small file can ask for any number of them
  if (n_outside * looks_.size() > kMostOutside / row_stride_)
    throw std::length_error("templates that look too far for so many labels");
  for (std::size_t c = 0; c < model_.columns.size(); ++c) {
    const std::size_t n_views = model_.columns[c].views.size();
    Outside& outside = outside_.emplace_back();
    for (std::size_t id = 0; id < n_outside; ++id) outside.views.insert(outside.views.end(), n_views, id);
    outside.vectors.assign(n_outside * n_slots_[c] * row_stride_, 0);
  }
  for (const Look& look : looks_)
    for (std::size_t id = 0; id < n_outside; ++id)
      for (std::int32_t k : look.templates)
        if (dimensions_[k].empty())
          add_row(attribute_of(model_.plan.templates[k], [&](const Atom&) { return static_cast<std::int32_t>(id); }), 1,
                  outside_[look.column].vectors.data() + (id * n_slots_[look.column] + look.slot) * row_stride_);
}

Decoder::~Decoder() { delete state_.load(); }

Decoder::State& Decoder::state() const {
  State* now = state_.load();
  if (now->forks == n_forks) return *now;
  auto fresh = std::make_unique<State>(n_forks);  // the old one is left as it is: a thread may have been at work in it
  return *(state_.compare_exchange_strong(now, fresh.get()) ? fresh.release() : now);
}

std::unique_lock<std::mutex> Decoder::try_lock() { return std::unique_lock(state().mutex, std::try_to_lock); }

void Decoder::make_heavy_rows(Heavy& heavy) const {
  heavy.rows = HeavyRows<float>(model_.rows.starts, model_.n_attributes, heavy_stride_);
  heavy.rows.set(model_.rows.labels, model_.rows.weights);
  heavy.made.store(true, std::memory_order_release);
}

Decoder::Borrowed::Borrowed(State& from) : from_(from), n_exceptions_(std::uncaught_exceptions()) {
  {
    const std::lock_guard lock(from.spare_mutex);
    if (!from.spare.empty()) buffers_ = std::move(from.spare.back()), from.spare.pop_back();
  }
  if (!buffers_) buffers_ = std::make_unique<Buffers>();
}

Decoder::Borrowed::~Borrowed() {
  constexpr std::size_t kMostBytes = std::size_t{1} << 23;  // what one giant sentence needed is not kept
  if (std::uncaught_exceptions() > n_exceptions_ || buffers_->bytes() > kMostBytes) return;  // nor what is half written
  const std::lock_guard lock(from_.spare_mutex);
  if (from_.spare.size() < State::kMostSpare) from_.spare.push_back(std::move(buffers_));
}

void Decoder::add_row(std::int32_t attribute, float value, float* emit) const {
  if (attribute < 0) return;
  model_.rows.add_to(attribute, value, emit);
  if (has_filter()) model_.filter.add_to(attribute, value, emit + heavy_stride_);
}

Batch Decoder::begin() {
  std::shared_ptr<Lexicons>& lexicons = state().lexicons;
  std::size_t bytes = 0;
  if (lexicons)
    for (const auto& lexicon : *lexicons) bytes += lexicon->bytes();
  if (!lexicons || bytes > cache_bytes_) {
    auto fresh = std::make_shared<Lexicons>();  // takes the place of the others when it is whole: memory may run out
    for (std::size_t c = 0; c < model_.columns.size(); ++c)
      fresh->push_back(std::make_unique<Lexicon>(model_.columns[c].views.size(), n_slots_[c] * row_stride_));
    for (std::size_t c = n_given(); c < model_.columns.size(); ++c)  // types are values, by the same numbers
      for (std::int32_t value = 0; value < static_cast<std::int32_t>(model_.columns[c].values.size()); ++value)
        (*fresh)[c]->intern(model_.columns[c].values.at(value));
    lexicons = std::move(fresh);
  }
  Batch batch;
  batch.decoder = number_;
  batch.lexicons = lexicons;
  batch.codes.resize(model_.columns.size());
  return batch;
}

std::int32_t Decoder::set_of(const Batch& batch, std::size_t token) const {
  return !model_.sets.starts ? -1 : (*batch.lexicons)[0]->set(batch.codes[0][token]);
}

const std::int32_t* Decoder::derived_codes(std::size_t column, std::size_t n, const Buffers& buffers) const {
  const Derived& derived = model_.derived[column - n_given()];
  return buffers.matched.data() + (static_cast<std::size_t>(derived.matcher) * Dictionary::kWhere + derived.where) * n;
}

void Decoder::place(const Batch& batch, std::size_t sentence, Buffers& buffers) const {
  const std::int64_t begin = batch.starts[sentence];
  const std::size_t n = batch.starts[sentence + 1] - begin, reach = model_.plan.reach, width = n + 2 * reach;
  buffers.views.resize(model_.columns.size() * width);
  buffers.vectors.resize(model_.columns.size() * width);
  for (std::size_t c = 0; c < model_.columns.size(); ++c) {
    const std::int32_t** views = buffers.views.data() + c * width;
    const float** vectors = buffers.vectors.data() + c * width;
    const Outside& outside = outside_[c];
    const std::size_t n_views = model_.columns[c].views.size(), vector_size = n_slots_[c] * row_stride_;
    for (std::size_t d = 1; d <= reach; ++d) {  // distance d before the sentence is id d - 1, after it reach + d - 1
      views[reach - d] = outside.views.data() + (d - 1) * n_views;
      vectors[reach - d] = outside.vectors.data() + (d - 1) * vector_size;
      views[reach + n + d - 1] = outside.views.data() + (reach + d - 1) * n_views;
      vectors[reach + n + d - 1] = outside.vectors.data() + (reach + d - 1) * vector_size;
    }
    const Lexicon& lexicon = *(*batch.lexicons)[c];
    if (c == n_given()) match(n, buffers);  // what stands in the other columns is in its place
    const std::int32_t* codes = c < n_given() ? batch.codes[c].data() + begin : derived_codes(c, n, buffers);
    for (std::size_t t = 0; t < n; ++t) {
      views[reach + t] = lexicon.views(codes[t]);
      vectors[reach + t] = lexicon.vectors(codes[t]);
      for (std::size_t i = 0; i < vector_size; i += 16) __builtin_prefetch(vectors[reach + t] + i);  // a cache line
    }
  }
}

// What the dictionaries say of the tokens of a sentence whose given columns are placed.
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

// keys[t] = the packed ids of template `number` at token t, kSilent where a view says nothing.
void Decoder::pack(std::int32_t number, std::size_t n, const Buffers& buffers, std::uint64_t* keys) const {
  const Template& shape = model_.plan.templates[number];
  std::fill_n(keys, n, 0);
  for (std::int32_t a = shape.first_atom; a < shape.last_atom; ++a) {
    const Atom atom = model_.plan.atoms[a];
    const auto [column, view] = model_.plan.view_of(atom);
    const std::int32_t* const* views = buffers.views.data() + place_of(column, n, atom.offset);
    const auto fold = [&](std::int32_t f, std::uint64_t key) { return model_.vocabulary.fold(f, key); };
    for (std::size_t t = 0; t < n; ++t) keys[t] = pack_id(keys[t], atom, views[t][view], fold);
  }
}

// ids[t] = the attribute of template `number` at token t, -1 where it has none.
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

  // Joint templates in three rounds, so that what one round needs of memory is on its way while another works:
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
  sum_emissions({buffers.vectors.data(), buffers.looks, n, stride, buffers.ids.data(), n_joint, bias_.data(),
                 sites_of(batch.bag), static_cast<std::size_t>(begin)},
                {model_.rows.starts, model_.rows.labels, model_.rows.weights, made ? &heavy.rows : nullptr}, model_.filter, heavy_stride_,
                buffers.emit.data());
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

// The candidates of every token of a sentence. Then scores of labels lie as close as they do without a filter.
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
  if (model_.levels) prune_levels(*model_.levels, model_.margins, n, buffers.levels, buffers.candidates);
}

// What a sentence that was just filled may have; starts null: all labels.
LabelSets Decoder::sets_in(const Buffers& buffers) const {
  if (has_filter()) return buffers.candidates.view();
  return {buffers.sets.data(), model_.sets.starts, model_.sets.labels};
}

// work(buffers, sentence, heavy) for all sentences.
template <class Work>
void Decoder::each_sentence(const Batch& batch, std::size_t n_threads, Work work) const {
  State& now = state();
  parallel_blocks(
      batch.starts.size() - 1, 32, n_threads, [&] { return Borrowed(now); },
      [&](Borrowed& borrowed, std::size_t first, std::size_t last) {
        for (std::size_t s = first; s < last; ++s) work(*borrowed, s, now.heavy);
      });
}

TokenSets Decoder::candidates(const Batch& batch, std::size_t n_threads) const {
  std::vector<TokenSets> sentences(batch.starts.size() - 1);
  each_sentence(batch, n_threads, [&](Buffers& buffers, std::size_t s, const Heavy& heavy) {
    if (batch.starts[s] == batch.starts[s + 1]) return;
    fill(batch, s, heavy, buffers);
    sentences[s] = buffers.candidates;
  });
  return joined(sentences);
}

// edge[t, y, z] = edge[y, z] + sum over edge attributes a at t of w[a, y, z] + sum over given ones of value(a) · w[a, y, z]
// and of n-grams what they have at t
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

// The chain of a sentence that was just filled.
ChainView<float> Decoder::chain_in(Buffers& buffers, const LabelSets& sets, std::size_t n) const {
  ChainView<float> chain = buffers.chain(model_.labels, sets, 0, n, edges_by_token());
  if (ngrams_by_token()) buffers.add_runs(chain);
  if (model_.local) buffers.ngrams.relaxed = {};  // bounds of what is not normalised say little
  return chain;
}

bool Decoder::decode(const Batch& batch, std::size_t n_threads, std::int32_t* paths) const {
  State& now = state();
  // A thread costs more to start than a few hundred tokens take.
  n_threads = std::min<std::size_t>(n_threads, 1 + batch.starts.back() / 2048);
  constexpr std::size_t kWorthHeavyRows = 2048;  // tokens
  if (!now.heavy.made && (now.heavy.n_tokens += batch.starts.back()) >= kWorthHeavyRows)
    std::call_once(now.heavy.begun, [&] { make_heavy_rows(now.heavy); });
  std::atomic<bool> possible = true;
  each_sentence(batch, n_threads, [&](Buffers& buffers, std::size_t s, const Heavy& heavy) {
    fill(batch, s, heavy, buffers);
    const LabelSets sets = sets_in(buffers);
    ChainView<float> chain = chain_in(buffers, sets, batch.starts[s + 1] - batch.starts[s]);
    std::int32_t* path = paths + batch.starts[s];
    if (best_path(chain, buffers.viterbi, path) != kForbidden<float>) return;
    chain.allowed = nullptr;
    if (sets.starts && model_.local) fill(batch, s, heavy, buffers, true);
    if (!sets.starts || best_path(chain, buffers.viterbi, path) == kForbidden<float>) possible = false;
  });
  return possible;
}

void Decoder::potentials(const Batch& batch, bool open, std::size_t n_threads, float* emit, float* edge,
                         TokenNgrams<float>& ngrams) const {
  const std::size_t stride = model_.labels.stride, cells = (model_.labels.n_labels + 1) * stride;
  std::vector<TokenNgrams<float>> runs(ngrams_by_token() ? batch.starts.size() - 1 : 0);
  each_sentence(batch, n_threads, [&](Buffers& buffers, std::size_t s, const Heavy& heavy) {
    const std::size_t begin = batch.starts[s], n = batch.starts[s + 1] - begin;
    fill(batch, s, heavy, buffers, open);
    std::copy_n(buffers.emit.data(), n * stride, emit + begin * stride);
    if (edge) std::copy_n(buffers.edge.data(), n * cells, edge + begin * cells);
    if (!runs.empty() && n) runs[s] = buffers.runs.ngrams;
  });
  for (const TokenNgrams<float>& one : runs) {
    for (std::size_t t = 1; t < one.starts.size(); ++t) ngrams.starts.push_back(ngrams.nodes.size() + one.starts[t]);
    ngrams.nodes.insert(ngrams.nodes.end(), one.nodes.begin(), one.nodes.end());
    ngrams.scores.insert(ngrams.scores.end(), one.scores.begin(), one.scores.end());
  }
}

TokenLists Decoder::attribute_lists(const Batch& batch, bool on_edge) const {
  TokenLists out;
  Buffers buffers;
  const std::size_t first = on_edge ? model_.n_emission : 0, last = on_edge ? model_.plan.templates.size() : model_.n_emission;
  const TokenLists& bag = on_edge ? batch.pair_bag : batch.bag;
  bool has_values = !bag.ids.empty();
  for (std::size_t s = 0; s + 1 < batch.starts.size(); ++s) {
    const std::size_t begin = batch.starts[s], n = batch.starts[s + 1] - begin;
    place(batch, s, buffers);
    buffers.ids.resize(n * (last - first));
    for (std::size_t k = first; k < last; ++k) find(static_cast<std::int32_t>(k), n, buffers, buffers.ids.data() + (k - first) * n);
    for (std::size_t t = 0; t < n; ++t) {
      for (std::size_t k = first; k < last; ++k) {
        if (dimensions_[k].empty()) {
          if (const std::int32_t id = buffers.ids[(k - first) * n + t]; id >= 0) out.add(id, 1);
          continue;
        }
        const Atom& atom = model_.plan.atoms[model_.plan.templates[k].first_atom];
        const auto [column, view] = model_.plan.view_of(atom);
        has_values = true;
        each_number(static_cast<std::int32_t>(k), buffers.views[place_of(column, n, atom.offset) + t][view],
                    [&](std::int32_t id, float value) { out.add(id, value); });
      }
      if (!bag.ids.empty()) sites_of(bag).each(begin + t, [&](std::int32_t id, float value) { out.add(id, value); });
      out.end_token();
    }
  }
  if (!has_values) out.values.clear();
  return out;
}

}  // namespace trellis
