// Losses and their gradients, which frameworks compose of steps that are stored in the half type.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "runner/results/counts.h"
#include "tests/runner/check/rounding_device.h"

namespace msrun::testing {
namespace {

using namespace rounding_device;

using Rounding = std::function<double(double)>;

Rounding to(DType dtype) {
  return [dtype](double value) { return Tensor::scalar(dtype, value).item(); };
}

struct Loss {
  ApiCall call;
  int gradient;  // that of the input or of the target; -1: the loss itself
  // The result for the input, the target and the gradient of the loss.
  std::function<double(const Rounding&, double, double, double)> steps;
};

ApiCall loss_of(const std::string& name, DType dtype, double least, double most, double least_target,
                double most_target) {
  const Dims shape{16, 32};
  ApiCall call = call_of(name, {shape, shape}, shape, dtype, least, most);
  call.args[1] = call_of(name, {shape}, shape, dtype, least_target, most_target).args[0];
  call.kwargs = {{"reduction", std::string("none")}};
  return call;
}

// cancels: for inputs and targets whose terms cancel in all elements.
std::vector<Loss> losses(DType dtype, bool cancels) {
  ApiCall poisson = loss_of("Functional.poisson_nll_loss.0", dtype, -6, 3, 0.5, 9);
  ApiCall with_constant = poisson;
  with_constant.kwargs.emplace_back("full", true);
  const auto of_poisson = [](const Rounding& round, double x, double t, double) {
    return round(round(std::exp(x)) - round(t * x));
  };
  const auto input_of_poisson = [](const Rounding& round, double x, double t, double g) {
    return round(round(g * round(std::exp(x))) - round(g * t));
  };
  const auto target_of_poisson = [](const Rounding& round, double x, double t, double g) {
    double sum = 0;
    if (t > 1) {
      sum = round(round(round(round(std::log(t)) * g) + round(t * round(g / t))) - g);
      sum = round(sum + round(g / round(2 * t)));
    }
    return round(sum - round(x * g));
  };
  // Among the inputs are some next to 1, the end of the domain.
  ApiCall entropy = loss_of("Functional.binary_cross_entropy.0", dtype, 0.6, 0.997, 0.1, 0.9);
  const auto target_of_entropy = [](const Rounding& round, double p, double, double g) {
    return round(round(round(std::log(round(1 - p))) - round(std::log(p))) * g);
  };
  ApiCall logits = cancels ? loss_of("Functional.binary_cross_entropy_with_logits.0", dtype, -9, -5, 0.001, 0.02)
                           : loss_of("Functional.binary_cross_entropy_with_logits.0", dtype, -9, 9, 0, 1);
  const auto of_logits = [](const Rounding& round, double z, double t, double) {
    return round(round(round(1 - t) * z) - round(-std::log1p(std::exp(-z))));
  };
  ApiCall divergence = cancels ? loss_of("Functional.kl_div.0", dtype, 0.4, 0.8, 0.6, 0.8)
                               : loss_of("Functional.kl_div.0", dtype, -6, -0.1, 0.01, 1);
  const auto target_of_divergence = [](const Rounding& round, double x, double t, double g) {
    return round(round(round(g * round(std::log(t))) + round(t * round(g / t))) - round(g * x));
  };
  return {{poisson, -1, of_poisson},       {poisson, 0, input_of_poisson}, {with_constant, 1, target_of_poisson},
          {entropy, 1, target_of_entropy}, {logits, -1, of_logits},        {divergence, 1, target_of_divergence}};
}

ApiResult check_loss(const Loss& loss, const Rounding& round, HalfRounding rounding,
                     const std::function<double(double, std::int64_t)>& fault) {
  return check_on(rounding, loss.call, {}, [&](const MaterialisedCall& call, DeviceResult& result) {
    const auto given = [](const Value& value) { return value.get<Tensor>()->to(DType::float64).contiguous(); };
    const Tensor x = given(call.args[0]);
    const Tensor t = given(call.args[1]);
    const Tensor g = given(call.gradients[0]);
    Value& value = loss.gradient < 0 ? result.output : result.gradients.at(static_cast<std::size_t>(loss.gradient));
    value = changed_elements(*value.get<Tensor>(), [&](double, std::int64_t i) {
      return fault(loss.steps(round, x.item(i), t.item(i), g.item(i)), i);
    });
  });
}

const DetailsRow& row_of(const Loss& loss, const ApiResult& result) {
  return loss.gradient < 0 ? result.forward_rows.at(0)
                           : result.backward_rows.at(static_cast<std::size_t>(loss.gradient));
}

TEST(HalfLosses, MayBeStoredStepByStep) {
  const auto sound = [](double value, std::int64_t) { return value; };
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    for (const Loss& loss : losses(dtype, true)) {
      const ApiResult result = check_loss(loss, to(dtype), accelerator, sound);
      EXPECT_FALSE(is_suspicious(result)) << described(result);
      EXPECT_EQ(row_of(loss, result).trust.weak_evidence, WeakEvidence::half_steps) << described(result);
      EXPECT_TRUE(is_suspicious(check_loss(loss, to(dtype), HalfRounding::nothing, sound)));
    }
  }
}

TEST(HalfLosses, HideNoFault) {
  const std::vector<std::function<double(double, std::int64_t)>> faults{
      [](double value, std::int64_t i) { return i == 37 ? value + 1.5 : value; },
      [](double value, std::int64_t) { return 1.1 * value; }, [](double value, std::int64_t) { return -value; }};
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    for (const Loss& loss : losses(dtype, false)) {
      for (const auto& fault : faults)
        EXPECT_TRUE(is_suspicious(check_loss(loss, to(dtype), accelerator, fault))) << loss.call.name;
    }
  }
}

}  // namespace
}  // namespace msrun::testing
