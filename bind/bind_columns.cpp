// Files of columns to dictionary-encoded columns.
#include <algorithm>
#include <string_view>

#include "coded.hpp"
#include "text/columns.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

using Parsed = std::tuple<std::vector<Coded>, Numpy<std::int64_t>, Numpy<std::int64_t>, Numpy<std::int64_t>, std::int64_t>;
using Refusal = std::tuple<std::string, std::int64_t, std::size_t, std::size_t>;

std::pair<Parsed, Refusal> parse(const nb::bytes& text, bool tabs, bool comments, bool ids, std::size_t n_columns,
                                 std::int64_t first_line) {
  ParsedColumns parsed;
  {
    const WithoutGil released;
    parsed = parse_columns(view(text), {tabs, comments, ids, n_columns, first_line});
  }
  std::vector<Coded> columns;
  for (std::size_t c = 0; c < parsed.codes.size(); ++c)
    columns.push_back(coded(std::move(parsed.codes[c]), parsed.values[c]));
  std::vector<std::int64_t> asides;
  for (const Aside& a : parsed.asides) asides.insert(asides.end(), {a.sentence, a.token, a.begin, a.end});
  const char* kinds[] = {"", "fields", "utf8"};
  std::size_t n_asides = parsed.asides.size();
  return {Parsed{std::move(columns), to_numpy(std::move(parsed.starts)), to_numpy(std::move(parsed.lines)),
                 to_numpy(std::move(asides), {n_asides, 4}), parsed.n_lines},
          Refusal{kinds[static_cast<int>(parsed.trouble)], parsed.line, parsed.found, parsed.expected}};
}

void check_codes(const Ints& codes, const Bytes& data, const Longs& starts) {
  check_strings(data, starts);
  for (std::int32_t code : span(codes))
    if (code < 0 || static_cast<std::size_t>(code) + 1 >= starts.size()) throw nb::index_error("a code without value");
}

nb::bytes append(const nb::bytes& text, const Ints& codes, const Bytes& data, const Longs& starts, bool tabs,
                 bool comments, bool ids, std::int64_t first_line) {
  check_codes(codes, data, starts);
  std::vector<char> out;
  bool fits;
  {
    const WithoutGil released;
    fits = append_column(view(text), {tabs, comments, ids, 0, first_line}, span(codes), span(data), span(starts), out);
  }
  if (!fits) throw nb::value_error("the text does not have as many tokens as there are codes");
  return nb::bytes(out.data(), out.size());
}

nb::bytes replace(const nb::bytes& text, std::size_t column, const Ints& codes, const Bytes& data,
                  const Longs& starts, bool tabs, bool comments, bool ids, std::int64_t first_line) {
  check_codes(codes, data, starts);
  std::vector<char> out;
  bool fits;
  {
    const WithoutGil released;
    fits = replace_column(view(text), {tabs, comments, ids, 0, first_line}, column, span(codes), span(data),
                          span(starts), out);
  }
  if (!fits) throw nb::value_error("the text does not have that field, or not as many tokens as there are codes");
  return nb::bytes(out.data(), out.size());
}

}  // namespace

void bind_columns(nb::module_& module) {
  module.def("parse_columns", &parse, "text"_a, nb::kw_only(), "tabs"_a = false, "comments"_a = false,
             "ids"_array = false, "n_columns"_a = 0, "first_line"_a = 1,
             "Read a file of columns. Gives ((columns, starts, lines, asides, n_lines), (trouble, line, found, "
             "expected)); a column is (codes, data, starts), a row of asides [n, 4] is (sentence, tokens before, "
             "begin, end), trouble is '', 'fields' or 'utf8'.");
  module.def("append_column", &append, "text"_a, "codes"_array, "data"_array, "starts"_array, nb::kw_only(), "tabs"_a = false,
             "comments"_a = false, "ids"_array = false, "first_line"_a = 1,
             "The text of a file of columns with one more field a token.");
  module.def("replace_column", &replace, "text"_a, "column"_a, "codes"_array, "data"_array, "starts"_array, nb::kw_only(),
             "tabs"_a = false, "comments"_a = false, "ids"_array = false, "first_line"_a = 1,
             "The text of a file of columns with one field of every token replaced.");
  module.def("count_lines",
      [](const nb::bytes& text) { return std::count(view(text).begin(), view(text).end(), '\n'); }, "text"_a,
      "How many lines end in the text.");
  module.def("last_sentence_end", [](const nb::bytes& text) { return last_sentence_end(view(text)); }, "text"_a,
      "The offset after the last blank line, or 0.");
}
