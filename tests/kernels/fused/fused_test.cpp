// Attention and the fused operators beyond the golden file: gradients, blocks, broadcasting, refusals, backward
// operators.
#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using Values = std::vector<double>;

List integers(std::initializer_list<std::int64_t> values) {
  List list;
  for (const std::int64_t value : values) list.emplace_back(value);
  return list;
}

void expect_near(const Values& actual, const Values& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
}

Tensor flags(const Dims& shape, const std::vector<int>& data) {
  Tensor tensor(DType::boolean, shape);
  for (std::size_t i = 0; i < data.size(); ++i) tensor.mutable_data<bool>()[i] = data[i] != 0;
  return tensor;
}

constexpr const char* sdpa = "scaled_dot_product_attention";

TEST(ScaledDotProduct, WorkedExample) {
  const Tensor q = float64({2, 2}, {1, 0, 0, 1});
  const Tensor k = float64({2, 2}, {1, 1, 0, 1});
  const Tensor v = float64({2, 2}, {1, 2, 3, 4});
  expect_near(forward("Functional", sdpa, {q, k, v}, {{"scale", .5}}), {1.755081338, 2.755081338, 2, 3}, 1e-9);
  EXPECT_EQ(forward("Functional", sdpa, {q, k, v}, {{"scale", .5}, {"is_causal", true}}), (Values{1, 2, 2, 3}));
  const Tensor keep_first = flags({1, 2}, {1, 0});
  EXPECT_EQ(forward("Functional", sdpa, {q, k, v, keep_first}), (Values{1, 2, 1, 2}));
}

TEST(ScaledDotProduct, Gradients) {
  const Tensor q = uniform({2, 3, 4, 5}, -1, 1, 1);
  const Tensor k = uniform({2, 3, 6, 5}, -1, 1, 2);
  const Tensor v = uniform({2, 3, 6, 2}, -1, 1, 3);
  check_gradients("Functional", sdpa, {q, k, v});
  check_gradients("Functional", sdpa, {q, k, v, uniform({4, 6}, -1, 1, 4)});
  check_gradients("Functional", sdpa, {q, k, v, uniform({2, 1, 4, 6}, -1, 1, 4)});
  check_gradients("Functional", sdpa, {q, k, v, None{}, 0., true}, {{"scale", .3}});
  check_gradients("Functional", sdpa,
                  {q.select(0, 0), k.select(0, 0), v.select(0, 0), flags({4, 6}, std::vector<int>(24, 1))});
  check_gradients("Functional", sdpa,
                  {q.permute(Dims{0, 2, 1, 3}), k.permute(Dims{0, 2, 1, 3}).slice(1, 0, 4),
                   v.permute(Dims{0, 2, 1, 3}).slice(1, 0, 4)});
}

TEST(ScaledDotProduct, HeadsShareKeysAndBatchesBroadcast) {
  const Tensor q = uniform({2, 4, 3, 2}, -1, 1, 1);
  const Tensor k = uniform({2, 2, 3, 2}, -1, 1, 2);
  check_gradients("Functional", sdpa, {q, k, k}, {{"enable_gqa", true}});
  const Tensor one = uniform({3, 2}, -1, 1, 3);
  check_gradients("Functional", sdpa, {q, one, one});
  check_gradients(
      "Functional", sdpa,
      {uniform({2, 1, 2, 3, 2}, -1, 1, 4), uniform({3, 1, 3, 2}, -1, 1, 5), one, uniform({3, 1, 3, 3}, -1, 1, 6)});
}

TEST(ScaledDotProduct, RowsWithoutKeysAreZeroWithZeroGradients) {
  const Tensor q = uniform({2, 3}, -1, 1, 1);
  const Tensor mask = flags({2, 2}, {0, 0, 1, 1});
  EXPECT_EQ(forward("Functional", sdpa, {q, q, q, mask})[0], 0);
  const auto grads = gradients("Functional", sdpa, {q, q, q, mask});
  EXPECT_EQ(grads[0][0], 0);
  EXPECT_NE(grads[0][3], 0);
}

TEST(ScaledDotProduct, BlocksOfRowsAgreeWithOneProduct) {
  // 40000 keys: a block holds 16 of the 40 rows.
  const Tensor q = uniform({40, 2}, -1, 1, 1);
  const Tensor k = uniform({40000, 2}, -1, 1, 2);
  const Values y = forward("Functional", sdpa, {q, k, k}, {{"scale", 1.}});
  for (const std::size_t i : {0U, 17U, 39U}) {
    double total = 0;
    double first = 0;
    for (std::int64_t j = 0; j < 40000; ++j) {
      const double p = std::exp(q.item(static_cast<int>(2 * i)) * k.item(2 * j) +
                                q.item(static_cast<int>(2 * i + 1)) * k.item(2 * j + 1));
      total += p;
      first += p * k.item(2 * j);
    }
    EXPECT_NEAR(y[2 * i], first / total, 1e-13);
  }
}

TEST(ScaledDotProduct, Refusals) {
  const Tensor q = uniform({2, 3, 4}, -1, 1, 1);
  const auto refused = [](const List& args, const Dict& kwargs = {}) {
    EXPECT_THROW(forward("Functional", sdpa, args, kwargs), SkipError);
  };
  refused({q, q, q, None{}, .5});
  refused({q, uniform({2, 3, 5}, -1, 1, 1), q});
  refused({q, q, uniform({2, 4, 4}, -1, 1, 1)});
  refused({q, q, q, uniform({5, 3}, -1, 1, 1)});
  refused({q, q, q, uniform({3, 3}, -1, 1, 1)}, {{"is_causal", true}});
  refused({uniform({4}, -1, 1, 1), q, q});
}

TEST(ScaledDotProduct, HalfPrecisionRoundsOnce) {
  const Tensor q = uniform({4, 8}, -1, 1, 1).to(DType::float16);
  Tape tape;
  const Var x = tape.leaf(q);
  const Value result = find_operator("Functional", sdpa)->call({x, x, x}, {}, tape);
  EXPECT_EQ(result.get<Var>()->dtype(), DType::float16);
  const Tensor exact = q.to(DType::float64);
  const Values expected = forward("Functional", sdpa, {exact, exact, exact});
  const Values actual = values(result.get<Var>()->tensor());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], std::abs(expected[i]) / 2048 + 1e-6);
  tape.backward(*result.get<Var>(), q);
  EXPECT_EQ(tape.gradient(x).dtype(), DType::float16);
}

TEST(FusionAttention, SinkTakesPartOfTheWeight) {
  const Tensor q = uniform({1, 2, 3, 4}, -1, 1, 1);
  const Tensor k = uniform({1, 1, 5, 4}, -1, 1, 2);
  const List args{q, k, k, std::int64_t{2}, std::string("BNSD")};
  check_gradients("NPU", "npu_fusion_attention", args, {{"sink", uniform({2}, -1, 1, 3)}, {"scale", .5}});
}

TEST(FusionAttention, PositionalOptionsCount) {
  const Tensor q = uniform({1, 1, 2, 2}, -1, 1, 1);
  const Tensor mask = flags({2, 2}, {0, 1, 0, 0});
  const List args{q, q, q, std::int64_t{1}, std::string("BNSD"), None{}, None{}, mask, .5};
  EXPECT_EQ(forward("NPU", "npu_fusion_attention", args)[0], q.item(0));
  check_gradients("NPU", "npu_fusion_attention", args);
}

TEST(FusionAttention, ValuesMayBeNarrowerThanKeys) {
  const List args{uniform({2, 3, 8}, -1, 1, 1), uniform({2, 4, 4}, -1, 1, 2), uniform({2, 4, 2}, -1, 1, 3),
                  std::int64_t{2}, std::string("BSH")};
  check_gradients("NPU", "npu_fusion_attention", args, {{"scale", .5}});
}

TEST(FusionAttention, Refusals) {
  const Tensor q = uniform({1, 2, 3, 4}, -1, 1, 1);
  const auto refused = [&](const Dict& kwargs, const std::string& layout = "BNSD",
                           const std::vector<Tensor>& tensors = {}) {
    const List args{tensors.empty() ? q : tensors[0], tensors.empty() ? q : tensors[1],
                    tensors.empty() ? q : tensors[2], std::int64_t{2}, layout};
    EXPECT_THROW(forward("NPU", "npu_fusion_attention", args, kwargs), SkipError) << layout;
  };
  refused({{"keep_prob", .9}});
  refused({}, "XYZ");
  refused({}, "BSH");
  refused({{"atten_mask", flags({2, 2}, {0, 0, 0, 0})}});
  refused({{"atten_mask", flags({3, 3}, std::vector<int>(9, 0))}, {"sparse_mode", std::int64_t{9}}});
  refused({{"pse", uniform({1, 2, 4, 3}, 0, 1, 1)}});
  refused({{"sink", uniform({3}, 0, 1, 1)}});
  refused({}, "BNSD", {q, uniform({1, 3, 3, 4}, 0, 1, 1), uniform({1, 3, 3, 4}, 0, 1, 1)});
  refused({}, "BNSD", {q, uniform({1, 2, 3, 5}, 0, 1, 1), q});
  refused({}, "BSH", {uniform({1, 2, 5}, 0, 1, 1), uniform({1, 2, 5}, 0, 1, 1), uniform({1, 2, 5}, 0, 1, 1)});
  const Tensor packed = uniform({5, 2, 4}, 0, 1, 1);
  const std::vector<Tensor> three{packed, packed, packed};
  refused({}, "TND", three);
  refused({{"actual_seq_qlen", integers({3, 6})}, {"actual_seq_kvlen", integers({3, 5})}}, "TND", three);
  refused({{"actual_seq_qlen", integers({3, 2})}, {"actual_seq_kvlen", integers({3, 5})}}, "TND", three);
  refused({{"actual_seq_qlen", integers({5})}, {"actual_seq_kvlen", integers({3, 5})}}, "TND", three);
}

TEST(FusionAttention, GradientOperatorAgreesWithTheTape) {
  const Tensor q = uniform({2, 3, 8}, -1, 1, 1);
  const Tensor k = uniform({2, 4, 4}, -1, 1, 2);
  const Tensor g = uniform({2, 3, 8}, -1, 1, 3);
  const Tensor pse = uniform({1, 2, 3, 4}, -1, 1, 4);
  const auto expected =
      gradients("NPU", "npu_fusion_attention", {q, k, k, std::int64_t{2}, std::string("BSH"), pse}, {{"scale", .5}}, g);
  for (std::size_t i = 0; i < 4; ++i) {
    expect_near(forward("NPU", "npu_fusion_attention_grad", {q, k, k, g, std::int64_t{2}, std::string("BSH")},
                        {{"scale_value", .5}, {"pse", pse}}, i),
                expected[i], 1e-14);
  }
}

TEST(FusedNorm, AddRmsNormIsRmsNormOfTheSum) {
  const Tensor a = uniform({2, 3}, -1, 1, 1);
  const Tensor b = uniform({2, 3}, -1, 1, 2);
  const Tensor gamma = uniform({3}, .5, 1, 3);
  const Values x = forward("NPU", "npu_add_rms_norm", {a, b, gamma}, {}, 2);
  EXPECT_EQ(x, forward("Torch", "add", {a, b}));
  expect_near(forward("NPU", "npu_add_rms_norm", {a, b, gamma}),
              forward("NPU", "npu_rms_norm", {float64({2, 3}, x), gamma}), 1e-15);
  check_gradients("NPU", "npu_add_rms_norm", {a, b, gamma});
  check_gradients("NPU", "npu_rms_norm", {uniform({2, 2, 3}, -1, 1, 1), uniform({2, 3}, .5, 1, 3)}, {{"epsilon", .1}});
  EXPECT_THROW(forward("NPU", "npu_rms_norm", {a, uniform({2}, 0, 1, 1)}), SkipError);
}

TEST(FusedNorm, GroupNormSilu) {
  check_gradients("NPU", "npu_group_norm_silu",
                  {uniform({2, 4, 3}, -1, 1, 1), uniform({4}, .5, 1, 2), uniform({4}, -1, 1, 3), std::int64_t{2}});
  check_gradients("NPU", "npu_group_norm_silu", {uniform({2, 4, 3}, -1, 1, 1), None{}, None{}, std::int64_t{2}});
}

TEST(FusedActivation, Gates) {
  expect_near(forward("NPU", "npu_swiglu", {float64({4}, {1, -1, 2, 3})}), {1.462117157, -0.806824264}, 1e-9);
  check_gradients("NPU", "npu_swiglu", {uniform({2, 6, 3}, -2, 2, 1), std::int64_t{1}});
  EXPECT_THROW(forward("NPU", "npu_swiglu", {uniform({3}, 0, 1, 1)}), SkipError);
  check_gradients("NPU", "npu_geglu", {uniform({2, 6}, -2, 2, 1)});
  check_gradients("NPU", "npu_geglu", {uniform({2, 6}, -2, 2, 1)},
                  {{"approximate", std::int64_t{0}}, {"activate_left", true}});
  check_gradients("NPU", "npu_fast_gelu", {uniform({6}, -2, 2, 1)});
  EXPECT_EQ(forward("NPU", "npu_fast_gelu", {float64({2}, {1e4, -1e4})}), (Values{1e4, 0}));
}

TEST(FusedActivation, MaskedSoftmax) {
  const Tensor mask = flags({2, 2}, {0, 1, 0, 0});
  expect_near(forward("NPU", "npu_scaled_masked_softmax", {float64({2, 2}, {1, 2, 3, 4}), mask, .5, false}),
              {1, 0, 0.377540669, 0.622459331}, 1e-9);
  check_gradients("NPU", "npu_scaled_masked_softmax", {uniform({3, 2, 2}, -1, 1, 1), mask, .5, false});
  EXPECT_THROW(forward("NPU", "npu_scaled_masked_softmax",
                       {uniform({2, 2}, 0, 1, 1), flags({3, 2}, {0, 0, 0, 0, 0, 0}), 1., false}),
               SkipError);
}

TEST(Rotary, ModesAndGradients) {
  const Tensor x = float64({4}, {1, 2, 3, 4});
  const Tensor r1 = float64({4}, {1, 0, .5, .5});
  const Tensor r2 = float64({4}, {0, 1, .5, -.5});
  EXPECT_EQ(forward("NPU", "npu_rotary_mul", {x, r1, r2}), (Values{1, -4, 2, 1}));
  EXPECT_EQ(forward("NPU", "npu_rotary_mul", {x, r1, r2, std::string("interleave")}), (Values{1, 1, -.5, .5}));
  const Tensor g = float64({4}, {1, 2, 3, 4});
  EXPECT_EQ(gradients("NPU", "npu_rotary_mul", {x, r1, r2}, {}, g)[0], (Values{2.5, -2, 1.5, 0}));
  EXPECT_EQ(forward("NPU", "npu_rotary_mul_backward", {g, x, r1, r2}, {}, 2), (Values{-3, -8, 3, 8}));
  check_gradients("NPU", "npu_rotary_mul",
                  {uniform({2, 3, 4}, -1, 1, 1), uniform({3, 1}, -1, 1, 2), uniform({3, 4}, -1, 1, 3)},
                  {{"rotary_mode", std::string("interleave")}});
  check_gradients(
      "NPU", "npu_apply_rotary_pos_emb",
      {uniform({2, 4}, -1, 1, 1), uniform({2, 4}, -1, 1, 2), uniform({2, 4}, -1, 1, 3), uniform({2, 4}, -1, 1, 4)}, {},
      0, 1e-6, {1});
  EXPECT_THROW(forward("NPU", "npu_rotary_mul", {uniform({3}, 0, 1, 1), r1, r2}), SkipError);
  EXPECT_THROW(forward("NPU", "npu_rotary_mul", {x, r1, r2, std::string("quarter")}), SkipError);
}

TEST(Optimizer, WorkedExamples) {
  const Tensor grad = float64({2}, {.5, -1});
  const List out{float64({2}, {1, 2}), float64({2}, {.1, .2}), float64({2}, {.01, .04})};
  const List adam{.9, .999, .01, .9, .999, 1e-8, grad, false};
  List with_nesterov = adam;
  with_nesterov.emplace_back(true);
  expect_near(forward("NPU", "npu_apply_adam", adam, {{"out", out}}), {0.995625, 1.99875}, 1e-7);
  expect_near(forward("NPU", "npu_apply_adam", with_nesterov, {{"out", out}}), {0.994500001, 2.0004375}, 1e-8);
  expect_near(forward("NPU", "npu_apply_adam", adam, {{"out", out}}, 1), {.14, .08}, 1e-15);
  const List adam_w{.9, .999, .01, .1, .9, .999, 1e-8, grad, None{}, false, false};
  expect_near(forward("NPU", "npu_apply_adam_w", adam_w, {{"out", out}}), {0.995744401, 1.997069829}, 1e-8);
  EXPECT_THROW(forward("NPU", "npu_apply_adam", adam, {{"out", List{out[0]}}}), SkipError);
}

TEST(Routing, TopKOfSoftmax) {
  const Tensor x = float64({2, 4}, {1, 3, 2, 0, 0, 0, 0, 0});
  const List args{x, flags({2}, {0, 1}), std::int64_t{2}};
  expect_near(forward("NPU", "npu_moe_gating_top_k_softmax", args), {0.6439142598879724, 0.23688281808991013, .25, .25},
              1e-15);
  EXPECT_EQ(forward("NPU", "npu_moe_gating_top_k_softmax", args, {}, 1), (Values{1, 2, 4, 4}));
  EXPECT_EQ(forward("NPU", "npu_moe_gating_top_k_softmax", args, {}, 2), (Values{0, 2, 1, 3}));
  EXPECT_THROW(forward("NPU", "npu_moe_gating_top_k_softmax", {x, None{}, std::int64_t{5}}), SkipError);
  EXPECT_EQ(forward("NPU", "npu_sort_v2", {float64({3}, {3, 1, 2})}, {{"descending", true}}), (Values{3, 2, 1}));
}

TEST(BackwardOperators, AgreeWithTheTape) {
  const Tensor x = uniform({2, 4}, -1, 1, 1);
  const Tensor g = uniform({2, 2}, -1, 1, 2);
  const Tensor w = uniform({2, 4}, -1, 1, 3);
  EXPECT_EQ(forward("NPU", "npu_swiglu_backward", {g, x}), gradients("NPU", "npu_swiglu", {x}, {}, g)[0]);
  EXPECT_EQ(forward("NPU", "npu_linear_backward", {g, x, w}, {}, 1), gradients("NPU", "npu_linear", {x, w}, {}, g)[1]);
  EXPECT_EQ(forward("NPU", "npu_mish_backward", {x, w}), gradients("NPU", "npu_mish", {w}, {}, x)[0]);
  EXPECT_EQ(forward("NPU", "npu_fast_gelu_backward", {x, w}), gradients("NPU", "npu_fast_gelu", {w}, {}, x)[0]);
  Tape tape;
  const Value masked =
      find_operator("NPU", "matmul_backward")
          ->call({tape.constant(g), tape.constant(x), tape.constant(w.transpose(0, 1)), List{false, true}}, {}, tape);
  EXPECT_TRUE(masked.get<List>()->at(0).is_none());
  EXPECT_TRUE(masked.get<List>()->at(1).is<Var>());
}

TEST(ConfusionTranspose, BothOrders) {
  const Tensor x = float64({1, 2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(forward("NPU", "npu_confusion_transpose", {x, integers({0, 2, 1}), integers({1, 6}), true}),
            (Values{0, 3, 1, 4, 2, 5}));
  check_gradients("NPU", "npu_confusion_transpose",
                  {uniform({2, 6}, -1, 1, 1), integers({2, 0, 1}), integers({2, 3, 2}), false});
}

// A list of the output, number by number.
std::vector<double> fused_adam_w(const Dict& more, std::size_t list) {
  Dict options{{"lr", 0.01}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"amsgrad", false}, {"maximize", false}};
  for (const auto& option : more) {
    std::erase_if(options, [&](const auto& known) { return known.first == option.first; });
    options.push_back(option);
  }
  const List args{List{float64({2}, {1, 2})},       List{float64({2}, {0.5, -1})}, List{float64({2}, {0.1, 0.2})},
                  List{float64({2}, {0.01, 0.04})}, List{float64({2}, {1, 0})},    List{float64({}, {1})}};
  Tape tape;
  std::vector<Var> leaves;
  const Value bound = on_tape(args, tape, leaves);
  const Value bound_options = on_tape(options, tape, leaves);
  const Value result =
      find_operator("Torch", "_fused_adamw_")->call(*bound.get<List>(), *bound_options.get<Dict>(), tape);
  return values(result.get<List>()->at(list).get<List>()->at(0).get<Var>()->tensor());
}

// The worked example of npu_apply_adam_w at its first step.
TEST(FusedAdamW, IsTheStepOfAdamW) {
  const auto adam_w = [](double x, double m, double v, double g, double decay) {
    const double m1 = 0.9 * m + 0.1 * g;
    const double v1 = 0.999 * v + 0.001 * g * g;
    return x * (1 - 0.01 * decay) - 0.01 / (1 - 0.9) * m1 / (std::sqrt(v1) / std::sqrt(1 - 0.999) + 1e-8);
  };
  const std::vector<double> expected{adam_w(1, 0.1, 0.01, 0.5, 0.1), adam_w(2, 0.2, 0.04, -1, 0.1)};
  const Dict decay{{"weight_decay", 0.1}};
  expect_near(fused_adam_w(decay, 0), expected, 1e-12);
  expect_near(fused_adam_w(decay, 1), {0.14, 0.08}, 1e-12);
  expect_near(fused_adam_w(decay, 2), {0.01024, 0.04096}, 1e-12);
  // The scale divides the gradient; an infinite gradient stops the step.
  expect_near(fused_adam_w({{"weight_decay", 0.1}, {"grad_scale", float64({1}, {0.5})}}, 1), {0.19, -0.02}, 1e-12);
  expect_near(fused_adam_w({{"weight_decay", 0.1}, {"found_inf", float64({1}, {1})}}, 0), {1, 2}, 0);
  expect_near(fused_adam_w({{"weight_decay", 0.1}, {"maximize", true}}, 1), {0.04, 0.28}, 1e-12);
  const Dict amsgrad{{"weight_decay", 0.0}, {"amsgrad", true}};
  expect_near(fused_adam_w(amsgrad, 3), {1, 0.04096}, 1e-12);
  expect_near(fused_adam_w(amsgrad, 0), {1 - 0.1 * 0.14 / (1 / std::sqrt(0.001) + 1e-8), adam_w(2, 0.2, 0.04, -1, 0)},
              1e-12);
}

}  // namespace
}  // namespace msrun
