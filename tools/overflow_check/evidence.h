// What the statistics of a call say of NaN and infinities in what it was given and in what it gave out.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/recordings/recording.h"

namespace msrun::overflow_check {

// What is not finite among tensors: which of them, and whether an element is NaN.
struct Found {
  bool infinity = false;
  bool minus_infinity = false;
  bool nan = false;
  bool other = false;  // in a sum alone, so that nothing is known of the elements

  bool any() const { return infinity || minus_infinity || nan || other; }
  bool unknown_or_nan() const { return nan || other; }
  void add(double number);
  void add(const Found& more);
  // Nothing but what others has as well.
  bool are_in(const Found& others) const;
};

Found found_in_leaf(const recordings::Recording& side, const recordings::Leaf& leaf);

// The evidence of one rank; the recording must outlive it.
class Evidence {
 public:
  explicit Evidence(const recordings::Recording& side);

  Found outputs(std::uint32_t call) const;
  // Of arguments alone; what is only written to does not count.
  Found arguments(std::uint32_t call) const;
  // Of the parameters that a module's entry lists.
  Found parameters(std::uint32_t call) const;
  // All that the call has read: arguments and parameters; in a backward also the tensors of its forward, and in the
  // gradients of parameters whatever its module has read and handed back.
  Found inputs(std::uint32_t call) const;
  // Among arguments that are no tensors, such as the infinity that a mask is filled with.
  Found scalars(std::uint32_t call) const;
  // Whether an argument that requires a gradient has a negative infinity: a weight or an activation, no mask.
  bool has_trained_minus_infinity(std::uint32_t call) const;

 private:
  template <class Counts>
  Found found(std::uint32_t call, const Counts& counts) const;
  // Calls whose tensors a backward reads.
  std::vector<std::uint32_t> read_by(std::uint32_t call) const;

  const recordings::Recording& side_;
  std::unordered_map<std::string_view, std::uint32_t> forward_calls_;
  std::unordered_map<recordings::TextId, std::vector<std::uint32_t>> module_calls_;  // by Call::base
};

}  // namespace msrun::overflow_check
