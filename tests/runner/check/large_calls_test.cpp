// Calls that are too large to be computed again as a whole: what cannot be told from rounding by their typical element
// alone is told by a part of them.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/evaluate/materialise.h"
#include "runner/judge/call_part.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

constexpr std::int64_t rows = 1601;
constexpr std::int64_t columns = 2500;

// Most results are so close to 0 that the typical element says nothing of those where terms cancel.
ApiCall silu() { return call_of("Functional.silu.0", {{rows, columns}}, {rows, columns}, DType::float32, -60, 1); }

// The gradient as other frameworks compute it in float32, whose terms cancel near x = -1.28.
Tensor gradient_of_silu(const ApiCall& call) {
  const MaterialisedCall inputs = materialise(call, {});
  const Tensor x = inputs.args.front().get<Tensor>()->contiguous();
  Tensor gradient = inputs.gradients.front().get<Tensor>()->clone();
  auto* values = gradient.mutable_data<float>();
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const float a = x.data<float>()[i];
    const float s = 1 / (1 + std::exp(-a));
    values[i] = values[i] * s + values[i] * (a * s) - values[i] * (a * s * s);
  }
  return gradient;
}

DetailsRow gradient_row(const ApiCall& call, const Tensor& gradient) {
  const ApiResult result = check(call, [&](DeviceResult& device, int) { device.gradients = {gradient}; });
  EXPECT_EQ(result.backward_rows.size(), 1U) << result.message;
  return result.backward_rows.empty() ? DetailsRow{} : result.backward_rows.front();
}

TEST(LargeCalls, TermsThatCancelAreMeasured) {
  const ApiCall call = silu();
  Tensor gradient = gradient_of_silu(call);
  const DetailsRow sound = gradient_row(call, gradient);
  EXPECT_EQ(sound.status, Status::pass);
  EXPECT_FALSE(sound.beyond_rounding) << sound.message;
  ASSERT_TRUE(sound.trust.visible.has_value());
  EXPECT_EQ(sound.trust.weak_evidence, WeakEvidence::none);

  // One element of 4 million, by a fraction of its row's largest.
  gradient.mutable_data<float>()[columns * 700 + 3] += 1e-4F;
  EXPECT_TRUE(gradient_row(call, gradient).beyond_rounding);
}

// Far below 0 gelu is next to nothing and all noise, so that thousands of elements are further from explained.
TEST(LargeCalls, AWrongElementIsFoundBesideSmallOnesThatAreAllNoise) {
  ApiCall call = call_of("Functional.gelu.0", {{rows, columns}}, {rows, columns}, DType::float32, -60, 60);
  call.has_backward = false;
  const auto forward = [&](double error) {
    const ApiResult result = check(call, [error](DeviceResult& device, int) {
      Tensor output = device.output.get<Tensor>()->clone();
      output.mutable_data<float>()[columns * 700 + 3] += static_cast<float>(error);
      device.output = output;
    });
    return result.forward_rows.at(0).beyond_rounding;
  };
  EXPECT_FALSE(forward(0));
  EXPECT_TRUE(forward(10));
}

// A pass too large for anything to be measured is held to what its elements are without it.
TEST(LargeCalls, AWrongElementIsFoundInAPassOfWhichNothingIsMeasured) {
  for (const char* name : {"Torch.exp.0"}) {
    ApiCall call = call_of(name, {{4001, 4100}}, {4001, 4100}, DType::float32, 0.1, 2);
    call.has_backward = false;
    const auto forward = [&](float factor) {
      const ApiResult result = check(call, [factor](DeviceResult& device, int) {
        Tensor output = device.output.get<Tensor>()->clone();
        output.mutable_data<float>()[4100 * 700 + 3] *= factor;
        device.output = output;
      });
      EXPECT_EQ(result.forward_rows.at(0).status, Status::pass) << name;
      return result.forward_rows.at(0).beyond_rounding;
    };
    EXPECT_FALSE(forward(1)) << name;
    EXPECT_TRUE(forward(1.001F)) << name;
  }
}

// Most rows are noise of large terms that cancel; of those that are not, one element is off by less than that, beyond
// what explains it a little less than theirs are beyond what explains them.
TEST(LargeCalls, AWrongElementIsFoundInARowWhoseOthersAreRight) {
  constexpr std::int64_t noisy = 1500;
  ApiCall call = silu();
  MaterialisedCall inputs = materialise(call, {});
  Tensor x = inputs.args.front().get<Tensor>()->clone();
  Tensor g = inputs.gradients.front().get<Tensor>()->clone();
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    float& at = x.mutable_data<float>()[i];
    float& factor = g.mutable_data<float>()[i];
    if (i < noisy * columns) factor *= 1000;
    if (i >= noisy * columns) at = 0.5F + std::abs(at) / 120;
    if (i >= noisy * columns) factor = 1;
  }
  TensorFiles files;
  call.args = {files.file(x)};
  call.grad_inputs = {files.file(g, false)};
  const auto is_found = [&](float error) {
    const ApiResult result = check(
        call,
        [&](DeviceResult& device, int) {
          Tensor gradient = g.clone();
          auto* values = gradient.mutable_data<float>();
          for (std::int64_t i = 0; i < x.numel(); ++i) {
            const float a = x.data<float>()[i];
            const float s = 1 / (1 + std::exp(-a));
            values[i] = values[i] * s + values[i] * (a * s) - values[i] * (a * s * s);
          }
          values[columns * (noisy + 50) + 3] += error;
          device.gradients = {gradient};
        },
        {}, files.options());
    EXPECT_EQ(result.backward_rows.size(), 1U) << result.message;
    return result.backward_rows.empty() || result.backward_rows.front().beyond_rounding;
  };
  EXPECT_FALSE(is_found(0));
  EXPECT_TRUE(is_found(2e-5F));
}

// One head of attention, whose noise two samples miss at some of its elements.
TEST(LargeCalls, FewSamplesThatMissNoiseAreNotTheLast) {
  const Dims shape{1, 1, 512, 256};
  ApiCall call =
      call_of("Functional.scaled_dot_product_attention.0", {shape, shape, shape}, shape, DType::float32, -8, 8);
  for (const std::size_t constant : {1, 2}) {
    auto spec = std::make_shared<TensorSpec>(**call.args[constant].get<std::shared_ptr<const TensorSpec>>());
    spec->requires_grad = false;
    call.args[constant] = std::shared_ptr<const TensorSpec>(std::move(spec));
  }
  const ApiResult sound = check(call, {});
  ASSERT_FALSE(sound.backward_rows.empty()) << sound.message;
  EXPECT_FALSE(sound.backward_rows.front().beyond_rounding) << sound.backward_rows.front().message;
}

// Most rows of the gradient are zero, and in one that several tokens share an element is what their terms leave.
TEST(LargeCalls, AnEmbeddingWithRepeatedTokensIsNotAccused) {
  const Dims tokens{2, 512};
  const Dims vectors{2, 512, 1024};
  ApiCall call = call_of("Functional.embedding.0", {tokens, {32000, 1024}}, vectors, DType::float32, -3, 3);
  const auto between = [](const Value& argument, double least, double most, DType dtype) {
    auto spec = std::make_shared<TensorSpec>(**argument.get<std::shared_ptr<const TensorSpec>>());
    spec->min = least;
    spec->max = most;
    spec->dtype = torch_name(dtype);
    spec->requires_grad = is_floating(dtype);
    return Value(std::shared_ptr<const TensorSpec>(std::move(spec)));
  };
  call.args.front() = between(call.args.front(), 0, 31999, DType::int64);
  call.grad_inputs = {between(call.grad_inputs.front(), -0.01, 0.01, DType::float32)};
  CheckOptions options;
  options.materialise.seed = 33;
  const ApiResult result = check(call, {}, {}, options);
  // The first argument is indices, which have no gradient.
  ASSERT_EQ(result.backward_rows.size(), 2U) << described(result);
  EXPECT_EQ(result.backward_rows.back().device_dtype, "torch.float32");
  EXPECT_FALSE(result.backward_rows.back().beyond_rounding) << described(result);
}

class Parts : public ::testing::Test {
 protected:
  // The part of the call that shows this element of its output, or of its gradient.
  static std::optional<CallPart> part_of(const ApiCall& recorded, std::int64_t element, bool of_gradient,
                                         double additions = 0) {
    const MaterialisedCall call = materialise(recorded, {});
    const Operator& op = *find_operator(call.parts.type, call.parts.api);
    EvaluationOptions benchmark;
    benchmark.benchmark = true;
    const RowOf row = [&](const Evaluation& evaluation) -> std::optional<Tensor> {
      const Tensor* tensor = (of_gradient ? evaluation.gradients.front() : evaluation.output).get<Tensor>();
      return tensor == nullptr ? std::nullopt : std::optional(*tensor);
    };
    const Tensor bench = *row(evaluate(op, call, benchmark));
    RoundingFit fit;
    fit.beyond = 1;
    fit.is_beyond.resize(static_cast<std::size_t>(bench.numel()));
    fit.is_beyond[static_cast<std::size_t>(element)] = true;
    fit.shares_beyond = {2};
    // As if it were 64 times as large as what is computed again.
    return part_of_call({op, call, benchmark, additions > 0 ? 0 : 0x1p24, additions, {}}, bench, fit, row);
  }
};

TEST_F(Parts, AreIndicesOfAnAxisThatIsNotMixed) {
  const ApiCall rows_of = call_of("Functional.softmax.0", {{640, 8}}, {640, 8});
  ApiCall along_rows = rows_of;
  along_rows.kwargs = {{"dim", Value(std::int64_t{1})}};
  const auto part = part_of(along_rows, 8 * 77 + 5, true);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->axis, 0);
  EXPECT_EQ(part->places.size(), 10U);
  EXPECT_TRUE(std::ranges::binary_search(part->places, 77));
  EXPECT_EQ(part->of(Tensor::zeros(DType::float32, Dims{640, 8})).shape(), (Dims{10, 8}));

  ApiCall along_columns = call_of("Functional.softmax.0", {{8, 640}}, {8, 640});
  along_columns.kwargs = {{"dim", Value(std::int64_t{0})}};
  const auto columns_of = part_of(along_columns, 640 * 5 + 99, false);
  ASSERT_TRUE(columns_of);
  EXPECT_EQ(columns_of->axis, 1);
  EXPECT_TRUE(std::ranges::binary_search(columns_of->places, 99));
}

TEST_F(Parts, ArgumentsOfFewerAxesAreCutWhereTheyBelongToTheAxis) {
  // The weight has as many elements as the batch has rows, but belongs to the columns.
  ApiCall norm = call_of("Functional.layer_norm.0", {{256, 256}}, {256, 256});
  norm.args.emplace_back(List{std::int64_t{256}});
  norm.args.push_back(call_of("", {{256}}, {}).args.front());
  EXPECT_TRUE(part_of(norm, std::int64_t{256} * 4, false));
}

// A batch norm mixes all but the channels, to each of which belongs one element of weight and bias.
TEST_F(Parts, ParametersOfChannelsAreCutWithThem) {
  ApiCall norm = call_of("Functional.batch_norm.0", {{4, 512, 2}}, {4, 512, 2});
  const Value parameter = call_of("", {{512}}, {}).args.front();
  norm.args.insert(norm.args.end(), {None{}, None{}, parameter, parameter, Value(true)});
  const auto part = part_of(norm, std::int64_t{2} * 77, false);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->axis, 1);
  EXPECT_EQ(part->places.size(), 8U);
  EXPECT_TRUE(std::ranges::binary_search(part->places, 77));
}

// A single one of few places may be somewhat larger than a part is otherwise.
TEST_F(Parts, MayBeOnePlaceOfACoarseAxis) {
  ApiCall softmax = call_of("Functional.softmax.0", {{32, 8}}, {32, 8});
  softmax.kwargs = {{"dim", Value(std::int64_t{1})}};
  const auto part = part_of(softmax, std::int64_t{8} * 21, false);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->places, (std::vector<std::int64_t>{21}));
}

// Of attention a whole sample may be too much, and queries and keys are mixed.
TEST_F(Parts, AreHeadsOfASampleThatIsTooLarge) {
  const Dims shape{2, 3, 8, 4};
  const ApiCall attention = call_of("Functional.scaled_dot_product_attention.0", {shape, shape, shape}, shape);
  const std::int64_t element = (3 + 2) * 32 + 5;
  const auto part = part_of(attention, element, true, 6e9);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->sample, 1);
  EXPECT_EQ(part->axis, 1);
  EXPECT_EQ(part->places, std::vector<std::int64_t>{2});
  Tensor whole = Tensor::zeros(DType::float32, shape);
  whole.mutable_data<float>()[element] = 7;
  const Tensor of_part = part->of(whole);
  EXPECT_EQ(of_part.shape(), (Dims{1, 1, 8, 4}));
  EXPECT_EQ(of_part.item(5), 7);
  // A head that is dearer than what is computed a few times.
  EXPECT_FALSE(part_of(attention, element, true, 2.4e10));
}

TEST_F(Parts, GradientsOfMeansAreScaled) {
  const ApiCall loss = call_of("Functional.mse_loss.0", {{1024, 4}, {1024, 4}}, {});
  const auto part = part_of(loss, std::int64_t{4} * 1000, true);
  ASSERT_TRUE(part);
  EXPECT_TRUE(std::ranges::binary_search(part->places, 1000));
}

TEST_F(Parts, AreNotHadWhereAllIsMixed) {
  ApiCall sums = call_of("Torch.cumsum.0", {{4096}}, {4096});
  sums.kwargs = {{"dim", Value(std::int64_t{0})}};
  EXPECT_FALSE(part_of(sums, 4000, false));
}

}  // namespace
}  // namespace msrun::testing
