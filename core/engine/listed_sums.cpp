#include "engine/listed_sums.hpp"

#include "engine/exponential.hpp"

namespace trellis {

TRELLIS_CLONES void exp_values(double* values, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kLanes<double>) lanes_at(values + i) = exp_lanes(lanes(values + i));
}

}  // namespace trellis
