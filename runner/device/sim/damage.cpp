#include "runner/device/sim/damage.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/tensor/changed_elements.h"
#include "kernels/tensor/complex.h"
#include "kernels/tensor/random.h"
#include "runner/device/sim/faults.h"

namespace msrun::damage {
namespace {

// Elements [start, start + count) of a row-major walk.
struct Piece {
  std::int64_t start;
  std::int64_t count;
};

// count elements at a place that the name of the call decides.
Piece piece_of(const Tensor& tensor, std::int64_t count, std::string_view call, std::string_view purpose) {
  const auto places = static_cast<std::uint64_t>(tensor.numel() - count) + 1;
  return {static_cast<std::int64_t>(random_key(0, call, purpose) % places), count};
}

std::int64_t an_eighth(const Tensor& tensor) { return (tensor.numel() + 7) / 8; }

Piece last_tile(const Tensor& tensor) {
  const std::int64_t start = (tensor.numel() - 1) / tile * tile;
  return {start, tensor.numel() - start};
}

// The elements of a real tensor that where(index) chooses become f(element); numbers pass through float64.
template <class Where, class F>
Tensor changed(const Tensor& tensor, const Where& where, const F& f) {
  return changed_elements(tensor, [&](double value, std::int64_t i) { return where(i) ? f(value) : value; });
}

// Changes elements, of a complex tensor their real part alone.
template <class Where, class F>
Tensor changed_first_part(const Tensor& tensor, const Where& where, const F& f) {
  if (!is_complex(tensor.dtype())) return changed(tensor, where, f);
  return complex_of(changed(real_part(tensor), where, f), imaginary_part(tensor));
}

template <class F>
Tensor changed_everywhere(const Tensor& tensor, const F& f) {
  const auto change = [&](const Tensor& part) {
    return changed(
        part, [](std::int64_t) { return true; }, f);
  };
  return is_complex(tensor.dtype()) ? part_by_part(tensor, change) : change(tensor);
}

auto within(const Piece& piece) {
  return [piece](std::int64_t i) { return i >= piece.start && i < piece.start + piece.count; };
}

// Whether an integer dtype holds the whole number.
bool holds(DType dtype, double number) {
  const int bits = static_cast<int>(size_of(dtype)) * 8 - (dtype == DType::uint8 ? 0 : 1);
  return number < std::ldexp(1.0, bits);
}

// Further away than any rounding explains: from infinity and NaN to a number, from large integers to 0.
double moved_value(DType dtype, double value) {
  if (dtype == DType::boolean) return 1 - value;
  if (!std::isfinite(value)) return 1;
  const double result = value + 1 + std::abs(value);
  return is_integer(dtype) && !holds(dtype, result) ? 0 : result;
}

template <class Where>
Tensor moved(const Tensor& tensor, const Where& where) {
  return changed_first_part(tensor, where,
                            [dtype = tensor.dtype()](double value) { return moved_value(dtype, value); });
}

std::int64_t bytes_of(const Tensor& tensor, std::int64_t elements) {
  return elements * static_cast<std::int64_t>(size_of(tensor.dtype()));
}

}  // namespace

Tensor wrong_element(const Tensor& tensor, const SimFault& /*fault*/, std::string_view call) {
  return moved(tensor, within(piece_of(tensor, 1, call, "wrong")));
}

Tensor wrong_block(const Tensor& tensor, const SimFault& /*fault*/, std::string_view call) {
  return moved(tensor, within(piece_of(tensor, an_eighth(tensor), call, "wrong")));
}

Tensor wrong_tail(const Tensor& tensor, const SimFault& /*fault*/, std::string_view /*call*/) {
  return moved(tensor, within(last_tile(tensor)));
}

Tensor wrong_core(const Tensor& tensor, const SimFault& fault, std::string_view /*call*/) {
  const std::int64_t size = (tensor.numel() + fault.blocks - 1) / fault.blocks;
  return moved(tensor, [size, every = fault.every](std::int64_t i) { return (i / size + 1) % every == 0; });
}

Tensor scaled(const Tensor& tensor, const SimFault& fault, std::string_view /*call*/) {
  return changed_everywhere(tensor, [factor = fault.factor](double value) { return value * factor; });
}

Tensor opposite_sign(const Tensor& tensor, const SimFault& /*fault*/, std::string_view /*call*/) {
  return changed_everywhere(tensor, [](double value) { return -value; });
}

Tensor transposed(const Tensor& tensor, const SimFault& /*fault*/, std::string_view /*call*/) {
  if (tensor.rank() < 2) return tensor;
  return tensor.transpose(-1, -2).contiguous().reshape(tensor.shape());
}

Tensor swapped_rows(const Tensor& tensor, const SimFault& /*fault*/, std::string_view call) {
  const std::int64_t length = tensor.rank() < 2 ? 1 : tensor.size(-1);
  const std::int64_t rows = tensor.numel() / length;
  if (rows < 2) return tensor;
  const auto first = static_cast<std::int64_t>(random_key(0, call, "rows") % static_cast<std::uint64_t>(rows - 1));
  Tensor result = tensor.clone();
  auto* const row = result.mutable_data<std::byte>() + bytes_of(result, first * length);
  const std::int64_t bytes = bytes_of(result, length);
  std::swap_ranges(row, row + bytes, row + bytes);
  return result;
}

Tensor nan_tail(const Tensor& tensor, const SimFault& /*fault*/, std::string_view /*call*/) {
  return changed_first_part(tensor, within(last_tile(tensor)),
                            [](double) { return std::numeric_limits<double>::quiet_NaN(); });
}

Tensor uninitialised(const Tensor& tensor, const SimFault& /*fault*/, std::string_view call) {
  const Piece piece = piece_of(tensor, an_eighth(tensor), call, "uninitialised");
  const auto bytes = static_cast<std::size_t>(bytes_of(tensor, piece.count));
  std::vector<std::uint32_t> words((bytes + 3) / 4);
  Philox(random_key(0, call, "foreign bytes")).fill(words);
  Tensor result = tensor.clone();
  std::memcpy(result.mutable_data<std::byte>() + bytes_of(result, piece.start), words.data(), bytes);
  return result;
}

}  // namespace msrun::damage
