// The decoder's word types: the data of a string, computed at its first occurrence.
#include "parallel.hpp"
#include "tag/decoder.hpp"

namespace trellis {

std::size_t Decoder::n_new(const Batch& batch) const {
  std::size_t n = 0;
  for (const auto& lexicon : *batch.lexicons) n += lexicon->size() - lexicon->n_tried;
  return n;
}

void Decoder::finish(Batch& batch, std::size_t n_threads) {
  constexpr std::size_t kBlock = 64;
  for (std::size_t c = 0; c < model_.columns.size(); ++c) {
    Lexicon& lexicon = *(*batch.lexicons)[c];
    const std::int32_t first = lexicon.n_tried, n = lexicon.size() - first;
    const auto column = static_cast<std::int32_t>(c);
    if (n > 0) {
      std::atomic<std::int32_t> n_left{0};
      parallel_blocks(
          static_cast<std::size_t>(n), kBlock, n_threads, [] { return Said{}; },
          [&](Said& said, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
              if (const auto type = first + static_cast<std::int32_t>(i);
                  !lexicon.defined(type) && !define_alone(lexicon, column, type, said))  // defined: memory ran out after it
                ++n_left;
          });
      lexicon.n_tried = first + n;
      lexicon.n_undefined += n_left;
    }
    if (lexicon.n_undefined == 0) continue;
    const std::size_t before = batch.undefined.size();
    for (std::int32_t type : batch.codes[c])
      if (!lexicon.defined(type)) batch.undefined.emplace_back(column, type);
    std::sort(batch.undefined.begin() + before, batch.undefined.end());
    batch.undefined.erase(std::unique(batch.undefined.begin() + before, batch.undefined.end()), batch.undefined.end());
  }
}

// From the model's data of the word, or computed from the word itself if all views are native.
bool Decoder::define_alone(Lexicon& lexicon, std::int32_t column, std::int32_t type, Said& said) const {
  const ColumnModel& known = model_.columns[column];
  const std::string_view name = lexicon.name(type);
  if (const std::int32_t value = known.values.lookup(name); value >= 0) {
    std::copy_n(known.view_ids + value * lexicon.n_views(), lexicon.n_views(), lexicon.views(type));
    lexicon.set(type) = known.set_of ? known.set_of[value] : model_.open_set;
    sum_vectors(lexicon, column, type);
    return true;
  }
  if (!known.native || !is_ascii(name)) return false;
  known.tree.ask(name, said);
  set_views(lexicon, column, type, said.views);
  return true;
}

void Decoder::define(Batch& batch, std::int32_t column, std::int32_t type, std::span<const std::string_view> strings) {
  Lexicon& lexicon = *(*batch.lexicons)[column];
  if (lexicon.defined(type)) return;
  set_views(lexicon, column, type, strings);
  --lexicon.n_undefined;
}

void Decoder::set_views(Lexicon& lexicon, std::int32_t column, std::int32_t type,
                        std::span<const std::string_view> said) const {
  const ColumnModel& known = model_.columns[column];
  for (std::size_t j = 0; j < lexicon.n_views(); ++j) {
    const std::int32_t id = said[j].data() ? known.views[j].lookup(said[j]) : -1;
    lexicon.views(type)[j] = id < 0 ? -1 : id + known.first_id;
  }
  lexicon.set(type) = column == 0 ? guess_set(lexicon.name(type)) : model_.open_set;
  sum_vectors(lexicon, column, type);
}

// The label set of a word missing from the tag dictionary.
std::int32_t Decoder::guess_set(std::string_view word) const {
  if (!model_.ending_sets) return model_.open_set;
  for (std::size_t begin = word.size() - std::min(word.size(), longest_ending_); begin < word.size(); ++begin)
    if ((word[begin] & 0xC0) != 0x80)  // start of a character
      if (const std::int32_t ending = model_.endings.lookup(word.substr(begin)); ending >= 0) return model_.ending_sets[ending];
  return model_.open_set;
}

void Decoder::sum_vectors(Lexicon& lexicon, std::int32_t column, std::int32_t type) const {
  const std::int32_t* views = lexicon.views(type);
  float* const vectors = lexicon.vectors(type);
  for (const Look& look : looks_) {
    if (look.column != column) continue;
    float* sum = vectors + look.slot * row_stride_;
    std::fill_n(sum, row_stride_, 0.0f);
    for (std::int32_t k : look.templates) {
      const Template& shape = model_.plan.templates[k];
      if (dimensions_[k].empty())
        add_row(attribute_of(shape, [&](const Atom& atom) { return views[model_.plan.view_of(atom).view]; }), 1, sum);
      else
        each_number(k, views[model_.plan.view_of(model_.plan.atoms[shape.first_atom]).view], [&](std::int32_t id, float value) { add_row(id, value, sum); });
    }
  }
  lexicon.defined(type) = 1;
}

}  // namespace trellis
