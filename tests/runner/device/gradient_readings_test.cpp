// Which recorded gradient belongs to which argument.
#include "runner/device/recorded/gradient_readings.h"

#include <gtest/gtest.h>

#include "kernels/tensor/tensor.h"

namespace msrun {
namespace {

Value gradient(const Dims& shape, double value) { return Tensor::full(DType::float32, shape, value); }

double value_of(const Value& value) {
  const Tensor* tensor = value.get<Tensor>();
  return tensor == nullptr ? -1 : static_cast<double>(*tensor->contiguous().data<float>());
}

GradientSlot wanted(const Dims& shape) { return {shape, true, true, 0}; }
GradientSlot constant(const Dims& shape) { return {shape, false, true, 0}; }

constexpr auto ordinary = RecordedGradients::of_arguments;
constexpr auto of_addmm = RecordedGradients::of_addmm;

TEST(PairGradients, ByPlace) {
  const GradientPairing pairing =
      pair_gradients(ordinary, {gradient({2, 3}, 1), gradient({2, 3}, 2), None{}}, {wanted({2, 3}), wanted({2, 3})});
  ASSERT_EQ(pairing.readings.size(), 1U);
  EXPECT_EQ(value_of(pairing.readings[0][0]), 1);
  EXPECT_EQ(value_of(pairing.readings[0][1]), 2);
  EXPECT_FALSE(pairing.ambiguous);
}

TEST(PairGradients, PassesOverArgumentsWithoutGradient) {
  // where(condition, a, b): autograd gives two, the condition has the same shape.
  const GradientPairing pairing = pair_gradients(ordinary, {gradient({2, 3}, 1), gradient({2, 3}, 2)},
                                                 {constant({2, 3}), wanted({2, 3}), wanted({2, 3})});
  EXPECT_TRUE(pairing.readings[0][0].is_none());
  EXPECT_EQ(value_of(pairing.readings[0][1]), 1);
  EXPECT_EQ(value_of(pairing.readings[0][2]), 2);
}

TEST(PairGradients, LinearAsItsAutogradNode) {
  Tensor weight = Tensor::zeros(DType::float32, Dims{4, 2});
  weight.mutable_data<float>()[1] = 5;
  const GradientPairing pairing = pair_gradients(of_addmm, {gradient({2}, 7), gradient({3, 4}, 8), weight},
                                                 {wanted({3, 4}), wanted({2, 4}), wanted({2})});
  ASSERT_EQ(pairing.readings.size(), 1U);
  const List& reading = pairing.readings[0];
  EXPECT_EQ(value_of(reading[0]), 8);
  ASSERT_TRUE(reading[1].is<Tensor>());
  EXPECT_EQ(reading[1].get<Tensor>()->shape(), (Dims{2, 4}));
  EXPECT_EQ(reading[1].get<Tensor>()->contiguous().data<float>()[4], 5);
  EXPECT_EQ(value_of(reading[2]), 7);
  EXPECT_FALSE(pairing.ambiguous);
}

TEST(PairGradients, ASquareWeightHasTwoReadings) {
  const GradientPairing pairing =
      pair_gradients(of_addmm, {gradient({3, 4}, 1), gradient({4, 4}, 2)}, {wanted({3, 4}), wanted({4, 4})});
  EXPECT_EQ(pairing.readings.size(), 2U);
  EXPECT_FALSE(pairing.ambiguous);
}

TEST(PairGradients, ByTheOnlyArgumentOfTheShape) {
  const GradientPairing pairing = pair_gradients(ordinary, {gradient({5}, 1), gradient({9}, 2), gradient({2, 3}, 3)},
                                                 {wanted({2, 3}), wanted({5}), wanted({7})});
  const List& reading = pairing.readings[0];
  EXPECT_EQ(value_of(reading[0]), 3);
  EXPECT_EQ(value_of(reading[1]), 1);
  EXPECT_TRUE(reading[2].is<Unsupported>());
}

// Two gradients of the shape of one argument, as of a quotient in which it occurs twice.
TEST(PairGradients, SeveralGradientsForOneArgument) {
  const GradientPairing pairing =
      pair_gradients(ordinary, {gradient({2, 3}, 1), gradient({2, 3}, 2)}, {wanted({2, 3})});
  ASSERT_EQ(pairing.readings.size(), 2U);
  EXPECT_EQ(value_of(pairing.readings[0][0]), 1);
  EXPECT_EQ(value_of(pairing.readings[1][0]), 2);
  EXPECT_TRUE(pairing.ambiguous);
}

TEST(PairGradients, OneGradientForSeveralArguments) {
  const GradientPairing pairing =
      pair_gradients(ordinary, {None{}, None{}, gradient({2}, 1)}, {wanted({2}), wanted({2})});
  ASSERT_EQ(pairing.readings.size(), 2U);
  EXPECT_EQ(value_of(pairing.readings[0][0]), 1);
  EXPECT_TRUE(pairing.readings[0][1].is<Unsupported>());
  EXPECT_TRUE(pairing.readings[1][0].is<Unsupported>());
  EXPECT_EQ(value_of(pairing.readings[1][1]), 1);
  EXPECT_TRUE(pairing.ambiguous);
}

// layer_norm(x, [2], bias=b, weight=w): autograd gives the weight's gradient first.
TEST(PairGradients, KeywordsInTheOrderOfTheParameters) {
  const GradientPairing pairing = pair_gradients(ordinary, {gradient({3, 2}, 1), gradient({2}, 2), gradient({2}, 3)},
                                                 {wanted({3, 2}), {{2}, true, false, 3}, {{2}, true, false, 2}});
  ASSERT_EQ(pairing.readings.size(), 2U);
  EXPECT_EQ(value_of(pairing.readings[0][1]), 2);
  EXPECT_EQ(value_of(pairing.readings[1][0]), 1);
  EXPECT_EQ(value_of(pairing.readings[1][1]), 3);
  EXPECT_EQ(value_of(pairing.readings[1][2]), 2);
}

TEST(PairGradients, NoneForNoArgument) {
  const GradientPairing pairing = pair_gradients(ordinary, {gradient({7}, 1)}, {wanted({2}), constant({7})});
  ASSERT_EQ(pairing.readings.size(), 1U);
  EXPECT_TRUE(pairing.readings[0][0].is<Unsupported>());
  EXPECT_TRUE(pairing.readings[0][1].is_none());
  EXPECT_FALSE(pairing.ambiguous);
}

// As many gradients of one shape as would give a number of pairings beyond all bounds.
TEST(PairGradients, GivesUpWhereThereAreTooMany) {
  List recorded;
  std::vector<GradientSlot> slots;
  for (int i = 0; i < 40; ++i) {
    recorded.push_back(gradient({2}, i));
    if (i < 30) slots.push_back(wanted({2}));
  }
  const GradientPairing pairing = pair_gradients(ordinary, recorded, slots);
  EXPECT_LE(pairing.readings.size(), 24U);
  EXPECT_TRUE(pairing.ambiguous);
  for (GradientSlot& slot : slots) slot.shape = {static_cast<std::int64_t>(&slot - slots.data()) + 100};
  EXPECT_EQ(pair_gradients(ordinary, recorded, slots).readings.size(), 1U);
}

}  // namespace
}  // namespace msrun
