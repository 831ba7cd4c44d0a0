// Python's strings to dictionary-encoded columns, and look-ups in frozen dictionaries.
#include <string>
#include <string_view>

#include "attributes.hpp"
#include "coded.hpp"
#include "text/bounds.hpp"
#include "text/crfsuite_file.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

// ---- Python's strings

std::string_view text_of(nb::handle item) {
  if (!is_string(item.ptr())) throw nb::type_error("not a string");
  return utf8(item);
}

Coded intern(const nb::typed<nb::list, nb::str>& strings) {
  Interner interner;
  std::vector<std::int32_t> codes;
  codes.reserve(strings.size());
  for (nb::handle item : strings) codes.push_back(interner.intern(text_of(item)));
  return coded(std::move(codes), interner);
}

std::tuple<Coded, Numpy<std::int64_t>> intern_sentences(const nb::typed<nb::list, nb::typed<nb::list, nb::str>>& sentences) {
  Interner interner;
  std::vector<std::int32_t> codes;
  std::vector<std::int64_t> starts{0};
  for (nb::handle sentence : sentences) {
    nb::list tokens;
    if (!nb::try_cast<nb::list>(sentence, tokens)) throw nb::type_error("not a list of strings");
    for (nb::handle item : tokens) codes.push_back(interner.intern(text_of(item)));
    starts.push_back(static_cast<std::int64_t>(codes.size()));
  }
  return {coded(std::move(codes), interner), to_numpy(std::move(starts))};
}

Coded intern_packed(const Bytes& data, const Longs& starts) {
  check_strings(data, starts);
  Interner interner;
  std::vector<std::int32_t> codes(starts.size() - 1);
  {
    const WithoutGil released;
    const char* text = reinterpret_cast<const char*>(data.data());
    auto ends = span(starts);
    for (std::size_t i = 0; i < codes.size(); ++i)
      codes[i] = interner.intern({text + ends[i], static_cast<std::size_t>(ends[i + 1] - ends[i])});
  }
  return coded(std::move(codes), interner);
}

// ---- bags of attributes

std::tuple<Coded, Numpy<float>, Numpy<std::int64_t>> intern_bags(const nb::typed<nb::list, nb::any>& tokens) {
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
    });
    starts.push_back(static_cast<std::int64_t>(codes.size()));
  }
  return {coded(std::move(codes), interner), to_numpy(std::move(weights)), to_numpy(std::move(starts))};
}

// ---- frozen dictionaries

Numpy<std::int32_t> slots_of(const Bytes& data, const Longs& starts) {
  check_strings(data, starts);
  return to_numpy(build_slots(span(data), span(starts)));
}

bool valid_strings(const Bytes& data, const Longs& starts, const Ints& slots) {
  return FrozenStrings{span(data), span(starts), span(slots)}.valid();
}

bool numbers_once(const std::vector<Ints>& lists, std::uint32_t n) {
  std::vector<std::span<const std::int32_t>> spans;
  for (const auto& list : lists) spans.push_back(span(list));
  return each_once(spans, n);
}

Numpy<std::int32_t> find_strings(const Bytes& data, const Longs& starts, const Ints& slots, const Bytes& asked_data,
                   const Longs& asked_starts) {
  check_strings(asked_data, asked_starts);
  if (slots.size() & (slots.size() - 1)) throw nb::value_error("slots must be a power of two long");
  std::vector<std::int32_t> ids(asked_starts.size() - 1);
  {
    const WithoutGil released;
    FrozenStrings strings{span(data), span(starts), span(slots)};
    if (strings.has_long_search() && strings.valid()) strings.shorten_searches();
    const char* text = reinterpret_cast<const char*>(asked_data.data());
    auto ends = span(asked_starts);
    for (std::size_t i = 0; i < ids.size(); ++i)
      ids[i] = strings.lookup({text + ends[i], static_cast<std::size_t>(ends[i + 1] - ends[i])});
  }
  return to_numpy(std::move(ids));
}

nb::dict crfsuite_model(const nb::bytes& file, const std::string& first, const std::string& last) {
  CrfsuiteModel model = read_crfsuite({file.c_str(), file.size()}, first, last);
  nb::dict out;
  const auto put = [&](const char* name, auto& numbers) { out[name] = to_numpy(std::move(numbers)); };
  put("labels.data", model.labels.data), put("labels.starts", model.labels.starts);
  put("attributes.data", model.attributes.data), put("attributes.starts", model.attributes.starts), put("slots", model.slots);
  put("rows.starts", model.row_starts), put("rows.labels", model.row_labels), put("rows.weights", model.row_weights);
  put("previous", model.previous), put("next", model.next), put("pair_weights", model.pair_weights);
  return out;
}

}  // namespace

void bind_strings(nb::module_& module) {
  module.def("intern", &intern, "strings"_a, "A list of strings as (codes, data, starts).");
  module.def("intern_sentences", &intern_sentences, "sentences"_a,
             "Lists of strings as ((codes, data, starts), sentence starts).");
  module.def("intern_packed", &intern_packed, "data"_array, "starts"_array,
             "Packed strings, perhaps repeated, as (codes, data, starts) of the distinct ones.");
  module.def("hash_array", [](const Bytes& bytes) {
    return hash_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }, "bytes"_array, "The hash of an array's bytes, the same on every machine.");
  nb::class_<Digest>(module, "Digest", "A digest of an array's bytes, the same on every machine.")
      .def(nb::init<>())
      .def("add", [](Digest& self, const Bytes& bytes) { self.add(span(bytes)); }, "bytes"_array,
           "The next piece; all but the last are multiples of 64 bytes.")
      .def("result", &Digest::result);
  module.def("read_crfsuite", &crfsuite_model, "file"_a, "first"_a, "last"_a, "The arrays of CRFsuite's model file.");
  module.def("build_slots", &slots_of, "data"_array, "starts"_array, "The hash table of packed strings.");
  module.def("each_once", &numbers_once, "lists"_array, "n"_a,
             "Whether the lists seem to hold 0, 1 ... n - 1, each once, and beside them nothing but -1.");
  module.def("valid_strings", &valid_strings, "data"_array, "starts"_array, "slots"_array,
             "Whether packed strings and their hash table fit together.");
  module.def("find_strings", &find_strings, "data"_array, "starts"_array, "slots"_array, "asked_data"_array, "asked_starts"_array,
             "The id of each string asked for, -1 where there is none.");
  module.def("intern_bags", &intern_bags, "tokens"_a,
             "Lists of strings or dicts, one a token, as ((codes, data, starts), weights, token starts).");
}
