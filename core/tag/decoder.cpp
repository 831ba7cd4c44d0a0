#include <exception>
#include <stdexcept>

#include "parallel.hpp"
#include "tag/decoder_state.hpp"

namespace trellis {

namespace {

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
  constexpr std::size_t kMostOutside = std::size_t{1} << 26;  // floats; a small file could require any number of them
  if (n_outside * looks_.size() > kMostOutside / row_stride_)
    throw std::length_error("the templates look too far back for this number of labels");
}

Decoder::~Decoder() { delete state_.load(); }

Decoder::State& Decoder::state() const {
  State* now = state_.load();
  if (now->forks == n_forks) return *now;
  auto fresh = std::make_unique<State>(n_forks);  // the old one is not freed: a thread may have been using it
  return *(state_.compare_exchange_strong(now, fresh.get()) ? fresh.release() : now);
}

std::unique_lock<std::mutex> Decoder::try_lock() { return std::unique_lock(state().mutex, std::try_to_lock); }

std::unique_ptr<Decoder::Buffers, Decoder::Return> Decoder::borrow(State& from) {
  std::unique_ptr<Buffers> buffers;
  {
    const std::lock_guard lock(from.spare_mutex);
    if (!from.spare.empty()) buffers = std::move(from.spare.back()), from.spare.pop_back();
  }
  if (!buffers) buffers = std::make_unique<Buffers>();
  return {buffers.release(), {&from, std::uncaught_exceptions()}};
}

void Decoder::Return::operator()(Buffers* buffers) const {
  std::unique_ptr<Buffers> owned(buffers);
  constexpr std::size_t kMostBytes = std::size_t{1} << 23;  // memory for a huge sentence is not retained
  if (std::uncaught_exceptions() > n_exceptions || owned->bytes() > kMostBytes) return;  // nor incomplete buffers
  const std::lock_guard lock(to->spare_mutex);
  if (to->spare.size() < State::kMostSpare) to->spare.push_back(std::move(owned));
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
    auto fresh = std::make_shared<Lexicons>();  // replaces the others when it is complete: memory may run out
    const std::int32_t n_outside = 2 * model_.plan.reach;
    for (std::size_t c = 0; c < model_.columns.size(); ++c) {
      const std::size_t n_views = model_.columns[c].views.size();
      Lexicon& lexicon = *fresh->emplace_back(std::make_unique<Lexicon>(n_views, n_slots_[c] * row_stride_, n_outside));
      for (std::int32_t id = 0; id < n_outside; ++id) {
        std::fill_n(lexicon.views(Lexicon::outside(id)), n_views, id);
        sum_vectors(lexicon, static_cast<std::int32_t>(c), Lexicon::outside(id));
      }
    }
    for (std::size_t c = n_given(); c < model_.columns.size(); ++c)  // types are values, with the same numbers
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

// work(buffers, sentence, heavy) for all sentences.
template <class Work>
void Decoder::each_sentence(const Batch& batch, std::size_t n_threads, Work work) const {
  State& now = state();
  parallel_blocks(
      batch.starts.size() - 1, 32, n_threads, [&] { return borrow(now); },
      [&](auto& borrowed, std::size_t first, std::size_t last) {
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

bool Decoder::decode(const Batch& batch, std::size_t n_threads, std::int32_t* paths) const {
  State& now = state();
  // Starting a thread costs more than tagging a few hundred tokens.
  n_threads = std::min<std::size_t>(n_threads, 1 + batch.starts.back() / 2048);
  constexpr std::size_t kWorthHeavyRows = 2048;  // tokens
  if (!now.heavy.made && (now.heavy.n_tokens += batch.starts.back()) >= kWorthHeavyRows)
    std::call_once(now.heavy.begun, [&] {
      now.heavy.rows = HeavyRows<float>(model_.rows.starts, model_.n_attributes, heavy_stride_);
      now.heavy.rows.set(model_.rows.labels, model_.rows.weights);
      now.heavy.made.store(true, std::memory_order_release);
    });
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
