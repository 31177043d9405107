// Attention as frameworks compose it of products and a softmax, each of which stores its result in a half type.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/tensor/changed_elements.h"

namespace msrun::testing {
namespace {

double stored(double value) { return static_cast<double>(as_bfloat16(static_cast<float>(value))); }

Tensor random(const Dims& shape, double size, std::uint32_t seed) {
  return changed_elements(Tensor::zeros(DType::float64, shape),
                          [&](double, std::int64_t) {
                            seed = 1664525 * seed + 1013904223;
                            return size * (static_cast<double>(seed >> 8) * 0x1p-23 - 1);
                          })
      .to(DType::bfloat16);
}

// The gradient of the query of one head, step by step as autograd has it.
std::vector<double> query_gradient(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& gradient,
                                   double scale) {
  const std::int64_t rows = query.size(2);
  const std::int64_t keys = key.size(2);
  const std::int64_t size = query.size(3);
  const Tensor q = query.to(DType::float64).contiguous();
  const Tensor k = key.to(DType::float64).contiguous();
  const Tensor v = value.to(DType::float64).contiguous();
  const Tensor g = gradient.to(DType::float64).contiguous();
  const auto product = [size](const Tensor& a, std::int64_t i, const Tensor& b, std::int64_t j) {
    double sum = 0;
    for (std::int64_t d = 0; d < size; ++d) sum += a.data<double>()[i * size + d] * b.data<double>()[j * size + d];
    return stored(sum);
  };
  std::vector<double> result;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::vector<double> p;
    std::vector<double> dp;
    for (std::int64_t j = 0; j < keys; ++j) p.push_back(stored(product(q, i, k, j) * scale));
    const double largest = *std::ranges::max_element(p);
    double total = 0;
    for (double& x : p) total += x = std::exp(x - largest);
    double mean = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      double& weight = p[static_cast<std::size_t>(j)];
      weight = stored(weight / total);
      dp.push_back(product(g, i, v, j));
      mean += weight * dp.back();
    }
    for (std::int64_t d = 0; d < size; ++d) {
      double sum = 0;
      for (std::int64_t j = 0; j < keys; ++j) {
        const auto at = static_cast<std::size_t>(j);
        sum += stored(stored(p[at] * (dp[at] - mean)) * scale) * k.data<double>()[j * size + d];
      }
      result.push_back(sum);
    }
  }
  return result;
}

// Scores of some 40 leave one key nearly all the weight: the gradient is what storing leaves of a difference.
TEST(StoredScores, HaveTheGradientsOfAComposedSoftmax) {
  const Dims shape{1, 1, 12, 16};
  const Dims of_keys{1, 1, 60, 16};
  const double scale = 0.25;
  const Tensor query = random(shape, 6, 1);
  const Tensor key = random(of_keys, 6, 2);
  const Tensor value = random(of_keys, 2, 3);
  const Tensor gradient = random(shape, 2, 4);
  MaterialisedCall call;
  call.name = "Functional.scaled_dot_product_attention.0";
  call.parts = *ApiName::parse(call.name);
  call.args = {query, key, value};
  call.requires_grad = {true, true, true};
  call.backward.run = true;
  call.gradients = {gradient};
  const Operator& op = *find_operator(call.parts.type, call.parts.api);
  EvaluationOptions options;
  options.steps = {true, ScoreSteps::product_then_scaled};
  const Evaluation evaluation = evaluate(op, call, options);
  ASSERT_FALSE(evaluation.gradients.empty());
  const Tensor actual = evaluation.gradients.front().get<Tensor>()->to(DType::float64).contiguous();
  const std::vector<double> expected = query_gradient(query, key, value, gradient, scale);
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error += std::pow(actual.data<double>()[i] - expected[i], 2);
    size += expected[i] * expected[i];
  }
  EXPECT_LT(std::sqrt(error), 0x1p-8 * std::sqrt(size));
}

}  // namespace
}  // namespace msrun::testing
