// One name in several namespaces: torch.nn.functional, torch's Python bindings (Torch, Tensor) and the dispatcher
// (Aten) differ in defaults and in the order of arguments. The values are those of torch 1.13; the same calls as
// recordings are in tests/data/oracle/namespaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

Value i(std::int64_t value) { return value; }

Tensor x() { return float64({2, 2}, {1, -2, 0.5, 3}); }
Tensor y() { return float64({2, 2}, {0.25, 0.5, -1, 2}); }
Tensor z() { return float64({2, 2}, {1, 1, 0, -1}); }
Tensor signs() { return float64({2, 2}, {1, -1, 1, -1}); }

double sum_of(const std::vector<double>& values) {
  double total = 0;
  for (const double value : values) total += value;
  return total;
}

TEST(Namespaces, LossesWithoutReduction) {
  struct Case {
    const char* api;
    List args;
    std::size_t losses;
  };
  const std::vector<Case> cases{
      {"binary_cross_entropy_with_logits", {x(), float64({2, 2}, {1, 0, 1, 0})}, 4},
      {"hinge_embedding_loss", {x(), signs()}, 4},
      {"kl_div", {x(), float64({2, 2}, {0.1, 0.2, 0.3, 0.4})}, 4},
      {"margin_ranking_loss", {x(), y(), signs()}, 4},
      {"cosine_embedding_loss", {x(), y(), float64({2}, {1, -1})}, 2},
      {"triplet_margin_loss", {x(), y(), z()}, 2},
      {"ctc_loss",
       {uniform({4, 2, 3}, -3, -0.5, 7), int64({2, 2}, {1, 2, 2, 1}), int64({2}, {4, 3}), int64({2}, {2, 1})},
       2},
  };
  for (const Case& c : cases) {
    const auto with = [&](const char* type, std::int64_t reduction) {
      return forward(type, c.api, c.args, {{"reduction", i(reduction)}});
    };
    const std::vector<double> each = forward("Torch", c.api, c.args);
    EXPECT_EQ(each.size(), c.losses) << c.api;
    EXPECT_EQ(each, with("Torch", 0)) << c.api;
    const std::vector<double> mean = forward("Aten", c.api, c.args);
    EXPECT_EQ(mean.size(), 1U) << c.api;
    EXPECT_EQ(mean, with("Aten", 1)) << c.api;
    EXPECT_EQ(mean, with("Torch", 1)) << c.api;
    EXPECT_EQ(mean, forward("Functional", c.api, c.args)) << c.api;
    EXPECT_NEAR(with("Torch", 2).at(0), sum_of(each), 1e-12) << c.api;
    EXPECT_EQ(with("Torch", 0), with("Aten", 0)) << c.api;
    EXPECT_TRUE(traits_of(*ApiName::parse(std::string("Torch.") + c.api + ".0")).autocast ==
                traits_of(*ApiName::parse(std::string("Functional.") + c.api + ".0")).autocast)
        << c.api;
  }
}

// torch.nn.functional takes size_average there, the dispatcher the reduction: 0, 1, 2, or a bool as a number.
TEST(Namespaces, ThirdArgumentOfALoss) {
  for (const char* api : {"l1_loss", "mse_loss", "smooth_l1_loss", "soft_margin_loss"}) {
    const List args{x(), signs()};
    const auto with = [&](const char* type, const Value& third) { return forward(type, api, {x(), signs(), third}); };
    const std::vector<double> each = with("Aten", i(0));
    EXPECT_EQ(each.size(), 4U) << api;
    EXPECT_EQ(with("Aten", false), each) << api;
    EXPECT_EQ(with("Aten", true), with("Aten", i(1))) << api;
    EXPECT_EQ(forward("Aten", api, args), with("Aten", i(1))) << api;
    EXPECT_EQ(with("Functional", false), with("Aten", i(2))) << api;
    EXPECT_NEAR(with("Functional", false).at(0), sum_of(each), 1e-12) << api;
    EXPECT_EQ(with("Functional", true), forward("Functional", api, args)) << api;
    EXPECT_EQ(forward("Functional", api, args), with("Aten", i(1))) << api;
  }
}

TEST(Namespaces, StftOfTheDispatcherDoesNotPad) {
  const Tensor signal = float64({8}, {0, 1, 2, 3, 4, 5, 6, 7});
  const std::vector<double> parts = forward("Aten", "stft", {signal, i(4), i(2)});
  EXPECT_THAT(parts, Pointwise(DoubleNear(1e-12), {6, 0, 14, 0, 22, 0, -2, 2, -2, 2, -2, 2, -2, 0, -2, 0, -2, 0}));
  // Real signals have no imaginary part at the lowest and the highest frequency, not even a small one.
  for (const std::size_t at : {1, 3, 5, 13, 15, 17}) EXPECT_EQ(parts.at(at), 0) << at;
  EXPECT_EQ(result_of("Torch", "stft", {signal, i(4), i(2)}).shape(), (Dims{3, 5, 2}));
  EXPECT_EQ(result_of("Tensor", "stft", {signal, i(4), i(2)}).shape(), (Dims{3, 5, 2}));
  // Who names centre or padding calls the other overload.
  const std::vector<double> padded = forward("Torch", "stft", {signal, i(4), i(2)});
  EXPECT_EQ(forward("Aten", "stft", {signal, i(4), i(2)}, {{"center", true}}), padded);
  EXPECT_EQ(forward("Aten", "stft", {signal, i(4), i(2), None{}, None{}, true, std::string("reflect")}), padded);
  // The sixth argument is `normalized` in the first overload, `center` in the second.
  EXPECT_EQ(forward("Aten", "stft", {signal, i(4), i(2), None{}, None{}, true}),
            forward("Torch", "stft", {signal, i(4), i(2)}, {{"center", false}, {"normalized", true}}));
}

TEST(Namespaces, WhereOfATensorTakesTheConditionSecond) {
  const Tensor condition = int64({2, 2}, {1, 0, 0, 1}).to(DType::boolean);
  const std::vector<double> chosen{1, 0.5, -1, 3};
  EXPECT_EQ(forward("Torch", "where", {condition, x(), y()}), chosen);
  EXPECT_EQ(forward("Aten", "where", {condition, x(), y()}), chosen);
  EXPECT_EQ(forward("Tensor", "where", {x(), condition, y()}), chosen);
}

// torch takes the factor before what it multiplies, too, as its early versions did.
TEST(Namespaces, FactorsInFront) {
  for (const char* type : {"Torch", "Tensor"}) {
    EXPECT_THAT(forward(type, "add", {x(), i(2), y()}), ElementsAre(1.5, -1, -1.5, 7)) << type;
    EXPECT_THAT(forward(type, "sub", {x(), i(2), y()}), ElementsAre(0.5, -3, 2.5, -1)) << type;
    EXPECT_THAT(forward(type, "addcmul", {x(), -0.5, y(), z()}), ElementsAre(0.875, -2.25, 0.5, 4)) << type;
    EXPECT_THAT(forward(type, "addcdiv", {x(), -0.5, z(), y()}), ElementsAre(-1, -3, 0.5, 3.25)) << type;
    EXPECT_THAT(forward(type, "add", {x(), y()}, {{"alpha", i(2)}}), ElementsAre(1.5, -1, -1.5, 7)) << type;
  }
  EXPECT_THAT(forward("Tensor", "add_", {x(), 2.0, y()}), ElementsAre(1.5, -1, -1.5, 7));
  EXPECT_THAT(forward("Torch", "add", {x(), i(2)}), ElementsAre(3, 0, 2.5, 5));
}

}  // namespace
}  // namespace msrun::testing
