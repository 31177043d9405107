// What is known about operators beside their bodies, and what follows from it for the calls that are made of a dump.
#include "kernels/api/operator_traits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/api/operators.h"
#include "kernels/evaluate/materialise.h"
#include "kernels/evaluate/precision.h"
#include "kernels/tensor/arithmetic.h"

namespace msrun {
namespace {

using SpecPtr = std::shared_ptr<const TensorSpec>;

Value recorded(const char* dtype, std::vector<std::int64_t> shape, double min = 0, double max = 1) {
  auto spec = std::make_shared<TensorSpec>();
  spec->dtype = dtype;
  spec->shape = std::move(shape);
  spec->min = min;
  spec->max = max;
  return SpecPtr(std::move(spec));
}

MaterialisedCall made(const std::string& name, List args, Dict kwargs = {}) {
  ApiCall call;
  call.name = name;
  call.args = std::move(args);
  call.kwargs = std::move(kwargs);
  return materialise(call, {});
}

const Tensor& tensor(const Value& value) { return *value.get<Tensor>(); }

const OperatorTraits& traits_of_call(const char* name) { return traits_of(*ApiName::parse(name)); }

TEST(OperatorTraits, BelongToEveryNameOfAnOperator) {
  EXPECT_EQ(&traits_of_call("Tensor.__matmul__.0"), &traits_of_call("Torch.matmul.3"));
  EXPECT_EQ(traits_of_call("Aten.topk.default.0").ties.indices, IndexOutput::of_values);
  EXPECT_EQ(&traits_of_call("Torch.no_such_api.0"), &ordinary_traits);
  EXPECT_EQ(find_in_any_namespace("npu_linear"), find_operator("Functional", "linear"));
  EXPECT_EQ(find_in_any_namespace("no_such_api"), nullptr);
}

TEST(OperatorTraits, WhoseGradientsMayVaryMayHaveOutputsThatDoNot) {
  const auto varies = [](const char* name) {
    const OperatorTraits& traits = traits_of_call(name);
    return std::pair(traits.outputs_vary(), traits.gradients_vary());
  };
  EXPECT_EQ(varies("Torch.matmul.0"), std::pair(false, false));
  EXPECT_EQ(varies("Functional.conv2d.0"), std::pair(false, true));
  EXPECT_EQ(varies("Functional.conv_transpose2d.0"), std::pair(true, true));
  EXPECT_EQ(varies("Functional.embedding.0"), std::pair(false, true));
  EXPECT_EQ(varies("Tensor.index_add_.0"), std::pair(true, true));
  EXPECT_EQ(varies("Functional.dropout.0"), std::pair(true, true));
}

TEST(OperatorTraits, WhatOnlyCopiesIsNotAboutNumbers) {
  bool any = false;
  for (const ApiListing& entry : list_apis()) {
    const OperatorTraits& traits = find_canonical(entry.canonical)->traits();
    if (!traits.copies_only) continue;
    any = true;
    EXPECT_TRUE(traits.takes_complex()) << entry.canonical;
    EXPECT_FALSE(traits.complex) << entry.canonical << " says it twice";
    EXPECT_EQ(traits.autocast, AutocastPolicy::keep) << entry.canonical;
    EXPECT_EQ(traits.multiply_adds, nullptr) << entry.canonical;
    EXPECT_FALSE(traits.random_zeros) << entry.canonical;
  }
  EXPECT_TRUE(any);
}

TEST(OperatorTraits, ClassIndicesOfCrossEntropyAreNeverNegative) {
  ApiCall recording;
  recording.name = "Functional.cross_entropy.0";
  recording.args = {recorded("torch.float32", {64, 8}), recorded("torch.int32", {64}, -100, 7)};
  MaterialiseOptions as_drawn;
  as_drawn.fit_drawn = false;
  const MaterialisedCall call = materialise(recording, as_drawn);
  ASSERT_EQ(tensor(call.args[1]).dtype(), DType::int64);
  const std::int64_t* indices = tensor(call.args[1]).data<std::int64_t>();
  EXPECT_GE(*std::min_element(indices, indices + 64), 0);
  EXPECT_EQ(tensor(call.args[0]).dtype(), DType::float32);
}

TEST(OperatorTraits, HistogramsCountIntegersInFloat32) {
  for (const char* dtype : {"torch.int8", "torch.int32", "torch.int64", "torch.float32"}) {
    EXPECT_EQ(tensor(made("Torch.histc.0", {recorded(dtype, {4}, 0, 9)}).args[0]).dtype(), DType::float32) << dtype;
  }
  EXPECT_EQ(tensor(made("Torch.histc.0", {recorded("torch.float16", {4})}).args[0]).dtype(), DType::float16);
}

TEST(OperatorTraits, RmsNormIsGivenTheEpsilonOfItsInput) {
  const List args{recorded("torch.float16", {2, 4}), List{std::int64_t{4}}};
  const MaterialisedCall call = made("Functional.rms_norm.0", args);
  ASSERT_EQ(call.kwargs.size(), 1U);
  EXPECT_EQ(call.kwargs[0].first, "eps");
  EXPECT_EQ(*call.kwargs[0].second.get<double>(), epsilon(DType::float16));
  EXPECT_EQ(*made("Functional.rms_norm.0", args, {{"eps", 0.5}}).kwargs[0].second.get<double>(), 0.5);
  List with_eps = args;
  with_eps.insert(with_eps.end(), {None{}, 0.5});
  EXPECT_TRUE(made("Functional.rms_norm.0", with_eps).kwargs.empty());
}

TEST(OperatorTraits, CompressedAttentionMasksAreTriangles) {
  const auto mask_of = [](std::int64_t mode) {
    const MaterialisedCall call = made("NPU.npu_fusion_attention.0", {},
                                       {{"atten_mask", recorded("torch.bool", {2048, 2048})}, {"sparse_mode", mode}});
    return tensor(call.kwargs[0].second);
  };
  const Tensor triangle = mask_of(2);
  EXPECT_EQ(triangle.shape(), (Dims{2048, 2048}));
  EXPECT_EQ(triangle.item(0), 0);
  EXPECT_EQ(triangle.item(1), 1);
  EXPECT_EQ(triangle.item(2048), 0);
  EXPECT_EQ(triangle.item(2048 * 2048 - 1), 0);
  EXPECT_TRUE(bitwise_equal(mask_of(4), triangle));
  EXPECT_FALSE(bitwise_equal(mask_of(1), triangle)) << "an ordinary mask has random data";
}

// The rule names the API, not what it computes: npu_conv2d, the same operator, keeps its inputs.
TEST(OperatorTraits, Hf32IsOfTheNamedConvolutionsAlone) {
  const List args{recorded("torch.float32", {1, 2, 8, 8}), recorded("torch.float32", {2, 2, 3, 3})};
  const auto is_rounded = [&](const std::string& name) {
    const Tensor input = tensor(made(name, args).args[0]);
    return bitwise_equal(round_operand(input, OperandRounding::hf32), input);
  };
  const auto keeps_float32 = [&](const std::string& name) {
    return plan_raise(made(name, args), traits_of(*ApiName::parse(name))).keeps_float32;
  };
  for (const std::string name : {"Functional.conv2d.0", "Torch.conv2d.0"}) {
    EXPECT_TRUE(is_rounded(name)) << name;
    EXPECT_TRUE(keeps_float32(name)) << name;
  }
  for (const std::string name : {"NPU.npu_conv2d.0", "Functional.conv3d.0"}) {
    EXPECT_FALSE(is_rounded(name)) << name;
    EXPECT_FALSE(keeps_float32(name)) << name;
  }
}

TEST(OperatorTraits, TheBenchmarkOfTypeAsTakesDtypesAsTheyAre) {
  const List args{recorded("torch.float32", {2}), recorded("torch.float32", {2})};
  EXPECT_FALSE(plan_raise(made("Tensor.type_as.0", args), traits_of_call("Tensor.type_as.0")).raised.has_value());
  EXPECT_EQ(plan_raise(made("Tensor.mul.0", args), traits_of_call("Tensor.mul.0")).raised, DType::float64);
}

TEST(OperatorTraits, RecordedGradientsMayBeKnownOfOneName) {
  const auto recorded_of = [](const char* op, const char* api) {
    return find_canonical(op)->traits().gradients_recorded_of(api);
  };
  EXPECT_EQ(recorded_of("matmul", "matmul"), RecordedGradients::of_last_step);
  EXPECT_EQ(recorded_of("matmul", "__matmul__"), RecordedGradients::of_arguments);
  EXPECT_EQ(recorded_of("linear", "npu_linear"), RecordedGradients::of_addmm);
  EXPECT_EQ(recorded_of("dropout", "dropout_"), RecordedGradients::of_passed_input);
}

TEST(OperatorTraits, ABackwardThatIsNeverRunSaysWhy) {
  ApiCall call;
  call.has_backward = true;
  const BackwardPlan refused = plan_backward(call, traits_of_call("Torch.masked_select.0"));
  EXPECT_FALSE(refused.run);
  EXPECT_EQ(refused.message, "This API does not support backward ut, skip backward.");
  EXPECT_TRUE(plan_backward(call, traits_of_call("Torch.mul.0")).run);
}

TEST(OperatorTraits, WorkOfProducts) {
  const auto work = [](const char* name, const List& args) { return traits_of_call(name).multiply_adds(args); };
  const Value a = recorded("torch.float32", {2, 3, 5});
  const Value b = recorded("torch.float32", {5, 7});
  EXPECT_EQ(work("Torch.matmul.0", {a, b}), 2 * 3 * 5 * 7);
  EXPECT_EQ(work("Torch.matmul.0", {a, recorded("torch.float32", {5})}), 2 * 3 * 5);
  EXPECT_EQ(work("Tensor.addmm_.0", {a, b, recorded("torch.float32", {7, 11})}), 5 * 7 * 11);
  EXPECT_EQ(work("NPU.npu_linear.0", {a, recorded("torch.float32", {13, 5})}), 2 * 3 * 5 * 13);
  EXPECT_EQ(work("Functional.conv1d.0", {recorded("torch.float32", {2, 4, 9}), recorded("torch.float32", {8, 4, 3})}),
            2 * 4 * 9 * 8 * 3);
  const Value image = recorded("torch.float32", {2, 4, 8, 8});
  const Value strides = List{std::int64_t{2}, std::int64_t{2}};
  const Value kernels = recorded("torch.float32", {6, 4, 3, 3});
  EXPECT_EQ(work("Functional.conv2d.0", {image, kernels, None{}, strides}), 2 * 4 * 4 * 4 * 6 * 9);
  EXPECT_EQ(work("Functional.conv2d.0", {image, kernels, None{}, std::int64_t{2}}), 2 * 4 * 4 * 4 * 6 * 9);
  const Value of_one_channel = recorded("torch.float32", {4, 1, 3, 3});
  EXPECT_EQ(work("Functional.conv2d.0", {image, of_one_channel}), 2 * 4 * 8 * 8 * 9);
  const Value back = recorded("torch.float32", {4, 6, 3, 3});
  EXPECT_EQ(work("Functional.conv_transpose2d.0", {image, back, None{}, strides}), 2 * 4 * 8 * 8 * 6 * 9);
  const Value no_bias = None{};
  EXPECT_EQ(work("Aten.convolution.0", {image, back, no_bias, strides, strides, strides, true}), 2 * 4 * 8 * 8 * 6 * 9);
  EXPECT_EQ(work("Aten.convolution.0", {image, kernels, no_bias, strides, strides, strides, false}),
            2 * 4 * 4 * 4 * 6 * 9);
  EXPECT_EQ(work("Functional.conv_tbc.0", {recorded("torch.float32", {9, 2, 4}), recorded("torch.float32", {3, 4, 8})}),
            2 * 4 * 9 * 8 * 3);
  EXPECT_EQ(work("Functional.scaled_dot_product_attention.0", {a, recorded("torch.float32", {2, 4, 5})}),
            2 * 2 * 3 * 5 * 4);
  for (const char* name : {"Torch.matmul.0", "Torch.addmm.0", "Functional.linear.0", "Functional.conv2d.0",
                           "NPU.npu_fusion_attention.0"}) {
    EXPECT_EQ(work(name, {}), 0) << name;
    EXPECT_EQ(work(name, {a, recorded("torch.float32", {}), recorded("torch.float32", {})}), 0) << name;
    EXPECT_EQ(work(name, {recorded("torch.float32", {-1, 2}), recorded("torch.float32", {-3, -3}), 1.0}), 0) << name;
  }
}

}  // namespace
}  // namespace msrun
