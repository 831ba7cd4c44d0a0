// The tagger's runtime on a model small enough to be summed by hand.
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "check.hpp"
#include "tag/decoder.hpp"

namespace {
using namespace trellis;

struct PackedStrings {
  std::vector<std::uint8_t> data;
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> slots;
  explicit PackedStrings(const std::vector<std::string>& strings) {
    for (const auto& s : strings) {
      data.insert(data.end(), s.begin(), s.end());
      starts.push_back(static_cast<std::int64_t>(data.size()));
    }
    slots = build_slots(data, starts);
  }
  FrozenStrings frozen() const { return {data, starts, slots}; }
};

struct Table {
  std::vector<std::uint64_t> keys = std::vector<std::uint64_t>(16);
  std::vector<std::int32_t> ids = std::vector<std::int32_t>(16, -1);
  Table(std::initializer_list<std::pair<std::uint64_t, std::int32_t>> entries) {
    for (auto [key, id] : entries) {
      const std::uint64_t i = frozen().slot_of(key);
      keys[i] = key;
      ids[i] = id;
    }
  }
  FrozenTable frozen() const { return {keys.data(), ids.data(), 16}; }
};

// Words a, b and their last letters; templates word[0], word[-1], suffix[0] & suffix[1], bias, and label[-1] & word[0].
// Reach 1: ids 0 and 1 are outside, before and after.
struct Model {
  PackedStrings values{{"a", "b"}}, suffixes{{"x", "y"}}, bag{{"p", "q"}};
  std::vector<std::int32_t> view_ids{2, 2, 3, -1}, bag_attributes{6, -1};
  Table word{{2, 0}, {3, 1}}, before{{0, 2}, {2, 3}}, joint{{2 << 2 | 1, 4}, {2 << 2 | 2, 5}}, bias{{0, 7}}, edges{{3, 0}};
  // One weight an attribute, 2^a for label a % 2; of the edge attribute: +1000 for 0 after 1.
  std::vector<std::uint32_t> starts{0, 1, 2, 3, 4, 5, 6, 7, 8}, edge_starts{0, 1}, edge_places{1 * 8 + 0};
  std::vector<std::uint16_t> labels{0, 1, 0, 1, 0, 1, 0, 1};
  std::vector<float> weights{1, 2, 4, 8, 16, 32, 64, 128}, edge_weights{1000}, edge = std::vector<float>(3 * 8);
  std::vector<std::int32_t> set_of{0, 1}, set_labels{0, 1, 0};
  std::vector<std::int64_t> set_starts{0, 2, 3};

  Decoder decoder(std::size_t cache_bytes, bool sets = false, const std::int32_t* bag_pairs = nullptr) const {
    Plan plan;
    plan.reach = 1;
    plan.slots = {{0, 0}, {0, 1}};
    plan.atoms = {{0, 0, 0, 2, -1}, {0, 0, -1, 2, -1}, {1, 0, 0, 2, -1}, {1, 0, 1, 2, -1}, {0, 0, 0, 2, -1}};
    plan.templates = {{0, 1, 0}, {1, 2, 1}, {2, 4, 2}, {4, 4, 3}, {4, 5, 4}};
    plan.n_tables = 5;
    FrozenVocabulary vocabulary{
        {word.frozen(), before.frozen(), joint.frozen(), bias.frozen(), edges.frozen()}, {}};
    ColumnModel column{values.frozen(), view_ids.data(), {FrozenStrings{}, suffixes.frozen()}, 2,
                       sets ? set_of.data() : nullptr, {}, false};
    TaggerModel model{{{starts.data(), labels.data(), weights.data()},
                       {edge_starts.data(), edge_places.data(), edge_weights.data()},
                       {2, 8, edge.data(), nullptr}},
                      plan, 4, 1, 0, vocabulary, {column}, bag.frozen(), bag_attributes.data(), bag_pairs, 8};
    if (sets) model.sets = {nullptr, set_starts.data(), set_labels.data()}, model.open_set = 0;
    return Decoder(std::move(model), cache_bytes);
  }
};

// A batch of sentences; unknown words end in x.
Batch encode(Decoder& decoder, const std::vector<std::vector<std::string>>& sentences) {
  auto lock = decoder.try_lock();
  CHECK(lock.owns_lock());
  Batch batch = decoder.begin();
  for (const auto& sentence : sentences) {
    for (const auto& token : sentence) batch.codes[0].push_back(decoder.type_of(batch, 0, token));
    batch.starts.push_back(static_cast<std::int64_t>(batch.codes[0].size()));
  }
  decoder.finish(batch, 2);
  const std::vector<std::string_view> said{{}, "x"};
  for (auto [column, type] : batch.undefined) decoder.define(batch, column, type, said);
  return batch;
}

}  // namespace

TEST(decoder_sums_weights_by_hand) {
  const Model model;
  for (std::size_t cache_bytes : {std::size_t{0}, std::size_t{1} << 20}) {
    Decoder decoder = model.decoder(cache_bytes);
    for (int again = 0; again < 3; ++again) {
      const Batch batch = encode(decoder, {{"a", "b"}, {}, {"new"}, {"a", "a", "new", "b"}});
      CHECK(batch.undefined.empty() == (cache_bytes && again));
      constexpr std::size_t stride = padded(2);
      std::vector<float> emit(7 * stride), edge(7 * 3 * stride);
      TokenNgrams<float> ngrams;
      decoder.potentials(batch, false, 2, emit.data(), edge.data(), ngrams);
      const std::vector<float> expected{
          1 + 4,      128,            // a: word a, nothing before, bias; b's suffix is silent
          0,          2 + 8 + 128,    // b: word b, a before
          4 + 16,     128,            // new: an unknown word whose suffix is x, the end after it
          1 + 4,      128 + 32,       // a: x & x
          1,          128 + 8 + 32,   // a after a, before new: x & x
          0,          8 + 128,        // new after a; b's suffix is silent
          0,          2 + 128,        // b after an unknown word
      };
      for (std::size_t t = 0; t < 7; ++t)
        for (std::size_t z = 0; z < 2; ++z) {
          CHECK(emit[t * stride + z] == expected[t * 2 + z]);
          for (std::size_t y = 0; y < 3; ++y)
            CHECK(edge[(t * 3 + y) * stride + z] == ((t == 1 || t == 6) && y == 1 && z == 0 ? 1000 : 0));
        }
      std::vector<std::int32_t> path(7);
      decoder.decode(batch, 2, path.data());
      CHECK((path == std::vector<std::int32_t>{1, 0, 1, 1, 1, 1, 0}));
    }
  }
}

// Words a and b; of b and c there are vectors of two numbers, and the one template is vector(word[-1]).
TEST(decoder_sums_vectors) {
  const PackedStrings words{{"a", "b"}}, known{{"b", "c"}};
  const std::vector<std::int32_t> rows{-1, 2};  // reach 1: ids begin at 2
  const std::vector<float> numbers{0.5f, 2, -1, 4}, weights{3, 5}, edge(3 * 8);
  const Table table{{2, 0}, {3, 1}};  // dimensions 0 and 1, for labels 0 and 1
  const std::vector<std::uint32_t> starts{0, 1, 2};
  const std::vector<std::uint16_t> labels{0, 1};
  Plan plan;
  plan.reach = 1;
  plan.slots = {{0, 0}};
  plan.atoms = {{0, 0, -1, 2, -1}};
  plan.templates = {{0, 1, 0}};
  plan.n_tables = 1;
  TaggerModel model{{{starts.data(), labels.data(), weights.data()}, {}, {2, 8, edge.data(), nullptr}},
                    plan, 1, 0, 0, {{table.frozen()}, {}},
                    {{words.frozen(), rows.data(), {known.frozen()}, 2, nullptr, {}, false, {{numbers.data(), 2}}}},
                    FrozenStrings{}, nullptr, nullptr, 2};
  Decoder decoder(std::move(model), 1 << 20);
  Batch batch = [&] {
    auto lock = decoder.try_lock();
    Batch made = decoder.begin();
    for (const char* word : {"a", "b", "c", "d"}) made.codes[0].push_back(decoder.type_of(made, 0, word));
    made.starts.push_back(4);
    decoder.finish(made, 1);
    for (auto [column, type] : made.undefined) {
      const std::vector<std::string_view> said{type == made.codes[0][2] ? std::string_view("c") : std::string_view("d")};
      decoder.define(made, column, type, said);
    }
    return made;
  }();
  constexpr std::size_t stride = padded(2);
  std::vector<float> emit(4 * stride);
  TokenNgrams<float> ngrams;
  decoder.potentials(batch, false, 1, emit.data(), nullptr, ngrams);
  const std::vector<float> expected{0, 0, 0, 0, 0.5f * 3, 2 * 5, -1 * 3, 4 * 5};
  for (std::size_t t = 0; t < 4; ++t)
    for (std::size_t z = 0; z < 2; ++z) CHECK(emit[t * stride + z] == expected[t * 2 + z]);
  const TokenLists lists = decoder.attribute_lists(batch, false);
  CHECK((lists.starts == std::vector<std::int64_t>{0, 0, 0, 2, 4}));
  CHECK((lists.ids == std::vector<std::int32_t>{0, 1, 0, 1} && lists.values == std::vector<float>{0.5f, 2, -1, 4}));
}

// Words a, b and the one template begins(word[0]), of a dictionary with the entry a b.
TEST(decoder_asks_dictionaries) {
  const PackedStrings words{{"a", "b"}}, lengths{{"0", "1", "2", "3", "4", "5", "6", "", "B", "I", "E", "S"}};
  const std::vector<std::int32_t> symbols{0, 1}, length_ids{0, 1, 2, 3, 4, 5, 6, -1, 8, 9, 10, 11};
  const Table table{{0, 0}, {2, 1}};
  const std::vector<std::uint32_t> starts{0, 1, 2};
  const std::vector<std::uint16_t> labels{0, 1};
  const std::vector<float> weights{3, 5}, edge(3 * 8);
  const auto dictionary = std::make_shared<Dictionary>(2);
  dictionary->add(symbols, Dictionary::kAnyone);
  Plan plan;
  plan.slots = {{1, 0}};
  plan.atoms = {{0, 0, 0, 4, -1}};
  plan.templates = {{0, 1, 0}};
  plan.n_tables = 1;
  TaggerModel model{{{starts.data(), labels.data(), weights.data()}, {}, {2, 8, edge.data(), nullptr}},
                    plan, 1, 0, 0, {{table.frozen()}, {}},
                    {{words.frozen(), symbols.data(), {words.frozen()}, 0, nullptr, {}, false},
                     {lengths.frozen(), length_ids.data(), {FrozenStrings{}}, 0, nullptr, {}, false}},
                    {}, nullptr, nullptr, 2};
  model.matchers = {{dictionary, 0, 0}};
  model.derived = {{0, 0}};
  Decoder decoder(std::move(model), 1 << 20);
  CHECK(decoder.n_given() == 1);
  auto lock = decoder.try_lock();
  for (int again = 0; again < 2; ++again) {
    Batch batch = decoder.begin();
    for (const char* word : {"a", "b", "b", "a", "new", "b"}) batch.codes[0].push_back(decoder.type_of(batch, 0, word));
    batch.starts = {0, 3, 3, 6};
    decoder.finish(batch, 2);
    for (auto [column, type] : batch.undefined) decoder.define(batch, column, type, std::vector<std::string_view>{"new"});
    constexpr std::size_t stride = padded(2);
    std::vector<float> emit(6 * stride);
    TokenNgrams<float> ngrams;
    decoder.potentials(batch, false, 2, emit.data(), nullptr, ngrams);
    for (std::size_t t = 0; t < 6; ++t) CHECK(emit[t * stride] == (t == 0 ? 0 : 3) && emit[t * stride + 1] == (t == 0 ? 5 : 0));
  }
}

TEST(decoder_keeps_to_label_sets) {
  const Model model;
  Decoder decoder = model.decoder(1 << 20, true);
  const Batch batch = encode(decoder, {{"a", "b", "new"}});
  CHECK(decoder.set_of(batch, 0) == 0 && decoder.set_of(batch, 1) == 1 && decoder.set_of(batch, 2) == 0);
  std::vector<std::int32_t> path(3);
  decoder.decode(batch, 1, path.data());
  CHECK((path == std::vector<std::int32_t>{1, 0, 1}));
  using Numbers = std::pair<std::int32_t, std::int32_t>;
  CHECK((decoder.bag_attributes(decoder.bag().lookup("p")) == Numbers{6, -1} && decoder.bag_attributes(decoder.bag().lookup("q")) == Numbers{-1, -1} &&
         decoder.bag_attributes(decoder.bag().lookup("r")) == Numbers{-1, -1}));
}

TEST(decoder_adds_given_attributes_of_labels_and_of_pairs) {
  const Model model;
  const std::vector<std::int32_t> pairs{-1, 0};
  Decoder decoder = model.decoder(1 << 20, false, pairs.data());
  CHECK((decoder.bag_attributes(decoder.bag().lookup("q")) == std::pair<std::int32_t, std::int32_t>{-1, 0}));
  Batch batch = encode(decoder, {{"a"}, {"a", "a"}});
  batch.bag.add(6, 0.5f), batch.bag.end_token(), batch.bag.end_token(), batch.bag.end_token();
  batch.pair_bag.end_token(), batch.pair_bag.end_token(), batch.pair_bag.add(0, 0.25f), batch.pair_bag.end_token();
  constexpr std::size_t stride = padded(2);
  std::vector<float> emit(3 * stride), edge(3 * 3 * stride);
  TokenNgrams<float> ngrams;
  decoder.potentials(batch, false, 1, emit.data(), edge.data(), ngrams);
  CHECK(emit[0] == 1 + 4 + 16 + 32);  // word a, nothing before, x and the end, half of 64
  for (std::size_t cell = 0; cell < edge.size(); ++cell) CHECK(edge[cell] == (cell == (2 * 3 + 1) * stride ? 250 : 0));
  const TokenLists lists = decoder.attribute_lists(batch, true);
  CHECK((lists.starts == std::vector<std::int64_t>{0, 0, 0, 1} && lists.values == std::vector<float>{0.25f}));
}

TEST(decoder_meets_more_types_than_a_block_holds) {
  const Model model;
  Decoder decoder = model.decoder(std::size_t{1} << 30);
  std::vector<std::vector<std::string>> sentences;
  for (int i = 0; i < 5000; ++i) sentences.push_back({"w" + std::to_string(i), "b"});
  const Batch first = encode(decoder, sentences);
  CHECK(first.undefined.size() == 5000);
  std::vector<std::int32_t> path(10000), other(10000);
  decoder.decode(first, 2, path.data());
  const Batch second = encode(decoder, sentences);
  CHECK(second.undefined.empty());
  CHECK(first.codes == second.codes);
  for (std::size_t i = 0; i < sentences.size(); ++i)
    CHECK((*second.lexicons)[0]->name(second.codes[0][2 * i]) == sentences[i][0]);
  decoder.decode(second, 1, other.data());
  CHECK(path == other);
}

TEST(decoder_decodes_while_another_thread_meets_types) {
  const Model model;
  Decoder decoder = model.decoder(1 << 16);  // replaced again and again
  const Batch batch = encode(decoder, std::vector<std::vector<std::string>>(300, {"a", "b", "new"}));
  std::vector<std::int32_t> expected(900), path(900);
  decoder.decode(batch, 1, expected.data());
  std::thread other([&] {
    for (int i = 0; i < 3000; ++i) encode(decoder, {{"other" + std::to_string(i)}});
  });
  for (int i = 0; i < 20; ++i) {
    decoder.decode(batch, 2, path.data());
    CHECK(path == expected);
  }
  other.join();
}

TEST(where_the_dictionary_leaves_no_path_all_labels_are_allowed) {
  Model model;
  model.edge[0 * 8 + 0] = model.edge[1 * 8 + 0] = model.edge[2 * 8 + 0] = kForbidden<float>;  // label 0 is forbidden
  Decoder decoder = model.decoder(1 << 20, true);
  const Batch batch = encode(decoder, {{"a", "b"}, {"a"}});  // b may only have label 0
  std::vector<std::int32_t> path(3);
  CHECK(decoder.decode(batch, 1, path.data()));
  CHECK((path == std::vector<std::int32_t>{1, 1, 1}));
  model.edge[0 * 8 + 1] = model.edge[1 * 8 + 1] = model.edge[2 * 8 + 1] = kForbidden<float>;
  CHECK(!decoder.decode(batch, 1, path.data()));
}

TEST(the_bound_of_what_is_kept_counts_strings) {
  const Model model;
  Decoder decoder = model.decoder(1 << 20);
  const Batch first = encode(decoder, {{"a"}});
  CHECK(encode(decoder, {{std::string(1000, 'x')}}).lexicons == first.lexicons);
  encode(decoder, {{std::string(1 << 20, 'x')}});
  CHECK(encode(decoder, {{"a"}}).lexicons != first.lexicons);
}

TEST(batches_know_their_decoder) {
  const Model model;
  Decoder one = model.decoder(1 << 20), other = model.decoder(1 << 20);
  CHECK(encode(one, {{"a"}}).decoder == one.number() && one.number() != other.number());
}

TEST(the_child_of_a_fork_is_not_stuck_at_a_lock) {
  const Model model;
  Decoder decoder = model.decoder(1 << 20);
  auto lock = decoder.try_lock();
  const pid_t child = fork();
  if (child == 0) {
    alarm(5);
    _exit(decoder.try_lock().owns_lock() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}
