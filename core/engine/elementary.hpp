// exp, log and related functions of scalars, in place of the C library's, whose last bits differ between machines.
// Domain as in <cmath>. Errors in units of the last place: exp 1, log 1.3, expm1 and log1p 4. The float versions round
// the results for doubles. Vector versions: exponential.hpp.
#pragma once
#include <cstddef>

namespace trellis {

double exp(double x);
double log(double x);
double expm1(double x);  // exp(x) - 1
double log1p(double x);  // log(1 + x)
// values [n], padded to whole vectors, become their exp, computed as in exponential.hpp
void exp_values(double* values, std::size_t n);
inline float exp(float x) { return static_cast<float>(exp(static_cast<double>(x))); }
inline float log(float x) { return static_cast<float>(log(static_cast<double>(x))); }

}  // namespace trellis
