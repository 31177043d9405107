// Decompositions are compared up to what they leave free, and no further.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "kernels/api/operators.h"
#include "kernels/compare/choices/freedom.h"
#include "kernels/compare/compare.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using msrun::testing::float64;
using msrun::testing::uniform;
using msrun::testing::values;
using ::testing::HasSubstr;
using Values = std::vector<double>;
using Complex = std::complex<double>;

List outputs_of(const char* api, const Tensor& a, const Dict& kwargs = {}) {
  Tape tape;
  const Value result = find_operator("Torch", api)->call({tape.constant(a)}, kwargs, tape);
  List items;
  for (const Value& item : *result.get<List>()) items.emplace_back(item.get<Var>()->tensor());
  return items;
}

const Tensor& tensor(const Value& value) { return *value.get<Tensor>(); }

// Every column (axis -1) or row (axis -2) times its factor.
Tensor scaled(const Tensor& x, const Values& factors, std::int64_t axis = -1) {
  Tensor result = x.clone();
  const std::int64_t columns = x.size(-1);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const std::int64_t at = axis == -1 ? i % columns : i / columns % x.size(-2);
    result.mutable_data<double>()[i] *= factors[static_cast<std::size_t>(at)];
  }
  return result;
}

Comparison compare_call(const std::string& full_name, const Value& bench, const Value& device, const Value& input,
                        const CompareOptions& options = {}) {
  return compare_outputs(full_name, traits_of(*ApiName::parse(full_name)), bench, device, false, options, &input);
}

Status status(const char* api, const List& bench, const List& device, const Value& input, bool compat = false) {
  CompareOptions options;
  options.compat_msprobe = compat;
  return compare_call(std::string("Torch.") + api + ".0", bench, device, input, options).status;
}

class SvdFreedom : public ::testing::Test {
 protected:
  Tensor a_ = uniform({2, 4, 3}, -1, 1, 1);
  Value input_ = a_;
};

TEST_F(SvdFreedom, SignsOfBothSidesTogether) {
  const List bench = outputs_of("svd", a_);
  const Values signs{-1, 1, -1};
  const List device{scaled(tensor(bench[0]), signs), bench[1], scaled(tensor(bench[2]), signs)};
  EXPECT_EQ(status("svd", bench, device, input_), Status::pass);
  EXPECT_EQ(status("svd", bench, device, input_, true), Status::error) << "msProbe compares as it is";
  const Comparison comparison = compare_call("Torch.svd.0", bench, device, input_);
  EXPECT_THAT(comparison.rows[0].message, HasSubstr("4 vectors were given the benchmark's sign"));
  EXPECT_EQ(comparison.rows[1].message.find("choice"), std::string::npos) << "values are as they were";
  // One side alone is wrong: U S V^T is another matrix.
  EXPECT_EQ(status("svd", bench, {scaled(tensor(bench[0]), signs), bench[1], bench[2]}, input_), Status::error);
}

TEST_F(SvdFreedom, NothingToTurnLeavesNoMessage) {
  const List bench = outputs_of("svd", a_);
  EXPECT_FALSE(Alignment::find(Freedom::singular, bench, bench, &input_).has_value());
  EXPECT_FALSE(Alignment::find(Freedom::none, bench, bench, &input_).has_value());
}

TEST_F(SvdFreedom, RowsOfLinalg) {
  const Values signs{-1, 1, -1};
  const List bench = outputs_of("linalg.svd", a_, {{"full_matrices", false}});
  const List device{scaled(tensor(bench[0]), signs), bench[1], scaled(tensor(bench[2]), signs, -2)};
  EXPECT_EQ(status("linalg.svd", bench, device, input_), Status::pass);
  // Under the plain name a square third output may be either: the input tells.
  const Value square = uniform({3, 3}, -1, 1, 2);
  const List rows = outputs_of("svd", tensor(square), {{"full_matrices", false}});
  const List turned{scaled(tensor(rows[0]), signs), rows[1], scaled(tensor(rows[2]), signs, -2)};
  EXPECT_EQ(status("svd", rows, turned, square), Status::pass);
  const List columns = outputs_of("svd", tensor(square));
  EXPECT_EQ(status("svd", columns, {scaled(tensor(columns[0]), signs), columns[1], scaled(tensor(columns[2]), signs)},
                   square),
            Status::pass);
}

TEST_F(SvdFreedom, FurtherColumnsMayBeAnyBasis) {
  const Value input = uniform({5, 2}, -1, 1, 3);
  const List bench = outputs_of("linalg.svd", tensor(input));
  // Columns 2, 3, 4 turned among themselves.
  const double c = std::cos(0.7);
  const double s = std::sin(0.7);
  Tensor u = tensor(bench[0]).clone();
  for (std::int64_t row = 0; row < 5; ++row) {
    double* x = u.mutable_data<double>() + row * 5;
    const double third = x[2];
    x[2] = c * third - s * x[4];
    x[4] = s * third + c * x[4];
  }
  EXPECT_EQ(status("linalg.svd", bench, {u, bench[1], bench[2]}, input), Status::pass);
  // A column that leaves the space is wrong.
  Tensor wrong = u.clone();
  wrong.mutable_data<double>()[2] += 0.1;
  EXPECT_EQ(status("linalg.svd", bench, {wrong, bench[1], bench[2]}, input), Status::error);
}

TEST_F(SvdFreedom, SmallTurnsOfAFreeBasisCount) {
  const Value input = float64({1, 3}, {1, 0, 0});
  const Tensor one = float64({1, 1}, {1});
  const Tensor s = float64({1}, {1});
  const double c = std::cos(0.005);
  const double t = std::sin(0.005);
  const Tensor v = float64({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  const Tensor turned = float64({3, 3}, {1, 0, 0, 0, c, -t, 0, t, c});
  EXPECT_EQ(status("svd", {one, s, v}, {one, s, turned}, input), Status::pass);
  const Tensor leaving = float64({3, 3}, {c, -t, 0, t, c, 0, 0, 0, 1});
  EXPECT_EQ(status("svd", {one, s, v}, {one, s, leaving}, input), Status::error);
}

TEST_F(SvdFreedom, EqualValuesTurnTogether) {
  const Value input = float64({3, 3}, {2, 0, 0, 0, 2, 0, 0, 0, 1});
  const Tensor identity = float64({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  const Tensor turned = float64({3, 3}, {.6, -.8, 0, .8, .6, 0, 0, 0, 1});
  const Tensor s = float64({3}, {2, 2, 1});
  EXPECT_EQ(status("svd", {identity, s, identity}, {turned, s, turned}, input), Status::pass);
  EXPECT_EQ(status("svd", {identity, s, identity}, {turned, s, identity}, input), Status::error);
  for (const double beside : {2.1, 2 * (1 + 1e-10)}) {
    const Tensor distinct = float64({3}, {beside, 2, 1});
    EXPECT_EQ(status("svd", {identity, distinct, identity}, {turned, distinct, turned}, input), Status::error);
  }
}

TEST(QrFreedom, ColumnsOfQWithRowsOfR) {
  const Value input = uniform({2, 4, 3}, -1, 1, 4);
  const List bench = outputs_of("qr", tensor(input));
  const Values signs{-1, -1, 1};
  const List device{scaled(tensor(bench[0]), signs), scaled(tensor(bench[1]), signs, -2)};
  EXPECT_EQ(status("qr", bench, device, input), Status::pass);
  EXPECT_EQ(status("qr", bench, {device[0], bench[1]}, input), Status::error);
  EXPECT_EQ(status("qr", bench, {device[0], scaled(tensor(bench[1]), {-1, -1, 1.5}, -2)}, input), Status::error);
  const List only_r = outputs_of("linalg.qr", tensor(input), {{"mode", std::string("r")}});
  EXPECT_EQ(compare_call("Torch.linalg.qr.0", only_r, List{only_r[0], scaled(tensor(only_r[1]), signs, -2)}, input)
                .rows[1]
                .status,
            Status::pass);
}

TEST(EigenFreedom, OfSymmetricMatrices) {
  const Value input = float64({2, 2}, {2, 1, 1, 2});
  const List bench = outputs_of("linalg.eigh", tensor(input));
  EXPECT_EQ(status("linalg.eigh", bench, {bench[0], scaled(tensor(bench[1]), {-1, 1})}, input), Status::pass);
  EXPECT_EQ(status("linalg.eigh", bench, {bench[0], scaled(tensor(bench[1]), {-1, 1.1})}, input), Status::error);
  const List float32{tensor(bench[0]).to(DType::float32), scaled(tensor(bench[1]), {-1, -1}).to(DType::float32)};
  EXPECT_EQ(status("symeig", bench, float32, input), Status::pass);
}

TEST(EigenFreedom, OrderAndPhase) {
  const Value input = float64({3, 3}, {0, -2, 0, 2, 0, 0, 0, 0, 3});
  const List bench = outputs_of("linalg.eig", tensor(input));
  // Last first, with another phase for each vector.
  Tensor device_values(DType::complex128, {3});
  Tensor vectors(DType::complex128, {3, 3});
  for (std::int64_t j = 0; j < 3; ++j) {
    const std::int64_t from = (j + 2) % 3;
    device_values.mutable_data<Complex>()[j] = tensor(bench[0]).data<Complex>()[from];
    for (std::int64_t i = 0; i < 3; ++i) {
      vectors.mutable_data<Complex>()[i * 3 + j] =
          tensor(bench[1]).data<Complex>()[i * 3 + from] * std::polar(1.0, 0.5 + static_cast<double>(j));
    }
  }
  EXPECT_EQ(status("linalg.eig", bench, {device_values, vectors}, input), Status::pass);
  EXPECT_EQ(status("linalg.eig", bench, {device_values, tensor(bench[1])}, input), Status::error);
  const Value only = device_values;
  EXPECT_EQ(compare_call("Torch.linalg.eigvals.0", bench[0], only, input).status, Status::pass);
  // Each eigenvalue of the device stands for one of the benchmark's.
  Tensor twice(DType::complex128, {2});
  twice.mutable_data<Complex>()[0] = twice.mutable_data<Complex>()[1] = 2;
  Tensor once = twice.clone();
  once.mutable_data<Complex>()[1] = 5;
  EXPECT_EQ(compare_call("Torch.linalg.eigvals.0", twice, once, input).status, Status::error);
  vectors.mutable_data<Complex>()[0] += 0.1;
  EXPECT_EQ(status("linalg.eig", bench, {device_values, vectors}, input), Status::error);
}

TEST(Freedom, UnfitOutputsAreLeftAlone) {
  const Value input = uniform({3, 2}, -1, 1, 5);
  const List bench = outputs_of("svd", tensor(input));
  const Tensor nan = Tensor::full(DType::float64, tensor(bench[0]).shape(), std::nan(""));
  EXPECT_EQ(status("svd", bench, {nan, bench[1], bench[2]}, input), Status::error);
  EXPECT_EQ(status("svd", bench, {bench[0], bench[1]}, input), Status::error);
  EXPECT_FALSE(Alignment::find(Freedom::singular, List{bench[0], bench[1], None{}}, bench, &input).has_value());
  EXPECT_FALSE(Alignment::find(Freedom::orthogonal, bench, bench, &input).has_value());
  const Values signs{-1, 1};
  const List device{scaled(tensor(bench[0]), signs), bench[1], scaled(tensor(bench[2]), signs)};
  ASSERT_TRUE(Alignment::find(Freedom::singular, bench, device, &input).has_value());
  const List deeper{tensor(device[0]).unsqueeze(0), tensor(device[1]).unsqueeze(0), tensor(device[2]).unsqueeze(0)};
  EXPECT_FALSE(Alignment::find(Freedom::singular, bench, deeper, &input).has_value()) << "other shapes";
  EXPECT_FALSE(Alignment::find(Freedom::symmetric, bench[0], bench[0], &input).has_value());
}

// The gradient given for the device's choice of signs, brought to the benchmark's, asks for the same derivative.
TEST(Freedom, GradientsFollowTheChoice) {
  const Value input = uniform({3, 2}, -1, 1, 6);
  const List bench = outputs_of("svd", tensor(input));
  const List device{scaled(tensor(bench[0]), {1, -1}), bench[1], scaled(tensor(bench[2]), {1, -1})};
  const auto alignment = Alignment::find(Freedom::singular, bench, device, &input);
  ASSERT_TRUE(alignment.has_value());
  const Tensor g = uniform({3, 2}, -1, 1, 7);
  const Value turned = alignment->turned(List{g, None{}, None{}});
  EXPECT_EQ(values(tensor((*turned.get<List>())[0])), values(scaled(g, {1, -1})));
  EXPECT_TRUE((*turned.get<List>())[1].is_none());
  const Value other = alignment->turned(List{g.unsqueeze(0), None{}, None{}});
  EXPECT_EQ(tensor((*other.get<List>())[0]).shape(), (Dims{1, 3, 2})) << "of another shape, it stays";
  EXPECT_EQ(values(tensor((*other.get<List>())[0])), values(g));
}

}  // namespace
}  // namespace msrun
