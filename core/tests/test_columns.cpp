#include <random>
#include <string>

#include "check.hpp"
#include "text/columns.hpp"

using namespace trellis;

TEST(ids_count_up_and_survive_growth) {
  Interner strings;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 1000; ++i) CHECK(strings.intern("word" + std::to_string(i)) == i);
  CHECK(strings.intern("") == 1000);
  CHECK(strings[7] == "word7");
}

// Two strings of different lengths with one hash, from its definition: words w and w ^ 4K ^ 8K.
TEST(equal_hashes_of_short_strings_are_told_apart_by_length) {
  constexpr std::uint64_t K = 0x9E3779B97F4A7C15;
  std::uint64_t word = short_word("word", 4) ^ 4 * K ^ 8 * K;
  std::string other(reinterpret_cast<const char*>(&word), 8);
  CHECK(hash_bytes("word") == hash_bytes(other));
  Interner strings;
  CHECK(strings.intern("word") == 0);
  CHECK(strings.intern(other) == 1);
  CHECK(strings.intern("word") == 0);
}

// Stored in model files: these values may never change.
TEST(hashes_are_fixed) {
  CHECK(hash_bytes("") == 0);
  CHECK(hash_bytes("a") == 0x1AB7D1D0779DAD0D);
  CHECK(hash_bytes("12345678") == 0x8C16A78DA14A30C1);
  CHECK(hash_bytes("a longer string of words") == 0xF1B58B2008F085D7);
}

TEST(a_short_word_is_its_bytes_and_zeros) {
  const char text[] = "\xF1\xE2\xD3\xC4\xB5\xA6\x97";
  std::uint64_t expected = 0;
  for (std::size_t n = 0; n <= 7; ++n) {
    CHECK(short_word(text, n) == expected);
    if (n < 7) expected |= std::uint64_t(static_cast<unsigned char>(text[n])) << (8 * n);
  }
}

namespace {

struct Frozen {
  std::vector<std::uint8_t> data;
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> slots;

  explicit Frozen(std::initializer_list<std::string_view> strings) {
    for (auto s : strings) {
      data.insert(data.end(), s.begin(), s.end());
      starts.push_back(static_cast<std::int64_t>(data.size()));
    }
    slots = build_slots(data, starts);
  }
  FrozenStrings view() const { return {data, starts, slots}; }
};

}  // namespace

TEST(a_frozen_dictionary_finds_its_strings) {
  Frozen frozen{"the", "", "cat", "the"};
  CHECK(frozen.view().valid());
  CHECK(frozen.view().lookup("the") == 0);
  CHECK(frozen.view().lookup("") == 1);
  CHECK(frozen.view().lookup("cat") == 2);
  CHECK(frozen.view().lookup("ca") == -1);
  CHECK(Frozen{}.view().lookup("the") == -1);
  CHECK(Frozen{}.view().valid());
  CHECK(FrozenStrings{}.lookup("the") == -1);
}

TEST(frozen_strings_are_utf8) {
  Frozen frozen{"caf\xC3\xA9", "\xE2\x82\xAC"};
  CHECK(frozen.view().valid());
  frozen.starts[1] = 4;  // the valid text is cut within a character
  CHECK(!frozen.view().valid());
  frozen.starts[1] = 5;
  CHECK(frozen.view().valid());
  frozen.data[1] = 0xFF;
  CHECK(!frozen.view().valid());
}

TEST(damaged_arrays_are_found_out_and_never_followed) {
  auto damage = [](auto change) {
    Frozen frozen{"the", "cat"};
    change(frozen);
    CHECK(!frozen.view().valid());
    frozen.view().lookup("the"), frozen.view().lookup("dog");
  };
  damage([](Frozen& f) { f.slots.assign(4, 0); });  // no empty slot: the search must still end
  damage([](Frozen& f) { f.slots.assign(4, 1 << 30); });
  damage([](Frozen& f) { f.slots.assign(4, -5); });
  damage([](Frozen& f) { f.slots.assign(3, -1); });
  damage([](Frozen& f) { f.slots.clear(); });
  damage([](Frozen& f) { f.starts.clear(); });
  damage([](Frozen& f) { f.starts[2] = 1LL << 62; });
  damage([](Frozen& f) { f.starts[1] = -9; });
  damage([](Frozen& f) { f.starts[1] = 99; });
  damage([](Frozen& f) { f.starts[0] = 1; });
  damage([](Frozen& f) { f.data.clear(); });
}

TEST(columns_of_two_sentences) {
  auto parsed = parse_columns("the DT\ncat  NN \r\n\n \t\nthe\tDT", {});
  CHECK(parsed.trouble.empty());
  CHECK(parsed.codes.size() == 2);
  CHECK((parsed.codes[0] == std::vector<std::int32_t>{0, 1, 0}));
  CHECK((parsed.starts == std::vector<std::int64_t>{0, 2, 3}));
  CHECK((parsed.lines == std::vector<std::int64_t>{1, 2, 5}));
  CHECK(parsed.values[1][1] == "NN");
  CHECK(parsed.asides.size() == 4);  // the second of two blank lines
}

TEST(tabs_leave_blanks_and_empty_fields_alone) {
  auto parsed = parse_columns("New York\t\tLOC\n", {.tabs = true});
  CHECK(parsed.codes.size() == 3);
  CHECK(parsed.values[0][0] == "New York");
  CHECK(parsed.values[1][0] == "");
  parsed = parse_columns("a\t\n\t\n \t \nb\t\n", {.tabs = true});  // a row of tabs alone is a blank line
  CHECK((parsed.starts == std::vector<std::int64_t>{0, 1, 2}));
}

TEST(rows_of_other_lengths_stop_the_reading) {
  auto parsed = parse_columns("a b\n\nc\n", {});
  CHECK(parsed.trouble == "fields" && parsed.line == 3 && parsed.found == 1 && parsed.expected == 2);
  parsed = parse_columns("a b c\n", {.n_columns = 2, .first_line = 10});
  CHECK(parsed.trouble == "fields" && parsed.line == 10 && parsed.found == 3 && parsed.expected == 2);
}

TEST(utf8_is_checked) {
  for (const char* good : {"", "plain", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF"})
    CHECK(find_invalid_utf8(good) == std::string_view(good).size());
  std::string padding(61, 'x');
  for (const char* bad : {"\x80", "\xC0\xAF", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80", "\xE2\x82", "\xF0\x8F\x80\x80",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF0\x9F\x98", "\xFF", "\xE2\x28\xA1"}) {
    CHECK(find_invalid_utf8(bad) == 0);
    CHECK(find_invalid_utf8(padding + "\xC3\xA9" + bad) == 63);
  }
  CHECK(parse_columns("a\nb\n\xFF\n", {}).line == 3);
}

TEST(one_more_column_and_nothing_else_changes) {
  std::vector<std::int32_t> codes{1, 0, 1};
  std::vector<std::uint8_t> data{'X', 'Y', 'Z'};
  std::vector<std::int64_t> starts{0, 1, 3};
  std::vector<char> out;
  auto text = std::string("\xEF\xBB\xBF# note\na b\r\nc\td\n\n-DOCSTART- O\n\ne f");
  CHECK(write_column(text, {.comments = true}, {}, codes, data, starts, out));
  CHECK(std::string(out.begin(), out.end()) ==
        "\xEF\xBB\xBF# note\na b YZ\r\nc\td\tX\n\n-DOCSTART- O\n\ne f YZ");
  CHECK(!write_column("a\n", {}, {}, codes, data, starts, out));
  CHECK(!write_column("a\nb\nc\nd\n", {}, {}, codes, data, starts, out));
}

// For the sanitizers: nothing is read beyond a buffer of just the right size, whatever stands in it.
TEST(random_bytes_are_never_overrun) {
  std::mt19937 random(1);
  constexpr std::string_view alphabet = "ab  \t\t\n\n\r#-.\xC3\xA9\xE2\x82\xAC";
  for (int round = 0; round < 3000; ++round) {
    std::vector<char> bytes(random() % 40);
    for (char& c : bytes) c = alphabet[random() % alphabet.size()];
    std::string_view text(bytes.data(), bytes.size());
    ColumnFormat format{.tabs = random() % 2 == 0, .comments = random() % 2 == 0, .ids = random() % 2 == 0};
    auto parsed = parse_columns(text, format);
    if (!parsed.trouble.empty()) continue;
    std::vector<std::int32_t> codes(parsed.lines.size(), 0);
    std::vector<std::uint8_t> data{'X'};
    std::vector<std::int64_t> starts{0, 1};
    std::vector<char> out;
    CHECK(write_column(text, format, {}, codes, data, starts, out));
    CHECK(out.size() == text.size() + 2 * codes.size());
  }
}
