// Brown clustering (Brown et al. 1992): greedily merges words into classes that maximise the mutual information of neighbours.
//
// For the words in the window, with h(x) = x log x, counts n of class pairs, and l, r of classes on the left and on the right:
//
//   average mutual information · N = sum h(n_ab) - sum h(l_a) - sum h(r_a) + h(N)
//   loss of merging a and b        = sum_c [h(n_ac) + h(n_bc) - h(n_ac + n_bc)] + the same of columns   (S, all c)
//                                    + what the four counts among a and b need otherwise                (corner)
//                                    - [h(l_a) + h(l_b) - h(l_a + l_b)] - the same of r                 (ends)
//
// The window has C classes: the next frequent word is added as class C + 1, then the two classes that lose least are merged.
// A term of S is zero unless both counts are nonzero, so adding or merging words changes few terms: S is updated for the
// neighbours of the smaller class alone, where the usual update visits all pairs of classes. The result is the same.
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
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;  // [n_classes - 1] the second class is merged into the first
};

// `tokens` are word numbers, the most frequent word is 0; sentences begin at `starts` [n_sentences + 1]. `told` is called
// with the number of processed words from time to time.
BrownClusters brown_clusters(std::span<const std::int32_t> tokens, std::span<const std::int64_t> starts, std::size_t n_words,
                             std::size_t n_classes, std::size_t n_threads, const std::function<void(std::size_t)>& told);

}  // namespace trellis
