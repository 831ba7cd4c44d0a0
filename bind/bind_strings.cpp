// Python's strings to dictionary-encoded columns, and look-ups in frozen dictionaries.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <future>
#include <numeric>
#include <string>
#include <string_view>

#include "attributes.hpp"
#include "coded.hpp"
#include "text/bounds.hpp"

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

std::tuple<Coded, Starts> intern_sentences(const nb::typed<nb::list, nb::typed<nb::list, nb::str>>& sentences) {
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

Coded intern_packed(const Array<std::uint8_t, 1>& data, const Array<std::int64_t, 1>& starts) {
  check_strings(data, starts);
  Interner interner;
  std::vector<std::int32_t> codes(starts.size() - 1);
  {
    nb::gil_scoped_release release;
    const char* text = reinterpret_cast<const char*>(data.data());
    auto ends = span(starts);
    for (std::size_t i = 0; i < codes.size(); ++i)
      codes[i] = interner.intern({text + ends[i], static_cast<std::size_t>(ends[i + 1] - ends[i])});
  }
  return coded(std::move(codes), interner);
}

// ---- bags of attributes

std::tuple<Coded, Numpy<float>, Starts> intern_bags(const nb::typed<nb::list, nb::any>& tokens) {
  Interner interner;
  std::vector<std::int32_t> codes;
  std::vector<float> weights;
  std::vector<std::int64_t> starts{0};
  const nb::tuple kept(tokens);  // reading a value may run Python code
  for (nb::handle token : kept) {
    each_attribute(token, [&](std::string_view name, float value) {
      codes.push_back(interner.intern(name));
      weights.push_back(value);
    });
    starts.push_back(static_cast<std::int64_t>(codes.size()));
  }
  return {coded(std::move(codes), interner), to_numpy(std::move(weights)), to_numpy(std::move(starts))};
}

// ---- frozen dictionaries

Codes slots_of(const Array<std::uint8_t, 1>& data, const Array<std::int64_t, 1>& starts) {
  check_strings(data, starts);
  return to_numpy(build_slots(span(data), span(starts)));
}

bool valid_strings(const Array<std::uint8_t, 1>& data, const Array<std::int64_t, 1>& starts,
                   const Array<std::int32_t, 1>& slots) {
  return FrozenStrings{span(data), span(starts), span(slots)}.valid();
}

bool numbers_once(const std::vector<Array<std::int32_t, 1>>& lists, std::uint32_t n) {
  std::vector<std::span<const std::int32_t>> spans;
  for (const auto& list : lists) spans.push_back(span(list));
  return each_once(spans, n);
}

Codes find_strings(const Array<std::uint8_t, 1>& data, const Array<std::int64_t, 1>& starts,
                   const Array<std::int32_t, 1>& slots, const Array<std::uint8_t, 1>& asked_data,
                   const Array<std::int64_t, 1>& asked_starts) {
  check_strings(asked_data, asked_starts);
  if (slots.size() & (slots.size() - 1)) throw nb::value_error("slots must be a power of two long");
  std::vector<std::int32_t> ids(asked_starts.size() - 1);
  {
    nb::gil_scoped_release release;
    FrozenStrings strings{span(data), span(starts), span(slots)};
    const char* text = reinterpret_cast<const char*>(asked_data.data());
    auto ends = span(asked_starts);
    for (std::size_t i = 0; i < ids.size(); ++i)
      ids[i] = strings.lookup({text + ends[i], static_cast<std::size_t>(ends[i + 1] - ends[i])});
  }
  return to_numpy(std::move(ids));
}

// Digests of arrays, computed on two threads while the caller goes on: a mapped file is read by them.
struct PyDigests {
  std::vector<Array<std::uint8_t, 1>> arrays;
  std::vector<std::uint64_t> digests;  // [n_arrays]
  std::future<void> halves[2];

  explicit PyDigests(std::vector<Array<std::uint8_t, 1>> given) : arrays(std::move(given)), digests(arrays.size()) {
    // The largest first, each to the thread that has less to do.
    std::vector<std::size_t> order(arrays.size()), work[2];
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return arrays[a].size() > arrays[b].size(); });
    std::size_t bytes[2] = {};
    for (std::size_t i : order) {
      const std::size_t half = bytes[1] < bytes[0];
      work[half].push_back(i);
      bytes[half] += arrays[i].size() + 1;
    }
    for (std::size_t half = 0; half < 2; ++half)
      if (!work[half].empty())
        halves[half] = std::async([this, mine = std::move(work[half])] {
          for (std::size_t i : mine) digests[i] = digest_bytes(span(arrays[i]));
        });
  }
  std::vector<std::uint64_t> result() {
    nb::gil_scoped_release release;
    for (auto& half : halves)
      if (half.valid()) half.get();
    return digests;
  }
};

}  // namespace

void bind_strings(nb::module_& module) {
  module.def("intern", &intern, "strings"_a, "A list of strings as (codes, data, starts).");
  module.def("intern_sentences", &intern_sentences, "sentences"_a,
             "Lists of strings as ((codes, data, starts), sentence starts).");
  module.def("intern_packed", &intern_packed, "data"_array, "starts"_array,
             "Packed strings, perhaps repeated, as (codes, data, starts) of the distinct ones.");
  module.def("hash_array", [](const Array<std::uint8_t, 1>& bytes) {
    return hash_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }, "bytes"_array, "The hash of an array's bytes, the same on every machine.");
  nb::class_<PyDigests>(module, "Digests", "Digests of arrays of bytes, the same on every machine; begun at once.")
      .def(nb::init<std::vector<Array<std::uint8_t, 1>>>(), "arrays"_array)
      .def("result", &PyDigests::result, "Waits for them.");
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
