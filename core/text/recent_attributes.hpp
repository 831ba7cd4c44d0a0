// Maps the attributes of tokens, names and values, to the ids of the strings "name:value" of a model.
//
// Consecutive tokens have much the same names, and most values are short and frequent. So names are
// numbered, and a table caches the ids of recent values of each: most attributes are found without joining
// name and value, and without the strings of the model. It is exact, as an entry has the whole value. Names and values that
// are too long, and names beyond the first 256, are looked up each time.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "text/strings.hpp"

namespace trellis {

// "before" + "name:value"; an attribute without a string value is "before" + "value".
struct AttributeName {
  std::string_view before, name, value = {};
  bool valued = false;

  void append_to(std::string& text) const {
    text.append(before).append(name);
    if (valued) text.push_back(':');
    text.append(value);
  }
};

// A string of up to 24 bytes as words, the rest zeros.
struct ShortString {
  static constexpr std::size_t kLongest = 24;
  std::uint64_t words[3] = {};

  ShortString() = default;
  explicit ShortString(std::string_view s) {
    const auto word = [p = s.data()](std::size_t at) {
      std::uint64_t w;
      std::memcpy(&w, p + at, 8);
      return w;
    };
    const std::size_t n = s.size();
    words[0] = n < 8 ? short_word(s.data(), n) : word(0);
    if (n > 16) words[1] = word(8), words[2] = word(n - 8) >> 8 * (24 - n);
    else if (n > 8) words[1] = word(n - 8) >> 8 * (16 - n);
  }
  std::string_view view(std::size_t size) const { return {reinterpret_cast<const char*>(words), size}; }
  bool operator==(const ShortString&) const = default;
};

class RecentAttributes {
 public:
  // A name, by its number, and a value, with the id of their string.
  struct Entry {
    ShortString value;
    std::uint32_t name_and_size = 0;  // name << 8 | size of the value; 0: none
    std::int32_t id = -1;
    bool same_key(const Entry& other) const { return name_and_size == other.name_and_size && value == other.value; }
    std::uint64_t hash() const {
      constexpr std::uint64_t K = 0x9E3779B97F4A7C15;
      std::uint64_t h = (value.words[0] ^ std::uint64_t{name_and_size} << 32) * K;
      h = (h ^ h >> 32 ^ value.words[1] * 0xFF51AFD7ED558CCD ^ value.words[2] * 0xC4CEB9FE1A85EC53) * K;
      return h >> 32;
    }
  };
  static constexpr std::uint32_t kTooMany = 0, kUnnamed = 1;  // reserved numbers: for further names, for values without a name

  // The number of a name, given the number `last` of the previous name.
  std::uint32_t number_of(std::string_view name, std::uint32_t last) {
    if (name.size() > ShortString::kLongest) return kTooMany;
    const ShortString text(name);
    const std::uint32_t guess = names_[last].next;
    return names_[guess].size == name.size() && names_[guess].text == text ? guess : find_name(text, name.size(), last);
  }
  AttributeName name_of(const Entry& entry) const {
    const Name& name = names_[entry.name_and_size >> 8];
    const bool valued = &name != &names_[kUnnamed];
    return {{}, name.text.view(valued ? name.size : 0), entry.value.view(entry.name_and_size & 0xFF), valued};
  }
  // The cached entry with this key, or null.
  const Entry* find(const Entry& key, std::uint64_t hash) const {
    for (std::size_t at = hash; at < hash + kLongestSearch && index_[at & mask_]; ++at)
      if (const Entry& entry = entries_[index_[at & mask_] - 1]; entry.same_key(key)) return &entry;
    return nullptr;
  }
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&index_[hash & mask_]); }
  void keep(const Entry& entry) {
    if (4 * entries_.size() >= index_.size()) make_room();
    entries_.push_back(entry);
    place(entries_.size());
  }

 private:
  struct Name {
    ShortString text;
    std::uint32_t size = ~0u;
    std::uint32_t next = 0;  // the name that followed it last
  };
  static constexpr std::size_t kMostNames = 256, kMostEntries = std::size_t{1} << 15, kLongestSearch = 8;

  void place(std::size_t number) {
    std::size_t at = entries_[number - 1].hash();
    for (std::size_t tries = 1; tries < kLongestSearch && index_[at & mask_]; ++tries) ++at;
    index_[at & mask_] = static_cast<std::uint16_t>(number);
  }
  void make_room() {
    if (entries_.size() == kMostEntries) entries_.clear();  // the frequent ones return soon
    index_.assign(entries_.empty() ? index_.size() : 8 * index_.size(), 0);
    mask_ = index_.size() - 1;
    for (std::size_t number = 1; number <= entries_.size(); ++number) place(number);
  }

  std::uint32_t find_name(const ShortString& text, std::size_t size, std::uint32_t last) {
    std::size_t at = Entry{text, static_cast<std::uint32_t>(size)}.hash() % numbers_.size();
    for (; numbers_[at]; at = (at + 1) % numbers_.size())
      if (const Name& name = names_[numbers_[at]]; name.size == size && name.text == text) return names_[last].next = numbers_[at];
    if (names_.size() == kMostNames) return kTooMany;
    numbers_[at] = static_cast<std::uint16_t>(names_.size());
    names_.push_back({text, static_cast<std::uint32_t>(size)});
    return names_[last].next = numbers_[at];
  }
  std::vector<Name> names_ = std::vector<Name>(kUnnamed + 1);
  std::array<std::uint16_t, 4 * kMostNames> numbers_{};             // of names, by hash; 0: none
  // In order of first occurrence, so that frequent ones share pages and cache lines; their numbers from 1 on by hash, 0: none.
  std::vector<Entry> entries_;
  std::vector<std::uint16_t> index_ = std::vector<std::uint16_t>(4 * kMostEntries >> 9);
  std::size_t mask_ = index_.size() - 1;
};

// Reads the attributes of one token after the other.
class TokenAttributes {
 public:
  TokenAttributes(const FrozenStrings& strings, RecentAttributes& recent) : strings_(strings), recent_(recent) {}

  void add(const AttributeName& attribute, float number) {
    const bool fits = attribute.before.empty() && attribute.value.size() <= ShortString::kLongest;
    const std::uint32_t name = !fits              ? RecentAttributes::kTooMany
                               : attribute.valued ? recent_.number_of(attribute.name, last_)
                                                  : RecentAttributes::kUnnamed;
    Given& given = given_.emplace_back();
    given.number = number;
    if (name == RecentAttributes::kTooMany) return look_up(attribute, given_.size() - 1);
    if (attribute.valued) last_ = name;
    given.entry.value = ShortString(attribute.value);
    given.entry.name_and_size = name << 8 | static_cast<std::uint32_t>(attribute.value.size());
    given.hash = given.entry.hash();
    recent_.prefetch(given.hash);
  }

  // Calls found(id or -1, number) for each attribute of the token, in order; then begins the next token.
  template <class Found>
  void end_token(Found found) {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      RecentAttributes::Entry& entry = given_[i].entry;
      if (!entry.name_and_size) continue;
      if (const RecentAttributes::Entry* found = recent_.find(entry, given_[i].hash)) entry.id = found->id;
      else look_up(recent_.name_of(entry), i);
    }
    if (!asked_.empty()) answer();
    for (const Given& given : given_) found(given.entry.id, given.number);
    given_.clear();
  }

 private:
  struct Given {
    RecentAttributes::Entry entry;
    std::uint64_t hash = 0;
    float number = 0;
  };
  // The strings of a token's attributes are looked up together: slots, starts and data of strings lie far apart.
  void look_up(const AttributeName& attribute, std::size_t i) {
    const std::size_t begin = text_.size();
    attribute.append_to(text_);
    asked_.push_back({i, begin, text_.size() - begin, hash_bytes(std::string_view(text_).substr(begin))});
    strings_.prefetch(asked_.back().hash);
  }
  void answer() {
    for (const Asked& asked : asked_) strings_.prefetch_string(asked.hash);
    for (const Asked& asked : asked_) {
      Given& given = given_[asked.attribute];
      given.entry.id = strings_.lookup(std::string_view(text_).substr(asked.begin, asked.size), asked.hash);
      if (given.entry.name_and_size) recent_.keep(given.entry);
    }
    asked_.clear(), text_.clear();
  }
  struct Asked {
    std::size_t attribute, begin, size;
    std::uint64_t hash;
  };
  const FrozenStrings& strings_;
  RecentAttributes& recent_;
  std::uint32_t last_ = 0;  // the number of the last name
  std::vector<Given> given_;
  std::vector<Asked> asked_;
  std::string text_;  // of the current look-up
};

}  // namespace trellis
