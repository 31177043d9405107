// Gradients of float16 that frameworks compute in steps of which some leave the normal numbers of float16: a device
// that takes these steps is sound, whatever they leave, and faults are found beside what they lose.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/evaluate/materialise.h"
#include "runner/results/counts.h"
#include "tests/runner/check/other_arithmetic.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using namespace other_arithmetic;

double stored(double value) { return static_cast<double>(as_half(static_cast<float>(value))); }

std::vector<double> numbers(const Value& value) {
  const Tensor tensor = value.get<Tensor>()->to(DType::float64).contiguous();
  return {tensor.data<double>(), tensor.data<double>() + tensor.numel()};
}

// What steps give for an element of the gradient of the last argument, of the call's arguments and its gradient.
using Steps =
    std::function<double(const std::vector<std::vector<double>>& x, const std::vector<double>& g, std::size_t i)>;

struct Case {
  const char* name;
  ApiCall call;
  Steps steps;
};

std::shared_ptr<const TensorSpec> between(const Dims& shape, double min, double max) {
  const ApiCall call = call_of("Torch.abs.0", {shape}, shape, DType::float16, min, max);
  return *call.args.front().get<std::shared_ptr<const TensorSpec>>();
}

// A call of elements and a gradient of these sizes.
ApiCall call_of_sizes(const std::string& name, std::size_t arguments, const Dims& shape, const Dims& output, double x,
                      double gradient) {
  ApiCall call = call_of(name, std::vector<Dims>(arguments, shape), output, DType::float16, x / 4, x);
  call.grad_inputs = {between(output, -gradient, gradient)};
  return call;
}

constexpr std::size_t columns = 64;

double mean_of_row(const std::vector<double>& x, std::size_t i) {
  double total = 0;
  const std::size_t first = i / columns * columns;
  for (std::size_t k = first; k < first + columns; ++k) total += x[k];
  return stored(total / columns);
}

double squares_of_row(const std::vector<double>& x, std::size_t i, double mean) {
  double total = 0;
  const std::size_t first = i / columns * columns;
  for (std::size_t k = first; k < first + columns; ++k) total += (x[k] - mean) * (x[k] - mean);
  return total;
}

// The formulas of torch's autograd.
std::vector<Case> cases() {
  const Dims rows{8, columns};
  std::vector<Case> all;
  ApiCall var = call_of_sizes("Torch.var.0", 1, rows, {8}, 30, 1e-4);
  var.args.emplace_back(std::int64_t{1});
  all.push_back({"var", var, [](const auto& x, const auto& g, std::size_t i) {
                   const double factor = stored(2.0 / 63 * g[i / columns]);
                   return factor * stored(x[0][i] - mean_of_row(x[0], i));
                 }});
  ApiCall deviation = call_of_sizes("Torch.std.0", 1, rows, {8}, 30, 1e-4);
  deviation.args.emplace_back(std::int64_t{1});
  all.push_back({"std", deviation, [](const auto& x, const auto& g, std::size_t i) {
                   const double mean = mean_of_row(x[0], i);
                   const double s = stored(std::sqrt(squares_of_row(x[0], i, mean) / 63));
                   const double factor = stored(2.0 / 63 * stored(g[i / columns] / stored(2 * s)));
                   return factor * stored(x[0][i] - mean);
                 }});
  ApiCall norm = call_of_sizes("Torch.norm.0", 1, rows, {8}, 30, 1e-4);
  norm.args.emplace_back(2.0);
  norm.args.emplace_back(std::int64_t{1});
  all.push_back({"norm", norm, [](const auto& x, const auto& g, std::size_t i) {
                   return stored(g[i / columns] / stored(std::sqrt(squares_of_row(x[0], i, 0)))) * x[0][i];
                 }});
  ApiCall negative = call_of_sizes("Torch.norm.0", 1, {64, 3}, {64}, 0.04, 40);
  negative.args.emplace_back(-1.0);
  negative.args.emplace_back(std::int64_t{1});
  all.push_back({"norm of a negative order", negative, [](const auto& x, const auto& g, std::size_t i) {
                   double total = 0;
                   for (std::size_t k = i / 3 * 3; k < i / 3 * 3 + 3; ++k) total += 1 / x[0][k];
                   const double of_norm = stored(std::pow(stored(1 / total), 2));
                   return stored(stored(std::pow(x[0][i], -2)) * g[i / 3]) * of_norm;
                 }});
  // Powers of one number, of which the steps leave more than a place.
  ApiCall single = call_of_sizes("Torch.linalg.vector_norm.0", 1, {64, 1}, {64}, 2, 1);
  single.kwargs = {{"ord", std::int64_t{6}}, {"dim", std::int64_t{1}}};
  all.push_back({"norm of one element", single, [](const auto& x, const auto& g, std::size_t i) {
                   const double share = stored(g[i] / stored(std::pow(x[0][i], 5)));
                   return stored(x[0][i] * stored(std::pow(x[0][i], 4))) * share;
                 }});
  // The third power of 0.01 is 17 of the smallest number.
  ApiCall distance = call_of_sizes("Functional.pairwise_distance.0", 2, rows, {8}, 0.02, 1);
  distance.kwargs = {{"p", 4.0}, {"eps", 0.0}};
  all.push_back({"pairwise_distance", distance, [](const auto& x, const auto& g, std::size_t i) {
                   double total = 0;
                   for (std::size_t k = i / columns * columns; k < (i / columns + 1) * columns; ++k)
                     total += std::pow(x[0][k] - x[1][k], 4);
                   const double d = stored(x[0][i] - x[1][i]);
                   const double share = stored(g[i / columns] / stored(std::pow(stored(std::pow(total, 0.25)), 3)));
                   return -stored(d * stored(d * d)) * share;
                 }});
  all.push_back({"hypot", call_of_sizes("Torch.hypot.0", 2, {8, columns}, {8, columns}, 1e-3, 1e-3),
                 [](const auto& x, const auto& g, std::size_t i) {
                   return stored(g[i] * x[1][i]) / stored(std::hypot(x[0][i], x[1][i]));
                 }});
  all.push_back({"xlogy", call_of_sizes("Torch.xlogy.0", 2, {8, columns}, {8, columns}, 1e-3, 1e-3),
                 [](const auto& x, const auto& g, std::size_t i) { return stored(g[i] * x[0][i]) / x[1][i]; }});
  return all;
}

ApiResult check_with(const Case& c, double factor, HalfRounding rounding) {
  class Taking final : public Device {
   public:
    Taking(const Case& c, double factor, HalfRounding rounding) : case_(c), factor_(factor), rounding_(rounding) {}
    DeviceArithmetic arithmetic() const override { return {.half_rounding = rounding_}; }
    DeviceResult run(const DeviceCall& call) override {
      DeviceResult result = computing_.run(call);
      std::vector<std::vector<double>> x;
      for_each_argument(call.materialised, [&](const Tensor& tensor) { x.push_back(numbers(Value(tensor))); });
      const std::vector<double> g = numbers(call.materialised.gradients.front());
      set_elements(result.gradients.at(x.size() - 1), [&](double, std::int64_t i) {
        return stored(factor_ * case_.steps(x, g, static_cast<std::size_t>(i)));
      });
      return result;
    }

   private:
    const Case& case_;
    double factor_;
    HalfRounding rounding_;
    ComputingDevice computing_{{}};
  };
  Taking device(c, factor, rounding);
  return check_api(c.call, 0, device, 0, {});
}

TEST(LostSteps, OfFloat16AreThoseOfASoundDevice) {
  for (const Case& c : cases()) {
    for (const HalfRounding rounding : {HalfRounding::between_kernels, HalfRounding::every_step}) {
      const ApiResult sound = check_with(c, 1, rounding);
      EXPECT_FALSE(is_suspicious(sound)) << c.name << described(sound);
      for (const double factor : {-1.0, 4.0}) {
        const ApiResult wrong = check_with(c, factor, rounding);
        EXPECT_TRUE(is_suspicious(wrong)) << c.name << " times " << factor << described(wrong);
      }
    }
  }
}

// x / |x| in three steps: the norm of numbers next to the smallest one is stored with few digits, and is what all
// others are divided by.
TEST(LostSteps, OfComposedOperatorsAreThoseOfASoundDevice) {
  ApiCall call = call_of_sizes("Functional.normalize.0", 1, {8, 4}, {8, 4}, 1e-6, 1);
  call.has_backward = false;
  const Case normalize{"normalize", call, {}};
  const auto divided = [&](double times) { return [=](DeviceResult& result, int) { scale(result.output, times); }; };
  ComputingDevice device(divided(1.01));
  device.says.half_rounding = HalfRounding::between_kernels;
  EXPECT_FALSE(is_suspicious(check_api(call, 0, device, 0, {})));
  ComputingDevice faulty(divided(1.5));
  faulty.says.half_rounding = HalfRounding::between_kernels;
  EXPECT_TRUE(is_suspicious(check_api(call, 0, faulty, 0, {})));
  ComputingDevice once(divided(1.01));
  EXPECT_TRUE(is_suspicious(check_api(call, 0, once, 0, {})));
}

}  // namespace
}  // namespace msrun::testing
