// What one core of this machine cannot do faster, measured: the yardsticks of the other benchmarks.
#pragma once

#include <functional>

namespace msrun {

// Floating-point operations per second of fused multiply-adds on values that stay in registers, in the widest vectors
// of the processor. An addition and a multiplication count as two. T is float or double.
template <class T>
double multiply_add_peak();

// Bytes read and written per second by copying arrays far larger than the caches.
double copy_bandwidth();

// Seconds of the fastest of enough runs to fill min_seconds; one run before them is not counted.
double fastest(double min_seconds, const std::function<void()>& run);

}  // namespace msrun
