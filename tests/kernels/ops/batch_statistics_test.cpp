// The steps of synchronised batch norm: together, on the halves of a batch, they are batch norm of the whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using Values = std::vector<double>;

constexpr double epsilon = 1e-3;
const Value absent = None{};

void expect_near(const Values& actual, const Values& expected, double tolerance = 1e-12) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
}

class SynchronisedBatchNorm : public ::testing::Test {
 protected:
  Tensor run(const char* api, const List& args, std::size_t output = 0) {
    return call("Torch", api, args, {}, tape_, leaves_, output).tensor();
  }
  // Statistics of both parts, (2, 3).
  Tensor both(std::size_t output) {
    return run("stack", {List{run("batch_norm_stats", {first_, epsilon}, output),
                              run("batch_norm_stats", {second_, epsilon}, output)},
                         std::int64_t{0}});
  }
  Tensor gathered(std::size_t output) {
    return run("batch_norm_gather_stats_with_counts",
               {first_, both(0), both(1), absent, absent, 0.1, epsilon, float64({2}, {2 * 4, 3 * 4})}, output);
  }

  Tape tape_;
  std::vector<Var> leaves_;
  Tensor x_ = uniform({5, 3, 4}, -1, 2, 1);
  Tensor first_ = x_.slice(0, 0, 2).contiguous();
  Tensor second_ = x_.slice(0, 2, 3).contiguous();
  Tensor weight_ = uniform({3}, 0.5, 2, 2);
  Tensor bias_ = uniform({3}, -1, 1, 3);
  Tensor g_ = uniform({5, 3, 4}, -1, 1, 4);
};

TEST_F(SynchronisedBatchNorm, ForwardOfTheWholeBatch) {
  expect_near(values(gathered(0)), values(run("batch_norm_stats", {x_, epsilon}, 0)));
  expect_near(values(gathered(1)), values(run("batch_norm_stats", {x_, epsilon}, 1)));
  const Tensor y = run("batch_norm_elemt", {x_, weight_, bias_, gathered(0), gathered(1), epsilon});
  expect_near(values(y), forward("Functional", "batch_norm", {x_, absent, absent, weight_, bias_, true, 0.1, epsilon}));
  // Devices that saw the same number of values.
  const Tensor same = run("stack", {List{run("batch_norm_stats", {first_, epsilon}, 0),
                                         run("batch_norm_stats", {x_.slice(0, 2, 2), epsilon}, 0)},
                                    std::int64_t{0}});
  const Tensor same_rstd = run("stack", {List{run("batch_norm_stats", {first_, epsilon}, 1),
                                              run("batch_norm_stats", {x_.slice(0, 2, 2), epsilon}, 1)},
                                         std::int64_t{0}});
  expect_near(values(run("batch_norm_gather_stats",
                         {first_, same, same_rstd, absent, absent, 0.1, epsilon, std::int64_t{8}}, 1)),
              values(run("batch_norm_stats", {x_.slice(0, 0, 4), epsilon}, 1)));
}

TEST_F(SynchronisedBatchNorm, BackwardOfTheWholeBatch) {
  const Tensor mean = gathered(0);
  const Tensor rstd = gathered(1);
  const List whole{g_, x_, mean, rstd, weight_, true, true, true};
  const Tensor sum = run("batch_norm_backward_reduce", whole, 0);
  const Tensor projection = run("batch_norm_backward_reduce", whole, 1);
  const Tensor dx = run("batch_norm_backward_elemt",
                        {g_, x_, mean, rstd, weight_, sum, projection, Tensor::full(DType::int32, Dims{2}, 10)});
  const std::vector<Values> expected =
      gradients("Functional", "batch_norm", {x_, absent, absent, weight_, bias_, true, 0.1, epsilon}, {}, g_);
  expect_near(values(dx), expected[0]);
  expect_near(values(run("batch_norm_backward_reduce", whole, 2)), expected[1]);
  expect_near(values(run("batch_norm_backward_reduce", whole, 3)), expected[2]);
  // By the older keywords.
  const Value by_name = find_operator("Torch", "batch_norm_backward_elemt")
                            ->call({tape_.constant(g_), tape_.constant(x_), tape_.constant(mean), tape_.constant(rstd),
                                    tape_.constant(weight_)},
                                   {{"mean_dy", tape_.constant(sum)},
                                    {"mean_dy_xmu", tape_.constant(projection)},
                                    {"count", tape_.constant(int64({1}, {20}))}},
                                   tape_);
  expect_near(values(by_name.get<Var>()->tensor()), expected[0]);
}

TEST_F(SynchronisedBatchNorm, GradientsAndOtherForms) {
  const List elemt{x_, weight_, bias_, uniform({3}, -1, 1, 5), uniform({3}, 1, 2, 6), epsilon};
  check_gradients("Torch", "batch_norm_elemt", elemt);
  const Values mean_variance = forward("Torch", "batch_norm_update_stats", {x_, absent, absent, 0.1}, {}, 1);
  const Values rstd = forward("Torch", "batch_norm_stats", {x_, epsilon}, {}, 1);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(rstd[c], 1 / std::sqrt(mean_variance[c] + epsilon), 1e-12);
  const List impl{x_, weight_, bias_, absent, absent, true, 0.1, epsilon, true};
  expect_near(forward("Torch", "_batch_norm_impl_index", impl),
              forward("Torch", "native_batch_norm", {x_, weight_, bias_, absent, absent, true, 0.1, epsilon}));
  expect_near(forward("Torch", "_batch_norm_impl_index", impl, {}, 2), rstd);
  check_gradients("Torch", "_batch_norm_impl_index", impl);
}

TEST_F(SynchronisedBatchNorm, KeepsStatisticsOfHalfInputsWide) {
  const Tensor half = x_.to(DType::float16);
  EXPECT_EQ(run("batch_norm_stats", {half, epsilon}).dtype(), DType::float32);
  const Tensor y = run("batch_norm_elemt", {half, absent, absent, Tensor::zeros(DType::float32, Dims{3}),
                                            Tensor::full(DType::float32, Dims{3}, 2), epsilon});
  EXPECT_EQ(y.dtype(), DType::float16);
  EXPECT_EQ(y.item(0), 2 * half.item(0));
}

TEST_F(SynchronisedBatchNorm, RefusesWhatDoesNotFit) {
  EXPECT_THROW(run("batch_norm_stats", {uniform({3}, 0, 1, 1), epsilon}), SkipError);
  EXPECT_THROW(run("batch_norm_elemt", {x_, absent, absent, weight_.slice(0, 0, 2), weight_, epsilon}), SkipError);
  EXPECT_THROW(run("batch_norm_gather_stats_with_counts",
                   {x_, both(0), both(1), absent, absent, 0.1, epsilon, float64({3}, {1, 1, 1})}),
               SkipError);
  EXPECT_THROW(run("batch_norm_gather_stats", {x_, weight_, weight_, absent, absent, 0.1, epsilon, std::int64_t{8}}),
               SkipError);
  EXPECT_THROW(run("batch_norm_backward_reduce", {first_, x_, weight_, weight_, absent, true, true, true}), SkipError);
}

}  // namespace
}  // namespace msrun
