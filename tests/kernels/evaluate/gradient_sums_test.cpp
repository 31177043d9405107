// How long the sums behind gradients are, by which their rounding is judged: those of the derivatives, and of the
// forward those that the derivatives hold.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kernels/evaluate/evaluate.h"

namespace msrun {
namespace {

Tensor numbers(const Dims& shape) {
  Tensor result(DType::float32, shape);
  for (std::int64_t i = 0; i < result.numel(); ++i)
    result.mutable_data<float>()[i] = 0.25F + static_cast<float>(i * 7 % 11);
  return result;
}

Evaluation benchmark_of(const char* name, List args, const Dims& result, Dict kwargs = {}) {
  MaterialisedCall call;
  call.name = name;
  call.parts = *ApiName::parse(name);
  call.args = std::move(args);
  call.kwargs = std::move(kwargs);
  call.requires_grad = std::vector<bool>(8, true);
  call.backward.run = true;
  call.gradients = {numbers(result)};
  EvaluationOptions options;
  options.benchmark = true;
  Evaluation evaluation = evaluate(*find_operator(call.parts.type, call.parts.api), call, options);
  EXPECT_EQ(evaluation.backward_problem, "");
  return evaluation;
}

std::int64_t longest(const char* name, List args, const Dims& result, Dict kwargs = {}) {
  return benchmark_of(name, std::move(args), result, std::move(kwargs)).gradient_sums.longest;
}

Value i(std::int64_t number) { return number; }

TEST(GradientSums, AreNotThoseOfAMeanThatTheCallReturns) {
  const Evaluation loss = benchmark_of("Functional.mse_loss.0", {numbers({8, 9}), numbers({8, 9})}, {});
  EXPECT_EQ(loss.output_sums.longest, 72);
  EXPECT_EQ(loss.gradient_sums.longest, 1);
  EXPECT_EQ(longest("Tensor.mean.0", {numbers({8, 9})}, {}), 1);
  EXPECT_EQ(longest("Torch.sum.0", {numbers({8, 9}), i(1)}, {8}), 1);
  // Both passes cost what they cost.
  EXPECT_GE(loss.gradient_sums.additions, 72);
}

// One of each row's classes, and then one of the rows: no more additions than there are numbers.
TEST(GradientSums, OfManyClassesCostWhatTheyCost) {
  const Evaluation loss =
      benchmark_of("Functional.cross_entropy.0", {numbers({2, 500}), Tensor::zeros(DType::int64, Dims{2})}, {});
  EXPECT_EQ(loss.output_sums.longest, 500);
  EXPECT_LE(loss.output_sums.additions, 1002);
  const Evaluation samples =
      benchmark_of("Functional.cross_entropy.0", {numbers({300, 5}), Tensor::zeros(DType::int64, Dims{300})}, {});
  EXPECT_EQ(samples.output_sums.longest, 300);
}

TEST(GradientSums, AreThoseThatDerivativesHold) {
  EXPECT_EQ(longest("Functional.softmax.0", {numbers({3, 40})}, {3, 40}, {{"dim", i(1)}}), 40);
  EXPECT_EQ(longest("Torch.var.0", {numbers({50})}, {}), 50);
  // What is multiplied has been centred, by a mean that is no result.
  EXPECT_GE(longest("Torch.cov.0", {numbers({2, 60})}, {2, 2}), 60);
  EXPECT_EQ(longest("Torch.matmul.0", {numbers({2, 30}), numbers({30, 3})}, {2, 3}), 30);
}

TEST(GradientSums, OfNormsAreThoseOfARowOrOfTheRowsOfAParameter) {
  const Tensor images = numbers({4, 6, 5, 5});
  const Tensor channels = numbers({6});
  const auto batch_norm = [&](bool training, bool affine) {
    List args{images, channels, channels};
    if (affine) args.insert(args.end(), {channels, channels});
    return longest("Functional.batch_norm.0", std::move(args), images.shape(), {{"training", training}});
  };
  EXPECT_EQ(batch_norm(true, true), 100);
  EXPECT_EQ(batch_norm(true, false), 100);
  EXPECT_EQ(batch_norm(false, true), 100);
  EXPECT_EQ(batch_norm(false, false), 1);
  EXPECT_EQ(longest("Functional.layer_norm.0", {numbers({40, 8}), List{i(8)}, numbers({8}), numbers({8})}, {40, 8}),
            40);
  // A row of 4 channels, and a channel of 7 samples, of 6 elements.
  EXPECT_EQ(longest("Functional.group_norm.0", {numbers({7, 12, 6}), i(3), numbers({12}), numbers({12})}, {7, 12, 6}),
            42);
  EXPECT_EQ(longest("Functional.group_norm.0", {numbers({7, 12, 6}), i(3)}, {7, 12, 6}), 24);
}

}  // namespace
}  // namespace msrun
