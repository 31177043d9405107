#include "runner/device/python/operand_settings.h"

#include <gtest/gtest.h>

namespace msrun::testing {
namespace {

TEST(OperandSettings, AreThoseOfTheDevice) {
  const OperandSettings gpu =
      operands_by_settings("cuda", {{"cudnn.allow_tf32", "true"}, {"cuda.matmul.allow_tf32", "false"}});
  EXPECT_EQ(gpu, (OperandSettings{.convolutions = OperandRounding::truncated_tf32,
                                  .recurrences = OperandRounding::truncated_tf32}));
  const OperandSettings npu = operands_by_settings("npu", {{"conv.allow_hf32", "true"}, {"matmul.allow_hf32", "true"}});
  EXPECT_EQ(npu, (OperandSettings{.products = OperandRounding::hf32,
                                  .convolutions = OperandRounding::hf32,
                                  .recurrences = OperandRounding::hf32}));
  EXPECT_EQ(operands_by_settings("cpu", {{"cudnn.allow_tf32", "true"}}), OperandSettings{});
  EXPECT_EQ(operands_by_settings("cuda", {}), OperandSettings{});
}

// Newer versions of torch name a precision.
TEST(OperandSettings, AreThoseOfNewerNames) {
  const OperandSettings gpu =
      operands_by_settings("cuda", {{"cudnn.conv.fp32_precision", "ieee"}, {"cuda.matmul.fp32_precision", "tf32"}});
  EXPECT_EQ(gpu, (OperandSettings{.products = OperandRounding::truncated_tf32}));
  EXPECT_EQ(operands_by_settings("cuda", {{"cudnn.conv.fp32_precision", "none"}}), OperandSettings{});
  EXPECT_EQ(operands_by_settings("cuda", {{"cudnn.rnn.fp32_precision", "tf32"}}),
            (OperandSettings{.recurrences = OperandRounding::truncated_tf32}));
  EXPECT_EQ(operands_by_settings("npu", {{"cuda.matmul.fp32_precision", "tf32"}}), OperandSettings{});
}

TEST(OperandSettings, HeedTheVariableThatForbidsTf32) {
  EXPECT_EQ(operands_by_settings("cuda", {{"cudnn.allow_tf32", "true"}, {"NVIDIA_TF32_OVERRIDE", "0"}}),
            OperandSettings{});
}

}  // namespace
}  // namespace msrun::testing
