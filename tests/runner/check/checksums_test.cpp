// Equal results have equal checksums, and every bit of a result changes its own.
#include "runner/check/checksums.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "runner/results/agreement.h"

namespace msrun {
namespace {

Tensor floats(const Dims& shape, const std::vector<float>& values) {
  return Tensor::from<float>(DType::float32, shape, values);
}

std::uint64_t checksum(Value output) {
  DeviceResult result;
  result.output = std::move(output);
  return checksums_of(result, ordinary_traits).outputs.at(0);
}

TEST(OutputChecksums, AreOfBits) {
  const std::uint64_t base = checksum(floats(Dims{2}, {0.0F, 1.0F}));
  EXPECT_NE(base, 0U);
  EXPECT_EQ(base, checksum(floats(Dims{2}, {0.0F, 1.0F})));
  EXPECT_NE(base, checksum(floats(Dims{2}, {-0.0F, 1.0F}))) << "the sign of a zero";
  EXPECT_NE(base, checksum(floats(Dims{2, 1}, {0.0F, 1.0F}))) << "shape";
  EXPECT_NE(base, checksum(floats(Dims{2}, {0.0F, 1.0F}).to(DType::float64))) << "dtype";
  const float quiet = std::bit_cast<float>(0x7FC00000U);
  const float other = std::bit_cast<float>(0x7FC00001U);
  EXPECT_NE(checksum(floats(Dims{1}, {quiet})), checksum(floats(Dims{1}, {other}))) << "the payload of a NaN";
  const Tensor turned = floats(Dims{2, 2}, {1, 3, 2, 4}).permute(Dims{1, 0});
  EXPECT_EQ(checksum(turned), checksum(floats(Dims{2, 2}, {1, 2, 3, 4}))) << "no layout";
}

TEST(OutputChecksums, AreOfValuesThatAreNoTensors) {
  EXPECT_NE(checksum(true), checksum(false));
  EXPECT_NE(checksum(std::int64_t{1}), checksum(1.0));
  EXPECT_NE(checksum(0.0), checksum(-0.0));
  EXPECT_NE(checksum(std::string("a")), checksum(std::string("b")));
  EXPECT_NE(checksum(DType::float16), checksum(DType::float32));
  EXPECT_EQ(checksum(None()), 0U);
}

TEST(OutputChecksums, AreOfWhatIsComparedAndOfEveryGradient) {
  DeviceResult result;
  result.output = List{floats(Dims{1}, {1}), List{floats(Dims{1}, {2}), None()}};
  result.gradients = {None(), floats(Dims{1}, {3})};
  const Checksums all = checksums_of(result, ordinary_traits);
  ASSERT_EQ(all.outputs.size(), 3U);
  EXPECT_EQ(all.outputs[2], 0U);
  ASSERT_EQ(all.gradients.size(), 2U);
  EXPECT_EQ(all.gradients[0], 0U);
  OperatorTraits first_alone;
  first_alone.compared_output = 0;
  EXPECT_EQ(checksums_of(result, first_alone).outputs, std::vector{all.outputs[0]});
}

TEST(OutputChecksums, TellWhichOutputDiffers) {
  const Checksums base{{1, 2}, {0, 3, 4}};
  EXPECT_EQ(first_difference(base, base), "");
  EXPECT_EQ(first_difference(base, {{1, 5}, {0, 3, 9}}), "forward.output.1");
  EXPECT_EQ(first_difference(base, {{1, 2}, {0, 3, 9}}), "backward.output.1") << "counted without those that are none";
  EXPECT_EQ(first_difference(base, {{1, 2}, {}}), "backward.output.0");
  EXPECT_NE(digest_of(base), digest_of({{1}, {2, 0, 3, 4}}));
}

TEST(OutputChecksums, MayDifferWhereTheOperatorIsDeclaredTo) {
  const Checksums base{{1}, {2}};
  const Checksums other_output{{3}, {2}};
  const Checksums other_gradient{{1}, {3}};
  OperatorTraits traits;
  EXPECT_FALSE(may_differ(base, other_gradient, traits));
  traits.varies = Varies::gradients;
  EXPECT_TRUE(may_differ(base, other_gradient, traits));
  EXPECT_FALSE(may_differ(base, other_output, traits));
  traits.varies = Varies::results;
  EXPECT_TRUE(may_differ(base, other_output, traits));
}

}  // namespace
}  // namespace msrun
