#include "kernels/compare/bounds/varied_numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace msrun {
namespace {

constexpr std::size_t together = 32;

// Probabilities, for one, are at most 1, and some are next to it.
bool crosses_one(double value, double changed) { return (std::abs(value) < 1) != (std::abs(changed) < 1); }

}  // namespace

// Without branches, as everything below, so that loops vectorise.
bool may_be_flag(double value) {
  const double size = std::abs(value);
  return (size == 0) | (size == 1) | (size == 2);
}

void shares_of_magnitudes(std::span<const double> values, std::uint64_t key, double* shares) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    // The last steps of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators"), with the
    // multipliers of its reference implementation.
    std::uint64_t bits = std::bit_cast<std::uint64_t>(std::abs(values[i])) + key;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
    bits ^= bits >> 31;
    shares[i] = static_cast<double>(static_cast<std::int64_t>(bits >> 11)) * 0x1p-52 - 1;
  }
}

void move_by_shares(std::span<double> values, double change, const double* shares) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    const double up = value * (1 + change * shares[i]);
    const double down = value * (1 - change * shares[i]);
    const double moved = crosses_one(value, up) ? down : up;
    const bool is_finite = std::isfinite(value);
    const bool stays = may_be_flag(value) | !is_finite;
    values[i] = stays ? value : moved;
  }
}

void move_by_signs(std::span<double> values, const std::uint32_t* words, const std::array<double, 2>& factors,
                   std::span<const double> kept) {
  const auto [first, second] = factors;
  for (std::size_t begin = 0; begin < values.size(); begin += together) {
    const std::size_t count = std::min(together, values.size() - begin);
    const std::uint64_t bits = words[begin / together];
    // As many each time, and flags as wide as numbers: so the compiler makes vector loops of these.
    std::array<double, together> numbers{};
    std::array<std::uint64_t, together> stays{};
    std::copy_n(values.data() + begin, count, numbers.data());
    for (std::size_t i = 0; i < together; ++i) stays[i] = may_be_flag(numbers[i]) ? 1 : 0;
    for (const double size : kept) {
      for (std::size_t i = 0; i < together; ++i) stays[i] |= std::abs(numbers[i]) == size ? 1 : 0;
    }
    for (std::size_t i = 0; i < together; ++i) {
      const bool turned = (bits >> i & 1U) != 0;
      const double value = numbers[i];
      const double moved = value * (turned ? second : first);
      const double other = value * (turned ? first : second);
      const double within = crosses_one(value, moved) ? other : moved;
      numbers[i] = stays[i] != 0 ? value : within;
    }
    std::copy_n(numbers.data(), count, values.data() + begin);
  }
}

}  // namespace msrun
