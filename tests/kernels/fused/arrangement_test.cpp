// The fused losses and the operators that select and arrange elements: values by hand, and gradients.
#include <gmock/gmock.h>

#include <cmath>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;
using Values = std::vector<double>;

List integers(std::initializer_list<std::int64_t> values) {
  List list;
  for (const std::int64_t value : values) list.emplace_back(value);
  return list;
}

Tensor indices(const Dims& shape, const std::vector<std::int64_t>& values, DType dtype = DType::int64) {
  return Tensor::from<std::int64_t>(DType::int64, shape, std::span<const std::int64_t>(values)).to(dtype);
}

void expect_near(const Values& actual, const Values& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-12) << "element " << i;
}

constexpr const char* fused_cross_entropy = "npu_cross_entropy_loss";

// The worked example of api_inventory.md 4 for cross_entropy.
TEST(FusedLoss, CrossEntropy) {
  const Tensor logits = float64({2, 3}, {1, 2, 3, .5, .1, -1});
  const Tensor target = indices({2}, {1, 2});
  const Tensor weight = float64({3}, {1, 2, 3});
  expect_near(forward("NPU", fused_cross_entropy, {logits, target, weight}), {1.8460827882446504});
  expect_near(forward("NPU", fused_cross_entropy, {logits, target}, {{"label_smoothing", .1}}), {1.7296699842779386});
  expect_near(forward("NPU", fused_cross_entropy, {logits, target, weight}, {{"label_smoothing", .1}}),
              {1.7653147748290872});
  const Values each = forward("NPU", fused_cross_entropy, {logits, target}, {{"reduction", std::string("none")}});
  const double first = std::log(std::exp(-1) + 1 + std::exp(1));
  const double second = std::log(std::exp(1.5) + std::exp(1.1) + 1);
  expect_near(each, {first, second});
  expect_near(forward("NPU", fused_cross_entropy, {logits, target, None{}, std::string("sum"), std::int64_t{2}}),
              {first});
  const Values logarithms = forward("NPU", fused_cross_entropy, {logits, target}, {}, 1);
  EXPECT_NEAR(logarithms[1], -first, 1e-12);
  EXPECT_NEAR(logarithms[5], -second, 1e-12);
}

TEST(FusedLoss, CrossEntropyHasTheGradientOfTheSoftmax) {
  const Tensor target = indices({4}, {1, 2, -100, 0});
  check_gradients("NPU", fused_cross_entropy, {uniform({4, 3}, -1, 1, 1), target});
  check_gradients("NPU", fused_cross_entropy, {uniform({4, 3}, -1, 1, 1), target}, {{"label_smoothing", .2}});
  EXPECT_THROW(forward("NPU", fused_cross_entropy, {uniform({4, 3}, -1, 1, 1), target}, {{"return_zloss", true}}),
               SkipError);
  EXPECT_THROW(forward("NPU", fused_cross_entropy, {uniform({3}, -1, 1, 1), indices({}, {1})}), SkipError);
}

TEST(FusedLoss, SoftmaxCrossEntropyWithLogits) {
  constexpr const char* name = "npu_softmax_cross_entropy_with_logits";
  const Tensor logits = float64({2, 2}, {0, 0, std::log(3.), 0});
  const Tensor labels = float64({2, 2}, {.5, .5, 1, 0});
  expect_near(forward("NPU", name, {logits, labels}), {std::log(2), std::log(4. / 3)});
  // softmax * sum(labels) - labels
  const auto grads = gradients("NPU", name, {logits, labels});
  ASSERT_EQ(grads[0].size(), 4U);
  EXPECT_NEAR(grads[0][0] + grads[0][1], 0, 1e-12);
  EXPECT_NEAR(grads[0][2] + grads[0][3], 0, 1e-12);
  EXPECT_THROW(forward("NPU", name, {logits, float64({2}, {1, 0})}), SkipError);
}

TEST(FusedArrangement, MaximumAndMinimum) {
  const Tensor x = float64({2, 3}, {1, 5, 2, 7, -1, 7});
  EXPECT_THAT(forward("NPU", "npu_max", {x, std::int64_t{1}}), ElementsAre(5, 7));
  EXPECT_THAT(forward("NPU", "npu_max", {x, std::int64_t{1}}, {}, 1), ElementsAre(1, 0));
  EXPECT_THAT(forward("NPU", "npu_min", {x, std::int64_t{0}, true}), ElementsAre(1, -1, 2));
  EXPECT_THAT(forward("NPU", "npu_min", {x, std::int64_t{0}, true}, {}, 1), ElementsAre(0, 1, 0));
  check_gradients("NPU", "npu_max", {uniform({3, 4}, -1, 1, 1), std::int64_t{-1}});
  check_gradients("NPU", "npu_min", {uniform({3, 4}, -1, 1, 2), std::int64_t{0}});
}

TEST(FusedArrangement, PadAndSlice) {
  const Tensor x = float64({1, 2}, {3, 4});
  EXPECT_THAT(forward("NPU", "npu_pad", {x, integers({1, 0, 0, 2})}), ElementsAre(0, 0, 0, 0, 3, 4, 0, 0));
  EXPECT_THROW(forward("NPU", "npu_pad", {x, integers({1, 0})}), SkipError);
  check_gradients("NPU", "npu_pad", {uniform({2, 3}, -1, 1, 1), integers({1, 2, 0, 1})});
  const Tensor y = float64({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(forward("NPU", "npu_slice", {y, integers({0, 1}), integers({2, 2})}), ElementsAre(2, 3, 5, 6));
  EXPECT_THROW(forward("NPU", "npu_slice", {y, integers({0, 2}), integers({2, 2})}), SkipError);
  check_gradients("NPU", "npu_slice", {uniform({2, 3}, -1, 1, 1), integers({1, 0}), integers({1, 2})});
}

TEST(FusedArrangement, OneHot) {
  const Tensor numbers = indices({3}, {2, 0, 5}, DType::int32);
  EXPECT_THAT(forward("NPU", "npu_one_hot", {numbers}, {{"depth", std::int64_t{3}}}),
              ElementsAre(0, 0, 1, 1, 0, 0, 0, 0, 0));
  EXPECT_THAT(forward("NPU", "npu_one_hot", {indices({1}, {1})},
                      {{"depth", std::int64_t{2}}, {"on_value", 5.0}, {"off_value", -1.0}}),
              ElementsAre(-1, 5));
  EXPECT_THROW(forward("NPU", "npu_one_hot", {numbers, std::int64_t{0}}, {{"depth", std::int64_t{3}}}), SkipError);
}

// Two tokens that go to experts 1 and 0, and to 0 and 1.
TEST(FusedRouting, TokensArePermutedByExpertAndBack) {
  const Tensor tokens = float64({2, 2}, {1, 2, 3, 4});
  const Tensor experts = indices({2, 2}, {1, 0, 0, 1});
  EXPECT_THAT(forward("NPU", "npu_moe_token_permute", {tokens, experts}), ElementsAre(1, 2, 3, 4, 1, 2, 3, 4));
  EXPECT_THAT(forward("NPU", "npu_moe_token_permute", {tokens, experts}, {}, 1), ElementsAre(2, 0, 1, 3));
  EXPECT_THAT(forward("NPU", "npu_moe_token_permute", {tokens, experts, std::int64_t{3}}),
              ElementsAre(1, 2, 3, 4, 1, 2));
  check_gradients("NPU", "npu_moe_token_permute", {uniform({2, 3}, -1, 1, 1), experts});

  const Tensor permuted = float64({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor places = indices({4}, {2, 0, 1, 3}, DType::int32);
  const Tensor probabilities = float64({2, 2}, {.5, .25, 1, 2});
  EXPECT_THAT(forward("NPU", "npu_moe_token_unpermute", {permuted, places}), ElementsAre(5, 6, 1, 2, 3, 4, 7, 8));
  EXPECT_THAT(forward("NPU", "npu_moe_token_unpermute", {permuted, places, probabilities}),
              ElementsAre(2.75, 3.5, 17, 20));
  check_gradients("NPU", "npu_moe_token_unpermute", {uniform({4, 3}, -1, 1, 1), places, uniform({2, 2}, 0, 1, 2)});
  EXPECT_THROW(forward("NPU", "npu_moe_token_unpermute", {permuted, indices({4}, {2, 0, 1, 4})}), SkipError);
  EXPECT_THROW(forward("NPU", "npu_moe_token_permute", {tokens, experts, None{}, true}), SkipError);
}

}  // namespace
}  // namespace msrun::testing
