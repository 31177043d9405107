// Equal inputs have equal checksums, and anything that a kernel can see in an input changes it.
#include "runner/check/input_checksum.h"

#include <gtest/gtest.h>

#include <vector>

namespace msrun {
namespace {

Tensor floats(const Dims& shape, const std::vector<float>& values) {
  return Tensor::from<float>(DType::float32, shape, values);
}

MaterialisedCall call_with(List args, Dict kwargs = {}, List gradients = {}) {
  MaterialisedCall call;
  call.args = std::move(args);
  call.kwargs = std::move(kwargs);
  call.gradients = std::move(gradients);
  return call;
}

TEST(InputChecksum, IsOfTheElementsNotOfTheirLayout) {
  const Tensor matrix = floats(Dims{2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor turned = floats(Dims{3, 2}, {1, 4, 2, 5, 3, 6});
  EXPECT_EQ(input_checksum(call_with({matrix})), input_checksum(call_with({turned.permute(Dims{1, 0})})));
  EXPECT_EQ(input_checksum(call_with({matrix, 2.0})), input_checksum(call_with({matrix, 3.0}))) << "tensors alone";
}

TEST(InputChecksum, ChangesWithEveryProperty) {
  const Tensor base = floats(Dims{2, 2}, {1, 2, 3, 4});
  const std::uint64_t expected = input_checksum(call_with({base}));
  EXPECT_NE(expected, 0U);
  EXPECT_NE(expected, input_checksum(call_with({}))) << "no tensor";
  EXPECT_NE(expected, input_checksum(call_with({floats(Dims{2, 2}, {1, 2, 3, 4.5})}))) << "value";
  EXPECT_NE(expected, input_checksum(call_with({floats(Dims{4}, {1, 2, 3, 4})}))) << "shape";
  EXPECT_NE(expected, input_checksum(call_with({base.to(DType::float64)}))) << "dtype";
  EXPECT_NE(expected, input_checksum(call_with({base, base}))) << "number";
  EXPECT_NE(expected, input_checksum(call_with({base}, {}, {base}))) << "gradient";
  const Tensor zero = floats(Dims{1}, {0.0F});
  EXPECT_NE(input_checksum(call_with({zero})), input_checksum(call_with({floats(Dims{1}, {-0.0F})})));
  EXPECT_NE(input_checksum(call_with({base, zero})), input_checksum(call_with({zero, base}))) << "order";
}

}  // namespace
}  // namespace msrun
