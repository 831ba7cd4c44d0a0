// exp, log and kin of single numbers, in place of the C library's, whose last bits differ from one machine to the next.
// Defined for all numbers as in <cmath>. Errors in units of the last place: exp 1, log 1.3, expm1 and log1p 4. Of floats they
// are those of doubles, rounded. Over lanes: exponential.hpp.
#pragma once
#include <cstddef>

namespace trellis {

double exp(double x);
double log(double x);
double expm1(double x);  // exp(x) - 1
double log1p(double x);  // log(1 + x)
// values [n], with room for whole vectors, become exp of them as exponential.hpp has it
void exp_values(double* values, std::size_t n);
inline float exp(float x) { return static_cast<float>(exp(static_cast<double>(x))); }
inline float log(float x) { return static_cast<float>(log(static_cast<double>(x))); }

}  // namespace trellis
