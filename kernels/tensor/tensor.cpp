#include "kernels/tensor/tensor.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "kernels/base/error.h"
#include "kernels/tensor/convert.h"
#include "kernels/tensor/copy.h"
#include "kernels/tensor/memory.h"
#include "kernels/tensor/storage_pool.h"

namespace msrun {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::int64_t block = 1024;

std::shared_ptr<std::byte> allocate(std::size_t bytes) {
  // One spare cache line for the alignment, which aligned_alloc pays for with a search of its own, and one so that
  // vector loops may read a full register past the end.
  const std::size_t size = bytes + 2 * alignment;
  take_tensor_memory(size);
  void* memory = take_storage(size);
  if (memory == nullptr) {
    give_tensor_memory(size);
    note_refused_tensor();
    throw NoTensorMemory(bytes);
  }
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(memory) % alignment;
  return {static_cast<std::byte*>(memory) + (alignment - misaligned) % alignment, [memory, size](std::byte*) {
            give_storage(memory, size);
            give_tensor_memory(size);
          }};
}

std::string size_list(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

// Calls body(offset of the first element, position in row-major order) for every run along the last axis.
template <class Body>
void for_each_row(const Tensor& tensor, Body&& body) {
  const Dims& shape = tensor.shape();
  const Dims& strides = tensor.strides();
  const std::size_t outer_axes = shape.empty() ? 0 : shape.size() - 1;
  const std::int64_t row = shape.empty() ? 1 : shape.back();
  Dims index(outer_axes);
  std::int64_t offset = 0;
  for (std::int64_t position = 0; position < tensor.numel(); position += row) {
    body(offset, position);
    for (std::size_t axis = outer_axes; axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

template <class T>
void convert_rows(const Tensor& source, DType dtype, std::byte* target) {
  const std::int64_t row = source.shape().empty() ? 1 : source.shape().back();
  const std::int64_t stride = source.shape().empty() ? 1 : source.strides().back();
  const auto from_size = static_cast<std::int64_t>(size_of(source.dtype()));
  const auto to_size = static_cast<std::int64_t>(size_of(dtype));
  std::array<T, block> buffer;
  for_each_row(source, [&](std::int64_t offset, std::int64_t position) {
    if (dtype == own_dtype<T>) {
      load_run<T>(source.dtype(), source.raw() + offset * from_size, stride, row,
                  reinterpret_cast<T*>(target) + position);
      return;
    }
    if (source.dtype() == own_dtype<T> && stride == 1) {
      store_run<T>(dtype, source.data<T>() + offset, row, target + position * to_size);
      return;
    }
    for (std::int64_t start = 0; start < row; start += block) {
      const std::int64_t count = std::min(block, row - start);
      load_run<T>(source.dtype(), source.raw() + (offset + start * stride) * from_size, stride, count, buffer.data());
      store_run<T>(dtype, buffer.data(), count, target + (position + start) * to_size);
    }
  });
}

}  // namespace

std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) throw SkipError("Shape " + size_list(shape) + " has a negative size.");
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, size, &count)) {
      throw SkipError("Shape " + size_list(shape) + " has too many elements.");
    }
  }
  // Operators walk the other axes of an empty tensor: no farther than if there were something to store.
  if (!empty) return count;
  try {
    check_tensor_memory(static_cast<std::size_t>(count));
  } catch (const SkipError&) {
    throw SkipError("Shape " + size_list(shape) + " has no elements, but its other sizes are more than can be walked.");
  }
  return 0;
}

std::string tuple_text(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  if (shape.size() == 1) text += ",";
  return text + ")";
}

Dims row_major_strides(std::span<const std::int64_t> shape) {
  Dims strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(shape[axis], 1);
  }
  return strides;
}

std::int64_t normalize_axis(std::int64_t axis, std::int64_t rank) {
  const std::int64_t extent = std::max<std::int64_t>(rank, 1);
  if (axis < -extent || axis >= extent) {
    throw SkipError("Dimension out of range (expected to be in range of [" + std::to_string(-extent) + ", " +
                    std::to_string(extent - 1) + "], but got " + std::to_string(axis) + ")");
  }
  return axis < 0 ? axis + extent : axis;
}

Dims broadcast_shapes(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Dims result(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t size_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t size_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      throw SkipError("Shapes " + size_list(a) + " and " + size_list(b) + " do not broadcast.");
    }
    result[rank - 1 - i] = size_a == 1 ? size_b : size_a;
  }
  return result;
}

Tensor::Tensor(DType dtype, std::span<const std::int64_t> shape)
    : numel_(element_count(shape)),
      shape_(shape.begin(), shape.end()),
      strides_(row_major_strides(shape)),
      dtype_(dtype) {
  if (numel_ > (std::int64_t{1} << 62) / static_cast<std::int64_t>(size_of(dtype))) {
    throw SkipError("Shape " + size_list(shape) + " has too many elements.");
  }
  storage_ = allocate(bytes());
}

Tensor::Tensor(DType dtype, std::initializer_list<std::int64_t> shape)
    : Tensor(dtype, std::span(shape.begin(), shape.size())) {}

Tensor Tensor::zeros(DType dtype, std::span<const std::int64_t> shape) {
  Tensor result(dtype, shape);
  std::memset(result.mutable_data<std::byte>(), 0, result.bytes());
  return result;
}

Tensor Tensor::full(DType dtype, std::span<const std::int64_t> shape, double value) {
  return Tensor::scalar(dtype, value).expand(shape).clone();
}

Tensor Tensor::scalar(DType dtype, double value) {
  Tensor result(dtype, {});
  const StoreRounding of_a_constant(false);
  store_run<double>(dtype, &value, 1, result.mutable_data<std::byte>());
  return result;
}

Tensor Tensor::scalar(std::int64_t value) {
  Tensor result(DType::int64, {});
  *result.mutable_data<std::int64_t>() = value;
  return result;
}

std::int64_t Tensor::size(std::int64_t axis) const {
  if (shape_.empty()) {
    normalize_axis(axis, 0);
    return 1;
  }
  return shape_[static_cast<std::size_t>(normalize_axis(axis, rank()))];
}

bool Tensor::is_contiguous() const {
  std::int64_t stride = 1;
  for (std::size_t axis = shape_.size(); axis-- > 0;) {
    if (shape_[axis] != 1 && strides_[axis] != stride && numel_ != 0) return false;
    stride *= shape_[axis];
  }
  return true;
}

Tensor Tensor::with_strides(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                            std::int64_t offset_elements) const {
  Tensor view = *this;
  view.offset_ += offset_elements * static_cast<std::int64_t>(size_of(dtype_));
  view.numel_ = element_count(shape);
  view.shape_.assign(shape.begin(), shape.end());
  view.strides_.assign(strides.begin(), strides.end());
  return view;
}

Tensor Tensor::with_layout(DType dtype, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                           std::int64_t offset_elements) const {
  Tensor view = *this;
  view.dtype_ = dtype;
  return view.with_strides(shape, strides, offset_elements);
}

Tensor Tensor::permute(std::span<const std::int64_t> axes) const {
  if (axes.size() != shape_.size()) throw SkipError("permute needs one axis for each of the tensor's dimensions.");
  Dims shape(axes.size());
  Dims strides(axes.size());
  Dims seen(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(normalize_axis(axes[i], rank()));
    if (seen[axis]++ != 0) throw SkipError("permute: an axis occurs twice.");
    shape[i] = shape_[axis];
    strides[i] = strides_[axis];
  }
  return with_strides(shape, strides, 0);
}

Tensor Tensor::transpose(std::int64_t a, std::int64_t b) const {
  const std::int64_t first = normalize_axis(a, rank());
  const std::int64_t second = normalize_axis(b, rank());
  if (shape_.empty()) return *this;
  Tensor view = *this;
  std::swap(view.shape_[static_cast<std::size_t>(first)], view.shape_[static_cast<std::size_t>(second)]);
  std::swap(view.strides_[static_cast<std::size_t>(first)], view.strides_[static_cast<std::size_t>(second)]);
  return view;
}

Tensor Tensor::expand(std::span<const std::int64_t> shape) const {
  const auto added = static_cast<std::int64_t>(shape.size()) - rank();
  if (added < 0) throw SkipError("expand: fewer sizes than the tensor has dimensions.");
  Dims sizes(shape.begin(), shape.end());
  Dims strides(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t own = static_cast<std::int64_t>(i) - added;
    if (sizes[i] < -1) throw SkipError("Shape " + size_list(shape) + " has a negative size.");
    if (own < 0) {
      if (sizes[i] < 0) throw SkipError("expand: a new leading axis needs a size.");
      continue;
    }
    const auto axis = static_cast<std::size_t>(own);
    if (sizes[i] == -1) sizes[i] = shape_[axis];
    if (shape_[axis] == sizes[i]) {
      strides[i] = strides_[axis];
    } else if (shape_[axis] != 1) {
      throw SkipError("Shape " + size_list(shape_) + " does not expand to " + size_list(shape) + ".");
    }
  }
  return with_strides(sizes, strides, 0);
}

Tensor Tensor::slice(std::int64_t axis, std::int64_t start, std::int64_t length, std::int64_t step) const {
  const auto at = static_cast<std::size_t>(normalize_axis(axis, rank()));
  Dims shape = shape_;
  Dims strides = strides_;
  if (step < 1 || start < 0 || length < 0 || (length > 0 && start + (length - 1) * step >= shape_[at])) {
    throw SkipError("Slice out of range.");
  }
  const std::int64_t offset = length > 0 ? start * strides_[at] : 0;
  shape[at] = length;
  strides[at] *= step;
  return with_strides(shape, strides, offset);
}

Tensor Tensor::select(std::int64_t axis, std::int64_t index) const {
  if (shape_.empty()) throw SkipError("select cannot be applied to a 0-d tensor.");
  const auto at = static_cast<std::size_t>(normalize_axis(axis, rank()));
  const std::int64_t position = index < 0 ? index + shape_[at] : index;
  if (position < 0 || position >= shape_[at]) {
    throw SkipError("Index " + std::to_string(index) + " is out of range for a dimension of size " +
                    std::to_string(shape_[at]) + ".");
  }
  Dims shape = shape_;
  Dims strides = strides_;
  const std::int64_t offset = position * strides[at];
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at));
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(at));
  return with_strides(shape, strides, offset);
}

Tensor Tensor::unsqueeze(std::int64_t axis) const {
  const auto at = static_cast<std::ptrdiff_t>(normalize_axis(axis, rank() + 1));
  Dims shape = shape_;
  Dims strides = strides_;
  const std::int64_t stride =
      at < rank() ? shape[static_cast<std::size_t>(at)] * strides[static_cast<std::size_t>(at)] : 1;
  shape.insert(shape.begin() + at, 1);
  strides.insert(strides.begin() + at, stride);
  return with_strides(shape, strides, 0);
}

Tensor Tensor::squeeze(std::int64_t axis) const {
  const auto at = static_cast<std::size_t>(normalize_axis(axis, rank()));
  if (shape_.empty() || shape_[at] != 1) return *this;
  return select(axis, 0);
}

Tensor Tensor::reshape(std::span<const std::int64_t> shape) const {
  Dims sizes(shape.begin(), shape.end());
  std::int64_t known = 1;
  std::ptrdiff_t unknown = -1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && unknown < 0) {
      unknown = static_cast<std::ptrdiff_t>(i);
    } else if (sizes[i] < 0 || __builtin_mul_overflow(known, sizes[i], &known)) {
      throw SkipError("Shape " + size_list(shape) + " is invalid for a tensor of " + std::to_string(numel_) +
                      " elements.");
    }
  }
  if (unknown >= 0 && known > 0) sizes[static_cast<std::size_t>(unknown)] = numel_ / known;
  if (unknown >= 0 && known == 0) throw SkipError("reshape cannot infer a size of an empty tensor.");
  if (element_count(sizes) != numel_) {
    throw SkipError("Shape " + size_list(shape) + " is invalid for a tensor of " + std::to_string(numel_) +
                    " elements.");
  }
  const Tensor source = contiguous();
  return source.with_strides(sizes, row_major_strides(sizes), 0);
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::clone() const {
  Tensor result(dtype_, shape_);
  if (is_contiguous()) {
    std::memcpy(result.mutable_data<std::byte>(), raw(), bytes());
  } else {
    copy_row_major(*this, result.mutable_data<std::byte>());
  }
  return result;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  if (is_contiguous() && rank() > 1) {
    const std::int64_t count = numel_;
    return reshape(std::span(&count, 1)).to(dtype).reshape(shape_);
  }
  // Conversions run along the last axis: a view that jumps there is put in order first.
  if (!shape_.empty() && shape_.back() > 1 && strides_.back() > 1) return clone().to(dtype);
  Tensor result(dtype, shape_);
  std::byte* target = result.mutable_data<std::byte>();
  if (is_complex(dtype) || is_complex(dtype_)) {
    convert_rows<std::complex<double>>(*this, dtype, target);
  } else if (dtype_ == DType::float64 || dtype == DType::float64) {
    // Through double, except that int64 to float64 and back needs no wider type either.
    convert_rows<double>(*this, dtype, target);
  } else if (is_floating(dtype_)) {
    convert_rows<float>(*this, dtype, target);
  } else {
    convert_rows<std::int64_t>(*this, dtype, target);
  }
  return result;
}

double Tensor::item(std::int64_t index) const {
  double value = 0;
  load_run<double>(dtype_, contiguous().raw() + index * static_cast<std::int64_t>(size_of(dtype_)), 1, 1, &value);
  return value;
}

std::int64_t Tensor::int_item(std::int64_t index) const {
  std::int64_t value = 0;
  load_run<std::int64_t>(dtype_, contiguous().raw() + index * static_cast<std::int64_t>(size_of(dtype_)), 1, 1, &value);
  return value;
}

bool bitwise_equal(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return a.numel() == 0 || std::memcmp(a.contiguous().raw(), b.contiguous().raw(), a.bytes()) == 0;
}

}  // namespace msrun
