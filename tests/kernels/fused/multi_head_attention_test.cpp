// multi_head_attention_forward against the formula written out, its variants against each other, gradients against
// differences.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using Values = std::vector<double>;

constexpr std::int64_t embedding = 4;
constexpr std::int64_t heads = 2;
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Layer {
  Tensor query = uniform({3, 2, embedding}, -1, 1, 1);
  Tensor key = uniform({5, 2, embedding}, -1, 1, 2);
  Tensor value = uniform({5, 2, embedding}, -1, 1, 3);
  Value in_weight = uniform({3 * embedding, embedding}, -1, 1, 4);
  Value in_bias = uniform({3 * embedding}, -1, 1, 5);
  Value bias_k = None{};
  Value bias_v = None{};
  bool add_zero = false;
  double dropout = 0;
  Tensor out_weight = uniform({embedding, embedding}, -1, 1, 6);
  Tensor out_bias = uniform({embedding}, -1, 1, 7);

  List args() const {
    return {query,  key,    value,    embedding, heads,      in_weight, in_bias,
            bias_k, bias_v, add_zero, dropout,   out_weight, out_bias};
  }
};

std::vector<double> run(const Layer& layer, const Dict& kwargs = {}, std::size_t output = 0) {
  return forward("Functional", "multi_head_attention_forward", layer.args(), kwargs, output);
}

void expect_near(const Values& actual, const Values& expected, double tolerance = 1e-12) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
}

double at(const Tensor& t, std::int64_t i, std::int64_t j) { return t.item(i * t.size(1) + j); }

// The output and the averaged weights by plain loops.
struct Expected {
  Values output;
  Values weights;
};
Expected by_definition(const Layer& layer) {
  const Tensor w = *layer.in_weight.get<Tensor>();
  const Values b = values(*layer.in_bias.get<Tensor>());
  const auto project = [&](const Tensor& x, std::int64_t t, std::int64_t n, std::int64_t column) {
    double sum = b[static_cast<std::size_t>(column)];
    for (std::int64_t e = 0; e < embedding; ++e) sum += at(w, column, e) * x.item((t * 2 + n) * embedding + e);
    return sum;
  };
  Expected result;
  result.output.resize(3 * 2 * embedding);
  result.weights.resize(2 * 3 * 5);
  const std::int64_t size = embedding / heads;
  for (std::int64_t n = 0; n < 2; ++n) {
    for (std::int64_t i = 0; i < 3; ++i) {
      Values joined(embedding);
      for (std::int64_t h = 0; h < heads; ++h) {
        Values p(5);
        double total = 0;
        for (std::int64_t j = 0; j < 5; ++j) {
          double score = 0;
          for (std::int64_t d = h * size; d < (h + 1) * size; ++d) {
            score += project(layer.query, i, n, d) * project(layer.key, j, n, embedding + d);
          }
          p[static_cast<std::size_t>(j)] = std::exp(score / std::sqrt(static_cast<double>(size)));
          total += p[static_cast<std::size_t>(j)];
        }
        for (std::int64_t j = 0; j < 5; ++j) {
          const double weight = p[static_cast<std::size_t>(j)] / total;
          result.weights[static_cast<std::size_t>((n * 3 + i) * 5 + j)] += weight / heads;
          for (std::int64_t d = h * size; d < (h + 1) * size; ++d) {
            joined[static_cast<std::size_t>(d)] += weight * project(layer.value, j, n, 2 * embedding + d);
          }
        }
      }
      for (std::int64_t e = 0; e < embedding; ++e) {
        double sum = layer.out_bias.item(e);
        for (std::int64_t d = 0; d < embedding; ++d)
          sum += at(layer.out_weight, e, d) * joined[static_cast<std::size_t>(d)];
        result.output[static_cast<std::size_t>((i * 2 + n) * embedding + e)] = sum;
      }
    }
  }
  return result;
}

TEST(MultiHeadAttention, IsItsDefinition) {
  const Expected expected = by_definition(Layer{});
  expect_near(run(Layer{}), expected.output);
  expect_near(run(Layer{}, {}, 1), expected.weights);
  expect_near(run(Layer{}, {{"need_weights", false}}), expected.output);
  const Values each = run(Layer{}, {{"average_attn_weights", false}}, 1);
  ASSERT_EQ(each.size(), 2U * heads * 3 * 5);
  EXPECT_NEAR((each[0] + each[15]) / 2, expected.weights[0], 1e-12);
}

TEST(MultiHeadAttention, SeparateWeightsAreTheThirds) {
  Layer layer;
  const Tensor packed = *layer.in_weight.get<Tensor>();
  const Dict separate{{"use_separate_proj_weight", true},
                      {"q_proj_weight", packed.slice(0, 0, embedding)},
                      {"k_proj_weight", packed.slice(0, embedding, embedding)},
                      {"v_proj_weight", packed.slice(0, 2 * embedding, embedding)}};
  const Values expected = run(layer);
  layer.in_weight = None{};
  expect_near(run(layer, separate), expected);
}

TEST(MultiHeadAttention, MasksOfBothKinds) {
  Tensor causal(DType::boolean, {3, 5});
  Tensor summand(DType::float64, {3, 5});
  for (std::int64_t i = 0; i < 15; ++i) {
    causal.mutable_data<bool>()[i] = i % 5 > i / 5;
    summand.mutable_data<double>()[i] = i % 5 > i / 5 ? -infinity : 0;
  }
  const Values masked = run(Layer{}, {{"attn_mask", causal}});
  expect_near(run(Layer{}, {{"attn_mask", summand}}), masked);
  expect_near(run(Layer{}, {{"attn_mask", summand}, {"need_weights", false}}), masked);
  expect_near(run(Layer{}, {{"attn_mask", causal}, {"is_causal", true}, {"need_weights", false}}), masked);
  expect_near(run(Layer{}, {{"attn_mask", causal.to(DType::uint8)}}), masked);
  const Values weights = run(Layer{}, {{"attn_mask", causal}}, 1);
  EXPECT_EQ(weights[1], 0);
  EXPECT_EQ(weights[0], 1);
  // A padded key counts as little as one that is not there.
  Tensor padding(DType::boolean, {2, 5});
  for (std::int64_t i = 0; i < 10; ++i) padding.mutable_data<bool>()[i] = i % 5 == 4;
  Layer shorter;
  shorter.key = shorter.key.slice(0, 0, 4);
  shorter.value = shorter.value.slice(0, 0, 4);
  expect_near(run(Layer{}, {{"key_padding_mask", padding}}), run(shorter));
  expect_near(run(Layer{}, {{"key_padding_mask", padding.to(DType::uint8)}}), run(shorter));
  expect_near(run(Layer{}, {{"key_padding_mask", padding}, {"attn_mask", causal}, {"need_weights", false}}),
              run(Layer{}, {{"key_padding_mask", padding}, {"attn_mask", summand}}));
}

TEST(MultiHeadAttention, ExtraKeys) {
  Layer with_bias;
  with_bias.bias_k = uniform({1, 1, embedding}, -1, 1, 8);
  with_bias.bias_v = uniform({1, 1, embedding}, -1, 1, 9);
  EXPECT_EQ(run(with_bias, {}, 1).size(), 2U * 3 * 6);
  // With an empty key the bias is all there is to attend to.
  Layer alone = with_bias;
  alone.key = Tensor(DType::float64, {0, 2, embedding});
  alone.value = alone.key;
  alone.out_weight = float64({4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  alone.out_bias = float64({4}, {0, 0, 0, 0});
  const Values y = run(alone);
  const Values bias_v = values(*with_bias.bias_v.get<Tensor>());
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], bias_v[i % 4], 1e-12);
  // A zero key has the score 0 and the value 0.
  Layer zero;
  zero.add_zero = true;
  const Values weights = run(zero, {}, 1);
  ASSERT_EQ(weights.size(), 2U * 3 * 6);
  const Values plain = run(Layer{}, {}, 1);
  Layer one_head = zero;
  EXPECT_LT(weights[0], plain[0]);
  double total = 0;
  for (std::size_t j = 0; j < 6; ++j) total += weights[j];
  EXPECT_NEAR(total, 1, 1e-12);
}

TEST(MultiHeadAttention, StaticKeysReplaceTheProjected) {
  const Tensor keys = uniform({2 * heads, 5, embedding / heads}, -1, 1, 11);
  const Tensor fixed_values = uniform({2 * heads, 5, embedding / heads}, -1, 1, 12);
  const Dict kwargs{{"static_k", keys}, {"static_v", fixed_values}};
  Layer other;
  other.key = uniform({5, 2, embedding}, -1, 1, 20);
  other.value = uniform({5, 2, embedding}, -1, 1, 21);
  expect_near(run(other, kwargs), run(Layer{}, kwargs));
}

TEST(MultiHeadAttention, OneSequenceWithoutABatchAxis) {
  Layer single;
  single.query = single.query.select(1, 0);
  single.key = single.key.select(1, 0);
  single.value = single.value.select(1, 0);
  const Values all = run(Layer{});
  Values first;
  for (std::size_t i = 0; i < 3; ++i) first.insert(first.end(), all.begin() + 8 * i, all.begin() + 8 * i + 4);
  expect_near(run(single), first);
  EXPECT_EQ(run(single, {}, 1).size(), 15U);
}

TEST(MultiHeadAttention, Gradients) {
  Layer layer;
  layer.bias_k = uniform({1, 1, embedding}, -1, 1, 8);
  layer.bias_v = uniform({1, 1, embedding}, -1, 1, 9);
  layer.add_zero = true;
  const Dict mask{{"attn_mask", uniform({3, 5}, -1, 1, 10)}};
  check_gradients("Functional", "multi_head_attention_forward", layer.args(), mask);
  Dict fused = mask;
  fused.emplace_back("need_weights", false);
  check_gradients("Functional", "multi_head_attention_forward", layer.args(), fused);
  // The key and query decide the weights; nothing else does. Leaves: query, key, value, weights and biases.
  check_gradients("Functional", "multi_head_attention_forward", Layer{}.args(), {}, 1, 1e-6, {2, 5, 6});
}

TEST(MultiHeadAttention, HalfPrecision) {
  Layer layer;
  const Values expected = run(layer);
  List args = layer.args();
  for (Value& arg : args) {
    if (const Tensor* tensor = arg.get<Tensor>()) arg = tensor->to(DType::bfloat16);
  }
  // A mask of truth values has no precision of its own.
  const Dict open_mask{{"key_padding_mask", Tensor::zeros(DType::boolean, Dims{2, 5})}};
  for (const Dict& kwargs : {Dict{}, open_mask}) {
    Tape tape;
    std::vector<Var> leaves;
    const Var y = call("Functional", "multi_head_attention_forward", args, kwargs, tape, leaves);
    EXPECT_EQ(y.dtype(), DType::bfloat16);
    expect_near(values(y.tensor()), expected, 0.1);
    for (std::size_t output = 0; output < 2; ++output) {
      Tape other;
      std::vector<Var> of_other;
      EXPECT_EQ(call("Functional", "multi_head_attention_forward", args, kwargs, other, of_other, output).dtype(),
                DType::bfloat16);
    }
  }
}

TEST(MultiHeadAttention, RefusesWhatDoesNotFit) {
  const auto refused = [](const Layer& layer, const Dict& kwargs = {}) { EXPECT_THROW(run(layer, kwargs), SkipError); };
  Layer random;
  random.dropout = 0.1;
  refused(random);
  EXPECT_EQ(run(random, {{"training", false}}).size(), 24U);
  refused(Layer{}, {{"is_causal", true}});
  refused(Layer{}, {{"attn_mask", uniform({5, 3}, 0, 1, 1)}});
  refused(Layer{}, {{"attn_mask", uniform({3, 3, 5}, 0, 1, 1)}});
  refused(Layer{}, {{"key_padding_mask", uniform({2, 4}, 0, 1, 1)}});
  refused(Layer{}, {{"use_separate_proj_weight", true}});
  refused(Layer{}, {{"static_k", uniform({2, 5, 2}, 0, 1, 1)}});
  Layer shape;
  shape.key = uniform({5, 3, embedding}, 0, 1, 1);
  refused(shape);
  Layer narrow;
  narrow.in_weight = uniform({embedding, embedding}, 0, 1, 1);
  refused(narrow);
  Layer half_bias;
  half_bias.bias_k = uniform({1, 1, embedding}, 0, 1, 1);
  refused(half_bias);
}

}  // namespace
}  // namespace msrun
