#include "bench/machine_peaks.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/base/clock.h"

namespace msrun {
namespace {

volatile double sink = 0;

// Enough chains to hide the latency of four cycles on two units, few enough for the sixteen registers of processors
// before AVX-512.
constexpr int chains = 12;

// Twice as many operations per second as any product can reach without them. The build joins multiplication and
// addition here (bench/CMakeLists.txt).
template <class T, int width>
[[gnu::always_inline]] inline double multiply_add_chain(std::int64_t rounds) {
  using Vector __attribute__((vector_size(width))) = T;
  constexpr int lanes = width / static_cast<int>(sizeof(T));
  Vector sums[chains];
  Vector factor;
  for (int k = 0; k < lanes; ++k) factor[k] = static_cast<T>(0.999 + 1e-6 * k);
  for (int c = 0; c < chains; ++c) sums[c] = factor * static_cast<T>(c);
  for (std::int64_t i = 0; i < rounds; ++i) {
    for (int c = 0; c < chains; ++c) sums[c] = sums[c] * factor + factor;
  }
  double total = 0;
  for (int c = 0; c < chains; ++c) {
    for (int k = 0; k < lanes; ++k) total += static_cast<double>(sums[c][k]);
  }
  return total;
}

constexpr std::int64_t rounds = 2'000'000;

template <class T, int width>
double peak_of(double (*chain)(std::int64_t)) {
  const double time = fastest(0.3, [chain] { sink = chain(rounds); });
  return 2.0 * rounds * chains * (width / static_cast<double>(sizeof(T))) / time;
}

#if defined(__x86_64__)
// Both compilers take half the width unless they are told otherwise, each in its own words.
template <class T>
#if defined(__clang__)
[[gnu::target("arch=x86-64-v4"), clang::min_vector_width(512)]]
#else
[[gnu::target("arch=x86-64-v4,prefer-vector-width=512")]]
#endif
double
chain_v4(std::int64_t count) {
  return multiply_add_chain<T, 64>(count);
}

template <class T>
[[gnu::target("arch=x86-64-v3")]] double chain_v3(std::int64_t count) {
  return multiply_add_chain<T, 32>(count);
}
#endif

template <class T>
double chain_of_baseline(std::int64_t count) {
  return multiply_add_chain<T, 16>(count);
}

}  // namespace

double fastest(double min_seconds, const std::function<void()>& run) {
  run();
  double best = 1e30;
  const double start = steady_seconds();
  do {
    const double before = steady_seconds();
    run();
    best = std::min(best, steady_seconds() - before);
  } while (steady_seconds() - start < min_seconds);
  return best;
}

template <class T>
double multiply_add_peak() {
#if defined(__x86_64__)
  const bool is_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  // The parts of AVX-512 that x86-64-v4 asks for; by that name clang does not ask.
  if (is_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return peak_of<T, 64>(chain_v4<T>);
  }
  if (is_v3) return peak_of<T, 32>(chain_v3<T>);
#endif
  return peak_of<T, 16>(chain_of_baseline<T>);
}

template double multiply_add_peak<float>();
template double multiply_add_peak<double>();

double copy_bandwidth() {
  constexpr std::size_t size = std::size_t{128} << 20;
  std::vector<char> from(size, 1);
  std::vector<char> to(size, 2);
  const double time = fastest(0.5, [&] {
    std::memcpy(to.data(), from.data(), size);
    sink = to[size / 2];
  });
  return 2.0 * static_cast<double>(size) / time;
}

}  // namespace msrun
