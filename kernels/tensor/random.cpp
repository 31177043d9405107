#include "kernels/tensor/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/base/error.h"
#include "kernels/base/hash.h"
#include "kernels/tensor/convert.h"
#include "kernels/tensor/recorded_dtypes.h"

namespace msrun {
namespace {

constexpr std::int64_t block = 1024;

// The finaliser of SplitMix64: spreads every bit of its argument over the result.
std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9U;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

// A vector of 64-bit lanes. The multiplication of their lower halves is the one thing that compilers do not find by
// themselves; everything else is plain arithmetic on vectors.
#if defined(__AVX512F__)
constexpr std::size_t lanes = 8;
#elif defined(__AVX2__)
constexpr std::size_t lanes = 4;
#else
constexpr std::size_t lanes = 2;
#endif
using Lanes __attribute__((vector_size(lanes * 8))) = std::uint64_t;
using HalfLanes __attribute__((vector_size(lanes * 4))) = std::uint32_t;

inline Lanes product_of_lower_halves(Lanes a, std::uint32_t factor) {
#if defined(__AVX512F__)
  return reinterpret_cast<Lanes>(_mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), _mm512_set1_epi64(factor)));
#elif defined(__AVX2__)
  return reinterpret_cast<Lanes>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), _mm256_set1_epi64x(factor)));
#elif defined(__SSE2__)
  return reinterpret_cast<Lanes>(_mm_mul_epu32(reinterpret_cast<__m128i>(a), _mm_set1_epi64x(factor)));
#else
  return (a & 0xFFFFFFFFU) * std::uint64_t{factor};
#endif
}

inline Lanes lane_numbers() {
  Lanes result{};
  for (std::size_t i = 0; i < lanes; ++i) result[i] = i;
  return result;
}

inline void store_lower_halves(Lanes a, std::uint32_t* target) {
  const auto narrow = __builtin_convertvector(a, HalfLanes);
  std::memcpy(target, &narrow, sizeof(narrow));
}

// What is drawn from: the bounds after the substitutions of 6.3.
struct Bounds {
  double low;
  double high;
  double recorded_low;
  double recorded_high;
};

std::string python_number(const std::optional<double>& value) {
  if (!value) return "None";
  if (std::isnan(*value)) return "nan";
  if (std::isinf(*value)) return *value > 0 ? "inf" : "-inf";
  std::string text = std::to_string(*value);
  return text;
}

Bounds bounds_of(const ValueRange& range, std::int64_t count, RangeRule rule) {
  if (count == 0) return {0, 0, 0, 0};
  const bool literal = rule == RangeRule::literal;
  const std::optional<double> low = range.min_finite && !literal ? range.min_finite : range.min;
  const std::optional<double> high = range.max_finite && !literal ? range.max_finite : range.max;
  if (!low || !high) {
    throw SkipError("Data info Min: " + python_number(low) + " , Max: " + python_number(high) +
                    ", info type must be int or float.");
  }
  return {*low, *high, range.min.value_or(*low), range.max.value_or(*high)};
}

bool fills_without_drawing(const Bounds& bounds) {
  return std::isnan(bounds.high) || (bounds.recorded_high != 0 && std::isinf(bounds.high));
}

// How torch makes a number of [0, 1) of a word: of its last bits, in steps.
struct Resolution {
  std::uint32_t mask;
  float step;

  float uniform(std::uint32_t word) const { return static_cast<float>(static_cast<std::int32_t>(word & mask)) * step; }
};

Resolution resolution_of(DType dtype) {
  if (dtype == DType::float16) return {0x7FFU, 0x1p-11F};
  if (dtype == DType::bfloat16) return {0xFFU, 0x1p-8F};
  return {0xFFFFFFU, 0x1p-24F};
}

// Uniform [0, 1) in the resolution that torch gives the dtype.
template <class T>
void uniform_block(DType dtype, RandomWords& words, T* target, std::int64_t count) {
  std::array<std::uint32_t, 2 * block> raw;
  if constexpr (std::is_same_v<T, double>) {
    words.fill(std::span(raw.data(), static_cast<std::size_t>(2 * count)));
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(2 * i);
      const std::uint64_t bits = (static_cast<std::uint64_t>(raw[at]) << 32) | raw[at + 1];
      target[i] = static_cast<double>(static_cast<std::int64_t>(bits & ((1ULL << 53) - 1))) * 0x1p-53;
    }
  } else {
    words.fill(std::span(raw.data(), static_cast<std::size_t>(count)));
    const Resolution resolution = resolution_of(dtype);
    for (std::int64_t i = 0; i < count; ++i) target[i] = resolution.uniform(raw[static_cast<std::size_t>(i)]);
  }
}

// value * factor + offset, within plus or minus most.
template <class T>
struct Line {
  T factor;
  T offset;
  T most = std::numeric_limits<T>::infinity();

  T of_product(T product) const { return std::min(std::max(product + offset, -most), most); }
};

// Uniform values on a line, in one pass. In a half type the product is rounded before the sum.
void line_block(DType dtype, RandomWords& words, const Line<float>& line, float* target, std::int64_t count) {
  std::array<std::uint32_t, block> raw;
  words.fill(std::span(raw.data(), static_cast<std::size_t>(count)));
  const Resolution resolution = resolution_of(dtype);
  const auto run = [&](auto rounded) {
    for (std::int64_t i = 0; i < count; ++i) {
      const float product = resolution.uniform(raw[static_cast<std::size_t>(i)]) * line.factor;
      target[i] = line.of_product(rounded(product));
    }
  };
  if (dtype == DType::float16) {
    run([](float value) { return as_half(value); });
  } else if (dtype == DType::bfloat16) {
    run([](float value) { return as_bfloat16(value); });
  } else {
    run([](float value) { return value; });
  }
}

void line_block(DType dtype, RandomWords& words, const Line<double>& line, double* target, std::int64_t count) {
  uniform_block<double>(dtype, words, target, count);
  for (std::int64_t i = 0; i < count; ++i) target[i] = line.of_product(target[i] * line.factor);
}

// rand * (high - low) + low, rounded to the dtype after each step. This file is compiled without contraction of
// floating-point expressions, because a fused multiply-add would give other bits than torch's two steps.
template <class T>
void fill_uniform(Tensor& tensor, const Bounds& bounds, RandomWords& words, RangeRule rule) {
  const DType dtype = tensor.dtype();
  const double limit = max_finite(is_float8(dtype) ? DType::float32 : dtype);
  const auto finite = [limit](double value) { return std::isinf(value) ? std::copysign(limit, value) : value; };
  const double low = finite(bounds.low);
  const double high = finite(bounds.high);
  const double scale = high - low;
  const bool overflow = rule == RangeRule::finite && !(std::abs(scale) <= limit);
  // torch rounds the scalars to the dtype of the tensor before it computes in float.
  const bool torch_scalars = rule == RangeRule::torch && is_half(dtype);
  const auto scalar = [&](double value) {
    return torch_scalars ? static_cast<T>(stored_in(dtype, static_cast<float>(value))) : static_cast<T>(value);
  };
  Line<T> line{scalar(scale), scalar(low)};
  if (rule == RangeRule::finite) line.most = static_cast<T>(limit);
  std::array<T, block> values;
  std::byte* target = tensor.mutable_data<std::byte>();
  for (std::int64_t start = 0; start < tensor.numel(); start += block) {
    const std::int64_t count = std::min(block, tensor.numel() - start);
    if (overflow) {
      uniform_block<T>(dtype, words, values.data(), count);
      // The scale has no value in the dtype: interpolate in double, halves first so that nothing overflows.
      for (std::int64_t i = 0; i < count; ++i) {
        T& value = values[static_cast<std::size_t>(i)];
        const double r = static_cast<double>(value);
        value = static_cast<T>(std::clamp(low * (1 - r) + high * r, -limit, limit));
      }
    } else {
      line_block(dtype, words, line, values.data(), count);
    }
    store_run<T>(dtype, values.data(), count, target + start * static_cast<std::int64_t>(size_of(dtype)));
  }
}

std::int64_t truncate_bound(double value) {
  if (std::isnan(value) || std::isinf(value)) {
    throw SkipError("cannot convert float " + std::string(std::isnan(value) ? "NaN" : "infinity") + " to integer");
  }
  constexpr double limit = 0x1p63;
  if (value >= limit) return std::numeric_limits<std::int64_t>::max();
  if (value <= -limit) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

// Integers in [low, high]; torch draws one word while the count of values fits 32 bits, else two.
void fill_integers(Tensor& tensor, std::int64_t low, std::int64_t high, RandomWords& words) {
  if (high < low) {
    throw SkipError("random_ expects 'from' to be less than 'to', but got from=" + std::to_string(low) +
                    " >= to=" + std::to_string(high + 1));
  }
  // Wraps to 0 for the full 64-bit range, which the modulo below must then leave alone.
  const std::uint64_t count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  const bool narrow = count != 0 && count < (1ULL << 32);
  std::array<std::uint32_t, 2 * block> raw;
  std::array<std::int64_t, block> values;
  std::byte* target = tensor.mutable_data<std::byte>();
  for (std::int64_t start = 0; start < tensor.numel(); start += block) {
    const std::int64_t size = std::min(block, tensor.numel() - start);
    words.fill(std::span(raw.data(), static_cast<std::size_t>(narrow ? size : 2 * size)));
    for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
      const std::uint64_t bits = narrow ? raw[i] % static_cast<std::uint32_t>(count)
                                        : (static_cast<std::uint64_t>(raw[2 * i]) << 32) | raw[2 * i + 1];
      const std::uint64_t offset = narrow || count == 0 ? bits : bits % count;
      values[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
    }
    store_run<std::int64_t>(tensor.dtype(), values.data(), size,
                            target + start * static_cast<std::int64_t>(size_of(tensor.dtype())));
  }
}

void set_element(Tensor& tensor, std::int64_t index, double value) {
  store_run<double>(tensor.dtype(), &value, 1,
                    tensor.mutable_data<std::byte>() + index * static_cast<std::int64_t>(size_of(tensor.dtype())));
}

// The recorded extrema become the first and the last element (6.3, step 8).
void fix_ends(Tensor& tensor, const Bounds& bounds) {
  const std::int64_t last = tensor.numel() - 1;
  if (std::isnan(bounds.recorded_high)) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (tensor.numel() <= 2) {
      set_element(tensor, 0, nan);
    } else {
      set_element(tensor, 0, bounds.low);
      set_element(tensor, 1, nan);
    }
    set_element(tensor, last, bounds.high);
    return;
  }
  set_element(tensor, 0, bounds.low);
  set_element(tensor, last, bounds.high);
  if (std::isinf(bounds.recorded_high)) set_element(tensor, last, bounds.recorded_high);
  if (std::isinf(bounds.recorded_low)) set_element(tensor, 0, bounds.recorded_low);
}

// low + rand * (high - low), then the first element low and the last one high. The product is rounded before the sum.
Tensor literal_tensor(DType dtype, std::span<const std::int64_t> shape, const Bounds& bounds, RandomWords& words) {
  Tensor tensor(is_float8(dtype) ? DType::float32 : dtype, shape);
  const auto fill = [&]<class T>(T low, T scale) {
    std::array<T, block> values;
    std::byte* target = tensor.mutable_data<std::byte>();
    for (std::int64_t start = 0; start < tensor.numel(); start += block) {
      const std::int64_t count = std::min(block, tensor.numel() - start);
      line_block(tensor.dtype(), words, Line<T>{scale, low}, values.data(), count);
      store_run<T>(tensor.dtype(), values.data(), count,
                   target + start * static_cast<std::int64_t>(size_of(tensor.dtype())));
    }
  };
  const double scale = bounds.high - bounds.low;
  if (dtype == DType::float64) {
    fill(bounds.low, scale);
  } else {
    fill(static_cast<float>(bounds.low), static_cast<float>(scale));
  }
  if (tensor.numel() > 0) {
    set_element(tensor, 0, bounds.low);
    set_element(tensor, tensor.numel() - 1, bounds.high);
  }
  return tensor.to(dtype);
}

Tensor float_tensor(DType dtype, std::span<const std::int64_t> shape, const Bounds& bounds, RandomWords& words,
                    RangeRule rule) {
  if (rule == RangeRule::literal) return literal_tensor(dtype, shape, bounds, words);
  if (std::isnan(bounds.high)) return Tensor::full(dtype, shape, bounds.high);
  if (fills_without_drawing(bounds)) {
    // Everything is infinite but the last slice along the first axis.
    Tensor tensor = Tensor::full(dtype, shape, bounds.high);
    if (!shape.empty()) {
      const std::int64_t slice = tensor.numel() / shape[0];
      for (std::int64_t i = tensor.numel() - slice; i < tensor.numel(); ++i) set_element(tensor, i, bounds.low);
    }
    return tensor;
  }
  Tensor tensor(is_float8(dtype) ? DType::float32 : dtype, shape);
  if (dtype == DType::float64) {
    fill_uniform<double>(tensor, bounds, words, rule);
  } else {
    fill_uniform<float>(tensor, bounds, words, rule);
  }
  if (tensor.numel() > 0) fix_ends(tensor, bounds);
  return tensor.to(dtype);
}

Tensor bool_tensor(std::span<const std::int64_t> shape, const Bounds& bounds, RandomWords& words) {
  std::int64_t low = truncate_bound(bounds.low);
  std::int64_t high = truncate_bound(bounds.high);
  if (low > high) std::swap(low, high);
  Tensor integers(DType::int64, shape);
  fill_integers(integers, low, high, words);
  Tensor result(DType::boolean, shape);
  const std::int64_t* from = integers.data<std::int64_t>();
  bool* to = result.mutable_data<bool>();
  for (std::int64_t i = 0; i < result.numel(); ++i) to[i] = from[i] > 0;
  return result;
}

}  // namespace

// Ten rounds for sixteen consecutive counters. A counter's four words are held in the lower halves of 64-bit lanes,
// where the processor multiplies 32 by 32 bits; what is left in the upper halves never reaches a lower one.
void Philox::generate(std::uint32_t* words) {
  constexpr std::size_t counters = 16;
  constexpr std::size_t step = std::min(counters, 2 * lanes);
  for (std::size_t first = 0; first < counters; first += step) {
    // Two vectors side by side hide the latency of the multiplications.
    std::array<Lanes, 2> c0;
    std::array<Lanes, 2> c1;
    std::array<Lanes, 2> c2{};
    std::array<Lanes, 2> c3{};
    for (std::size_t i = 0; i < 2; ++i) {
      c0[i] = lane_numbers() + (counter_ + first + i * lanes);
      c1[i] = c0[i] >> 32;
    }
    auto k0 = static_cast<std::uint32_t>(key_);
    auto k1 = static_cast<std::uint32_t>(key_ >> 32);
    for (int round = 0; round < 10; ++round) {
      for (std::size_t i = 0; i < 2; ++i) {
        const Lanes p0 = product_of_lower_halves(c0[i], 0xD2511F53U);
        const Lanes p1 = product_of_lower_halves(c2[i], 0xCD9E8D57U);
        c0[i] = (p1 >> 32) ^ c1[i] ^ std::uint64_t{k0};
        c1[i] = p1;
        c2[i] = (p0 >> 32) ^ c3[i] ^ std::uint64_t{k1};
        c3[i] = p0;
      }
      k0 += 0x9E3779B9U;
      k1 += 0xBB67AE85U;
    }
    for (std::size_t i = 0; i < 2; ++i) {
      std::uint32_t* target = words + first + i * lanes;
      store_lower_halves(c0[i], target);
      store_lower_halves(c1[i], target + counters);
      store_lower_halves(c2[i], target + 2 * counters);
      store_lower_halves(c3[i], target + 3 * counters);
    }
  }
  counter_ += counters;
}

void Philox::fill(std::span<std::uint32_t> words) {
  std::size_t done = 0;
  while (done < words.size()) {
    const std::size_t rest = words.size() - done;
    if (used_ == group_.size() && rest >= group_.size()) {
      generate(words.data() + done);
      done += group_.size();
      continue;
    }
    if (used_ == group_.size()) {
      generate(group_.data());
      used_ = 0;
    }
    const std::size_t count = std::min(rest, group_.size() - used_);
    std::copy_n(group_.begin() + static_cast<std::ptrdiff_t>(used_), count,
                words.begin() + static_cast<std::ptrdiff_t>(done));
    used_ += count;
    done += count;
  }
}

MersenneTwister::MersenneTwister(std::uint32_t seed) {
  state_[0] = seed;
  for (std::uint32_t i = 1; i < state_.size(); ++i) {
    state_[i] = 1812433253U * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  }
}

void MersenneTwister::refill() {
  constexpr std::size_t n = 624;
  constexpr std::size_t m = 397;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t bits = (state_[i] & 0x80000000U) | (state_[(i + 1) % n] & 0x7FFFFFFFU);
    state_[i] = state_[(i + m) % n] ^ (bits >> 1) ^ ((bits & 1U) != 0 ? 0x9908B0DFU : 0U);
  }
  used_ = 0;
}

void MersenneTwister::fill(std::span<std::uint32_t> words) {
  for (std::uint32_t& word : words) {
    if (used_ == state_.size()) refill();
    std::uint32_t y = state_[used_++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9D2C5680U;
    y ^= (y << 15) & 0xEFC60000U;
    word = y ^ (y >> 18);
  }
  position_ += words.size();
}

void MersenneTwister::discard(std::uint64_t words) {
  position_ += words;
  while (words > 0) {
    if (used_ == state_.size()) refill();
    const std::uint64_t step = std::min<std::uint64_t>(words, state_.size() - used_);
    used_ += step;
    words -= step;
  }
}

std::uint64_t random_key(std::uint64_t seed, std::string_view api, std::string_view argument) {
  std::uint64_t hash = mix(seed + 0x9E3779B97F4A7C15U);
  const auto absorb = [&hash](std::string_view text) { hash = mix(fnv1a(text, hash) ^ text.size()); };
  absorb(api);
  absorb(argument);
  return hash;
}

std::string complex_refusal(DType dtype) {
  return "Statistics do not tell which values a complex tensor had (" + std::string(torch_name(dtype)) +
         "): record with the task tensor.";
}

Tensor random_tensor(DType dtype, std::span<const std::int64_t> shape, const ValueRange& range, RandomWords& words,
                     RangeRule rule) {
  if (is_complex(dtype)) throw SkipError(complex_refusal(dtype));
  const Bounds bounds = bounds_of(range, element_count(shape), rule);
  if (is_floating(dtype)) return float_tensor(dtype, shape, bounds, words, rule);
  if (dtype == DType::boolean) return bool_tensor(shape, bounds, words);
  Tensor tensor(dtype, shape);
  fill_integers(tensor, truncate_bound(bounds.low), truncate_bound(bounds.high), words);
  if (tensor.numel() > 0) fix_ends(tensor, {std::trunc(bounds.low), std::trunc(bounds.high), 0, 0});
  return tensor;
}

std::uint64_t random_words_needed(DType dtype, std::span<const std::int64_t> shape, const ValueRange& range,
                                  RangeRule rule) {
  const auto count = static_cast<std::uint64_t>(element_count(shape));
  const Bounds bounds = bounds_of(range, static_cast<std::int64_t>(count), rule);
  const bool drawn = rule == RangeRule::literal || !fills_without_drawing(bounds);
  if (is_floating(dtype)) return !drawn ? 0 : dtype == DType::float64 ? 2 * count : count;
  const double values = std::trunc(bounds.high) - std::trunc(bounds.low) + 1;
  return values < 0x1p32 ? count : 2 * count;
}

}  // namespace msrun
