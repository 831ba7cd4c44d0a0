// exp and log of arrays, for what Python computes of weights.
#include "engine/elementary.hpp"

#include "bind.hpp"

namespace {

template <double (*function)(double)>
Numpy<double> each(const Array<double, 1>& numbers) {
  std::vector<double> out(numbers.data(), numbers.data() + numbers.size());
  for (double& x : out) x = function(x);
  return to_numpy(std::move(out));
}

}  // namespace

void bind_elementary(nb::module_& module) {
  module.def("exp", each<trellis::exp>, "numbers"_array);
  module.def("log", each<trellis::log>, "numbers"_array);
}
