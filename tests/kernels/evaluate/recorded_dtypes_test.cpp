// A benchmark computes in a wider dtype than the call was recorded in, and decides as the call does.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/evaluate/evaluate.h"

namespace msrun::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor tensor(DType dtype, const std::vector<double>& values, Dims shape = {}) {
  if (shape.empty()) shape = {std::ssize(values)};
  return Tensor::from<double>(DType::float64, shape, std::span<const double>(values)).to(dtype);
}

std::vector<double> numbers(const Value& value) {
  const Tensor all = value.get<Tensor>()->to(DType::float64).contiguous();
  return {all.data<double>(), all.data<double>() + all.numel()};
}

MaterialisedCall call_of(const std::string& type, const std::string& api, List args, Dict kwargs = {}) {
  MaterialisedCall call;
  call.name = type + "." + api + ".0";
  call.parts.type = type;
  call.parts.api = api;
  call.args = std::move(args);
  call.kwargs = std::move(kwargs);
  for_each_argument(call, [&](const Tensor&) { call.requires_grad.push_back(false); });
  return call;
}

Evaluation evaluated(const MaterialisedCall& call, const EvaluationOptions& options) {
  return evaluate(*find_operator(call.parts.type, call.parts.api), call, options);
}

const EvaluationOptions device{};
EvaluationOptions benchmark_options(bool forgets_dtypes, bool narrow_parameters = false) {
  EvaluationOptions options;
  options.benchmark = true;
  options.forgets_dtypes = forgets_dtypes;
  options.narrow_parameters = narrow_parameters;
  return options;
}

const EvaluationOptions benchmark = benchmark_options(false);
const EvaluationOptions forgetful = benchmark_options(true);

std::vector<double> output(const MaterialisedCall& call, const EvaluationOptions& options = benchmark) {
  return numbers(evaluated(call, options).output);
}

// The gradient of the first argument for ones.
std::vector<double> gradient(MaterialisedCall call, const EvaluationOptions& options = benchmark) {
  call.requires_grad.front() = true;
  const Value result = evaluated(call, device).output;
  call.gradients = {Tensor::full(result.get<Tensor>()->dtype(), result.get<Tensor>()->shape(), 1)};
  call.backward.run = true;
  const Evaluation evaluation = evaluated(call, options);
  EXPECT_EQ(evaluation.backward_problem, "");
  return numbers(evaluation.gradients.at(0));
}

// The number 0.3 is another one in every dtype.
constexpr double number = 0.3;
const std::vector<double> around{number, 0.25, 0.5};

TEST(RecordedDTypes, NumbersCompareInTheDtypeOfTheTensor) {
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    const Tensor x = tensor(dtype, around);
    const auto compared = [&](const char* api) { return call_of("Torch", api, {x, number}); };
    for (const EvaluationOptions& options : {benchmark, device}) {
      EXPECT_THAT(output(compared("eq"), options), ElementsAre(1, 0, 0)) << name(dtype);
      EXPECT_THAT(output(compared("ne"), options), ElementsAre(0, 1, 1));
      EXPECT_THAT(output(compared("lt"), options), ElementsAre(0, 1, 0));
      EXPECT_THAT(output(compared("le"), options), ElementsAre(1, 1, 0));
      EXPECT_THAT(output(compared("gt"), options), ElementsAre(0, 0, 1));
      EXPECT_THAT(output(compared("ge"), options), ElementsAre(1, 0, 1));
      EXPECT_THAT(output(compared("isin"), options), ElementsAre(1, 0, 0));
      EXPECT_THAT(output(call_of("Tensor", "__gt__", {x, number}), options), ElementsAre(0, 0, 1));
      EXPECT_THAT(output(call_of("Tensor", "ge_", {x, number}), options), ElementsAre(1, 0, 1));
    }
  }
  // The benchmark of the older tool.
  EXPECT_THAT(output(call_of("Torch", "eq", {tensor(DType::float32, around), number}), forgetful), Each(0));
}

// It is the first argument that such a call returns.
TEST(RecordedDTypes, CallsInPlaceKeepTheDtypeOfTheirFirstArgument) {
  const Tensor narrow = tensor(DType::int8, {100, 100, 2});
  const Tensor wide = tensor(DType::int32, {1, 100, -300});
  const Tensor half = tensor(DType::bfloat16, {1, 2, 3});
  const auto dtype_of = [](const MaterialisedCall& call, const EvaluationOptions& options) {
    return evaluated(call, options).output.get<Tensor>()->dtype();
  };
  for (const EvaluationOptions& options : {benchmark, device}) {
    for (const char* api : {"add_", "__iadd__"}) {
      EXPECT_EQ(dtype_of(call_of("Tensor", api, {narrow, wide}), options), DType::int8);
      EXPECT_THAT(output(call_of("Tensor", api, {narrow, wide}), options), ElementsAre(101, -56, -42));
    }
    EXPECT_EQ(dtype_of(call_of("Tensor", "cumsum_", {narrow, std::int64_t{0}}), options), DType::int8);
    EXPECT_THAT(output(call_of("Tensor", "cumsum_", {narrow, std::int64_t{0}}), options), ElementsAre(100, -56, -54));
    EXPECT_THAT(output(call_of("Tensor", "cumprod_", {narrow, std::int64_t{0}}), options), ElementsAre(100, 16, 32));
    EXPECT_TRUE(is_floating(dtype_of(call_of("Tensor", "gt_", {half, 2.0}), options)));
    EXPECT_THAT(output(call_of("Tensor", "gt_", {half, 2.0}), options), ElementsAre(0, 0, 1));
    EXPECT_EQ(dtype_of(call_of("Tensor", "logical_not_", {narrow}), options), DType::int8);
    // These return something else.
    EXPECT_EQ(dtype_of(call_of("Tensor", "__invert__", {narrow}), options), DType::int8);
    EXPECT_EQ(dtype_of(call_of("Tensor", "add", {narrow, wide}), options), DType::int32);
  }
  // A benchmark keeps its precision.
  const Tensor third = tensor(DType::float32, {1 / 3.0, 1 / 3.0, 1 / 3.0});
  EXPECT_EQ(dtype_of(call_of("Tensor", "add_", {half, third}), device), DType::bfloat16);
  EXPECT_NE(dtype_of(call_of("Tensor", "add_", {half, third}), benchmark), DType::bfloat16);
}

TEST(RecordedDTypes, NumbersBeyondTheRangeAreInfinite) {
  const Tensor x = tensor(DType::float16, {infinity, 65504, -infinity});
  EXPECT_THAT(output(call_of("Torch", "eq", {x, 1e6})), ElementsAre(1, 0, 0));
  EXPECT_THAT(output(call_of("Torch", "lt", {x, std::int64_t{100000}})), ElementsAre(0, 1, 1));
  EXPECT_THAT(output(call_of("Torch", "le", {x, std::nan("")})), Each(0));
  // Of an integer tensor and a float number float32 is compared.
  EXPECT_THAT(output(call_of("Torch", "eq", {tensor(DType::int64, {16777216}), 16777217.0})), ElementsAre(1));
  EXPECT_THAT(output(call_of("Torch", "eq", {tensor(DType::float32, {16777216}), std::int64_t{16777217}})),
              ElementsAre(1));
}

// 2^24 + 1 is no float32.
TEST(RecordedDTypes, IntegersAreComparedInTheFloatingDtype) {
  const Tensor integers = tensor(DType::int64, {16777216, 16777217, 16777218});
  const Tensor limits = tensor(DType::float32, {16777216, 16777216, 16777216});
  for (const EvaluationOptions& options : {benchmark, device}) {
    for (const Tensor& limit : {limits, limits.select(0, 0)}) {
      EXPECT_THAT(output(call_of("Torch", "eq", {integers, limit}), options), ElementsAre(1, 1, 0));
      EXPECT_THAT(output(call_of("Torch", "gt", {integers, limit}), options), ElementsAre(0, 0, 1));
      EXPECT_THAT(output(call_of("Torch", "maximum", {integers, limit}), options),
                  ElementsAre(16777216, 16777216, 16777218));
      EXPECT_THAT(output(call_of("Torch", "sub", {integers, limit}), options), ElementsAre(0, 0, 2));
      EXPECT_THAT(output(call_of("Torch", "remainder", {integers, limit}), options), ElementsAre(0, 0, 2));
    }
    EXPECT_THAT(output(call_of("Torch", "isin", {integers, 16777216.5}), options), ElementsAre(1, 1, 0));
    EXPECT_THAT(output(call_of("Torch", "isin", {integers, limits}), options), ElementsAre(1, 1, 0));
    EXPECT_THAT(output(call_of("Torch", "bucketize", {integers, limits}), options), ElementsAre(0, 0, 3));
    EXPECT_THAT(output(call_of("Torch", "clamp_max", {integers, 16777216.5}), options), Each(16777216));
  }
}

TEST(RecordedDTypes, NumbersWrapAroundBesideIntegers) {
  const Tensor bytes = tensor(DType::uint8, {0, 1, 5, 253, 255});
  const std::int64_t below = -3;
  const Tensor scalar = tensor(DType::int64, {-3}).reshape(Dims{});
  for (const Value& low : {Value(below), Value(scalar)}) {
    EXPECT_THAT(output(call_of("Torch", "gt", {bytes, low})), ElementsAre(0, 0, 0, 0, 1));
    EXPECT_THAT(output(call_of("Torch", "eq", {bytes, low})), ElementsAre(0, 0, 0, 1, 0));
    EXPECT_THAT(output(call_of("Torch", "isin", {bytes, low})), ElementsAre(0, 0, 0, 1, 0));
    EXPECT_THAT(output(call_of("Torch", "clamp_min", {bytes, low})), ElementsAre(253, 253, 253, 253, 255));
    EXPECT_THAT(output(call_of("Torch", "clamp_max", {bytes, low})), ElementsAre(0, 1, 5, 253, 253));
    EXPECT_THAT(output(call_of("Torch", "floor_divide", {bytes, low})), ElementsAre(0, 0, 0, 1, 1));
    EXPECT_THAT(output(call_of("Torch", "remainder", {bytes, low})), ElementsAre(0, 1, 5, 0, 2));
    EXPECT_THAT(output(call_of("Torch", "fmod", {bytes, low})), ElementsAre(0, 1, 5, 0, 2));
  }
  EXPECT_THROW(output(call_of("Torch", "remainder", {bytes, std::int64_t{256}})), SkipError) << "it is 0";
  EXPECT_THAT(output(call_of("Torch", "minimum", {bytes, scalar})), ElementsAre(0, 1, 5, 253, 253));
  EXPECT_THAT(output(call_of("Torch", "fmax", {bytes, scalar})), ElementsAre(253, 253, 253, 253, 255));
  EXPECT_THAT(output(call_of("Torch", "gcd", {bytes, scalar})), ElementsAre(253, 1, 1, 253, 1));
  EXPECT_THAT(output(call_of("Torch", "pow", {tensor(DType::uint8, {0, 1, 5}), scalar})), ElementsAre(0, 1, 213));
  const std::int64_t more = 261;
  EXPECT_THAT(output(call_of("Torch", "bitwise_right_shift", {bytes, more})), ElementsAre(0, 0, 0, 7, 7));
  EXPECT_THAT(output(call_of("Torch", "bitwise_left_shift", {bytes, more})), ElementsAre(0, 32, 160, 160, 224));
  EXPECT_THAT(output(call_of("Torch", "searchsorted", {bytes, below})), ElementsAre(3));
  EXPECT_THAT(output(call_of("Torch", "lt", {tensor(DType::int32, {-1, 7}), std::int64_t{1} << 31})),
              ElementsAre(0, 0));
}

TEST(RecordedDTypes, TensorsWithoutAxesYieldLikeNumbers) {
  const Tensor limit = tensor(DType::float32, {number}).reshape(Dims{});
  EXPECT_THAT(output(call_of("Torch", "eq", {tensor(DType::float16, around), limit})), ElementsAre(1, 0, 0));
  EXPECT_THAT(output(call_of("Torch", "eq", {tensor(DType::float32, around), limit})), ElementsAre(1, 0, 0));
  EXPECT_THAT(output(call_of("Torch", "searchsorted", {tensor(DType::float32, {0, number, 1}), number})),
              ElementsAre(1));
}

TEST(RecordedDTypes, ThresholdsAreThoseOfTheDtype) {
  const Tensor x = tensor(DType::float32, around);
  EXPECT_THAT(gradient(call_of("Torch", "clamp", {x, number})), ElementsAre(1, 0, 1));
  EXPECT_THAT(gradient(call_of("Torch", "clamp", {x}, {{"max", number}})), ElementsAre(1, 1, 0));
  EXPECT_THAT(gradient(call_of("Torch", "clamp_min", {x, number})), ElementsAre(1, 0, 1));
  EXPECT_THAT(gradient(call_of("Functional", "hardtanh", {x, -1.0, number})), ElementsAre(0, 1, 0));
  EXPECT_THAT(gradient(call_of("Functional", "threshold", {x, number, 0.0})), ElementsAre(0, 0, 1));
  EXPECT_THAT(gradient(call_of("Functional", "hardshrink", {x, number})), ElementsAre(0, 0, 1));
  EXPECT_THAT(gradient(call_of("Functional", "softshrink", {x, number})), ElementsAre(0, 0, 1));
  EXPECT_EQ(gradient(call_of("Torch", "logit", {tensor(DType::float32, {0.7, 0.3, 0.5}), number})).at(2), 4);
  // Of two ones the loss is the margin less an element.
  const Tensor labels = tensor(DType::float32, {-1, -1, -1});
  const Dict margin{{"margin", number}, {"reduction", std::string("sum")}};
  EXPECT_THAT(gradient(call_of("Functional", "hinge_embedding_loss", {x, labels}, margin)), ElementsAre(-1, -1, 0));
}

TEST(RecordedDTypes, RemaindersAreThoseOfTheRoundedDivisor) {
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32}) {
    const Tensor x = tensor(dtype, around);
    EXPECT_THAT(output(call_of("Torch", "remainder", {x, number})).at(0), 0) << name(dtype);
    EXPECT_THAT(output(call_of("Torch", "fmod", {x, number})).at(0), 0);
    EXPECT_THAT(output(call_of("Torch", "floor_divide", {x, number})), ElementsAre(1, 0, 1));
    EXPECT_THAT(output(call_of("Torch", "div", {x, number}, {{"rounding_mode", std::string("trunc")}})),
                ElementsAre(1, 0, 1));
  }
}

// Some kernels hold a threshold in the half type, some in float32.
TEST(RecordedDTypes, ParametersBesideHalfTypesMayBeNarrow) {
  const EvaluationOptions narrow = benchmark_options(false, true);
  const auto call = call_of("Functional", "hardshrink", {tensor(DType::bfloat16, {0.1, 0.05, 0.5}), 0.1});
  EXPECT_GT(output(call).at(0), 0);
  EXPECT_EQ(output(call, narrow).at(0), 0);
}

TEST(RecordedDTypes, BytesAreThoseOfTheRecordedDtype) {
  const auto view = [](DType from, DType to, const EvaluationOptions& options) {
    return *evaluated(call_of("Tensor", "view", {tensor(from, {1, 0.5, -2, 3}), to}), options).output.get<Tensor>();
  };
  for (const auto& [from, to] : {std::pair(DType::float32, DType::int32), std::pair(DType::bfloat16, DType::int16),
                                 std::pair(DType::float32, DType::uint8), std::pair(DType::float16, DType::float32),
                                 std::pair(DType::float32, DType::complex64)}) {
    const Tensor expected = view(from, to, device);
    const Tensor found = view(from, to, benchmark);
    EXPECT_EQ(found.dtype(), expected.dtype());
    EXPECT_EQ(found.shape(), expected.shape());
    EXPECT_EQ(std::memcmp(found.raw(), expected.raw(), expected.bytes()), 0) << name(from) << " as " << name(to);
  }
}

TEST(RecordedDTypes, NamesAreThoseOfTheRecordedDtype) {
  const auto type = [](DType dtype, const EvaluationOptions& options) {
    return *evaluated(call_of("Tensor", "type", {tensor(dtype, {1})}), options).output.get<std::string>();
  };
  EXPECT_EQ(type(DType::float32, benchmark), "torch.FloatTensor");
  EXPECT_EQ(type(DType::bfloat16, benchmark), "torch.BFloat16Tensor");
  EXPECT_EQ(type(DType::float32, forgetful), "torch.DoubleTensor");
}

TEST(RecordedDTypes, PropertiesAreThoseOfTheRecordedDtype) {
  const auto filled = [](DType dtype, const EvaluationOptions& options) {
    return output(call_of("Torch", "nan_to_num", {tensor(dtype, {infinity, -infinity})}), options);
  };
  EXPECT_THAT(filled(DType::float16, benchmark), ElementsAre(65504, -65504));
  EXPECT_THAT(filled(DType::float32, benchmark), ElementsAre(0x1.fffffep127, -0x1.fffffep127));
  EXPECT_GT(filled(DType::float16, forgetful).at(0), 1e38);

  // The second row is the first, but for rounding in float32.
  const Tensor matrix = tensor(DType::float32, {1.1, 1.3, 1.1 / 3, 1.3 / 3}, {2, 2});
  EXPECT_THAT(output(call_of("Torch", "linalg.matrix_rank", {matrix})), ElementsAre(1));
  EXPECT_THAT(output(call_of("Torch", "linalg.matrix_rank", {matrix}), forgetful), ElementsAre(2));

  // 1e-12 is 0 in float16, and 0 / 0 no number.
  const Tensor zeros = tensor(DType::float16, {0, 0}, {1, 2});
  for (const EvaluationOptions& options : {benchmark, device}) {
    EXPECT_TRUE(std::isnan(output(call_of("Functional", "normalize", {zeros}), options).at(0)));
    EXPECT_TRUE(std::isnan(output(call_of("Functional", "cosine_similarity", {zeros, zeros}), options).at(0)));
  }
  EXPECT_EQ(output(call_of("Functional", "normalize", {zeros.to(DType::bfloat16)})).at(0), 0);
}

// A benchmark that is asked to compute in a dtype takes the values that the cast leaves, and stays in higher precision.
TEST(RecordedDTypes, AskedForAreNoLimitOfTheBenchmark) {
  const std::vector<double> values{1.1, 0.3, -1.7, 0.9};
  const std::int64_t axis = 0;
  const auto asked = [](DType dtype) { return Dict{{"dtype", dtype}}; };
  for (const char* api : {"prod", "sum", "mean", "cumsum", "cumprod", "softmax", "log_softmax", "norm"}) {
    const Tensor x = tensor(DType::float32, values);
    const List args = std::string_view(api) == "norm" ? List{x} : List{x, axis};
    const auto of = [&](const List& list, const Dict& kwargs, const EvaluationOptions& options = benchmark) {
      return *evaluated(call_of("Torch", api, list, kwargs), options).output.get<Tensor>();
    };
    EXPECT_EQ(numbers(of(args, asked(DType::float32))), numbers(of(args, {}))) << api;
    EXPECT_EQ(of(args, asked(DType::float32)).dtype(), DType::float64) << api;
    EXPECT_EQ(of(args, asked(DType::float32), forgetful).dtype(), DType::float32) << api;
    EXPECT_EQ(of(args, asked(DType::float32), device).dtype(), DType::float32) << api;
    List narrow = args;
    narrow[0] = x.to(DType::bfloat16).to(DType::float32);
    EXPECT_EQ(numbers(of(args, asked(DType::bfloat16))), numbers(of(narrow, {}))) << api;
    List exact = args;
    exact[0] = x.to(DType::bfloat16);
    EXPECT_EQ(of(exact, asked(DType::float32)).dtype(), DType::float64) << api;
    EXPECT_EQ(of(exact, asked(DType::bfloat16)).dtype(), DType::float32) << api;
  }
}

// torch's: the gradient of the result is rounded to the dtype of the argument, and the products are taken as stored.
TEST(RecordedDTypes, GradientsOfScansInADtypeAreComputedInTheirOwn) {
  const std::vector<double> upstream{1.001953125, 0.4990234375, -2.0078125, 1.00490625};
  const auto gradient_of = [&](const char* api, const Tensor& x, DType dtype) {
    MaterialisedCall call = call_of("Torch", api, {x, std::int64_t{0}}, {{"dtype", dtype}});
    call.requires_grad = {true};
    call.gradients = {tensor(dtype, upstream)};
    call.backward.run = true;
    return evaluated(call, device).gradients.at(0);
  };
  const Tensor half = tensor(DType::bfloat16, {1.5, 2.25, -3, 0.5});
  EXPECT_THAT(numbers(gradient_of("cumsum", half, DType::float32)),
              ElementsAre(0.5078125, -0.4921875, -0.9921875, 1.0078125));
  EXPECT_THAT(numbers(gradient_of("cumprod", half, DType::float32)), ElementsAre(12.25, 7.46875, -5.0625, -10.1875));
  const Tensor single = tensor(DType::float32, {1.5149999856948853, 2.2725000381469727, -3.0299999713897705, 0.505});
  EXPECT_THAT(numbers(gradient_of("cumprod", single, DType::bfloat16)),
              ElementsAre(DoubleNear(12.421359062194824, 1e-6), DoubleNear(7.613964557647705, 1e-6),
                          DoubleNear(-5.143229007720947, 1e-6), DoubleNear(-10.477258682250977, 1e-6)));
}

}  // namespace
}  // namespace msrun::testing
