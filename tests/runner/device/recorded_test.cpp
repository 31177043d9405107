// Which recorded gradient belongs to which argument.
#include "runner/device/recorded/recorded.h"

#include <gtest/gtest.h>

#include "kernels/api/operators.h"

namespace msrun {
namespace {

Value gradient(const Dims& shape, double value) { return Tensor::full(DType::float32, shape, value); }

double value_of(const Value& value) {
  const Tensor* tensor = value.get<Tensor>();
  return tensor == nullptr ? -1 : static_cast<double>(*tensor->contiguous().data<float>());
}

GradientSlot wanted(const Dims& shape) { return {shape, true, true}; }
GradientSlot constant(const Dims& shape) { return {shape, false, true}; }

GradientPairing pair_gradients(const std::string& op, const List& recorded, const std::vector<GradientSlot>& slots) {
  const Operator* known = find_canonical(op);
  const RecordedGradients kind = (known == nullptr ? ordinary_traits : known->traits()).recorded_gradients;
  return msrun::pair_gradients(kind, op, recorded, slots);
}

TEST(PairGradients, ByPlace) {
  const GradientPairing pairing =
      pair_gradients("mul", {gradient({2, 3}, 1), gradient({2, 3}, 2), None{}}, {wanted({2, 3}), wanted({2, 3})});
  ASSERT_EQ(pairing.readings.size(), 1U);
  EXPECT_EQ(value_of(pairing.readings[0][0]), 1);
  EXPECT_EQ(value_of(pairing.readings[0][1]), 2);
  EXPECT_EQ(pairing.doubt, "");
}

TEST(PairGradients, PassesOverArgumentsWithoutGradient) {
  // where(condition, a, b): autograd gives two, the condition has the same shape.
  const GradientPairing pairing = pair_gradients("where", {gradient({2, 3}, 1), gradient({2, 3}, 2)},
                                                 {constant({2, 3}), wanted({2, 3}), wanted({2, 3})});
  EXPECT_TRUE(pairing.readings[0][0].is_none());
  EXPECT_EQ(value_of(pairing.readings[0][1]), 1);
  EXPECT_EQ(value_of(pairing.readings[0][2]), 2);
}

TEST(PairGradients, LinearAsItsAutogradNode) {
  Tensor weight = Tensor::zeros(DType::float32, Dims{4, 2});
  weight.mutable_data<float>()[1] = 5;
  const GradientPairing pairing = pair_gradients("linear", {gradient({2}, 7), gradient({3, 4}, 8), weight},
                                                 {wanted({3, 4}), wanted({2, 4}), wanted({2})});
  ASSERT_EQ(pairing.readings.size(), 1U);
  const List& reading = pairing.readings[0];
  EXPECT_EQ(value_of(reading[0]), 8);
  ASSERT_TRUE(reading[1].is<Tensor>());
  EXPECT_EQ(reading[1].get<Tensor>()->shape(), (Dims{2, 4}));
  EXPECT_EQ(reading[1].get<Tensor>()->contiguous().data<float>()[4], 5);
  EXPECT_EQ(value_of(reading[2]), 7);
  EXPECT_EQ(pairing.doubt, "");
}

TEST(PairGradients, ASquareWeightHasTwoReadings) {
  const GradientPairing pairing =
      pair_gradients("linear", {gradient({3, 4}, 1), gradient({4, 4}, 2)}, {wanted({3, 4}), wanted({4, 4})});
  EXPECT_EQ(pairing.readings.size(), 2U);
  EXPECT_NE(pairing.doubt, "");
}

TEST(PairGradients, ByTheOnlyArgumentOfTheShape) {
  const GradientPairing pairing = pair_gradients("some_op", {gradient({5}, 1), gradient({9}, 2), gradient({2, 3}, 3)},
                                                 {wanted({2, 3}), wanted({5}), wanted({7})});
  const List& reading = pairing.readings[0];
  EXPECT_EQ(value_of(reading[0]), 3);
  EXPECT_EQ(value_of(reading[1]), 1);
  EXPECT_TRUE(reading[2].is<Unsupported>());
}

TEST(PairGradients, AmbiguousOnesAreLeftOut) {
  // softsign: both gradients of its division have the argument's shape.
  const GradientPairing softsign =
      pair_gradients("softsign", {gradient({2, 3}, 1), gradient({2, 3}, 2)}, {wanted({2, 3})});
  EXPECT_TRUE(softsign.readings[0][0].is<Unsupported>());
  // Two arguments, one gradient.
  const GradientPairing one = pair_gradients("some_op", {gradient({2}, 1)}, {wanted({2}), wanted({2})});
  EXPECT_EQ(value_of(one.readings[0][0]), 1);
  EXPECT_TRUE(one.readings[0][1].is<Unsupported>());
}

TEST(PairGradients, CompositesAreInDoubt) {
  EXPECT_NE(pair_gradients("cross_entropy", {gradient({2, 5}, 1)}, {wanted({2, 5})}).doubt, "");
  EXPECT_NE(pair_gradients("contiguous", {gradient({2, 5}, 1)}, {wanted({2, 5})}).doubt, "");
  EXPECT_EQ(pair_gradients("softmax", {gradient({2, 5}, 1)}, {wanted({2, 5})}).doubt, "");
}

}  // namespace
}  // namespace msrun
