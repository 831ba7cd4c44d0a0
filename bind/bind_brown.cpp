// Classes of words from text without labels.
#include "checks.hpp"
#include "papers/brown.hpp"

using namespace nb::literals;
using namespace trellis;

void bind_brown(nb::module_& m) {
  m.def("brown_clusters", [](const Ints& tokens, const Longs& starts, std::size_t n_words, std::size_t n_classes,
         std::size_t n_threads, const nb::typed<nb::callable, void(std::size_t)>& told) {
        require(check_sentences(starts) == tokens.size(), "sentences that do not fit their tokens");
        check_numbers(tokens, n_words, "a word out of range");
        require(n_classes > 0 && n_words > 0 && n_words < (std::size_t{1} << 31), "no words or no classes");
        BrownClusters found;
        {
          const WithoutGil released;
          found = brown_clusters({tokens.data(), tokens.size()}, {starts.data(), starts.size()}, n_words, n_classes, n_threads,
                                 [&](std::size_t done) {
                                   return with_gil([&] { return told(done), true; });
                                 });
        }
        return std::pair(std::move(found.class_of), std::move(found.paths));
      },
      "tokens"_array, "starts"_array, "n_words"_a, "n_classes"_a, "n_threads"_a, "told"_a,
      "The class of every word and the path of every class in the tree of merges, from the most frequent word 0 on.");
}
