// Recurrent networks: values against the recurrences written out for one sequence, packed and bidirectional forms
// against the plain one, gradients against differences.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using Values = std::vector<double>;

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// weight (rows, columns) times x, plus bias.
Values affine(const Tensor& weight, const Values& x, const Tensor& bias) {
  const Values w = values(weight);
  Values y = values(bias);
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (std::size_t j = 0; j < x.size(); ++j) y[i] += w[i * x.size() + j] * x[j];
  }
  return y;
}

struct Parameters {
  Tensor w_ih;
  Tensor w_hh;
  Tensor b_ih;
  Tensor b_hh;

  List list() const { return {w_ih, w_hh, b_ih, b_hh}; }
};

Parameters parameters(std::int64_t gates, std::int64_t input, std::int64_t hidden, std::uint64_t seed) {
  return {uniform({gates * hidden, input}, -1, 1, seed), uniform({gates * hidden, hidden}, -1, 1, seed + 1),
          uniform({gates * hidden}, -1, 1, seed + 2), uniform({gates * hidden}, -1, 1, seed + 3)};
}

void lstm_step(const Parameters& p, const Values& x, Values& h, Values& c) {
  const Values a = affine(p.w_ih, x, p.b_ih);
  const Values b = affine(p.w_hh, h, p.b_hh);
  const std::size_t n = h.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double in = logistic(a[i] + b[i]);
    const double forget = logistic(a[n + i] + b[n + i]);
    const double out = logistic(a[3 * n + i] + b[3 * n + i]);
    c[i] = forget * c[i] + in * std::tanh(a[2 * n + i] + b[2 * n + i]);
    h[i] = out * std::tanh(c[i]);
  }
}

void gru_step(const Parameters& p, const Values& x, Values& h) {
  const Values a = affine(p.w_ih, x, p.b_ih);
  const Values b = affine(p.w_hh, h, p.b_hh);
  const std::size_t n = h.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double reset = logistic(a[i] + b[i]);
    const double update = logistic(a[n + i] + b[n + i]);
    h[i] = (1 - update) * std::tanh(a[2 * n + i] + reset * b[2 * n + i]) + update * h[i];
  }
}

void expect_near(const Values& actual, const Values& expected, double tolerance = 1e-12) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
}

constexpr std::int64_t features = 3;
constexpr std::int64_t hidden = 2;

List network(const Tensor& x, const Value& state, const List& params, std::int64_t layers, bool bidirectional,
             bool batch_first, bool biases = true) {
  return {x, state, params, biases, layers, 0.0, true, bidirectional, batch_first};
}

TEST(Recurrent, LstmIsItsRecurrence) {
  const Tensor x = uniform({4, 1, features}, -1, 1, 1);
  const Tensor h0 = uniform({1, 1, hidden}, -1, 1, 2);
  const Tensor c0 = uniform({1, 1, hidden}, -1, 1, 3);
  const Parameters p = parameters(4, features, hidden, 10);
  Values h = values(h0);
  Values c = values(c0);
  Values outputs;
  for (std::int64_t t = 0; t < 4; ++t) {
    lstm_step(p, values(x.select(0, t)), h, c);
    outputs.insert(outputs.end(), h.begin(), h.end());
  }
  const List args = network(x, List{h0, c0}, p.list(), 1, false, false);
  expect_near(forward("Torch", "lstm", args, {}, 0), outputs);
  expect_near(forward("Torch", "lstm", args, {}, 1), h);
  expect_near(forward("Torch", "lstm", args, {}, 2), c);
  expect_near(forward("VF", "lstm", args, {}, 2), c);
}

TEST(Recurrent, GruIsItsRecurrence) {
  const Tensor x = uniform({1, 4, features}, -1, 1, 1);
  const Tensor h0 = uniform({1, 1, hidden}, -1, 1, 2);
  const Parameters p = parameters(3, features, hidden, 10);
  Values h = values(h0);
  Values outputs;
  for (std::int64_t t = 0; t < 4; ++t) {
    gru_step(p, values(x.select(1, t)), h);
    outputs.insert(outputs.end(), h.begin(), h.end());
  }
  const List args = network(x, h0, p.list(), 1, false, true);
  expect_near(forward("Torch", "gru", args, {}, 0), outputs);
  expect_near(forward("Torch", "gru", args, {}, 1), h);
}

TEST(Recurrent, PlainCells) {
  const Parameters p{float64({1, 1}, {2}), float64({1, 1}, {3}), float64({1}, {0.5}), float64({1}, {-0.25})};
  const Tensor h = float64({1, 1}, {0.5});
  // 2 * x + 0.5 + 3 * 0.5 - 0.25
  const auto cell = [&](const char* api, double x) {
    return forward("Torch", api, {float64({1, 1}, {x}), h, p.w_ih, p.w_hh, p.b_ih, p.b_hh})[0];
  };
  EXPECT_NEAR(cell("rnn_tanh_cell", 1), std::tanh(3.75), 1e-15);
  EXPECT_EQ(cell("rnn_relu_cell", 1), 3.75);
  EXPECT_EQ(cell("rnn_relu_cell", -1), 0);
}

// The second direction sees the sequence backwards, and the second layer sees both.
TEST(Recurrent, LayersAndDirections) {
  const std::int64_t length = 3;
  const Tensor x = uniform({length, 2, features}, -1, 1, 1);
  const Tensor h0 = uniform({4, 2, hidden}, -1, 1, 2);
  List params;
  std::vector<List> single;
  for (std::uint64_t i = 0; i < 4; ++i) {
    single.push_back(parameters(3, i < 2 ? features : 2 * hidden, hidden, 10 * (i + 1)).list());
    params.insert(params.end(), single.back().begin(), single.back().end());
  }
  Tape tape;
  std::vector<Var> leaves;
  const auto reversed = [&](const Tensor& t) {
    return call("Torch", "flip", {t, List{std::int64_t{0}}}, {}, tape, leaves).tensor();
  };
  Tensor input = x;
  for (std::int64_t layer = 0; layer < 2; ++layer) {
    const auto at = static_cast<std::size_t>(2 * layer);
    const auto state = [&](std::int64_t i) { return h0.slice(0, 2 * layer + i, 1); };
    const Tensor ahead =
        call("Torch", "gru", network(input, state(0), single[at], 1, false, false), {}, tape, leaves).tensor();
    const Tensor back =
        call("Torch", "gru", network(reversed(input), state(1), single[at + 1], 1, false, false), {}, tape, leaves)
            .tensor();
    input = call("Torch", "cat", {List{ahead, reversed(back)}, std::int64_t{2}}, {}, tape, leaves).tensor();
  }
  expect_near(forward("Torch", "gru", network(x, h0, params, 2, true, false)), values(input));
}

// Every sequence of a packed batch gives what it gives alone.
TEST(Recurrent, PackedSequences) {
  const std::vector<std::int64_t> lengths{4, 2, 1};
  const Tensor data = uniform({7, features}, -1, 1, 1);
  const Tensor batch_sizes = int64({4}, {3, 2, 1, 1});
  const std::vector<std::vector<std::int64_t>> rows{{0, 3, 5, 6}, {1, 4}, {2}};
  const Tensor h0 = uniform({2, 3, hidden}, -1, 1, 2);
  const Tensor c0 = uniform({2, 3, hidden}, -1, 1, 3);
  List params = parameters(4, features, hidden, 10).list();
  for (const Value& p : parameters(4, features, hidden, 20).list()) params.push_back(p);
  const List packed{data, batch_sizes, List{h0, c0}, params, true, std::int64_t{1}, 0.0, true, true};
  const Values output = forward("Torch", "lstm", packed, {}, 0);
  const Values cells = forward("Torch", "lstm", packed, {}, 2);
  for (std::size_t entry = 0; entry < 3; ++entry) {
    Tensor x(DType::float64, {lengths[entry], 1, features});
    for (std::size_t t = 0; t < rows[entry].size(); ++t) {
      std::copy_n(data.data<double>() + rows[entry][t] * features, features,
                  x.mutable_data<double>() + static_cast<std::int64_t>(t) * features);
    }
    const auto at = static_cast<std::int64_t>(entry);
    const List args = network(x, List{h0.slice(1, at, 1), c0.slice(1, at, 1)}, params, 1, true, false);
    Values expected;
    for (const std::int64_t row : rows[entry]) {
      const auto first = output.begin() + row * 2 * hidden;
      expected.insert(expected.end(), first, first + 2 * hidden);
    }
    expect_near(forward("Torch", "lstm", args, {}, 0), expected);
    const Values last = forward("Torch", "lstm", args, {}, 2);
    for (std::int64_t direction = 0; direction < 2; ++direction) {
      for (std::int64_t i = 0; i < hidden; ++i) {
        EXPECT_NEAR(last[static_cast<std::size_t>(direction * hidden + i)],
                    cells[static_cast<std::size_t>((direction * 3 + at) * hidden + i)], 1e-12);
      }
    }
  }
}

TEST(Recurrent, ProjectionOfTheHiddenState) {
  const Tensor x = uniform({1, 1, features}, -1, 1, 1);
  const Tensor h0 = float64({1, 1, 1}, {0.5});
  const Tensor c0 = uniform({1, 1, hidden}, -1, 1, 3);
  const Tensor w_ih = uniform({4 * hidden, features}, -1, 1, 4);
  const Tensor w_hh = uniform({4 * hidden, 1}, -1, 1, 5);
  const Tensor w_hr = float64({1, hidden}, {2, -1});
  const List args = network(x, List{h0, c0}, List{w_ih, w_hh, w_hr}, 1, false, false, false);
  const Tensor zero = float64({4 * hidden}, Values(4 * hidden, 0));
  // One recurrence with a recurrent weight that reads the projected state from its first column.
  Tensor wide = Tensor::zeros(DType::float64, Dims{4 * hidden, hidden});
  for (std::int64_t i = 0; i < 4 * hidden; ++i) wide.mutable_data<double>()[i * hidden] = w_hh.data<double>()[i];
  Values h{0.5, 0};
  Values c = values(c0);
  lstm_step({w_ih, wide, zero, zero}, values(x), h, c);
  expect_near(forward("Torch", "lstm", args, {}, 0), {2 * h[0] - h[1]});
  expect_near(forward("Torch", "lstm", args, {}, 2), c);
  const List longer = network(uniform({3, 2, features}, -1, 1, 1),
                              List{uniform({1, 2, 1}, -1, 1, 8), uniform({1, 2, hidden}, -1, 1, 9)},
                              List{w_ih, w_hh, w_hr}, 1, false, false, false);
  check_gradients("Torch", "lstm", longer, {}, 0);
  check_gradients("Torch", "lstm", longer, {}, 2, 1e-6, {5});
}

TEST(Recurrent, Gradients) {
  const Tensor x = uniform({3, 2, features}, -1, 1, 1);
  const auto state = [](std::int64_t count) { return uniform({count, 2, hidden}, -1, 1, 2); };
  List lstm_params;
  List gru_params;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::int64_t inputs = i < 2 ? features : 2 * hidden;
    for (const Value& p : parameters(4, inputs, hidden, 10 * (i + 1)).list()) lstm_params.push_back(p);
    for (const Value& p : parameters(3, inputs, hidden, 10 * (i + 1)).list()) gru_params.push_back(p);
  }
  check_gradients("Torch", "lstm",
                  network(x, List{state(4), uniform({4, 2, hidden}, -1, 1, 3)}, lstm_params, 2, true, false));
  check_gradients("Torch", "gru", network(x, state(4), gru_params, 2, true, false));
  const List one = parameters(1, features, hidden, 50).list();
  check_gradients("Torch", "rnn_tanh", network(uniform({2, 3, features}, -1, 1, 1), state(1), one, 1, false, true));
  check_gradients("Torch", "rnn_relu", network(x, state(1), one, 1, false, false));
  // The last state alone, and sequences of different lengths.
  check_gradients("Torch", "rnn_tanh", network(x, state(1), one, 1, false, false), {}, 1);
  const List gru_one = parameters(3, features, hidden, 60).list();
  List both = gru_one;
  for (const Value& p : parameters(3, features, hidden, 70).list()) both.push_back(p);
  const List packed{
      uniform({4, features}, -1, 1, 1), int64({3}, {2, 1, 1}), state(2), both, true, std::int64_t{1}, 0.0, true, true};
  check_gradients("Torch", "gru", packed, {}, 0);
  check_gradients("Torch", "gru", packed, {}, 1);
}

TEST(Recurrent, CellGradients) {
  const Tensor x = uniform({2, features}, -1, 1, 1);
  const Tensor h = uniform({2, hidden}, -1, 1, 2);
  const Tensor c = uniform({2, hidden}, -1, 1, 3);
  const Parameters p = parameters(4, features, hidden, 10);
  check_gradients("Torch", "lstm_cell", {x, List{h, c}, p.w_ih, p.w_hh, p.b_ih, p.b_hh}, {}, 0);
  check_gradients("Torch", "lstm_cell", {x, List{h, c}, p.w_ih, p.w_hh}, {}, 1, 1e-6);
  const Parameters q = parameters(3, features, hidden, 10);
  check_gradients("Torch", "gru_cell", {x, h, q.w_ih, q.w_hh, q.b_ih, q.b_hh});
  check_gradients("Torch", "gru_cell", {x.select(0, 0), h.select(0, 0), q.w_ih, q.w_hh});
}

TEST(Recurrent, HalfPrecisionRoundsOnce) {
  const Tensor x = uniform({5, 2, features}, -1, 1, 1).to(DType::float16);
  const Tensor h = uniform({1, 2, hidden}, -1, 1, 2).to(DType::float16);
  List half;
  List wide;
  for (const Value& p : parameters(3, features, hidden, 10).list()) {
    half.emplace_back(p.get<Tensor>()->to(DType::float16));
    wide.emplace_back(p.get<Tensor>()->to(DType::float16).to(DType::float64));
  }
  Tape tape;
  std::vector<Var> leaves;
  const Var y = call("Torch", "gru", network(x, h, half, 1, false, false), {}, tape, leaves);
  EXPECT_EQ(y.dtype(), DType::float16);
  expect_near(values(y.tensor()),
              forward("Torch", "gru", network(x.to(DType::float64), h.to(DType::float64), wide, 1, false, false)),
              5e-4);
}

TEST(Recurrent, RefusesWhatDoesNotFit) {
  const Tensor x = uniform({3, 2, features}, -1, 1, 1);
  const Tensor h = uniform({1, 2, hidden}, -1, 1, 2);
  const List params = parameters(3, features, hidden, 10).list();
  EXPECT_THROW(forward("Torch", "gru", network(x, h, params, 2, false, false)), SkipError);
  EXPECT_THROW(forward("Torch", "gru", network(x, h, params, -1, false, false)), SkipError);
  EXPECT_THROW(forward("Torch", "gru", network(x, uniform({1, 3, hidden}, 0, 1, 2), params, 1, false, false)),
               SkipError);
  EXPECT_THROW(forward("Torch", "gru", network(x, uniform({1, 2, 5}, 0, 1, 2), params, 1, false, false)), SkipError);
  EXPECT_THROW(forward("Torch", "gru", network(uniform({3, 2, 4}, 0, 1, 1), h, params, 1, false, false)), SkipError);
  EXPECT_THROW(forward("Torch", "gru", network(uniform({0, 2, features}, 0, 1, 1), h, params, 1, false, false)),
               SkipError);
  EXPECT_THROW(forward("Torch", "lstm", network(x, List{h, h}, params, 1, false, false)), SkipError);
  const auto packed = [&](const std::vector<std::int64_t>& sizes) {
    return List{uniform({4, features}, -1, 1, 1),
                int64({static_cast<std::int64_t>(sizes.size())}, sizes),
                h,
                params,
                true,
                std::int64_t{1},
                0.0,
                true,
                false};
  };
  EXPECT_EQ(forward("Torch", "gru", packed({2, 2})).size(), 8U);
  for (const auto& sizes :
       std::vector<std::vector<std::int64_t>>{{2, 1}, {1, 2, 1}, {2, 3}, {4, 0}, {-1, 5}, {1, 1, 1, 1}}) {
    EXPECT_THROW(forward("Torch", "gru", packed(sizes)), SkipError);
  }
  List with_dropout = network(x, uniform({2, 2, hidden}, 0, 1, 2), params, 2, false, false);
  with_dropout[5] = 0.5;
  EXPECT_THROW(forward("Torch", "gru", with_dropout), SkipError);
}

}  // namespace
}  // namespace msrun
