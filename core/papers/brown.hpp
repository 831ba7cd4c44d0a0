// Brown clustering (Brown et al. 1992): words into classes, greedily, so that the classes of neighbours tell most of one another.
//
// Of the words in the window, with h(x) = x log x, counts n of class pairs, and l, r of classes on the left and on the right:
//
//   average mutual information · N = sum h(n_ab) - sum h(l_a) - sum h(r_a) + h(N)
//   loss of merging a and b        = sum_c [h(n_ac) + h(n_bc) - h(n_ac + n_bc)] + the same of columns   (S, all c)
//                                    + what the four counts among a and b need otherwise                (corner)
//                                    - [h(l_a) + h(l_b) - h(l_a + l_b)] - the same of r                 (ends)
//
// The window has C classes: the next frequent word comes as class C + 1, then the two classes are merged that lose least. A
// term of S is zero unless both counts are there, so a word that comes or goes changes few of them: S is kept up by the
// neighbours of the smaller class alone, where the usual update looks at all pairs of classes. The answer is the same.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace trellis {

struct BrownClusters {
  std::vector<std::int32_t> class_of;                         // [n_words]
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;  // [n_classes - 1] the second class becomes part of the first
};

// `tokens` are numbers of words, the most frequent word is 0; sentences begin at `starts` [n_sentences + 1]. `told` is called
// with the number of words done from time to time.
BrownClusters brown_clusters(std::span<const std::int32_t> tokens, std::span<const std::int64_t> starts, std::size_t n_words,
                             std::size_t n_classes, std::size_t n_threads, const std::function<void(std::size_t)>& told);

}  // namespace trellis
