// Tables of keys, and extraction, against maps of vectors.
#include <algorithm>
#include <map>
#include <random>

#include "check.hpp"
#include "text/extract.hpp"
#include "text/strings.hpp"

namespace {
using namespace trellis;

struct Frozen : FrozenArrays {
  FrozenTable table() const { return {keys.data(), ids.data(), keys.size()}; }
};

Frozen freeze(const GrowingTable& table) {
  return {freeze_tables({&table, 1}, [](std::int32_t id, std::int32_t) { return id; })};
}

}  // namespace

TEST(tables_number_keys_in_order) {
  for (std::size_t n : {0, 1, 7, 8, 9, 1000}) {
    std::mt19937_64 random(n);
    GrowingTable table;
    std::map<std::uint64_t, std::int32_t> expected;
    for (std::size_t i = 0; i < 2 * n; ++i) {
      const std::uint64_t key = random() % 3 ? random() % (n + 1) : random();
      const auto next = static_cast<std::int32_t>(expected.size());
      const std::int32_t id = expected.try_emplace(key, next).first->second;
      CHECK(table.find_or_add(key) == id);
    }
    CHECK(table.size() == static_cast<std::int32_t>(expected.size()));
    std::size_t visited = 0;
    table.for_each([&](std::uint64_t key, std::int32_t id) { visited += expected.at(key) == id; });
    CHECK(visited == expected.size());
    const Frozen frozen = freeze(table);
    CHECK(2 * expected.size() < frozen.keys.size());
    for (const auto& [key, id] : expected) frozen.table().prefetch(key), CHECK(frozen.table().find(key) == id);
    for (int i = 0; i < 100; ++i)
      if (const std::uint64_t key = random(); !expected.count(key)) CHECK(frozen.table().find(key) == -1);
  }
}

TEST(extraction_tells_every_conjunction_apart) {
  // One column with two views, the second silent for some values; 40 bits an atom force a fold at the second one.
  constexpr std::int32_t kReach = 3, kValues = 6;
  std::mt19937 random(1);
  std::vector<std::int32_t> codes, views;
  std::vector<std::int64_t> starts{0};
  for (std::size_t length : {0, 1, 2, 7, 0, 5, 30}) {
    for (std::size_t t = 0; t < length; ++t) codes.push_back(static_cast<std::int32_t>(random() % kValues));
    starts.push_back(static_cast<std::int64_t>(codes.size()));
  }
  for (std::int32_t v = 0; v < kValues; ++v) views.insert(views.end(), {v + 2 * kReach, v % 3 ? v % 2 + 2 * kReach : -1});
  const std::vector<ColumnCodes> columns{{codes.data(), views.data(), 2}};

  Plan plan;
  plan.reach = kReach;
  plan.slots = {{0, 0}, {0, 1}};
  plan.atoms = {{0, 0, -1, 4, -1}, {1, 0, 0, 4, -1}, {0, 0, 3, 40, -1}, {0, 0, -3, 40, 0}, {1, 0, 1, 4, -1}};
  plan.templates = {{0, 2, 0}, {2, 5, 1}, {0, 0, 2}, {0, 1, 3}};
  plan.n_tables = 4;
  plan.n_folds = 1;

  GrowingVocabulary vocabulary = empty_vocabulary(plan);
  const TokenLists lists = extract(vocabulary, plan, columns, starts, 2);
  std::vector<Frozen> tables, folds;
  FrozenVocabulary frozen;
  std::vector<std::int32_t> base{0};
  for (const auto& table : vocabulary.tables) tables.push_back(freeze(table)), base.push_back(base.back() + table.size());
  for (const auto& table : vocabulary.folds) folds.push_back(freeze(table));
  for (std::size_t k = 0; k < tables.size(); ++k)
    for (auto& id : tables[k].ids) id = id < 0 ? -1 : id + base[k];
  for (const auto& table : tables) frozen.tables.push_back(table.table());
  for (const auto& table : folds) frozen.folds.push_back(table.table());
  std::vector<std::int32_t> known;
  for (std::size_t s = 0; s + 1 < starts.size(); ++s)
    for (std::int64_t t = starts[s]; t < starts[s + 1]; ++t)
      for (const Template& shape : plan.templates) {
        const auto id_of = [&](const Atom& atom) -> std::int32_t {  // places outside the sentence come first
          const std::int64_t at = t + atom.offset;
          if (at < starts[s]) return static_cast<std::int32_t>(starts[s] - at - 1);
          if (at >= starts[s + 1]) return static_cast<std::int32_t>(kReach + at - starts[s + 1]);
          return views[2 * codes[at] + plan.view_of(atom).view];
        };
        const std::uint64_t key = pack_key(plan, shape, id_of, frozen.known_folds());
        if (key != kSilent) known.push_back(frozen.tables[shape.table].find(key));
      }
  CHECK(known == lists.ids);

  std::map<std::vector<std::int64_t>, std::int32_t> number;  // template and what it saw -> attribute
  std::size_t i = 0;
  for (std::size_t s = 0; s + 1 < starts.size(); ++s)
    for (std::int64_t t = starts[s]; t < starts[s + 1]; ++t) {
      for (std::size_t k = 0; k < plan.templates.size(); ++k) {
        std::vector<std::int64_t> seen{static_cast<std::int64_t>(k)};
        for (std::int32_t a = plan.templates[k].first_atom; a < plan.templates[k].last_atom; ++a) {
          const std::int64_t at = t + plan.atoms[a].offset;
          seen.push_back(at < starts[s]        ? 1000 + starts[s] - at
                         : at >= starts[s + 1] ? 2000 + at - starts[s + 1]
                                               : views[2 * codes[at] + plan.view_of(plan.atoms[a]).view]);
        }
        if (std::find(seen.begin(), seen.end(), -1) != seen.end()) continue;
        CHECK(i < lists.ids.size() && number.try_emplace(seen, lists.ids[i]).first->second == lists.ids[i]);
        ++i;
      }
      CHECK(lists.starts[t + 1] == static_cast<std::int64_t>(i));
    }
  CHECK(i == lists.ids.size());
  CHECK(number.size() == static_cast<std::size_t>(vocabulary.first_numbers().back()));
}

// The plain hash undone: the string of 8 bytes that has a given hash.
static std::string string_of_hash(std::uint64_t hash) {
  const auto inverse = [](std::uint64_t odd) {
    std::uint64_t x = odd;
    for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
    return x;
  };
  constexpr std::uint64_t K = 0x9E3779B97F4A7C15;
  std::uint64_t h = hash ^ hash >> 33;
  h *= inverse(0xC4CEB9FE1A85EC53);
  h ^= h >> 33;
  h *= inverse(0xFF51AFD7ED558CCD);
  h ^= h >> 33;
  h ^= h >> 32;
  h = h * inverse(K) ^ 8 * K;
  return {reinterpret_cast<const char*>(&h), 8};
}

TEST(strings_made_to_collide_are_found_as_soon_as_others) {
  Interner interner;
  constexpr std::int32_t n = 20000;
  for (std::int32_t i = 0; i < n; ++i) {
    const std::string s = string_of_hash(std::uint64_t(i) << 40 | 5);
    CHECK(hash_bytes(s) == (std::uint64_t(i) << 40 | 5));
    CHECK(interner.intern(s) == i);
  }
  for (std::int32_t i = 0; i < n; ++i) CHECK(interner.intern(string_of_hash(std::uint64_t(i) << 40 | 5)) == i);
  CHECK(interner.size() == n);
  int colliding = 0;  // under a key that nobody knows
  for (std::int32_t i = 0; i < 1000; ++i) colliding += (keyed_hash(string_of_hash(std::uint64_t(i) << 40 | 5)) & 1023) == 5;
  CHECK(colliding < 30);
}

TEST(frozen_strings_made_to_collide_are_found_as_soon_as_others) {
  constexpr std::int32_t n = 20000;
  std::vector<std::uint8_t> data;
  std::vector<std::int64_t> starts{0};
  const auto add = [&](std::string_view s) {
    data.insert(data.end(), s.begin(), s.end());
    starts.push_back(static_cast<std::int64_t>(data.size()));
  };
  for (std::int32_t i = 0; i < n; ++i) add(string_of_hash(std::uint64_t(i) << 40 | 0xffffff));  // searches go round
  add("other");
  add("other");
  const std::vector<std::int32_t> slots = build_slots(data, starts);
  // As plain insertion has them: each at the first place that is free.
  const std::size_t first = 0xffffff & (slots.size() - 1);
  for (std::int32_t i = 0; i < 1000; ++i) CHECK(slots[(first + static_cast<std::size_t>(i)) & (slots.size() - 1)] == i);
  FrozenStrings plain{data, starts, slots}, keyed = plain;
  CHECK(plain.has_long_search());
  keyed.shorten_searches();
  CHECK(keyed.keyed != nullptr);
  for (std::int32_t i = 0; i < n; ++i) CHECK(keyed.lookup(string_of_hash(std::uint64_t(i) << 40 | 0xffffff)) == i);
  for (const FrozenStrings& strings : {plain, keyed}) {
    CHECK(strings.lookup("other") == n && strings.lookup("none") == -1);
    CHECK(strings.lookup(string_of_hash(std::uint64_t(n - 1) << 40 | 0xffffff)) == n - 1);
    CHECK(strings.lookup(string_of_hash(std::uint64_t(n) << 40 | 0xffffff)) == -1);
  }
  std::vector<std::uint8_t> text;
  std::vector<std::int64_t> ends{0};
  for (int i = 0; i < 100000; ++i) {
    const std::string s = std::to_string(i);
    text.insert(text.end(), s.begin(), s.end()), ends.push_back(static_cast<std::int64_t>(text.size()));
  }
  const std::vector<std::int32_t> chance = build_slots(text, ends);
  CHECK(!(FrozenStrings{text, ends, chance}.has_long_search()));
}
