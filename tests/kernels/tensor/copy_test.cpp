// Copies of permuted, sliced and expanded views against a walk over their strides.
#include "kernels/tensor/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace msrun {
namespace {

Tensor counted(DType dtype, const Dims& shape) {
  Tensor tensor(dtype, shape);
  std::byte* bytes = tensor.mutable_data<std::byte>();
  for (std::size_t i = 0; i < tensor.bytes(); ++i) bytes[i] = static_cast<std::byte>((i * 2654435761U) >> 24);
  return tensor;
}

void expect_same_elements(const Tensor& view) {
  const Tensor copy = view.clone();
  ASSERT_TRUE(copy.is_contiguous());
  const auto size = static_cast<std::int64_t>(size_of(view.dtype()));
  for (std::int64_t i = 0; i < view.numel(); ++i) {
    std::int64_t offset = 0;
    std::int64_t rest = i;
    for (std::size_t axis = view.shape().size(); axis-- > 0;) {
      offset += rest % view.shape()[axis] * view.strides()[axis];
      rest /= view.shape()[axis];
    }
    ASSERT_EQ(std::memcmp(view.raw() + offset * size, copy.raw() + i * size, static_cast<std::size_t>(size)), 0)
        << "element " << i << " of a view of shape " << tuple_text(view.shape()) << " with strides "
        << tuple_text(view.strides()) << ", " << name(view.dtype());
  }
}

TEST(Copy, AnyOrderOfAxes) {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t limit) { return static_cast<std::int64_t>(random() % limit); };
  constexpr std::array dtypes = {DType::uint8, DType::float16, DType::float32, DType::float64, DType::complex128};
  for (int round = 0; round < 600; ++round) {
    const DType dtype = dtypes[static_cast<std::size_t>(below(5))];
    Dims shape(static_cast<std::size_t>(1 + below(4)));
    for (std::int64_t& size : shape) size = below(4) == 0 ? 60 + below(80) : 1 + below(9);
    if (element_count(shape) > 100000) continue;
    Dims axes(shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    std::shuffle(axes.begin(), axes.end(), random);
    Tensor view = counted(dtype, shape).permute(axes);
    if (below(3) == 0) {
      const std::int64_t axis = below(static_cast<std::uint32_t>(view.rank()));
      const std::int64_t start = below(static_cast<std::uint32_t>(view.size(axis)));
      const std::int64_t step = 1 + below(3);
      view = view.slice(axis, start, (view.size(axis) - start - 1) / step + 1, step);
    }
    if (below(4) == 0) {
      Dims expanded = view.shape();
      expanded.insert(expanded.begin(), 3);
      view = view.expand(expanded).transpose(0, below(static_cast<std::uint32_t>(view.rank() + 1)));
    }
    expect_same_elements(view);
  }
}

TEST(Copy, LargeTranspositions) {
  for (const DType dtype : {DType::int8, DType::bfloat16, DType::int32, DType::int64}) {
    for (const Dims& shape : {Dims{1100, 70}, Dims{64, 2049}, Dims{3, 257, 130}}) {
      expect_same_elements(counted(dtype, shape).transpose(-1, -2));
    }
  }
}

TEST(Copy, NothingAndSingleElements) {
  EXPECT_EQ(counted(DType::float32, {0, 5}).transpose(0, 1).clone().numel(), 0);
  expect_same_elements(counted(DType::float32, {}));
  expect_same_elements(counted(DType::float32, {1, 1, 1}).transpose(0, 2));
}

}  // namespace
}  // namespace msrun
