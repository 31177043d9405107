// Convolutions, transposed convolutions, fold and unfold against their definitions.
#include <gtest/gtest.h>

#include <ctime>
#include <limits>
#include <random>

#include "kernels/base/error.h"
#include "kernels/tensor/memory.h"
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

struct Case2d {
  std::int64_t stride;
  std::int64_t padding;
  std::int64_t dilation;
  std::int64_t groups;
};

// The definition of conv2d, element by element.
Values naive_conv2d(const Tensor& x, const Tensor& w, const Case2d& c) {
  const Values input = values(x);
  const Values weight = values(w);
  const auto out_size = [&](std::int64_t size, std::int64_t kernel) {
    return (size + 2 * c.padding - c.dilation * (kernel - 1) - 1) / c.stride + 1;
  };
  const std::int64_t height = out_size(x.size(2), w.size(2));
  const std::int64_t width = out_size(x.size(3), w.size(3));
  const std::int64_t out_per_group = w.size(0) / c.groups;
  Values result;
  for (std::int64_t n = 0; n < x.size(0); ++n) {
    for (std::int64_t o = 0; o < w.size(0); ++o) {
      for (std::int64_t i = 0; i < height; ++i) {
        for (std::int64_t j = 0; j < width; ++j) {
          double total = 0;
          for (std::int64_t k = 0; k < w.size(1); ++k) {
            const std::int64_t channel = o / out_per_group * w.size(1) + k;
            for (std::int64_t a = 0; a < w.size(2); ++a) {
              for (std::int64_t b = 0; b < w.size(3); ++b) {
                const std::int64_t h = i * c.stride - c.padding + a * c.dilation;
                const std::int64_t v = j * c.stride - c.padding + b * c.dilation;
                if (h < 0 || h >= x.size(2) || v < 0 || v >= x.size(3)) continue;
                const auto at_x = ((n * x.size(1) + channel) * x.size(2) + h) * x.size(3) + v;
                const auto at_w = ((o * w.size(1) + k) * w.size(2) + a) * w.size(3) + b;
                total += input[static_cast<std::size_t>(at_x)] * weight[static_cast<std::size_t>(at_w)];
              }
            }
          }
          result.push_back(total);
        }
      }
    }
  }
  return result;
}

void expect_near(const Values& actual, const Values& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
}

TEST(Conv2d, AgreesWithTheDefinition) {
  for (const Case2d& c :
       {Case2d{1, 0, 1, 1}, Case2d{1, 1, 1, 2}, Case2d{2, 1, 1, 1}, Case2d{2, 3, 2, 4}, Case2d{3, 2, 1, 2}}) {
    const Tensor x = uniform({2, 4, 7, 9}, -1, 1, 1);
    const Tensor w = uniform({8, 4 / c.groups, 3, 2}, -1, 1, 2);
    const Dict kwargs{{"stride", c.stride}, {"padding", c.padding}, {"dilation", c.dilation}, {"groups", c.groups}};
    expect_near(forward("Functional", "conv2d", {x, w}, kwargs), naive_conv2d(x, w, c), 1e-13);
  }
}

TEST(Conv2d, LongSumsAndSeveralBlocks) {
  // 4608 terms of a sum, more than are added up at once; 900 positions, more than one block.
  const Tensor x = uniform({1, 512, 30, 30}, -1, 1, 1);
  const Tensor w = uniform({2, 512, 3, 3}, -1, 1, 2);
  expect_near(forward("Torch", "conv2d", {x, w, None{}, std::int64_t{1}, std::int64_t{1}}),
              naive_conv2d(x, w, {1, 1, 1, 1}), 1e-11);
}

double dot(const Values& a, const Values& b) {
  EXPECT_EQ(a.size(), b.size());
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}

// A convolution is linear in x and in w, so that its gradients are its adjoints: <dx, x'> = <g, conv(x', w)> for any
// x'.
TEST(Conv2d, RandomGeometries) {
  std::mt19937_64 random(std::random_device{}());
  const std::uint64_t seed = random();
  SCOPED_TRACE("seed " + std::to_string(seed));
  random.seed(seed);
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  int run = 0;
  while (run < 150) {
    const Case2d c{between(1, 4), between(0, 5), between(1, 4), between(1, 3)};
    const Dims kernel{between(1, 5), between(1, 5)};
    const Dims size{between(1, 19), between(1, 40)};
    const auto fits = [&](std::size_t axis) { return size[axis] + 2 * c.padding > c.dilation * (kernel[axis] - 1); };
    if (!fits(0) || !fits(1)) continue;
    ++run;
    const Dims x_shape{between(1, 3), c.groups * between(1, 5), size[0], size[1]};
    const Dims w_shape{c.groups * between(1, 9), x_shape[1] / c.groups, kernel[0], kernel[1]};
    const Tensor x = uniform(x_shape, -1, 1, random());
    const Tensor w = uniform(w_shape, -1, 1, random());
    const Dict kwargs{{"stride", c.stride}, {"padding", c.padding}, {"dilation", c.dilation}, {"groups", c.groups}};
    SCOPED_TRACE("x " + tuple_text(x_shape) + " w " + tuple_text(w_shape) + " stride " + std::to_string(c.stride) +
                 " padding " + std::to_string(c.padding) + " dilation " + std::to_string(c.dilation) + " groups " +
                 std::to_string(c.groups));
    Tape tape;
    std::vector<Var> leaves;
    const Tensor y = call("Functional", "conv2d", {x, w}, kwargs, tape, leaves).tensor();
    expect_near(values(y), naive_conv2d(x, w, c), 1e-12);
    const Tensor g = uniform(y.shape(), -1, 1, random());
    const std::vector<Values> gradient = gradients("Functional", "conv2d", {x, w}, kwargs, g);
    const Tensor other_x = uniform(x_shape, -1, 1, random());
    const Tensor other_w = uniform(w_shape, -1, 1, random());
    EXPECT_NEAR(dot(gradient[0], values(other_x)), dot(values(g), naive_conv2d(other_x, w, c)), 1e-10);
    EXPECT_NEAR(dot(gradient[1], values(other_w)), dot(values(g), naive_conv2d(x, other_w, c)), 1e-10);
    if (HasFailure()) return;
  }
}

TEST(Conv2d, AnInfinityStaysWithTheWindowsThatCoverIt) {
  Values data(35, 1.0);
  data[0] = std::numeric_limits<double>::infinity();  // the first element of a row: only the left kernel column sees it
  const Tensor x = float64({1, 1, 5, 7}, data);
  const Tensor w = float64({1, 1, 1, 3}, {1, 1, 1});
  const std::vector<Values> gradient = gradients("Functional", "conv2d", {x, w});
  EXPECT_EQ(gradient[1], (Values{std::numeric_limits<double>::infinity(), 25, 25}));
}

TEST(Conv2d, EmptyBatch) {
  EXPECT_EQ(forward("Functional", "conv2d", {float64({0, 2, 5, 5}, {}), uniform({3, 2, 3, 3}, -1, 1, 1)}), Values{});
}

TEST(Conv2d, RefusesAPaddedInputBeyondAnyMemory) {
  const TensorMemoryScope scope(std::uint64_t{1} << 30);
  const std::int64_t far = std::int64_t{1} << 31;
  EXPECT_THROW(forward("Functional", "conv2d", {uniform({1, 1, 4, 4}, -1, 1, 1), uniform({1, 1, 2, 2}, -1, 1, 2)},
                       {{"padding", far / 2}, {"dilation", far}}),
               SkipError);
}

TEST(Conv2d, Gradients) {
  const Tensor x = uniform({2, 4, 4, 3}, -1, 1, 1);
  const Tensor bias = uniform({6}, -1, 1, 3);
  check_gradients("Functional", "conv2d",
                  {x, uniform({6, 2, 3, 2}, -1, 1, 2), bias, integers({2, 1}), integers({1, 2}), integers({1, 2}),
                   std::int64_t{2}});
  check_gradients("Functional", "conv2d", {x, uniform({6, 4, 1, 1}, -1, 1, 2), bias});
  check_gradients("Functional", "conv2d", {x.select(0, 0), uniform({6, 4, 2, 2}, -1, 1, 2)},
                  {{"padding", std::string("same")}});
  // Depthwise, on a view that is not row-major.
  check_gradients("Functional", "conv2d", {x.permute(Dims{0, 1, 3, 2}), uniform({4, 1, 2, 2}, -1, 1, 2)},
                  {{"groups", std::int64_t{4}}});
}

TEST(Conv1d, WorkedValues) {
  const Tensor x = float64({1, 1, 4}, {1, 2, 3, 4});
  const Tensor w = float64({1, 1, 2}, {1, 1});
  EXPECT_EQ(forward("Functional", "conv1d", {x, w}, {{"padding", std::string("same")}}), (Values{3, 5, 7, 4}));
  EXPECT_EQ(forward("Functional", "conv1d", {x, w}, {{"padding", std::string("valid")}}), (Values{3, 5, 7}));
  EXPECT_EQ(forward("Functional", "conv1d", {x.select(0, 0), w, float64({1}, {10})}), (Values{13, 15, 17}));
  check_gradients("Functional", "conv1d",
                  {uniform({2, 3, 6}, -1, 1, 1), uniform({4, 3, 3}, -1, 1, 2), uniform({4}, -1, 1, 3)},
                  {{"stride", std::int64_t{2}}, {"padding", std::int64_t{1}}});
}

TEST(Conv3d, GradientsAndStride) {
  EXPECT_EQ(forward("Functional", "conv3d",
                    {float64({1, 1, 1, 2, 2}, {1, 2, 3, 4}), float64({1, 1, 1, 2, 2}, {1, 10, 100, 1000})}),
            (Values{4321}));
  check_gradients("Functional", "conv3d", {uniform({1, 2, 3, 2, 4}, -1, 1, 1), uniform({2, 2, 2, 2, 2}, -1, 1, 2)},
                  {{"padding", integers({0, 1, 1})}, {"stride", integers({1, 2, 2})}});
}

TEST(ConvTranspose, WorkedValues) {
  EXPECT_EQ(forward("Functional", "conv_transpose1d",
                    {float64({1, 1, 2}, {1, 2}), float64({1, 1, 3}, {1, 10, 100}), None{}, std::int64_t{2},
                     std::int64_t{1}, std::int64_t{1}}),
            (Values{10, 102, 20, 200}));
}

TEST(ConvTranspose, IsTheGradientOfTheConvolution) {
  const Tensor x = uniform({2, 4, 5, 6}, -1, 1, 1);
  const Tensor w = uniform({6, 2, 3, 2}, -1, 1, 2);
  const Dict kwargs{{"stride", std::int64_t{2}}, {"padding", std::int64_t{1}}, {"groups", std::int64_t{2}}};
  const Tensor g = uniform({2, 6, 3, 4}, -1, 1, 3);
  const Values expected = gradients("Functional", "conv2d", {x, w}, kwargs, g)[0];
  Dict transposed = kwargs;
  transposed.emplace_back("output_padding", integers({0, 0}));
  expect_near(forward("Functional", "conv_transpose2d", {g, w}, transposed), expected, 1e-13);
}

TEST(ConvTranspose, Gradients) {
  check_gradients("Functional", "conv_transpose2d",
                  {uniform({2, 4, 3, 2}, -1, 1, 1), uniform({4, 3, 2, 3}, -1, 1, 2), uniform({6}, -1, 1, 3),
                   integers({2, 3}), integers({1, 0}), integers({1, 2}), std::int64_t{2}, std::int64_t{1}});
  check_gradients("Functional", "conv_transpose1d", {uniform({3, 4}, -1, 1, 1), uniform({3, 2, 3}, -1, 1, 2)});
  check_gradients("Functional", "conv_transpose3d",
                  {uniform({1, 2, 2, 2, 2}, -1, 1, 1), uniform({2, 1, 2, 1, 2}, -1, 1, 2), uniform({1}, -1, 1, 3)});
}

TEST(Conv2d, HalfPrecisionRoundsOnce) {
  const Tensor x = uniform({1, 3, 6, 6}, -1, 1, 1).to(DType::bfloat16);
  const Tensor w = uniform({4, 3, 3, 3}, -1, 1, 2).to(DType::bfloat16);
  const Values exact = naive_conv2d(x, w, {1, 0, 1, 1});
  Tape tape;
  const Value result = find_operator("Functional", "conv2d")->call({tape.constant(x), tape.constant(w)}, {}, tape);
  EXPECT_EQ(result.get<Var>()->dtype(), DType::bfloat16);
  const Values actual = values(result.get<Var>()->tensor());
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(actual[i], exact[i], std::abs(exact[i]) / 256 + 1e-6);
}

TEST(Conv2d, FaultyArithmetics) {
  Arithmetic arithmetic;
  arithmetic.summation.accumulator = Accumulator::float16;
  const auto sum_of_ones = [&](const Arithmetic& with) {
    Tape tape({.arithmetic = with});
    const Var x = tape.constant(Tensor::full(DType::float32, Dims{1, 2100, 1, 1}, 1));
    return find_operator("Functional", "conv2d")->call({x, x}, {}, tape).get<Var>()->tensor().item();
  };
  EXPECT_EQ(sum_of_ones({}), 2100);
  EXPECT_EQ(sum_of_ones(arithmetic), 2048);
}

TEST(Conv, RefusesWhatDoesNotFit) {
  const Tensor x = uniform({1, 4, 3, 3}, -1, 1, 1);
  const Tensor w = uniform({2, 4, 2, 2}, -1, 1, 1);
  const auto refused = [&](const List& args, const Dict& kwargs) {
    EXPECT_THROW(forward("Functional", "conv2d", args, kwargs), SkipError);
  };
  refused({x, uniform({2, 3, 2, 2}, -1, 1, 1)}, {});
  refused({x, uniform({2, 4, 4, 2}, -1, 1, 1)}, {});
  refused({x, w, uniform({3}, -1, 1, 1)}, {});
  refused({x, w}, {{"stride", std::int64_t{0}}});
  refused({x, w}, {{"padding", std::int64_t{-1}}});
  refused({x, w}, {{"groups", std::int64_t{3}}});
  refused({x, w}, {{"groups", std::int64_t{0}}});
  refused({x, w}, {{"padding", std::string("reflect")}});
  refused({x, w}, {{"padding", std::string("same")}, {"stride", std::int64_t{2}}});
  refused({x, w}, {{"stride", integers({1, 1, 1})}});
  refused({uniform({4, 3}, -1, 1, 1), w}, {});
  EXPECT_THROW(forward("Functional", "conv_transpose2d", {x, w.transpose(0, 1)}, {{"output_padding", std::int64_t{1}}}),
               SkipError);
  EXPECT_THROW(forward("Functional", "conv_transpose2d", {x, uniform({4, 2, 2, 2}, 0, 1, 1)},
                       {{"output_padding", std::int64_t{1}}}),
               SkipError);
  EXPECT_THROW(
      forward("Functional", "conv_transpose2d", {x, uniform({4, 2, 2, 2}, 0, 1, 1)}, {{"padding", std::int64_t{2}}}),
      SkipError);
}

TEST(Conv, RefusesWorkThatIsAllPadding) {
  const std::int64_t wide = 1'000'000;
  const Tensor x(DType::float32, {1, 1, 32});
  const Tensor w(DType::float32, {1, 1, wide});
  const Value one = std::int64_t{1};
  const auto refused = [](const std::string& name, const List& args) {
    try {
      forward("Functional", name, args);
    } catch (const SkipError& error) {
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  const std::string reason = "out of all proportion";
  EXPECT_NE(refused("conv1d", {x, w, None{}, one, 10 * wide}).find(reason), std::string::npos);
  EXPECT_NE(refused("conv_transpose1d", {Tensor(DType::float32, {1, 1, 128}), w}).find(reason), std::string::npos);
  // Of few products that are all padding the kernel alone takes the memory of hundreds of millions.
  const Value half = std::int64_t{wide / 2};
  EXPECT_NE(refused("conv1d", {x, Tensor(DType::float32, {64, 1, wide}), None{}, one, half}).find(reason),
            std::string::npos);
  EXPECT_NE(refused("conv1d", {Tensor(DType::float32, {32, 1, 32}), w, None{}, one, half}).find(reason),
            std::string::npos);
  // Kernels that reach beyond their input at all its borders, as they do for images of one element.
  const Tensor image(DType::float32, {1, 8, 1, 1});
  EXPECT_EQ(refused("conv2d", {image, Tensor(DType::float32, {8, 8, 7, 7}), None{}, one, std::int64_t{3}}),
            "not refused");
}

// With a stride beyond the kernel every element of it has a residue of its own.
TEST(Conv, AStrideOfAnyLengthTakesTimeInProportionToTheKernel) {
  const std::int64_t wide = 300'000;
  const Tensor x(DType::float32, {1, 1, 2});
  const Tensor w(DType::float32, {1, 1, wide});
  const std::clock_t before = std::clock();
  forward("Functional", "conv_transpose1d", {x, w, None{}, Value(wide)});
  EXPECT_LT(std::clock() - before, 10 * CLOCKS_PER_SEC);
}

TEST(ConvTbc, IsConv1dInAnotherLayout) {
  const Tensor x = uniform({5, 2, 3}, -1, 1, 1);
  const Tensor w = uniform({2, 3, 4}, -1, 1, 2);
  const Tensor bias = uniform({4}, -1, 1, 3);
  const Values expected = forward("Functional", "conv1d", {x.permute(Dims{1, 2, 0}), w.permute(Dims{2, 1, 0}), bias});
  const Values result = forward("Functional", "conv_tbc", {x, w, bias});
  expect_near(values(float64({4, 2, 4}, result).permute(Dims{1, 2, 0})), expected, 1e-14);
}

TEST(Fold, UnfoldListsTheWindows) {
  const Tensor x = float64({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(forward("Functional", "unfold", {x, integers({2, 2})}), (Values{1, 2, 2, 3, 4, 5, 5, 6}));
  EXPECT_EQ(forward("Functional", "unfold", {x.select(0, 0), integers({1, 3})}, {{"padding", integers({0, 1})}}),
            (Values{0, 1, 2, 0, 4, 5, 1, 2, 3, 4, 5, 6, 2, 3, 0, 5, 6, 0}));
  check_gradients("Functional", "unfold", {uniform({2, 2, 4, 5}, -1, 1, 1), integers({3, 2})},
                  {{"padding", std::int64_t{1}}, {"stride", std::int64_t{2}}, {"dilation", integers({1, 2})}});
}

TEST(Fold, SumsOverlaps) {
  const Tensor columns = Tensor::full(DType::float64, Dims{1, 4, 2}, 1);
  EXPECT_EQ(forward("Functional", "fold", {columns, integers({2, 3}), integers({2, 2})}), (Values{1, 2, 1, 1, 2, 1}));
  check_gradients("Functional", "fold", {uniform({1, 18, 25}, -1, 1, 1), integers({5, 5}), integers({3, 3})},
                  {{"padding", std::int64_t{1}}});
  EXPECT_THROW(forward("Functional", "fold", {columns, integers({3, 3}), integers({2, 2})}), SkipError);
  EXPECT_THROW(forward("Functional", "unfold", {uniform({1, 1, 2, 2}, 0, 1, 1), integers({3, 3})}), SkipError);
  EXPECT_THROW(forward("Functional", "unfold", {uniform({1, 1, 2, 2}, 0, 1, 1), integers({1, 1})},
                       {{"padding", std::int64_t{1} << 31}}),
               SkipError);
}

}  // namespace
}  // namespace msrun
