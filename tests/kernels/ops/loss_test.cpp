// Losses: worked values, reductions, ignored and weighted classes, gradients, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

Value i(std::int64_t value) { return value; }
Value text(const char* value) { return std::string(value); }

Tensor logits() { return float64({2, 3}, {1, 2, 3, 0.5, 0.1, -1}); }
Tensor probabilities() { return float64({2, 3}, {0.2, 0.3, 0.5, 0.1, 0.1, 0.8}); }
Tensor class_weight() { return float64({3}, {1, 2, 3}); }

double one(const std::string& api, const List& args, const Dict& kwargs = {}) {
  const std::vector<double> result = forward("Functional", api, args, kwargs);
  EXPECT_EQ(result.size(), 1U);
  return result[0];
}

TEST(CrossEntropy, WorkedValues) {
  const Tensor target = int64({2}, {1, 2});
  EXPECT_NEAR(one("cross_entropy", {logits(), target, class_weight()}), 1.8460827882446504, 1e-14);
  EXPECT_NEAR(one("cross_entropy", {logits(), target}, {{"label_smoothing", 0.1}}), 1.7296699842779386, 1e-14);
  EXPECT_NEAR(one("cross_entropy", {logits(), target, class_weight()}, {{"label_smoothing", 0.1}}), 1.7653147748290872,
              1e-14);
  const Tensor ignoring = int64({2}, {1, -100});
  EXPECT_NEAR(one("cross_entropy", {logits(), ignoring}), 1.4076059644443804, 1e-14);
  EXPECT_NEAR(one("cross_entropy", {logits(), ignoring, class_weight()}, {{"label_smoothing", 0.1}}), 1.374272631111047,
              1e-14);
  const Tensor nothing = int64({2}, {-100, -100});
  EXPECT_TRUE(std::isnan(one("cross_entropy", {logits(), nothing})));
  EXPECT_EQ(one("cross_entropy", {logits(), nothing}, {{"reduction", text("sum")}}), 0);
  EXPECT_THAT(gradients("Functional", "cross_entropy", {logits(), nothing})[0], ::testing::Each(0));
  EXPECT_NEAR(one("cross_entropy", {logits(), probabilities()}), 1.4930033176112725, 1e-14);
  EXPECT_NEAR(one("cross_entropy", {logits(), probabilities(), class_weight()}, {{"label_smoothing", 0.1}}),
              3.5631296517176576, 1e-14);
}

TEST(CrossEntropy, ReductionsAndLegacyFlags) {
  const Tensor target = int64({2}, {1, 2}).to(DType::int32);
  const std::vector<double> each =
      forward("Functional", "cross_entropy", {logits(), target}, {{"reduction", text("none")}});
  ASSERT_EQ(each.size(), 2U);
  EXPECT_NEAR(one("cross_entropy", {logits(), target}), (each[0] + each[1]) / 2, 1e-15);
  EXPECT_NEAR(one("cross_entropy", {logits(), target}, {{"reduction", text("sum")}}), each[0] + each[1], 1e-15);
  EXPECT_NEAR(one("cross_entropy", {logits(), target}, {{"size_average", false}, {"reduction", text("none")}}),
              each[0] + each[1], 1e-15);
  EXPECT_EQ(forward("Functional", "cross_entropy", {logits(), target}, {{"reduce", false}}), each);
  EXPECT_EQ(forward("Functional", "cross_entropy", {logits(), target}, {{"size_average", true}}),
            forward("Functional", "cross_entropy", {logits(), target}));
}

TEST(CrossEntropy, IsTheLikelihoodOfLogSoftmax) {
  const Tensor x = uniform({2, 4, 3, 5}, -3, 3, 1);
  std::vector<std::int64_t> classes;
  for (std::int64_t k = 0; k < 30; ++k) classes.push_back(k % 7 == 0 ? -100 : k % 4);
  const Tensor target = int64({2, 3, 5}, classes);
  const Tensor log_probs = float64({2, 4, 3, 5}, forward("Functional", "log_softmax", {x, i(1)}));
  const Tensor weight = float64({4}, {0.5, 1, 2, 0});
  EXPECT_THAT(forward("Functional", "cross_entropy", {x, target, weight}, {{"reduction", text("none")}}),
              Pointwise(DoubleNear(1e-13),
                        forward("Functional", "nll_loss", {log_probs, target, weight}, {{"reduction", text("none")}})));
  EXPECT_NEAR(one("cross_entropy", {x, target, weight}), one("nll_loss", {log_probs, target, weight}), 1e-13);
}

TEST(CrossEntropy, Gradients) {
  const Tensor x = uniform({2, 3, 4}, -2, 2, 1);
  const Tensor target = int64({2, 4}, {0, 1, 2, -100, 2, 2, 1, 0});
  const Tensor weight = uniform({3}, 0.5, 2, 2).to(DType::float32);
  check_gradients("Functional", "cross_entropy", {x, target});
  check_gradients("Functional", "cross_entropy", {x, target, weight}, {{"label_smoothing", 0.2}});
  check_gradients("Functional", "cross_entropy", {x, target, weight}, {{"reduction", text("none")}});
  check_gradients("Functional", "cross_entropy", {x, int64({2, 4}, {0, 1, 2, 1, 2, 2, 1, 0})},
                  {{"reduction", text("sum")}, {"ignore_index", i(2)}, {"label_smoothing", 0.1}});
  check_gradients("Functional", "cross_entropy", {x, uniform({2, 3, 4}, 0, 1, 3), weight}, {{"label_smoothing", 0.2}});
  check_gradients("Functional", "cross_entropy", {uniform({4}, -1, 1, 4), Tensor::scalar(2)});
  check_gradients("Functional", "nll_loss", {x, target, weight});
  check_gradients("Functional", "nll_loss", {x, target}, {{"reduction", text("none")}});
}

TEST(CrossEntropy, HalfRoundsOnce) {
  const Tensor x = uniform({6, 40}, -4, 4, 1).to(DType::bfloat16);
  const Tensor target = int64({6}, {0, 5, 39, 7, 7, 1});
  Tape tape;
  std::vector<Var> leaves;
  const Tensor y = call("Functional", "cross_entropy", {x, target}, {}, tape, leaves).tensor();
  ASSERT_EQ(y.dtype(), DType::bfloat16);
  EXPECT_EQ(values(y), values(call("Functional", "cross_entropy", {x.to(DType::float32), target}, {}, tape, leaves)
                                  .tensor()
                                  .to(DType::bfloat16)));
}

TEST(CrossEntropy, RefusesWhatDoesNotFit) {
  EXPECT_THROW(one("cross_entropy", {logits(), int64({2}, {1, 3})}), SkipError);
  EXPECT_THROW(one("cross_entropy", {logits(), int64({2}, {1, -1})}), SkipError);
  EXPECT_THROW(one("cross_entropy", {logits(), int64({3}, {1, 1, 1})}), SkipError);
  EXPECT_THROW(one("cross_entropy", {logits(), int64({2}, {1, 1}), float64({2}, {1, 1})}), SkipError);
  EXPECT_THROW(one("cross_entropy", {logits(), int64({2}, {1, 1})}, {{"reduction", text("median")}}), SkipError);
  EXPECT_THROW(one("nll_loss", {logits(), int64({2}, {1, 3})}), SkipError);
}

TEST(ElementwiseLoss, Values) {
  const Tensor x = float64({4}, {1, 2, 3, 4});
  const Tensor t = float64({4}, {1, 2.5, 1, 8});
  EXPECT_NEAR(one("mse_loss", {x, t}), (0.25 + 4 + 16) / 4, 1e-15);
  EXPECT_NEAR(one("l1_loss", {x, t}, {{"reduction", text("sum")}}), 6.5, 1e-15);
  EXPECT_NEAR(one("smooth_l1_loss", {x, t}, {{"reduction", text("sum")}}), 0.125 + 1.5 + 3.5, 1e-15);
  EXPECT_NEAR(one("smooth_l1_loss", {x, t}, {{"reduction", text("sum")}, {"beta", 0.0}}), 6.5, 1e-15);
  EXPECT_NEAR(one("smooth_l1_loss", {x, t}, {{"reduction", text("sum")}, {"beta", 2.0}}), 0.25 / 4 + 1 + 3, 1e-15);
  EXPECT_NEAR(one("huber_loss", {x, t, text("sum"), 2.0}), 0.125 + 2 + 6, 1e-15);
  EXPECT_THAT(forward("Aten", "mse_loss", {x, t, i(0)}), ElementsAre(0, 0.25, 4, 16));
  EXPECT_THAT(gradients("Functional", "l1_loss", {x, t}, {{"reduction", text("sum")}})[0], ElementsAre(0, -1, 1, -1));
  EXPECT_NEAR(one("mse_loss", {float64({2, 1}, {0, 1}), float64({2}, {0, 1})}), 0.5, 1e-15) << "broadcast";
}

TEST(ElementwiseLoss, BinaryCrossEntropy) {
  EXPECT_NEAR(one("binary_cross_entropy", {float64({1}, {1}), float64({1}, {0})}), 100, 1e-12);
  EXPECT_THROW(one("binary_cross_entropy", {float64({1}, {1.5}), float64({1}, {0})}), SkipError);
  const Tensor x = float64({2}, {0.3, -200});
  const Tensor t = float64({2}, {1, 0.5});
  EXPECT_THAT(forward("Functional", "binary_cross_entropy_with_logits", {x, t}, {{"reduction", text("none")}}),
              ElementsAre(DoubleNear(std::log1p(std::exp(-0.3)), 1e-15), DoubleNear(100, 1e-12)));
  EXPECT_THAT(forward("Functional", "binary_cross_entropy_with_logits", {x, t},
                      {{"reduction", text("none")}, {"pos_weight", float64({2}, {3, 3})}}),
              ElementsAre(DoubleNear(3 * std::log1p(std::exp(-0.3)), 1e-15), DoubleNear(300, 1e-12)));
}

TEST(ElementwiseLoss, DivergenceWorkedValues) {
  const Tensor x = float64({2, 3}, forward("Functional", "log_softmax", {logits(), i(1)}));
  EXPECT_NEAR(one("kl_div", {x, probabilities()}, {{"reduction", text("batchmean")}}), 0.6586608807538972, 1e-14);
  EXPECT_NEAR(one("kl_div", {x, probabilities()}), 0.21955362691796573, 1e-14);
  EXPECT_EQ(one("kl_div", {float64({1}, {-2}), float64({1}, {0})}), 0);
  EXPECT_NEAR(one("kl_div", {float64({1}, {-2}), float64({1}, {-1})}, {{"log_target", true}}), std::exp(-1), 1e-15);
}

TEST(ElementwiseLoss, Gradients) {
  const Tensor x = uniform({3, 4}, 0.05, 0.95, 1);
  const Tensor t = uniform({3, 4}, 0.05, 0.95, 2);
  const Tensor wide = uniform({3, 4}, -2, 2, 3);
  const Tensor signs = float64({3, 4}, {1, -1, 1, -1, 1, 1, -1, -1, 1, -1, 1, -1}).to(DType::float32);
  check_gradients("Functional", "mse_loss", {x, t});
  check_gradients("Functional", "mse_loss", {x, uniform({4}, 0, 1, 4)}, {{"reduction", text("sum")}});
  check_gradients("Functional", "l1_loss", {x, t});
  check_gradients("Functional", "smooth_l1_loss", {x, t}, {{"beta", 0.3}});
  // Where both are equal, torch gives both the slope from below.
  const auto of_equal = gradients("Functional", "smooth_l1_loss", {x, x}, {{"beta", 0.0}, {"reduction", text("sum")}});
  EXPECT_EQ(of_equal[0], std::vector<double>(of_equal[0].size(), -1));
  EXPECT_EQ(of_equal[1], std::vector<double>(of_equal[1].size(), -1));
  check_gradients("Functional", "huber_loss", {x, t}, {{"delta", 0.3}, {"reduction", text("none")}});
  check_gradients("Functional", "binary_cross_entropy", {x, t, uniform({4}, 0.5, 2, 5)});
  check_gradients("Functional", "binary_cross_entropy_with_logits", {wide, t, uniform({3, 4}, 0.5, 2, 5)});
  check_gradients("Functional", "binary_cross_entropy_with_logits", {wide, t},
                  {{"pos_weight", uniform({4}, 0.5, 2, 5)}});
  check_gradients("Torch", "binary_cross_entropy_with_logits", {wide, t, None{}, uniform({4}, 0.5, 2, 5), i(2)});
  check_gradients("Functional", "kl_div", {wide, t}, {{"reduction", text("batchmean")}});
  check_gradients("Functional", "kl_div", {wide, t}, {{"log_target", true}});
  check_gradients("Functional", "poisson_nll_loss", {wide, uniform({3, 4}, 0.5, 3, 6)}, {{"full", true}});
  check_gradients("Functional", "poisson_nll_loss", {x, uniform({3, 4}, 0.5, 3, 6), false});
  check_gradients("Functional", "gaussian_nll_loss", {wide, t, uniform({3, 4}, 0.5, 2, 7)});
  check_gradients("Functional", "gaussian_nll_loss", {wide, t, uniform({3}, 0.5, 2, 7)}, {{"full", true}});
  check_gradients("Functional", "margin_ranking_loss", {x, t, signs, 0.1});
  check_gradients("Functional", "hinge_embedding_loss", {wide, signs});
  check_gradients("Functional", "soft_margin_loss", {wide, signs});
  check_gradients("Functional", "multilabel_soft_margin_loss", {wide, t, uniform({4}, 0.5, 2, 8)});
  check_gradients("Functional", "triplet_margin_loss", {x, t, wide});
  check_gradients("Functional", "triplet_margin_loss", {x, t, wide}, {{"swap", true}, {"margin", 3.0}, {"p", 3.0}});
  check_gradients("Functional", "triplet_margin_with_distance_loss", {x, t, wide});
  check_gradients("Functional", "cosine_similarity", {wide, t});
  check_gradients("Functional", "cosine_similarity", {wide, uniform({4}, 0.1, 1, 9)}, {{"dim", i(-1)}});
  check_gradients("Functional", "cosine_embedding_loss", {wide, t, float64({3}, {1, -1, -1}).to(DType::float32), 0.1});
}

TEST(ElementwiseLoss, OtherValues) {
  EXPECT_NEAR(one("cosine_similarity", {float64({1, 1}, {1e-9}), float64({1, 1}, {1e-3})}), 0.1, 1e-12);
  EXPECT_NEAR(one("cosine_similarity", {float64({2}, {0, 0}), float64({2}, {1, 2}), i(0)}), 0, 1e-12);
  EXPECT_NEAR(one("margin_ranking_loss", {float64({2}, {1, 2}), float64({2}, {3, 1}), float64({2}, {1, 1}), 0.5}),
              2.5 / 2, 1e-15);
  EXPECT_NEAR(one("hinge_embedding_loss", {float64({3}, {1, 0.25, 3}), float64({3}, {1, -1, -1})},
                  {{"reduction", text("sum")}}),
              1.75, 1e-15);
  EXPECT_NEAR(one("cosine_embedding_loss",
                  {float64({2, 2}, {1, 0, 1, 1}), float64({2, 2}, {0, 1, 2, 2}), float64({2}, {1, -1}), 0.5}),
              (1 + 0.5) / 2, 1e-9);
  EXPECT_NEAR(one("triplet_margin_loss", {float64({1, 2}, {0, 0}), float64({1, 2}, {3, 4}), float64({1, 2}, {0, 1})}),
              5, 1e-5);
  EXPECT_NEAR(one("gaussian_nll_loss", {float64({1}, {1}), float64({1}, {3}), float64({1}, {4})}),
              0.5 * (std::log(4.0) + 1), 1e-15);
  EXPECT_NEAR(one("poisson_nll_loss", {float64({1}, {0}), float64({1}, {3})}, {{"full", true}}),
              1 + 3 * std::log(3) - 3 + 0.5 * std::log(6 * 3.14159265358979), 1e-12);
}

TEST(MarginLoss, ValuesAndGradients) {
  const Tensor x = float64({1, 4}, {0.1, 0.2, 0.4, 0.8});
  EXPECT_NEAR(one("multilabel_margin_loss", {x, int64({1, 4}, {3, 0, -1, 1})}), 0.85, 1e-12);
  EXPECT_NEAR(one("multi_margin_loss", {x, int64({1}, {3})}), (0.3 + 0.4 + 0.6) / 4, 1e-12);
  EXPECT_NEAR(one("multi_margin_loss", {x, int64({1}, {3}), i(2)}, {{"weight", float64({4}, {1, 1, 1, 3})}}),
              3 * (0.09 + 0.16 + 0.36) / 4, 1e-12);
  const Tensor wide = uniform({3, 4}, -2, 2, 1);
  check_gradients("Functional", "multilabel_margin_loss",
                  {wide, int64({3, 4}, {3, 0, -1, 1, -1, 0, 0, 0, 0, 1, 2, 3})});
  check_gradients("Functional", "multi_margin_loss",
                  {wide, int64({3}, {0, 3, 1}), i(2), 0.7, uniform({4}, 0.5, 2, 2).to(DType::float32)});
  check_gradients("Functional", "multi_margin_loss", {wide, int64({3}, {0, 3, 1})}, {{"reduction", text("none")}});
  // One class has nothing to be compared with.
  EXPECT_EQ(one("multi_margin_loss", {float64({}, {0.7}), int64({}, {0})}), 0);
  EXPECT_THAT(gradients("Functional", "multi_margin_loss", {float64({}, {0.7}), int64({}, {0})})[0], ElementsAre(0));
  // Without reduction the losses have the shape of the target.
  for (const Dims& shape : {Dims{}, Dims{1}}) {
    Tape tape;
    std::vector<Var> leaves;
    const Var loss = call("Functional", "multi_margin_loss", {float64({2}, {0.5, 0.25}), int64(shape, {0})},
                          {{"reduction", text("none")}}, tape, leaves);
    EXPECT_EQ(loss.shape(), shape);
    EXPECT_EQ(loss.tensor().item(), 0.375);
  }
  EXPECT_THROW(one("multi_margin_loss", {float64({}, {0.7}), int64({}, {1})}), SkipError);
  EXPECT_THROW(one("multilabel_margin_loss", {x, int64({1, 4}, {4, 0, -1, 1})}), SkipError);
  EXPECT_THROW(one("multi_margin_loss", {x, int64({1}, {4})}), SkipError);
}

// All paths of `time` labels that read as target once repeats are merged and blanks (class 0) dropped.
double by_enumeration(const std::vector<double>& log_probs, std::size_t time, std::size_t classes,
                      const std::vector<std::size_t>& target) {
  double total = 0;
  std::vector<std::size_t> path(time);
  for (std::size_t code = 0; code < static_cast<std::size_t>(std::pow(classes, time) + 0.5); ++code) {
    std::size_t rest = code;
    double log_probability = 0;
    std::vector<std::size_t> read;
    for (std::size_t t = 0; t < time; ++t, rest /= classes) {
      path[t] = rest % classes;
      log_probability += log_probs[t * classes + path[t]];
      if (path[t] != 0 && (t == 0 || path[t] != path[t - 1])) read.push_back(path[t]);
    }
    if (read == target) total += std::exp(log_probability);
  }
  return -std::log(total);
}

TEST(CtcLoss, SumsOverAllAlignments) {
  const std::vector<double> log_probs = forward("Functional", "log_softmax", {uniform({5, 3}, -1, 1, 1), i(1)});
  const Tensor x = float64({5, 1, 3}, log_probs);
  for (const std::vector<std::size_t>& target : {std::vector<std::size_t>{1, 2}, {1, 1}, {2}, {}, {1, 1, 2}}) {
    std::vector<std::int64_t> labels(target.begin(), target.end());
    labels.resize(3);
    EXPECT_NEAR(one("ctc_loss",
                    {x, int64({1, 3}, labels), int64({1}, {5}), int64({1}, {static_cast<std::int64_t>(target.size())})},
                    {{"reduction", text("sum")}}),
                by_enumeration(log_probs, 5, 3, target), 1e-12);
  }
}

TEST(CtcLoss, ReductionsLengthsAndImpossibleTargets) {
  const std::vector<double> raw = forward("Functional", "log_softmax", {uniform({4, 2, 3}, -1, 1, 1), i(2)});
  const Tensor x = float64({4, 2, 3}, raw);
  const List args{x, int64({3}, {1, 2, 1}), List{i(4), i(3)}, List{i(2), i(1)}};
  const std::vector<double> each = forward("Functional", "ctc_loss", args, {{"reduction", text("none")}});
  ASSERT_EQ(each.size(), 2U);
  EXPECT_NEAR(one("ctc_loss", args), (each[0] / 2 + each[1]) / 2, 1e-14);
  std::vector<double> first;
  for (std::size_t t = 0; t < 4; ++t) {
    for (std::size_t c = 0; c < 3; ++c) first.push_back(raw[t * 6 + c]);
  }
  EXPECT_NEAR(each[0], by_enumeration(first, 4, 3, {1, 2}), 1e-12);
  const List impossible{x, int64({2, 3}, {1, 1, 1, 1, 1, 1}), List{i(4), i(4)}, List{i(3), i(1)}};
  EXPECT_TRUE(std::isinf(forward("Functional", "ctc_loss", impossible, {{"reduction", text("none")}})[0]));
  EXPECT_EQ(forward("Functional", "ctc_loss", impossible, {{"reduction", text("none")}, {"zero_infinity", true}})[0],
            0);
  const std::vector<double> g = gradients("Functional", "ctc_loss", impossible, {{"zero_infinity", true}})[0];
  EXPECT_EQ(g[0], 0);
  EXPECT_NE(g[3], 0);
  EXPECT_THROW(one("ctc_loss", {x, int64({3}, {1, 3, 1}), List{i(4), i(3)}, List{i(2), i(1)}}), SkipError);
  EXPECT_THROW(one("ctc_loss", {x, int64({3}, {1, 2, 1}), List{i(5), i(3)}, List{i(2), i(1)}}), SkipError);
  EXPECT_THROW(one("ctc_loss", {x, int64({2}, {1, 2}), List{i(4), i(3)}, List{i(2), i(1)}}), SkipError);
}

TEST(CtcLoss, GradientIsThatBehindALogSoftmax) {
  const Tensor x = float64({4, 2, 3}, forward("Functional", "log_softmax", {uniform({4, 2, 3}, -1, 1, 1), i(2)}));
  const List args{x, int64({2, 2}, {1, 1, 2, 0}), List{i(4), i(3)}, List{i(2), i(1)}};
  const std::vector<double> analytic = gradients("Functional", "ctc_loss", args)[0];
  const std::vector<double> at = values(x);
  for (std::size_t k = 0; k < at.size(); ++k) {
    const bool second = k / 3 % 2 == 1;
    std::vector<double> moved = at;
    moved[k] += 1e-5;
    const double above = one("ctc_loss", {float64({4, 2, 3}, moved), args[1], args[2], args[3]});
    moved[k] -= 2e-5;
    const double below = one("ctc_loss", {float64({4, 2, 3}, moved), args[1], args[2], args[3]});
    const bool inside = !second || k < 18;
    const double factor = second ? 0.5 : 0.25;  // half of the batch, divided by the target's length
    EXPECT_NEAR(analytic[k], (above - below) / 2e-5 + (inside ? std::exp(at[k]) * factor : 0), 1e-8) << k;
  }
}

// The benchmark's terms do not cancel: what is left of a small loss, or slope, has all its digits.
TEST(BinaryCrossEntropy, OfWeightedLogitsIsPreciseWhereItIsSmall) {
  const Tensor x = float64({2}, {-40, 40});
  const Tensor t = float64({2}, {0, 1});
  const Dict kwargs{{"reduction", text("none")}, {"pos_weight", float64({1}, {2})}};
  const double small = std::exp(-40);
  EXPECT_THAT(forward("Functional", "binary_cross_entropy_with_logits", {x, t}, kwargs),
              ElementsAre(DoubleNear(small, 1e-14 * small), DoubleNear(2 * small, 1e-14 * small)));
  EXPECT_THAT(gradients("Functional", "binary_cross_entropy_with_logits", {x, t}, kwargs)[0],
              ElementsAre(DoubleNear(small, 1e-14 * small), DoubleNear(-2 * small, 1e-14 * small)));
}

// torch keeps the least divisor of the gradient in float32.
TEST(BinaryCrossEntropy, GradientsAtTheEndsAreDividedByTheLeastNumber) {
  const Tensor p = float64({2}, {0, 1});
  const Tensor t = float64({2}, {1, 0});
  EXPECT_THAT(gradients("Functional", "binary_cross_entropy", {p, t}, {{"reduction", text("sum")}})[0],
              ElementsAre(-1 / 9.999999960041972e-13, 1 / 9.999999960041972e-13));
}

// The mean of weighted losses divides by the sum of the weights, but that of huber_loss by their number.
TEST(WeightedLosses, WorkedValues) {
  const Tensor x = float64({3}, {1, 2, 4});
  const Tensor zeros = float64({3}, {0, 0, 0});
  const Tensor weight = float64({3}, {1, 2, 1});
  const auto weighted = [&](const char* api, const char* reduction) {
    return forward("Functional", api, {x, zeros}, {{"reduction", text(reduction)}, {"weight", weight}});
  };
  EXPECT_THAT(weighted("mse_loss", "none"), ElementsAre(1, 8, 16));
  EXPECT_THAT(weighted("mse_loss", "sum"), ElementsAre(25));
  EXPECT_THAT(weighted("mse_loss", "mean"), ElementsAre(6.25));
  EXPECT_THAT(weighted("l1_loss", "none"), ElementsAre(1, 4, 4));
  EXPECT_THAT(weighted("l1_loss", "mean"), ElementsAre(2.25));
  EXPECT_THAT(weighted("huber_loss", "none"), ElementsAre(0.5, 3, 3.5));
  EXPECT_THAT(weighted("huber_loss", "mean"), ElementsAre(DoubleNear(7.0 / 3, 1e-15)));
  for (const char* api : {"mse_loss", "l1_loss", "huber_loss"}) {
    check_gradients("Functional", api, {x, zeros}, {{"weight", weight}});
    EXPECT_EQ(one(api, {x, zeros}, {{"weight", None{}}}), one(api, {x, zeros}));
    EXPECT_THROW(one(api, {x, zeros}, {{"weight", float64({1}, {1})}}), SkipError);
  }
}

TEST(GaussianLoss, TakesOneVarianceForAll) {
  const Tensor x = float64({2, 2}, {1, 2, 3, 4});
  const Tensor t = float64({2, 2}, {1, 1, 1, 1});
  EXPECT_EQ(one("gaussian_nll_loss", {x, t, 2.0}), one("gaussian_nll_loss", {x, t, float64({2, 2}, {2, 2, 2, 2})}));
  EXPECT_THROW(one("gaussian_nll_loss", {x, t, -1.0}), SkipError);
}

}  // namespace
}  // namespace msrun::testing
