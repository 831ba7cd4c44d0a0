// Column files: one token per line, blank lines between sentences, read into dictionary-encoded columns.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/strings.hpp"

namespace trellis {

struct ColumnFormat {
  bool tabs = false;      // fields are separated by single tabs and may contain spaces or be empty; else by whitespace
  bool comments = false;  // lines that begin with # are not tokens
  bool ids = false;       // CoNLL-U: rows whose first field has a - or . (word ranges, empty nodes) are not tokens
  std::size_t n_columns = 0;     // required fields per row; 0: as in the first row
  std::int64_t first_line = 1;   // number of the first line; a byte order mark is skipped only in line 1
};

struct ParsedColumns {
  std::vector<std::vector<std::int32_t>> codes;  // [n_columns][n_tokens]
  std::vector<Interner> values;                  // [n_columns]
  std::vector<std::int64_t> starts{0};           // [n_sentences + 1]
  std::vector<std::int64_t> lines;               // [n_tokens] line numbers
  // [n, 4] lines without a token, and blank lines outside a sentence, for writing them back: the sentence that contains or
  // follows it, the number of tokens before it, and its first byte and its end in the file, without the line ending.
  std::vector<std::int64_t> asides;

  // Reason ("fields" or "utf8") and location of an error, if any.
  std::string trouble;
  std::int64_t line = 0;
  std::size_t found = 0, expected = 0;
};

ParsedColumns parse_columns(std::string_view text, const ColumnFormat& format);

// The file with one field of every token's line replaced by values[codes[t]] for token t, or with a field appended. An appended
// field is separated by a tab if tabs separate or the line has one, else by a space; other lines and line endings stay. False if
// the number of tokens is not that of codes, or a line has no such field.
bool write_column(std::string_view text, const ColumnFormat& format, std::optional<std::size_t> column,
                  std::span<const std::int32_t> codes, std::span<const std::uint8_t> data,
                  std::span<const std::int64_t> starts, std::vector<char>& out);

}  // namespace trellis
