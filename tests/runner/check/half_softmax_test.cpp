// Gradients of a softmax as CUDA's kernels form them: the products of gradient and probability are stored in the half
// type before they are added up and before the sum is taken off.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "runner/results/counts.h"
#include "tests/runner/check/rounding_device.h"

namespace msrun::testing {
namespace {

using namespace rounding_device;

double stored(DType dtype, double value) { return Tensor::scalar(dtype, value).item(); }

// y g - y sum(y g)
void take_steps(DType dtype, const Tensor& probabilities, const Tensor& gradients, Value& result, double fault) {
  const Tensor y = probabilities.to(DType::float64).contiguous();
  const Tensor g = gradients.to(DType::float64).contiguous();
  const std::int64_t count = y.size(-1);
  std::vector<double> products;
  std::vector<double> sums(static_cast<std::size_t>(y.numel() / count));
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    products.push_back(stored(dtype, y.data<double>()[i] * g.data<double>()[i]));
    sums[static_cast<std::size_t>(i / count)] += products.back();
  }
  result = changed_elements(*result.get<Tensor>(), [&](double, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    const double sound = stored(dtype, products[at] - y.data<double>()[i] * sums[at / static_cast<std::size_t>(count)]);
    return i == 777 ? sound + fault : sound;
  });
}

ApiResult check_kernel(DType dtype, const Dims& shape, double most, double of_gradient, double fault) {
  // Any probabilities will do: those of a softmax add up to 1.
  ApiCall call = call_of("Aten._softmax_backward_data.0", {shape, shape}, shape, dtype, 0, most);
  call.args[0] = call_of("", {shape}, {}, dtype, -of_gradient, of_gradient).args.front();
  call.args.emplace_back(std::int64_t{-1});
  call.args.emplace_back(dtype);
  call.has_backward = false;
  return check_on(accelerator, call, {}, [&](const MaterialisedCall& inputs, DeviceResult& result) {
    take_steps(dtype, *inputs.args[1].get<Tensor>(), *inputs.args[0].get<Tensor>(), result.output, fault);
  });
}

ApiResult check_gradient(DType dtype, const Dims& shape, double width, double of_gradient, double fault) {
  ApiCall call = call_of("Functional.softmax.0", {shape}, shape, dtype, -width, width);
  call.kwargs = {{"dim", std::int64_t{-1}}};
  call.grad_inputs = {call_of("", {shape}, {}, dtype, -of_gradient, of_gradient).args.front()};
  return check_on(accelerator, call, {}, [&](const MaterialisedCall& inputs, DeviceResult& result) {
    take_steps(dtype, *result.output.get<Tensor>(), *inputs.gradients[0].get<Tensor>(), result.gradients[0], fault);
  });
}

// The smallest number of float16 is 2^-24.
constexpr double of_rounding = 0x1p-20;

TEST(HalfSoftmax, GradientsOfStoredProductsAreSound) {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    for (const Dims& shape : {Dims{128, 8}, Dims{32, 64}, Dims{16, 512}}) {
      for (const double of_gradient : {10.0, 1.0, 1e-4}) {
        for (const double width : {1.0, 12.0}) {
          const ApiResult sound = check_gradient(dtype, shape, width, of_gradient, 0);
          EXPECT_FALSE(is_suspicious(sound)) << name(dtype) << " " << described(sound);
          const ApiResult wrong = check_gradient(dtype, shape, width, of_gradient, of_gradient);
          EXPECT_TRUE(is_suspicious(wrong)) << name(dtype) << " " << described(wrong);
        }
        for (const double total : {1.0, 15.0}) {
          const double most = 2 * total / static_cast<double>(shape[1]);
          const ApiResult sound = check_kernel(dtype, shape, most, of_gradient, 0);
          EXPECT_FALSE(is_suspicious(sound)) << name(dtype) << " " << described(sound);
          const ApiResult wrong =
              check_kernel(dtype, shape, most, of_gradient, std::max(most * of_gradient, of_rounding));
          EXPECT_TRUE(is_suspicious(wrong)) << name(dtype) << " " << described(wrong);
        }
      }
    }
  }
}

// In float32, with powers of two and a reciprocal, rounded to bfloat16; row 3 times `of_row`, element 777 times
// `of_one`.
Value by_powers_of_two(const Tensor& input, bool logarithm, float of_row, float of_one) {
  const Tensor x = input.to(DType::float32).contiguous();
  const std::int64_t count = x.size(-1);
  Tensor y(DType::float32, x.shape());
  for (std::int64_t first = 0; first < x.numel(); first += count) {
    const float* from = x.data<float>() + first;
    float* to = y.mutable_data<float>() + first;
    const float largest = *std::max_element(from, from + count);
    float total = 0;
    for (std::int64_t i = 0; i < count; ++i)
      total += to[i] = std::exp2((from[i] - largest) * std::numbers::log2e_v<float>);
    for (std::int64_t i = 0; i < count; ++i) {
      const float sound = logarithm ? from[i] - largest - std::log(total) : to[i] * (1 / total);
      to[i] = sound * (first == 3 * count ? of_row : 1) * (first + i == 777 ? of_one : 1);
    }
  }
  return y.to(DType::bfloat16);
}

// Accelerators do not compute in bfloat16: within one kernel nothing is rounded to it.
TEST(HalfSoftmax, OutputsAreRoundedOnce) {
  for (const std::string api : {"Functional.softmax", "Torch.log_softmax", "Aten._softmax"}) {
    const bool logarithm = api == "Torch.log_softmax";
    for (const Dims& shape : {Dims{64, 512}, Dims{16, 8, 256}}) {
      const auto check = [&](HalfRounding rounding, float of_row, float of_one) {
        ApiCall call = call_of(api + ".0", {shape}, shape, DType::bfloat16, -9, 9);
        call.args.emplace_back(std::int64_t{-1});
        if (api == "Aten._softmax") call.args.emplace_back(false);
        call.has_backward = false;
        return check_on(rounding, call, {}, [&](const MaterialisedCall& inputs, DeviceResult& result) {
          result.output = by_powers_of_two(*inputs.args[0].get<Tensor>(), logarithm, of_row, of_one);
        });
      };
      const ApiResult sound = check(accelerator, 1, 1);
      EXPECT_FALSE(is_suspicious(sound)) << described(sound);
      for (const ApiResult& wrong : {check(accelerator, 1.03F, 1), check(accelerator, 1, 1.05F)}) {
        EXPECT_TRUE(is_suspicious(wrong)) << described(wrong);
      }
      // A processor may store every step.
      EXPECT_FALSE(is_suspicious(check(processor, 1, 1.02F)));
    }
  }
}

// What is cast to bfloat16 before, by a kernel of its own, is rounded twice.
TEST(HalfSoftmax, OfCastArgumentsMayBeRoundedBefore) {
  const Dims shape{64, 512};
  ApiCall call = call_of("Torch.softmax.0", {shape}, shape, DType::float32, -9, 9);
  call.args.emplace_back(std::int64_t{-1});
  call.kwargs = {{"dtype", DType::bfloat16}};
  call.has_backward = false;
  const ApiResult cast = check_on(accelerator, call, {}, [](const MaterialisedCall& inputs, DeviceResult& result) {
    result.output = by_powers_of_two(inputs.args[0].get<Tensor>()->to(DType::bfloat16), false, 1, 1);
  });
  EXPECT_FALSE(is_suspicious(cast)) << described(cast);
}

// exp(x - y) g of a stored y, as frameworks compose it: every step is stored.
void take_logsumexp_gradient(const MaterialisedCall& call, DeviceResult& result, double factor) {
  const Tensor x = call.args.front().get<Tensor>()->to(DType::float64).contiguous();
  const Tensor y = result.output.get<Tensor>()->to(DType::float64).contiguous();
  const Tensor g = call.gradients.front().get<Tensor>()->to(DType::float64).contiguous();
  const std::int64_t count = x.size(-1);
  result.gradients.front() = changed_elements(*result.gradients.front().get<Tensor>(), [&](double, std::int64_t i) {
    const double power = rounded(std::exp(rounded(x.item(i) - y.item(i / count))));
    return rounded(factor * rounded(power * g.item(i / count)));
  });
}

// Rows whose sum was stored err apart from each other, each by its own factor. One that all have in common is no
// rounding of an accelerator; sums that a processor forms in bfloat16 have one.
TEST(HalfSoftmax, OfLogarithmsOfSumsHidesNoFactorOfAllRows) {
  for (const double width : {2.0, 8.0}) {
    for (const std::int64_t number : {0, 1, 2}) {
      ApiCall call =
          call_of("Torch.logsumexp." + std::to_string(number), {{64, 128}}, {64}, DType::bfloat16, -width, width);
      call.args.emplace_back(std::int64_t{-1});
      const auto check = [&](HalfRounding device, double factor) {
        return check_on(device, call, {}, [=](const MaterialisedCall& inputs, DeviceResult& result) {
          take_logsumexp_gradient(inputs, result, factor);
        });
      };
      for (const HalfRounding device : {accelerator, processor}) {
        const ApiResult sound = check(device, 1);
        EXPECT_FALSE(is_suspicious(sound)) << described(sound);
      }
      EXPECT_TRUE(is_suspicious(check(accelerator, 1.05))) << width << ' ' << number;
    }
  }
}

}  // namespace
}  // namespace msrun::testing
