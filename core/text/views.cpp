#include "text/views.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace trellis {

namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) { return is_upper(c) || is_lower(c) || is_digit(c); }

constexpr std::string_view kSilence{}, kYes = "yes", kHyphen = "!HYPHEN", kYear = "!YEAR", kDigits = "!DIGITS";
constexpr std::size_t kLongestAnswer = std::max({kYes.size(), kHyphen.size(), kYear.size(), kDigits.size()});
std::string_view yes(bool says) { return says ? kYes : kSilence; }

template <class Test>
bool any(std::string_view value, Test test) { return std::any_of(value.begin(), value.end(), test); }

}  // namespace

bool is_ascii(std::string_view text) {
  const char *p = text.data(), *end = p + text.size();
  for (std::uint64_t word; end - p >= 8; p += 8) {
    std::memcpy(&word, p, 8);
    if (word & 0x8080808080808080) return false;
  }
  return std::none_of(p, end, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

bool ViewTree::find(const Call& call, Node& node) {
  const auto& [function, number] = call;
  static constexpr std::string_view kNames[] = {"lower", "lower_ascii", "shape",      "kinds",     "normal",  "has_digit",
                                                "has_hyphen",     "has_upper",  "has_dot",   "is_capitalized", "is_upper",
                                                "is_punctuation", "prefix",     "suffix",    "outside"};
  const auto* name = std::find(std::begin(kNames), std::end(kNames), function);
  if (name == std::end(kNames)) return false;
  node.function = static_cast<Function>(name - std::begin(kNames));
  // As in Python, the last 0 letters are all letters, and a negative number counts from the other end.
  const bool counts = node.function == Function::prefix || node.function == Function::suffix;
  if (counts && number < 1) return false;
  node.number = counts ? static_cast<std::size_t>(number) : 0;
  return true;
}

bool ViewTree::add(const std::vector<Call>& calls) {
  std::int32_t at = kWord;
  for (const Call& call : calls) {
    Node node{at, {}, 0};
    if (!find(call, node)) return false;
    const auto known = std::find(nodes_.begin(), nodes_.end(), node);
    at = static_cast<std::int32_t>(known - nodes_.begin());
    if (known != nodes_.end()) continue;
    nodes_.push_back(node);
    n_written_ += node.function <= Function::normal;
  }
  node_of_.push_back(at);
  return true;
}

// The text must have as much capacity as the value has bytes: views point into it.
std::string_view ViewTree::apply(const Node& node, std::string_view value, std::string& text) {
  const std::size_t begin = text.size();
  const auto written = [&] { return std::string_view(text.data() + begin, text.size() - begin); };
  switch (node.function) {
    case Function::normal:
      if (value.find('-') != value.npos && value[0] != '-') return kHyphen;
      if (value.size() == 4 && !any(value, [](char c) { return !is_digit(c); })) return kYear;
      if (!value.empty() && is_digit(value[0])) return kDigits;
      [[fallthrough]];
    case Function::lower:
    case Function::lower_ascii:  // the same for ASCII
      for (char c : value) text.push_back(is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c);
      return written();
    case Function::shape:
      for (char c : value) {
        const char kind = is_upper(c) ? 'X' : is_lower(c) ? 'x' : is_digit(c) ? 'd' : c;
        const std::size_t n = text.size() - begin;
        if (n < 2 || text[begin + n - 1] != kind || text[begin + n - 2] != kind) text.push_back(kind);
      }
      return written();
    case Function::kinds:
      for (char c : value) {
        const char kind = is_digit(c) ? 'd' : is_alphanumeric(c) ? 'a' : 'p';
        if (text.size() == begin || text.back() != kind) text.push_back(kind);
      }
      return written();
    case Function::has_digit: return yes(any(value, is_digit));
    case Function::has_hyphen: return yes(value.find('-') != value.npos);
    case Function::has_upper: return yes(any(value, is_upper));
    case Function::has_dot: return yes(value.find('.') != value.npos);
    case Function::is_capitalized: return yes(!value.empty() && is_upper(value[0]));
    case Function::is_upper: return yes(any(value, is_upper) && !any(value, is_lower));
    case Function::is_punctuation: return yes(!any(value, is_alphanumeric));
    case Function::prefix: return value.size() < node.number ? kSilence : value.substr(0, node.number);
    case Function::suffix: return value.size() < node.number ? kSilence : value.substr(value.size() - node.number);
    case Function::outside: return kSilence;
  }
  return kSilence;
}

void ViewTree::ask(std::string_view word, Said& said) const {
  said.text.clear();
  // Reserved so that nothing moves while strings point into it: results are no longer than the word or a constant.
  said.text.reserve(n_written_ * std::max(word.size(), kLongestAnswer));
  said.nodes.resize(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const bool silent = node.parent != kWord && !said.nodes[node.parent].data();
    said.nodes[i] = silent ? kSilence : apply(node, node.parent == kWord ? word : said.nodes[node.parent], said.text);
  }
  said.views.resize(node_of_.size());
  for (std::size_t j = 0; j < node_of_.size(); ++j)
    said.views[j] = node_of_[j] == kWord ? kSilence : said.nodes[node_of_[j]];
}

}  // namespace trellis
