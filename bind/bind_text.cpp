// Text: Python strings and column files to dictionary-encoded columns, and look-ups in frozen dictionaries.
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "attributes.hpp"
#include "features.hpp"
#include "parallel.hpp"
#include "tagger_model.hpp"
#include "text/columns.hpp"

using namespace trellis;

RECORD(CrfsuiteStrings::Copy, data, starts)
RECORD(decltype(CrfsuiteWeights::rows), starts, labels, weights)
RECORD(CrfsuiteWeights, rows, previous, next, pair_weights)
RECORD(ColumnFormat, tabs, comments, ids, n_columns, first_line)
RECORD(ParsedColumns, codes, values, starts, lines, asides, trouble, line, found, expected)

namespace {

// Codes [n], strings' data [n_bytes], their starts [n_strings + 1].
using Coded = std::tuple<std::vector<std::int32_t>, std::vector<std::uint8_t>, std::vector<std::int64_t>>;

Coded coded(std::vector<std::int32_t> codes, Interner& strings) {
  return {std::move(codes), strings.take_data(), strings.take_starts()};
}

std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

// ---- Python's strings

std::tuple<Coded, Out<std::int64_t>> intern_sentences(const nb::typed<nb::list, nb::typed<nb::list, nb::str>>& sentences) {
  Interner interner;
  std::vector<std::int32_t> codes;
  std::vector<std::int64_t> starts{0};
  for (nb::handle sentence : sentences) {
    nb::list tokens;
    if (!nb::try_cast<nb::list>(sentence, tokens)) throw nb::type_error("not a list of strings");
    for (nb::handle item : tokens) {
      if (!is_string(item.ptr())) throw nb::type_error("not a string");
      codes.push_back(interner.intern(utf8(item)));
    }
    starts.push_back(static_cast<std::int64_t>(codes.size()));
  }
  return {coded(std::move(codes), interner), std::move(starts)};
}

Coded intern_packed(const PackedStrings& strings) {
  Interner interner;
  auto codes = filled<std::int32_t>(strings.size(), [&](std::int32_t* out) {
    for (std::size_t i = 0; i < strings.size(); ++i) out[i] = interner.intern(strings[i]);
  });
  return coded(std::move(codes), interner);
}

// ---- bags of attributes

std::tuple<Coded, std::vector<float>, std::vector<std::int64_t>> intern_bags(const nb::typed<nb::list, nb::any>& tokens) {
  Interner interner;
  std::vector<std::int32_t> codes;
  std::vector<float> weights;
  std::vector<std::int64_t> starts{0};
  const nb::tuple kept(tokens);  // reading a value may run Python code
  std::string text;
  for (nb::handle token : kept) {
    each_attribute(token, [&](const AttributeName& name, float value) {
      text.clear(), name.append_to(text);
      codes.push_back(interner.intern(text));
      weights.push_back(value);
    }, [] {});
    starts.push_back(static_cast<std::int64_t>(codes.size()));
  }
  return {coded(std::move(codes), interner), std::move(weights), std::move(starts)};
}

// ---- frozen dictionaries

bool numbers_once(const std::vector<Ints>& lists, std::uint32_t n) {
  return each_once(std::vector<span<const std::int32_t>>(lists.begin(), lists.end()), n);
}

std::vector<std::int32_t> find_strings(const StringArrays& arrays, const PackedStrings& asked) {
  const auto& [data, starts, slots] = arrays;
  require(!(slots.size() & (slots.size() - 1)), "the number of slots must be a power of two");
  return filled<std::int32_t>(asked.size(), [&, strings = FrozenStrings{data, starts, slots}](std::int32_t* ids) mutable {
    if (strings.has_long_search() && strings.valid()) strings.shorten_searches();
    for (std::size_t i = 0; i < asked.size(); ++i) ids[i] = strings.lookup(asked[i]);
  });
}

// ---- files of columns

// The columns, and the other members of ParsedColumns.
std::pair<std::vector<Coded>, ParsedColumns> parse(const nb::bytes& text, const ColumnFormat& format) {
  ParsedColumns parsed = without_gil([&] { return parse_columns(view(text), format); });
  std::vector<Coded> columns;
  for (std::size_t c = 0; c < parsed.codes.size(); ++c) columns.push_back(coded(std::move(parsed.codes[c]), parsed.values[c]));
  return {std::move(columns), std::move(parsed)};
}

// The text of a file of columns with an appended field per token, or with `column` replaced.
nb::bytes with_column(const nb::bytes& text, std::optional<std::size_t> column, const ColumnOfStrings& fields,
                      const ColumnFormat& format) {
  std::vector<char> out;
  const bool fits = without_gil([&] {
    return write_column(view(text), format, column, fields.codes, fields.values.data, fields.values.starts, out);
  });
  require(fits, column ? "the text lacks this field, or has another number of tokens than there are codes"
                       : "the text has another number of tokens than there are codes");
  return nb::bytes(out.data(), out.size());
}

// A view of each string: codes (-1: undefined), and the values in order of first appearance; None if native code lacks a call.
// `others` has the values for strings that are not ASCII.
std::optional<Coded> view_table(const Calls& calls, const PackedStrings& values,
                                const std::vector<std::optional<std::string>>& others) {
  ViewTree tree;
  if (!tree.add(calls)) return std::nullopt;
  Interner strings;
  std::vector<std::int32_t> ids;
  Said said;
  std::size_t n_others = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_ascii(values[i])) {
      tree.ask(values[i], said);
      ids.push_back(said.views[0].data() ? strings.intern(said.views[0]) : -1);
    } else {
      require(n_others < others.size(), "there must be one value per non-ASCII string");
      const auto& other = others[n_others++];
      ids.push_back(other ? strings.intern(*other) : -1);
    }
  }
  return coded(std::move(ids), strings);
}

// Fills an array with the bytes of a file, a large one on two threads; returns their number.
std::size_t read_into(int file, const MutableArray<std::uint8_t, 1>& to) {
  constexpr std::size_t kPiece = std::size_t{1} << 20, kWorthThread = 4 * kPiece;
  std::uint8_t* const data = to.data();
  const std::size_t n = to.size();
  std::atomic<std::size_t> size = n;
  without_gil([&] {
    parallel_blocks(n, kPiece, n < kWorthThread ? 1 : 2, [] { return 0; }, [&](int, std::size_t at, std::size_t end) {
      while (at < end) {
        const ssize_t got = pread(file, data + at, end - at, static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        at += static_cast<std::size_t>(got);
      }
      for (std::size_t least = size; at < end && at < least && !size.compare_exchange_weak(least, at);) {}
    });
  });
  return size;
}

// A digest of all arrays: the digest of their digests.
std::uint64_t digest(const std::vector<Bytes>& arrays) {
  std::vector<std::uint64_t> digests;
  without_gil([&] {
    for (const Bytes& array : arrays) digests.push_back(digest_bytes(span(array)));
  });
  return digest_bytes({reinterpret_cast<const std::uint8_t*>(digests.data()), digests.size() * sizeof digests[0]});
}

}  // namespace

void bind_text(nb::module_& module) {
  module.def("intern_sentences", &intern_sentences, "sentences"_a,
             "Lists of strings as ((codes, data, starts), sentence starts).");
  module.def("intern_packed", &intern_packed, "strings"_a,
             "Packed strings, perhaps repeated, as (codes, data, starts) of the distinct ones.");
  module.def("read_into", &read_into, "file"_a, "to"_a, "Fill an array with the bytes of an open file; their number.");
  module.def("digest", &digest, "arrays"_a, "A digest of all bytes of arrays, the same on every machine.");
  nb::class_<PyCrfsuiteFile>(module, "CrfsuiteFile", "CRFsuite's model file.")
      .def(nb::init<nb::bytes>(), "data"_a)
      .def("__len__", [](const PyCrfsuiteFile& self) { return self.core.attributes.size(); })
      .def("labels", [](const PyCrfsuiteFile& self) { return flat(self.core.labels.copied()); })
      .def("attributes", [](const PyCrfsuiteFile& self) { return flat(self.core.attributes.copied()); })
      .def("weights", [](const PyCrfsuiteFile& self, const std::string& first, const std::string& last) {
        return flat(self.core.weights(first, last));
      }, "first"_a, "last"_a, "Rows of attributes; label pairs, with those of the attributes of first and last tokens.");
  module.def("crfsuite_hash", [](const nb::str& string) { return crfsuite_hash(utf8(string)); }, "string"_a);
  module.def("build_slots", [](const PackedStrings& strings) { return build_slots(strings.data, strings.starts); }, "strings"_a,
             "The hash table of packed strings.");
  module.def("each_once", &numbers_once, "lists"_a, "n"_a,
             "Whether the lists seem to hold 0, 1 ... n - 1, each once, and beside them nothing but -1.");
  module.def("valid_strings", [](const StringArrays& arrays) {
    return FrozenStrings{arrays.data, arrays.starts, arrays.slots}.valid();
  }, "strings"_a, "Whether packed strings and their hash table fit together.");
  module.def("find_strings", &find_strings, "strings"_a, "asked"_a,
             "The id of each string to look up; -1 if it is not in the table.");
  module.def("intern_bags", &intern_bags, "tokens"_a,
             "Lists of strings or dicts, one a token, as ((codes, data, starts), weights, token starts).");
  module.def("parse_columns", &parse, "text"_a, "format"_a,
             "Read a file of columns: these, each as (codes, data, starts), and what ParsedColumns has (core/text/columns.hpp).");
  module.def("with_column", &with_column, "text"_a, "column"_a.none(), "fields"_a, "format"_a);
  module.def("view_table", &view_table, "calls"_a, "strings"_a, "others"_a);
}
