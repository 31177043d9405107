#include "runner/device/python/operand_settings.h"

#include <gtest/gtest.h>

namespace msrun::testing {
namespace {

TEST(OperandSettings, AreThoseOfTheDevice) {
  const Operands gpu =
      operands_by_settings("cuda", {{"cudnn.allow_tf32", "true"}, {"cuda.matmul.allow_tf32", "false"}});
  EXPECT_EQ(gpu, (Operands{.convolutions = OperandRounding::truncated_tf32}));
  const Operands npu = operands_by_settings("npu", {{"conv.allow_hf32", "true"}, {"matmul.allow_hf32", "true"}});
  EXPECT_EQ(npu, (Operands{.products = OperandRounding::hf32, .convolutions = OperandRounding::hf32}));
  EXPECT_EQ(operands_by_settings("cpu", {{"cudnn.allow_tf32", "true"}}), Operands{});
  EXPECT_EQ(operands_by_settings("cuda", {}), Operands{});
}

// Newer versions of torch name a precision.
TEST(OperandSettings, AreThoseOfNewerNames) {
  const Operands gpu =
      operands_by_settings("cuda", {{"cudnn.conv.fp32_precision", "ieee"}, {"cuda.matmul.fp32_precision", "tf32"}});
  EXPECT_EQ(gpu, (Operands{.products = OperandRounding::truncated_tf32}));
  EXPECT_EQ(operands_by_settings("cuda", {{"cudnn.conv.fp32_precision", "none"}}), Operands{});
  EXPECT_EQ(operands_by_settings("npu", {{"cuda.matmul.fp32_precision", "tf32"}}), Operands{});
}

TEST(OperandSettings, HeedTheVariableThatForbidsTf32) {
  EXPECT_EQ(operands_by_settings("cuda", {{"cudnn.allow_tf32", "true"}, {"NVIDIA_TF32_OVERRIDE", "0"}}), Operands{});
}

}  // namespace
}  // namespace msrun::testing
