// The last steps inside operators: what torch 1.13 gives for them, as far as a formula says it.
#include "kernels/api/last_steps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace msrun::testing {
namespace {

struct Known {
  std::size_t count = 0;
  std::size_t of_unknown = 0;
  std::vector<std::vector<double>> gradients;  // of the first step's inputs, for an output gradient of ones
};

Tensor tensor_of(const Dims& shape, const std::vector<double>& values) {
  return Tensor::from<double>(DType::float64, shape, std::span<const double>(values));
}

Known known_of(const std::string& canonical, const std::vector<Tensor>& tensors, const List& before = {},
               const Dict& kwargs = {}) {
  const Operator& op = *find_canonical(canonical);
  Tape tape;
  List args = before;
  for (const Tensor& tensor : tensors) {
    args.emplace_back(is_floating(tensor.dtype()) ? tape.leaf(tensor) : tape.constant(tensor));
  }
  const Value output = op.call(args, kwargs, tape);
  const LastSteps steps = last_steps(op, args, kwargs, output, tape);
  Known known{steps.known.size(), steps.of_unknown, {}};
  if (steps.known.empty()) return known;
  const LastStep& step = steps.known.front();
  EXPECT_EQ(step.result.shape(), output.get<Var>()->shape());
  tape.backward(step.result, Tensor::full(DType::float64, step.result.shape(), 1));
  for (const Var& input : step.inputs) {
    const Tensor gradient = tape.gradient(input).contiguous();
    known.gradients.emplace_back(gradient.data<double>(), gradient.data<double>() + gradient.numel());
  }
  return known;
}

using Gradients = std::vector<std::vector<double>>;

TEST(LastSteps, OfMostOperatorsNothingIsKnown) {
  EXPECT_FALSE(knows_last_steps("exp"));
  const Known known = known_of("exp", {tensor_of({1}, {1})});
  EXPECT_EQ(known.count, 0U);
}

TEST(LastSteps, Differences) {
  const Known known = known_of("tanhshrink", {tensor_of({2}, {0.5, 2})});
  EXPECT_EQ(known.gradients, (Gradients{{1, 1}, {-1, -1}}));
}

TEST(LastSteps, Quotients) {
  // x / (1 + |x|)
  EXPECT_EQ(known_of("softsign", {tensor_of({2}, {1, -3})}).gradients, (Gradients{{0.5, 0.25}, {-0.25, 3 / 16.0}}));
}

TEST(LastSteps, ReducedLossesGetEqualShares) {
  const Tensor x = tensor_of({2, 2}, {1, 2, 3, 4});
  const Tensor t = tensor_of({2, 2}, {0, 5, 3, 1});
  EXPECT_EQ(known_of("l1_loss", {x, t}).gradients, (Gradients{{0.25, 0.25, 0.25, 0.25}}));
  EXPECT_EQ(known_of("l1_loss", {x, t}, {}, {{"reduction", std::string("sum")}}).gradients, (Gradients{{1, 1, 1, 1}}));
  EXPECT_EQ(known_of("l1_loss", {x, t}, {}, {{"reduction", std::string("none")}}).gradients,
            (Gradients{{1, -1, 0, 1}}));
  EXPECT_EQ(known_of("kl_div", {x, t}, {}, {{"reduction", std::string("batchmean")}}).gradients, (Gradients{{0.5}}));
}

TEST(LastSteps, CrossEntropyPicksAmongLogarithms) {
  const Tensor x = tensor_of({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor target(DType::int64, Dims{2});
  target.mutable_data<std::int64_t>()[0] = 2;
  target.mutable_data<std::int64_t>()[1] = 0;
  EXPECT_EQ(known_of("cross_entropy", {x, target}).gradients, (Gradients{{0, 0, -0.5, -0.5, 0, 0}}));
  EXPECT_EQ(known_of("cross_entropy", {x, target}, {}, {{"label_smoothing", 0.1}}).gradients, (Gradients{{1}, {1}}));
  const Tensor shares = tensor_of({2, 3}, {0, 1, 0, 0.5, 0.5, 0});
  EXPECT_EQ(known_of("cross_entropy", {x, shares}).gradients, (Gradients{{0.5}}));
  EXPECT_EQ(known_of("cross_entropy", {x, shares}, {}, {{"reduction", std::string("sum")}}).gradients,
            (Gradients{{-1}}));
}

// Three operands: the first factor of the last product is the product of the others.
TEST(LastSteps, EinsumOfThreeIsNotKnownWhole) {
  const Tensor x = tensor_of({2}, {1, 2});
  EXPECT_EQ(known_of("einsum", {x, x}, {std::string("i,i->i")}).of_unknown, 0U);
  EXPECT_EQ(known_of("einsum", {x, x, x}, {std::string("i,i,i->i")}).of_unknown, 2U);
}

}  // namespace
}  // namespace msrun::testing
