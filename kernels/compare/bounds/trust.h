// What a verdict is worth: reasons why an output that agrees proves nothing, and how small a fault would have shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/tensor/dtype.h"

namespace msrun {

class Tensor;
struct ErrorBudget;

// Why an output that agrees with the benchmark says little about the device.
enum class WeakEvidence : std::uint8_t {
  none,
  all_zero,          // every element of the benchmark is 0
  constant,          // every element of the benchmark is the same number
  not_finite,        // no element of the benchmark is a finite number
  cancellation,      // what rounding may do is larger than the typical element
  all_dropped,       // a dropout has dropped every element
  nothing_compared,  // the call has no output that can be compared
  half_steps,        // a half type's result is rounded on the way, as by the kernels of processors, and between kernels
  backward_unchecked,  // the call has gradients, which could not be checked
  backward_left_out,   // so it has, and a rule leaves them out
  overflow,  // partial sums exceed the range before they cancel, so that elements of the device are infinite or NaN
};
inline constexpr WeakEvidence last_weak_evidence = WeakEvidence::overflow;
inline constexpr std::size_t weak_evidence_count = static_cast<std::size_t>(last_weak_evidence) + 1;

// "constant_benchmark" and the like, for machines; "" for none.
std::string_view weak_evidence_name(WeakEvidence weak_evidence);

// The rest of the sentence "Proves little: ...", for people; "" for none.
std::string_view weak_evidence_text(WeakEvidence weak_evidence);

// That sentence: a line of a Message, without its line feed, by which rows that were read back are known. Not for none.
std::string weak_evidence_sentence(WeakEvidence weak_evidence);

// The smallest relative faults that are told from rounding, as exponents of powers of two, rounded up: an error of
// 2^of_one in one typical element, or of 2^of_all in all of them.
struct VisibleFault {
  std::int32_t of_one = 0;
  std::int32_t of_all = 0;
  bool operator==(const VisibleFault&) const = default;
};

struct Trust {
  WeakEvidence weak_evidence = WeakEvidence::none;
  std::optional<VisibleFault> visible;  // nothing: no element is finite and not 0
};

// What agreement of an output of this dtype with its benchmark, floating and not empty, is worth under the budget that
// judged it. Looks at few elements, evenly spread, and at all of them only as long as they are equal.
Trust trust_in(const Tensor& bench, DType dtype, const ErrorBudget& budget);

// Why agreement of integers or truth values proves little: all are equal. Fewer than eight are often so for good
// reasons, a single one always is.
WeakEvidence weak_evidence_of_exact(const Tensor& bench);

}  // namespace msrun
