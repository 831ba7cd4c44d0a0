// Views of one word in templates (features/templates.py), computed natively for ASCII words, where no table
// of Unicode is needed. Calls shared by several views, such as the lower(...) of all suffixes, are computed once.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trellis {

bool is_ascii(std::string_view text);

// The views of a word. A string whose data() is null is undefined.
struct Said {
  std::vector<std::string_view> views;  // [n_views], pointing into the word or into text
  std::vector<std::string_view> nodes;  // [n_nodes]
  std::string text;                     // strings that are not part of the word
};

class ViewTree {
 public:
  using Call = std::pair<std::string, std::int64_t>;  // of a function; with the number of prefix and suffix

  // Adds a view: its calls, innermost first; no calls are the word itself, for which a tree is undefined, as it is
  // used only for words unknown to the model. False if there is no native function of some name.
  bool add(const std::vector<Call>& calls);
  std::size_t n_views() const { return node_of_.size(); }

  // The word must be ASCII.
  void ask(std::string_view word, Said& said) const;

 private:
  enum class Function : std::uint8_t {
    lower, lower_ascii, shape, kinds, normal, has_digit, has_hyphen, has_upper, has_dot, is_capitalized, is_upper, is_punctuation,
    prefix, suffix, outside,
  };
  struct Node {
    std::int32_t parent;  // whose string is the argument; -1 is the word
    Function function;
    std::size_t number;
    bool operator==(const Node&) const = default;
  };
  static constexpr std::int32_t kWord = -1;
  static bool find(const Call& call, Node& node);
  static std::string_view apply(const Node& node, std::string_view value, std::string& text);

  std::vector<Node> nodes_;            // parents before children
  std::vector<std::int32_t> node_of_;  // [n_views]
  std::size_t n_written_ = 0;          // nodes whose strings are not substrings of their parents'
};

}  // namespace trellis
