// Edge attributes about labels further back than those directly before a token (kinds: engine/beam.hpp). The columns of
// their rows are cells of label pairs, [L+1, stride]: the selected earlier label and the token's own label.
#pragma once
#include "engine/beam.hpp"
#include "weights/sites.hpp"

namespace trellis {

// about[a] is the kind of attribute a; scores are summed in the order of attributes.
template <class AnyRows>
void fill_far(const AnyRows& rows, const FarLabels& far, std::size_t begin, std::size_t end, std::size_t n_pairs,
              FarScores& to) {
  to.kinds = far.kinds, to.same = far.same ? far.same + begin : nullptr;
  to.starts.assign(1, 0), to.cells.clear(), to.scores.clear();
  std::uint32_t kind_of[256] = {};
  for (std::uint32_t k = 0; k < far.kinds.size(); ++k) kind_of[far.kinds[k]] = k;
  for (std::size_t t = begin; t < end; ++t) {
    far.at.each(t, [&](std::int32_t a, float value) {
      const auto first = static_cast<std::uint32_t>(kind_of[far.about[a]] * n_pairs);
      rows.each_slot(a, [&](std::uint32_t column, float weight) {
        if (column < n_pairs) to.cells.push_back(first + column), to.scores.push_back(value * weight);
      });
    });
    to.starts.push_back(to.cells.size());
  }
}

}  // namespace trellis
