// Tagging: from codes of word types to best paths; sums that depend on one word alone are computed once per type.
//
// A *type* is a distinct string of a column seen in tagging. Its record stores the ids of its views and, for every
// offset at which templates use that column alone, the summed weights of all those templates: five vector additions
// per token instead of thirty look-ups. Templates that combine several places are looked up per token.
//
// word_types.cpp maps strings to types (lexicon.hpp), sentence_scores.cpp types to scores, decoder.cpp scores to paths. A lexicon
// larger than its bound is replaced, not emptied: a batch holds a reference to the lexicon of its codes.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "tag/lexicon.hpp"
#include "text/dictionary.hpp"
#include "text/extract.hpp"
#include "text/views.hpp"
#include "weights/filter_levels.hpp"
#include "weights/local_chain.hpp"
#include "weights/potentials.hpp"

namespace trellis {

// Word vectors, a row for each string of a view.
struct WordVectors {
  const float* numbers = nullptr;  // [n_strings, width]; null: a view of strings
  std::size_t width = 0;
};

// The data of one input column in the model file.
struct ColumnModel {
  FrozenStrings values;                    // the strings of training
  const std::int32_t* view_ids = nullptr;  // [n_values, n_views]
  std::vector<FrozenStrings> views;        // [n_views] strings of each view; empty for the identity
  std::int32_t first_id = 0;               // offset of the ids of a view's strings: 2 * reach
  const std::int32_t* set_of = nullptr;    // [n_values] label set by tag dictionary, or null
  ViewTree tree;                           // computes the views of other words
  bool native = false;                     // whether the tree has all views, for ASCII words
  std::vector<WordVectors> vectors{};      // [n_views]; empty: all views are strings
};

// A dictionary matched against the tokens of a sentence, by one view of a column.
struct Matcher {
  std::shared_ptr<const Dictionary> dictionary;
  std::int32_t column, view;
};

// A column that is not in the input: the matcher's value for each token (text/dictionary.hpp). Its strings are the values.
struct Derived {
  std::int32_t matcher, where;
};

using Lexicons = std::vector<std::unique_ptr<Lexicon>>;

inline Sites sites_of(const TokenLists& lists) {
  return lists.ids.empty() ? Sites{} : Sites{lists.starts.data(), lists.ids.data(), lists.values.data()};
}

// Sentences as codes of types: the output of encoding and the input of decoding.
struct Batch {
  std::uint64_t decoder = 0;  // the number of the decoder it belongs to
  std::shared_ptr<Lexicons> lexicons;
  std::vector<std::vector<std::int32_t>> codes;  // [n_columns][n_tokens]; empty for derived columns
  std::vector<std::int64_t> starts{0};           // [n_sentences + 1]
  TokenLists bag, pair_bag;  // free-form attributes of tokens, looked up: with labels, with label pairs
  std::vector<std::pair<std::int32_t, std::int32_t>> undefined;  // (column, type) whose views must be computed
};

// All data of a decoder, as views of external arrays. The plan has all templates; the first n_emission of them
// are about a label, the next n_pair about a pair of labels, others about longer runs of labels, the last n_far about labels
// further back: the scores of these are not part of the potentials.
struct TaggerModel : LinearChain {
  Plan plan;
  std::size_t n_emission = 0, n_pair = 0, n_far = 0;
  FrozenVocabulary vocabulary;
  std::vector<ColumnModel> columns;
  FrozenStrings bag;                             // free-form attributes
  const std::int32_t* bag_attributes = nullptr;  // [bag.size()] their numbers, or -1
  const std::int32_t* bag_pairs = nullptr;       // the same for attributes with label pairs; null: none
  std::size_t n_attributes = 0;
  LabelSets sets{};            // of the tag dictionary; set_of_token is filled in per sentence
  std::int32_t open_set = -1;  // the label set of words missing from the dictionary,
  FrozenStrings endings{};     // unless they end in one of these: the longest match decides
  const std::int32_t* ending_sets = nullptr;  // [endings.size()], or null: none
  bool local = false;          // labels are normalised locally
  Rows<std::uint16_t> filter{};  // of the pruning filter; starts null: none
  FilterRule rule{};
  std::vector<Matcher> matchers{};
  std::vector<Derived> derived{};  // the last columns
  std::shared_ptr<const FilterLevels> levels{};  // pruning above order 0, null: none
  std::vector<double> margins{};               // of each level
};

class Decoder {
 public:
  // `cache_bytes` bounds the memory for types.
  Decoder(TaggerModel model, std::size_t cache_bytes);
  ~Decoder();

  std::uint64_t number() const { return number_; }  // unique within the process
  const LabelWeights& labels() const { return model_.labels; }
  std::size_t n_given() const { return model_.columns.size() - model_.derived.size(); }  // input columns of a sentence

  // Under the lock: begin a batch, find the type of each string, finish the batch, define the remaining types.
  std::unique_lock<std::mutex> try_lock();
  Batch begin();
  static std::int32_t type_of(Batch& batch, std::size_t column, std::string_view name) {
    return (*batch.lexicons)[column]->intern(name);
  }
  // Number of new types; finish() defines them, except those left in batch.undefined.
  std::size_t n_new(const Batch& batch) const;
  void finish(Batch& batch, std::size_t n_threads);
  // `strings[j]` is view j of the type; data() == nullptr if the view is undefined.
  void define(Batch& batch, std::int32_t column, std::int32_t type, std::span<const std::string_view> strings);
  // Free-form attributes; for the string with that id (-1: unknown) the attributes with labels and with label pairs, -1 for none.
  const FrozenStrings& bag() const { return model_.bag; }
  std::pair<std::int32_t, std::int32_t> bag_attributes(std::int32_t id) const {
    if (id < 0) return {-1, -1};
    return {model_.bag_attributes[id], model_.bag_pairs ? model_.bag_pairs[id] : -1};
  }

  // Without the lock: best paths; potentials [n_tokens, stride] (and edges [n_tokens, n_labels + 1, stride], and the
  // scores of n-grams at single tokens).
  // If tag dictionary and filter leave a sentence no path, all labels are allowed. False if a sentence has no path at all,
  // because all of them are forbidden. ``open``: a local model normalises over all labels, ignoring the dictionary.
  bool decode(const Batch& batch, std::size_t n_threads, std::int32_t* paths) const;
  void potentials(const Batch& batch, bool open, std::size_t n_threads, float* emit, float* edge,
                  TokenNgrams<float>& ngrams) const;
  // The attributes of each token, for templates about a label or about a pair of labels.
  TokenLists attribute_lists(const Batch& batch, bool on_edge) const;
  // Whether label pairs have token-specific potentials: by templates, or by normalising above order 1.
  bool edges_by_token() const {
    return model_.n_pair > 0 || model_.bag_pairs || (model_.local && (model_.labels.tri || model_.labels.ngrams));
  }
  // Whether n-grams have scores at single tokens: by templates, or by normalising.
  bool ngrams_by_token() const { return has_runs() || (model_.local && model_.labels.ngrams); }
  // The label set of a token by the tag dictionary, -1 without one.
  std::int32_t set_of(const Batch& batch, std::size_t token) const;
  // The candidate labels of each token after the filter, if there is one.
  bool has_filter() const { return model_.filter.starts; }
  TokenSets candidates(const Batch& batch, std::size_t n_threads) const;

 private:
  struct Buffers;
  struct State;
  // Scratch borrowed by a thread: allocating it per sentence would take much of the time.
  struct Return {
    State* to;
    int n_exceptions;
    void operator()(Buffers* buffers) const;
  };
  static std::unique_ptr<Buffers, Return> borrow(State& from);
  struct Look {  // templates of one column at one offset alone
    std::int32_t column, offset;
    std::size_t slot;  // index of the vector in the column's records
    std::vector<std::int32_t> templates;
  };
  // Built after enough tokens were tagged to pay off: the first sentences are tagged without them.
  struct Heavy {
    std::once_flag begun;
    std::atomic<bool> made = false;
    std::atomic<std::size_t> n_tokens = 0;  // number of tokens tagged without them
    HeavyRows<float> rows;
  };
  bool define_alone(Lexicon& lexicon, std::int32_t column, std::int32_t type, Said& said) const;
  std::int32_t guess_set(std::string_view word) const;
  void set_views(Lexicon& lexicon, std::int32_t column, std::int32_t type, std::span<const std::string_view> said) const;
  void sum_vectors(Lexicon& lexicon, std::int32_t column, std::int32_t type) const;
  void add_row(std::int32_t attribute, float value, float* emit) const;
  template <class Visit>
  void each_number(std::int32_t number, std::int32_t id, Visit visit) const;
  template <class IdOf>
  std::int32_t attribute_of(const Template& shape, IdOf id_of) const;
  State& state() const;
  void place(const Batch& batch, std::size_t sentence, Buffers& buffers) const;
  // Index in the buffers of a sentence of n tokens for `offset` from its first token.
  std::size_t place_of(std::int32_t column, std::size_t n, std::int32_t offset) const {
    return static_cast<std::size_t>(column) * (n + 2 * model_.plan.reach) + model_.plan.reach + offset;
  }
  void match(std::size_t n_tokens, Buffers& buffers) const;
  void pack(std::int32_t number, std::size_t n_tokens, const Buffers& buffers, std::uint64_t* keys) const;
  void find(std::int32_t number, std::size_t n_tokens, Buffers& buffers, std::int32_t* ids) const;
  template <class Work>
  void each_sentence(const Batch& batch, std::size_t n_threads, Work work) const;
  void fill(const Batch& batch, std::size_t sentence, const Heavy& heavy, Buffers& buffers, bool open = false) const;
  void sum_emissions(const Batch& batch, std::size_t begin, std::size_t n_tokens, const Rows<std::uint16_t>& rows,
                     Buffers& buffers) const;
  bool has_runs() const { return edge_.size() > model_.n_pair; }  // whether templates are about longer runs of labels
  void sum_edges(const TokenLists& pairs, std::size_t begin, std::size_t n_tokens, Buffers& buffers) const;
  ChainView<float> chain_in(Buffers& buffers, const LabelSets& sets, std::size_t n_tokens) const;
  void filter_labels(const Batch& batch, std::size_t begin, std::size_t n_tokens, Buffers& buffers) const;
  LabelSets sets_in(const Buffers& buffers) const;

  const TaggerModel model_;
  const std::size_t cache_bytes_;
  const std::uint64_t number_;
  LocalNormalizer normalizer_;
  std::vector<Look> looks_;
  std::vector<std::size_t> n_slots_;        // [n_columns] looks of each column
  std::vector<std::int32_t> joint_, edge_;  // the other templates, of labels and of pairs
  std::vector<std::vector<std::int32_t>> dimensions_;  // [n_templates] for vector templates, the attribute of each dimension
  const std::size_t heavy_stride_;          // padded columns of rows, more than labels if those have parts
  const std::size_t row_stride_;            // the stride of vectors here: heavy_stride_, plus the labels of the filter
  std::vector<float> bias_;                 // [stride] templates without atoms
  std::size_t longest_ending_ = 0;          // of the model, in bytes
  mutable std::atomic<State*> state_;
};

template <class IdOf>
std::int32_t Decoder::attribute_of(const Template& shape, IdOf id_of) const {
  return model_.vocabulary.find(shape, pack_key(model_.plan, shape, id_of, model_.vocabulary.known_folds()));
}

// The attributes and the numbers of a vector template for the string with a view id.
template <class Visit>
void Decoder::each_number(std::int32_t number, std::int32_t id, Visit visit) const {
  const Atom& atom = model_.plan.atoms[model_.plan.templates[number].first_atom];
  const auto [column, view] = model_.plan.view_of(atom);
  const std::int32_t row = id - model_.columns[column].first_id;
  if (row < 0) return;
  const WordVectors& vectors = model_.columns[column].vectors[view];
  for (std::size_t d = 0; d < vectors.width; ++d)
    if (dimensions_[number][d] >= 0) visit(dimensions_[number][d], vectors.numbers[static_cast<std::size_t>(row) * vectors.width + d]);
}

}  // namespace trellis
