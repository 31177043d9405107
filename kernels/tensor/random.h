// Random tensor data: where random words come from, and how recorded statistics become tensors
// (acc_check_pytorch.md 6.1, 6.3).
//
// Two sources of words. Philox is counter-based: its words depend on a key only, so the data of an argument depend
// neither on order nor on threads. MersenneTwister is torch's CPU generator, one stream for a whole run.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/tensor/tensor.h"

namespace msrun {

class RandomWords {
 public:
  virtual ~RandomWords() = default;
  // The next words of the stream.
  virtual void fill(std::span<std::uint32_t> words) = 0;
};

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"), sixteen counters at a time: words 0-15
// of a group of 64 are the first words of sixteen consecutive counters, and so on.
class Philox final : public RandomWords {
 public:
  explicit Philox(std::uint64_t key) : key_(key) {}
  void fill(std::span<std::uint32_t> words) override;

 private:
  // The next 64 words.
  void generate(std::uint32_t* words);
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
  std::size_t used_ = 64;
  alignas(64) std::array<std::uint32_t, 64> group_;
};

// MT19937 with the classic 32-bit initialisation.
class MersenneTwister final : public RandomWords {
 public:
  explicit MersenneTwister(std::uint32_t seed);
  void fill(std::span<std::uint32_t> words) override;
  // Words handed out so far.
  std::uint64_t position() const { return position_; }
  void discard(std::uint64_t words);

 private:
  void refill();
  std::array<std::uint32_t, 624> state_;
  std::size_t used_ = 624;
  std::uint64_t position_ = 0;
};

// Key of an argument's data in per-API seeding: seed, "Functional.relu.0", "args.0.1".
std::uint64_t random_key(std::uint64_t seed, std::string_view api, std::string_view argument);

// Value range of a tensor as the dumper recorded it. min and max are the extrema, the _finite ones those over the
// finite elements where the dump has them.
struct ValueRange {
  std::optional<double> min;
  std::optional<double> max;
  std::optional<double> min_finite;
  std::optional<double> max_finite;
};

// Whether the scale max - min is computed as torch does, so that float16 from -65504 to 65504 overflows to infinity
// (upstream), or in double with the result clamped to the finite range. literal takes the extrema as they are, as the
// old pre-check does (att_layout.md 4): what NaN or infinite bounds give follows from the arithmetic alone.
enum class RangeRule : std::uint8_t { finite, torch, literal };

// Why none can be made of a complex dtype: extrema of complex numbers are not recorded.
std::string complex_refusal(DType dtype);

// A tensor of dtype with uniform values between the recorded extrema, which appear as its first and last element.
// Complex dtypes and missing statistics throw SkipError. Rules: acc_check_pytorch.md 6.3.
Tensor random_tensor(DType dtype, std::span<const std::int64_t> shape, const ValueRange& range, RandomWords& words,
                     RangeRule rule = RangeRule::finite);

// A tensor as numpy.random.RandomState(seed).uniform(min, max, shape) gives it in float64, converted to dtype: two
// words of MT19937 an element, in row-major order; floats round to the nearest even, integers truncate toward zero,
// bool is whether the draw from [0, 1) is above one half, whatever the range (acc_check_mindspore.md 4). Throws
// SkipError for a range that is not finite, of another dtype than bool.
Tensor numpy_uniform(DType dtype, std::span<const std::int64_t> shape, double min, double max, std::uint32_t seed);

// Words that random_tensor takes for the same arguments.
std::uint64_t random_words_needed(DType dtype, std::span<const std::int64_t> shape, const ValueRange& range,
                                  RangeRule rule = RangeRule::finite);

}  // namespace msrun
