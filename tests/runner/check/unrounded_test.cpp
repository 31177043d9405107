// Operators whose results and gradients are moved, dropped or exactly computed: nothing rounds, so that whatever is off
// by more than a few places is a fault, however much a result would change with its inputs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/runner/check/other_arithmetic.h"

namespace msrun::testing {
namespace {

using namespace other_arithmetic;

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

struct Case {
  std::string name;
  std::vector<Dims> shapes;
  List more = {};
  Dict keywords = {};
  std::vector<std::int64_t> output = {};  // of the first; empty: of the first argument
  bool has_gradient = true;
};

Tensor indices(const Dims& shape, const std::vector<double>& values) {
  return Tensor::from<double>(DType::float64, shape, std::span<const double>(values)).to(DType::int64);
}

Tensor mask(const std::vector<double>& values) { return of(DType::boolean, {3, 4}, values); }

const std::vector<Case>& cases() {
  static const std::int64_t one = 1;
  static const std::int64_t two = 2;
  static const Tensor picked = indices({3, 2}, {0, 2, 3, 1, 1, 0});
  static const Tensor rows = indices({2}, {2, 0});
  static const Tensor some = mask({1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 0});
  static const std::vector<Case> all{
      {"Torch.floor.0", {{3, 4}}, {}, {}, {}, false},
      {"Torch.ceil.0", {{3, 4}}, {}, {}, {}, false},
      {"Torch.trunc.0", {{3, 4}}, {}, {}, {}, false},
      {"Torch.round.0", {{3, 4}}, {}, {}, {}, false},
      {"Torch.sign.0", {{3, 4}}, {}, {}, {}, false},
      {"Torch.frac.0", {{3, 4}}},
      {"Torch.neg.0", {{3, 4}}},
      {"Torch.abs.0", {{3, 4}}},
      {"Functional.relu.0", {{3, 4}}},
      {"Functional.relu6.0", {{3, 4}}},
      {"Functional.hardtanh.0", {{3, 4}}},
      {"Functional.hardshrink.0", {{3, 4}}},
      {"Functional.threshold.0", {{3, 4}}, {0.5, 0.25}},
      {"Torch.clamp.0", {{3, 4}}, {-2.0, 2.0}},
      {"Torch.maximum.0", {{3, 4}, {3, 4}}},
      {"Torch.minimum.0", {{3, 4}, {3, 4}}},
      {"Torch.max.0", {{3, 4}}, {one}, {}, {3}},
      {"Torch.min.0", {{3, 4}}, {one}, {}, {3}},
      {"Torch.amax.0", {{3, 4}}, {one}, {}, {3}},
      {"Torch.median.0", {{3, 5}}, {one}, {}, {3}},
      {"Torch.kthvalue.0", {{3, 4}}, {two, one}, {}, {3}},
      {"Torch.topk.0", {{3, 4}}, {two}, {}, {3, 2}},
      {"Torch.sort.0", {{3, 4}}},
      {"Torch.gather.0", {{3, 4}}, {one, picked}, {}, {3, 2}},
      {"Torch.index_select.0", {{3, 4}}, {std::int64_t{0}, rows}, {}, {2, 4}},
      {"Torch.masked_fill.0", {{3, 4}}, {some, 0.5}},
      {"Torch.flip.0", {{3, 4}}, {List{one}}},
      {"Torch.roll.0", {{3, 4}}, {one, one}},
      {"Torch.tril.0", {{3, 4}}},
      {"Torch.permute.0", {{3, 4}}, {List{one, std::int64_t{0}}}, {}, {4, 3}},
      {"Functional.pad.0", {{3, 4}}, {List{one, one}}, {}, {3, 6}},
      {"Functional.max_pool1d.0", {{3, 4}}, {two}, {}, {3, 2}},
      {"Functional.max_pool2d.0", {{1, 4, 4}}, {two}, {}, {1, 2, 2}},
      {"Functional.max_pool3d.0", {{1, 4, 4, 4}}, {two}, {}, {1, 2, 2, 2}},
      {"Functional.adaptive_max_pool1d.0", {{3, 4}}, {two}, {}, {3, 2}},
  };
  return all;
}

ApiCall call_for(const Case& of, DType dtype) {
  const Dims shape = of.output.empty() ? of.shapes.front() : Dims(of.output.begin(), of.output.end());
  ApiCall call = call_of(of.name, of.shapes, shape, dtype, -2.5, 2.5);
  for (const Value& value : of.more) call.args.push_back(value);
  call.kwargs = of.keywords;
  call.has_backward = of.has_gradient;
  return call;
}

Value& output_of(DeviceResult& result) {
  List* const list = result.output.get<List>();
  return list == nullptr ? result.output : list->front();
}

// The n-th element that is not zero, counted from the end if n is negative, times a factor.
void scale_one(Value& value, std::int64_t n, double factor) {
  const Tensor& tensor = *value.get<Tensor>();
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    const double found = element(value, i);
    if (found != 0 && std::isfinite(found)) places.push_back(i);
  }
  ASSERT_FALSE(places.empty());
  const auto count = static_cast<std::int64_t>(places.size());
  const std::int64_t place = places[static_cast<std::size_t>(((n % count) + count) % count)];
  set_elements(value, [=](double found, std::int64_t i) { return i == place ? found * factor : found; });
}

TEST(Unrounded, OneElementThatIsOffIsAFault) {
  for (const Case& of : cases()) {
    for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
      SCOPED_TRACE(of.name + " " + std::string(name(dtype)));
      const ApiCall call = call_for(of, dtype);
      expect_sound(call, {});
      for (const std::int64_t n : {0, 1, -1}) {
        expect_fault(call, [&](DeviceResult& result, int) { scale_one(output_of(result), n, 1.05); });
        if (of.has_gradient)
          expect_fault(call, [&](DeviceResult& result, int) { scale_one(result.gradients.front(), n, 1.05); });
      }
    }
  }
}

// What the condition of a function would enlarge: nothing is rounded that it could.
TEST(Unrounded, LargeInputsAndKinksExcuseNothing) {
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    const ApiCall frac = call_with("Torch.frac.0", {of(dtype, {5}, {0.5, 2.5, -3.25, 1e10, 88.75})});
    expect_sound(frac, {});
    for (const auto& [place, wrong] : {std::pair{3, 0.04}, {0, 0.54}, {4, 0.8}}) {
      expect_fault(frac, [at = place, value = wrong](DeviceResult& result, int) {
        set_elements(result.output, [=](double found, std::int64_t i) { return i == at ? value : found; });
      });
    }
  }
  TensorFiles files;
  for (const char* name : {"Functional.hardshrink.0", "Functional.softshrink.0"}) {
    for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
      ApiCall call = call_with(name, {files.file(of(dtype, {4}, {0.5, 2.5, -2.5, -0.25}))});
      call.has_backward = true;
      call.grad_inputs = {files.file(of(dtype, {4}, {-0.84, 0.3, -0.28, -1.76}), false)};
      const auto is_accused = [&](std::int64_t place, double value) {
        return is_suspicious(check(
            call,
            [&](DeviceResult& result, int) {
              set_elements(result.gradients[0],
                           [=](double found, std::int64_t i) { return i == place ? value : found; });
            },
            {}, files.options()));
      };
      // The slope of either side.
      EXPECT_FALSE(is_accused(0, 0)) << name;
      EXPECT_FALSE(is_accused(0, element(of(dtype, {1}, {-0.84}), 0))) << name;
      for (const double between : {0.06, -0.5, -0.9}) EXPECT_TRUE(is_accused(0, between)) << name << " " << between;
      EXPECT_TRUE(is_accused(3, -1.76)) << name;
    }
  }
}

// Neither does what is not finite excuse what is moved beside it.
TEST(Unrounded, GradientsBesideInfinitiesAreMoved) {
  TensorFiles files;
  const auto call_at = [&](const std::string& name, DType dtype, const Dims& shape, const std::vector<double>& x,
                           const Dims& of_output, const std::vector<double>& gradient, List more) {
    ApiCall call = call_with(name, {files.file(of(dtype, shape, x))});
    for (const Value& value : more) call.args.push_back(value);
    call.has_backward = true;
    call.grad_inputs = {files.file(of(dtype, of_output, gradient), false)};
    return call;
  };
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    const std::vector<double> no_windows(4, -infinite);
    for (const ApiCall& call :
         {call_at("Torch.sort.0", dtype, {6}, {infinite, 1, -infinite, 5, 2, 0}, {6},
                  {-0.9, -0.2, 0.8, 0.5, 0.7, -0.25}, {}),
          call_at("Torch.sort.0", dtype, {6}, {no_number, 1, -infinite, infinite, no_number, 0}, {6},
                  {-1.3, -1.4, -0.1, -0.3, -0.4, -0.9}, {}),
          call_at("Functional.max_pool2d.0", dtype, {1, 2, 2}, no_windows, {1, 1, 1}, {0.375}, {std::int64_t{2}}),
          call_at("Functional.max_pool1d.0", dtype, {1, 6}, {1, -infinite, -infinite, 4, 2, -infinite}, {1, 3},
                  {0.375, -0.6875, 1.5}, {std::int64_t{2}}),
          call_at("Torch.max.0", dtype, {2, 3}, {1, 5, -infinite, 3, -infinite, -infinite}, {2}, {0.375, -0.6875},
                  {std::int64_t{1}}),
          call_at("Torch.kthvalue.0", dtype, {2, 3}, {1, 5, -infinite, 3, -infinite, infinite}, {2}, {0.375, -0.6875},
                  {std::int64_t{2}}),
          call_at("Torch.cummax.0", dtype, {4}, {-infinite, 1, -infinite, 5}, {4}, {0.375, -0.6875, 0.25, 1.5},
                  {std::int64_t{0}}),
          call_at("Functional.max_pool2d.0", dtype, {1, 2, 2}, {1, 2, 3, 4}, {1, 1, 1}, {-0.6875},
                  {std::int64_t{2}})}) {
      SCOPED_TRACE(call.name + " " + std::string(name(dtype)));
      const ApiResult sound = check(call, {}, {}, files.options());
      EXPECT_FALSE(is_suspicious(sound)) << described(sound);
      for (const std::int64_t n : {0, -1}) {
        const ApiResult off = check(
            call, [&](DeviceResult& result, int) { scale_one(result.gradients[0], n, 1.05); }, {}, files.options());
        EXPECT_TRUE(is_suspicious(off)) << described(off);
      }
    }
  }
}

// Sums of gradients round; where windows overlap, most elements are still those of one.
TEST(Unrounded, GradientsOfOverlappingWindowsBesideInfinitiesAreKnown) {
  TensorFiles files;
  const std::int64_t two = 2;
  const std::int64_t three = 3;
  const std::vector<double> x{1.75, -infinite, 1.5, 0.0625, -infinite, 1.875, -infinite, 0.4375};
  ApiCall call = call_with("Functional.max_pool1d.0", {files.file(of(DType::float32, {1, 8}, x))});
  for (const std::int64_t value : {three, two, std::int64_t{1}}) call.args.emplace_back(value);
  call.has_backward = true;
  call.grad_inputs = {files.file(of(DType::float32, {1, 4}, {1.2, -0.36, -0.63, 0.21}), false)};
  const ApiResult sound = check(call, {}, {}, files.options());
  EXPECT_FALSE(is_suspicious(sound)) << described(sound);
  for (const std::int64_t n : {0, -1}) {
    const ApiResult off = check(
        call, [&](DeviceResult& result, int) { scale_one(result.gradients[0], n, 1.05); }, {}, files.options());
    EXPECT_TRUE(is_suspicious(off)) << described(off);
  }
}

}  // namespace
}  // namespace msrun::testing
