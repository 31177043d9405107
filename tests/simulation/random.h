// Numbers that a seed decides, the same on every host.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace msrun::simulation {

// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  // In [0, 1).
  double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double probability) { return fraction() < probability; }
  // In [0, count), which is not empty.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }
  // From low to high, both included.
  std::uint32_t from_to(std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(below(high - low + 1));
  }
  // Between low and high, of which both are above 0, with as much probability for each factor of ten.
  double of_any_size(double low, double high) { return low * std::pow(high / low, fraction()); }

 private:
  std::uint64_t state_;
};

}  // namespace msrun::simulation
