#include "text/columns.hpp"

#include <algorithm>
#include <bit>

namespace trellis {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Iterates over lines; content excludes the line ending (LF, CR LF, or the end of the text), whole includes it.
struct LineReader {
  std::string_view text;
  std::size_t at = 0;
  std::string_view content, whole;

  bool next() {
    if (at >= text.size()) return false;
    const char* begin = text.data() + at;
    auto* newline = static_cast<const char*>(std::memchr(begin, '\n', text.size() - at));
    std::size_t length = newline ? newline - begin : text.size() - at;
    whole = {begin, length + (newline ? 1 : 0)};
    at += whole.size();
    if (length > 0 && begin[length - 1] == '\r') --length;
    content = {begin, length};
    return true;
  }
};

std::size_t bom_length(std::string_view text, const ColumnFormat& format) {
  return format.first_line == 1 && text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
}

// Lines of tabs alone are blank even in tab-separated files: spreadsheets write empty rows so.
bool all_blank(std::string_view line) {
  return std::all_of(line.begin(), line.end(), is_blank);
}

// The high bit of each byte of word that equals c; above the lowest match there may be false positives.
inline std::uint64_t bytes_equal(std::uint64_t word, char c) {
  constexpr std::uint64_t ones = 0x0101010101010101;
  std::uint64_t zero_where = word ^ ones * static_cast<unsigned char>(c);
  return (zero_where - ones) & ~zero_where & ones << 7;
}

// The first tab (or whitespace, if whitespace separates) in [p, end), or end. Eight bytes at a time, since most fields are that
// short and a loop over bytes would mispredict each length; bytes up to limit, the end of the text, may be read.
inline const char* find_separator(const char* p, const char* end, const char* limit, bool tabs) {
  for (; p < end && limit - p >= 8; p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    std::uint64_t hits = bytes_equal(word, '\t') | (tabs ? 0 : bytes_equal(word, ' '));
    if (hits) return std::min(p + std::countr_zero(hits) / 8, end);
  }
  while (p < end && *p != '\t' && (tabs || *p != ' ')) ++p;
  return std::min(p, end);
}

// Calls take(field) on each field in turn.
template <class Take>
inline void split(std::string_view line, const char* limit, bool tabs, Take take) {
  const char *p = line.data(), *end = p + line.size();
  for (;;) {
    if (!tabs) {
      while (p < end && is_blank(*p)) ++p;
      if (p == end) return;
    }
    const char* stop = find_separator(p, end, limit, tabs);
    take(std::string_view(p, stop - p));
    if (stop == end) return;
    p = stop + 1;
  }
}

// Most lines are recognised as tokens by their first byte: it is above all bytes that kind_of checks for.
inline bool plainly_token(std::string_view line, const ColumnFormat& format) {
  return !line.empty() && line[0] > '-' && !format.ids;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

enum class LineKind {
  blank,    // ends a sentence
  token,
  aside,    // a comment, a word range, an empty node: stored, does not end a sentence
  divider,  // -DOCSTART-: stored, ends a sentence
};

// Of a line without its line ending.
LineKind kind_of(std::string_view line, const ColumnFormat& format) {
  if (line.empty()) return LineKind::blank;
  if (line[0] == '#' && format.comments) return LineKind::aside;
  if (line[0] == ' ' || line[0] == '\t') {
    if (all_blank(line)) return LineKind::blank;
    if (!format.tabs)
      while (is_blank(line[0])) line.remove_prefix(1);
  }
  if (format.ids) {
    std::string_view id = line.substr(0, line.find('\t'));
    const std::size_t mark = id.find_first_of("-.");
    if (mark != id.npos && is_number(id.substr(0, mark)) && is_number(id.substr(mark + 1))) return LineKind::aside;
  }
  constexpr std::string_view mark = "-DOCSTART-";
  if (line[0] == '-' && line.starts_with(mark)) {
    if (line.size() == mark.size() || line[mark.size()] == '\t') return LineKind::divider;
    if (!format.tabs && line[mark.size()] == ' ') return LineKind::divider;
  }
  return LineKind::token;
}

}  // namespace

ParsedColumns parse_columns(std::string_view text, const ColumnFormat& format) {
  ParsedColumns out;
  std::size_t invalid = find_invalid_utf8(text);
  if (invalid < text.size()) {
    out.trouble = "utf8";
    out.line = format.first_line + std::count(text.begin(), text.begin() + invalid, '\n');
    return out;
  }
  const char* limit = text.data() + text.size();
  const bool tabs = format.tabs;
  std::size_t n_columns = format.n_columns;
  std::vector<std::int32_t>* codes = nullptr;  // [n_columns]
  Interner* values = nullptr;                  // [n_columns]
  auto begin_columns = [&] {
    // Upper bound on the number of tokens: lines, or rows that fit into the text.
    std::size_t n_lines = std::count(text.begin(), text.end(), '\n') + 1;
    std::size_t most = std::min(n_lines, text.size() / n_columns + 1);
    out.codes.resize(n_columns);
    for (auto& column : out.codes) column.reserve(most);
    out.values.resize(n_columns);
    out.lines.reserve(most);
    codes = out.codes.data(), values = out.values.data();
  };
  if (n_columns > 0) begin_columns();

  std::int64_t n_tokens = 0;
  auto end_sentence = [&] {
    if (n_tokens > out.starts.back()) out.starts.push_back(n_tokens);
  };
  auto keep = [&](std::string_view line) __attribute__((noinline)) {  // rare: out of the way of the loop
    std::int64_t begin = line.data() - text.data();
    std::int64_t sentence = static_cast<std::int64_t>(out.starts.size()) - 1;
    out.asides.insert(out.asides.end(), {sentence, n_tokens, begin, begin + static_cast<std::int64_t>(line.size())});
  };
  LineReader reader{text, bom_length(text, format), {}, {}};
  std::int64_t line = format.first_line - 1;
  while (reader.next()) {
    ++line;
    switch (plainly_token(reader.content, format) ? LineKind::token : kind_of(reader.content, format)) {
      case LineKind::blank:
        if (n_tokens == out.starts.back()) keep(reader.content);
        end_sentence();
        continue;
      case LineKind::divider:
        end_sentence();
        [[fallthrough]];
      case LineKind::aside:
        keep(reader.content);
        continue;
      case LineKind::token:
        break;
    }
    if (n_columns == 0) {
      split(reader.content, limit, tabs, [&](std::string_view) { ++n_columns; });
      begin_columns();
    }
    std::size_t found = 0;
    split(reader.content, limit, tabs, [&](std::string_view field) {
      if (found < n_columns) codes[found].push_back(values[found].intern(field));
      ++found;
    });
    if (found != n_columns) {
      out.trouble = "fields", out.line = line, out.found = found, out.expected = n_columns;
      return out;
    }
    out.lines.push_back(line);
    ++n_tokens;
  }
  end_sentence();
  return out;
}

bool write_column(std::string_view text, const ColumnFormat& format, std::optional<std::size_t> column,
                  std::span<const std::int32_t> codes, std::span<const std::uint8_t> data,
                  std::span<const std::int64_t> starts, std::vector<char>& out) {
  out.clear();
  out.reserve(text.size() + codes.size() * 8);
  std::size_t token = 0;
  LineReader reader{text, bom_length(text, format), {}, {}};
  const auto copy = [&out](const char* begin, const char* end) { out.insert(out.end(), begin, end); };
  copy(text.data(), text.data() + reader.at);
  while (reader.next()) {
    const std::string_view line = reader.content;
    const char* rest = line.data();
    if (kind_of(line, format) == LineKind::token) {
      std::string_view old = line.substr(line.size());
      std::size_t n_fields = 0;
      if (column)
        split(line, text.data() + text.size(), format.tabs, [&](std::string_view field) {
          if (n_fields++ == *column) old = field;
        });
      if (token == codes.size() || (column && n_fields <= *column)) return false;
      copy(line.data(), old.data());
      if (!column) out.push_back(format.tabs || line.find('\t') != line.npos ? '\t' : ' ');
      const std::int32_t code = codes[token++];
      out.insert(out.end(), data.begin() + starts[code], data.begin() + starts[code + 1]);
      rest = old.data() + old.size();
    }
    copy(rest, reader.whole.data() + reader.whole.size());
  }
  return token == codes.size();
}

}  // namespace trellis
