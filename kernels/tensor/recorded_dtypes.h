// Which dtype the tensors of an evaluation stand for. A benchmark raises those of a call, but what the call does with a
// Python number beside them, or with the largest number of a dtype, follows the dtype that they were recorded in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "kernels/tensor/dtype.h"

namespace msrun {

// How kernels of half types hold a position among elements or bins that they compute of an element: which are beside it
// is decided by its last place.
enum class Positions : std::uint8_t {
  wide,             // in float32
  stored,           // it is computed in float32 and stored in the half type
  stored_by_steps,  // so is what every step of its computation gives
};

class RecordedDTypes {
 public:
  // A tensor of the call, and the dtype that it is evaluated in. Of several that are evaluated in one dtype the widest
  // counts, and 0-d tensors only where there are no others, as in torch's promotion.
  void note(DType recorded, DType evaluated, bool has_axes);

  DType of(DType evaluated) const;

  // Whether kernels of half types are to hold the numbers that they take as parameters in the half type; they may hold
  // them in float32 as well.
  bool narrow_parameters = false;
  // Whether they are those of a benchmark, which goes on in higher precision than a call asks for.
  bool of_benchmark = false;
  Positions positions = Positions::wide;
  // Whether operators are to give the other result where two are right, because kernels differ. At NaN a comparison
  // leads elsewhere in vectors than for elements that are taken one by one, behind the last whole vector of a tensor.
  // At single points a framework has changed its mind between releases. Elements that count for nothing are left out,
  // or multiplied by 0, which gives NaN beside an infinite factor.
  bool alternative = false;

 private:
  struct OfTensors {
    std::optional<DType> with_axes;
    std::optional<DType> without;
  };
  std::array<OfTensors, 2> of_tensors_;  // that are evaluated in float32, in float64
};

// A float32 number as a half type stores it; for other dtypes the number itself.
inline float stored_in(DType half, float value) {
  if (half == DType::bfloat16) return as_bfloat16(value);
  return half == DType::float16 ? as_half(value) : value;
}

}  // namespace msrun
