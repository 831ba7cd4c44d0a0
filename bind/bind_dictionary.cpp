// Dictionaries of entries over several tokens: what they say of the tokens of a corpus.
#include "checks.hpp"
#include "dictionary.hpp"
#include "parallel.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

PyDictionary make(std::size_t n_symbols, const Longs& starts, const Ints& symbols, const std::optional<Ints>& folds) {
  constexpr std::size_t kMostSymbols = std::numeric_limits<std::int32_t>::max();
  require(n_symbols <= kMostSymbols, "too many symbols");
  check_starts(starts, symbols.size());
  check_numbers(symbols, n_symbols, "an entry with no such symbol");
  require(!folds || folds->size() + 1 == starts.size(), "folds: one per entry");
  if (folds) check_numbers(*folds, kMostSymbols, "folds: no such fold");
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) require(starts(i) < starts(i + 1), "an empty entry");
  auto core = std::make_shared<Dictionary>(n_symbols);
  without_gil([&] {
    for (std::size_t i = 0; i + 1 < starts.size(); ++i)
      core->add(span(symbols).subspan(static_cast<std::size_t>(starts(i)), static_cast<std::size_t>(starts(i + 1) - starts(i))),
                folds ? (*folds)(i) : Dictionary::kAnyone);
  });
  return {core};
}

Numpy<std::int32_t> match(const PyDictionary& dictionary, const Ints& symbols,
                          const Longs& starts, const std::optional<Ints>& asks,
                          std::size_t n_threads) {
  const std::size_t n_tokens = check_sentences(starts), n_sentences = starts.size() - 1;
  require(symbols.size() == n_tokens, "one symbol per token");
  check_numbers(symbols, dictionary.core->n_symbols(), "no such symbol", -1);
  require(!asks || asks->size() == n_sentences, "who asks: one number per sentence");
  if (asks) check_numbers(*asks, std::numeric_limits<std::int32_t>::max(), "no such fold", Dictionary::kNobody);
  std::vector<std::int32_t> out(Dictionary::kWhere * n_tokens);
  without_gil([&] {
    constexpr std::size_t kBlock = 64;  // sentences
    parallel_blocks(n_sentences, kBlock, n_threads, [] { return std::vector<std::int32_t>(); },
                    [&](std::vector<std::int32_t>& values, std::size_t first, std::size_t last) {
      for (std::size_t s = first; s < last; ++s) {
        const auto begin = static_cast<std::size_t>(starts(s)), n = static_cast<std::size_t>(starts(s + 1)) - begin;
        values.resize(Dictionary::kWhere * n);
        dictionary.core->match(span(symbols).subspan(begin, n), asks ? (*asks)(s) : Dictionary::kAnyone, values.data());
        for (std::size_t w = 0; w < Dictionary::kWhere; ++w)
          std::copy_n(values.data() + w * n, n, out.data() + w * n_tokens + begin);
      }
    });
  });
  return to_numpy(std::move(out), {Dictionary::kWhere, n_tokens});
}

}  // namespace

void bind_dictionary(nb::module_& module) {
  nb::class_<PyDictionary>(module, "Dictionary", "Entries that are runs of tokens.")
      .def("__init__", [](PyDictionary* self, std::size_t n_symbols, const Longs& starts,
                          const Ints& symbols, const std::optional<Ints>& folds) {
        new (self) PyDictionary(make(n_symbols, starts, symbols, folds));
      }, "n_symbols"_a, "starts"_array, "symbols"_array, "folds"_array = nb::none(),
           "Entry i is symbols[starts[i]:starts[i + 1]], once or more often; folds[i] is a fold of training that has it.")
      .def("entries", [](const PyDictionary& self) {
        Dictionary::Entries found = self.core->entries();
        return std::make_pair(to_numpy(std::move(found.starts)), to_numpy(std::move(found.symbols)));
      }, "(starts, symbols) of the distinct entries.")
      .def("match", &match, "symbols"_array, "starts"_array, "asks"_array.none(), "n_threads"_a,
           "[4, n_tokens]: how long the longest entry is that begins at a token, that ends there, that has it inside, at most\n"
           "MOST, 0 without one; and which part of the longest entry, taken from left to right, the token is: after SILENT come\n"
           "first, inner, last, only. A symbol of -1 is in no entry. asks, by sentence: a fold does not see what it alone has,\n"
           "-1 sees all, and -2 is told nothing, SILENT.");
  module.attr("DICTIONARY_MOST") = Dictionary::kMost;
  module.attr("DICTIONARY_SILENT") = Dictionary::kSilent;
}
