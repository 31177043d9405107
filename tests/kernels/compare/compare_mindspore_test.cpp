// The metrics of MindSpore's check and its verdicts on outputs and gradients.
#include "kernels/compare/policies/compare_mindspore.h"

#include <gmock/gmock.h>

#include <limits>

#include "kernels/base/error.h"
#include "kernels/compare/details.h"
#include "kernels/compare/policies/distance.h"

namespace msrun {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

Tensor values(std::initializer_list<double> list) {
  return Tensor::from<double>(DType::float64, Dims{static_cast<std::int64_t>(list.size())}, std::span(list));
}

Distance distance(std::initializer_list<double> bench, std::initializer_list<double> tested, bool equal = true) {
  return distance_of(values(bench), values(tested), equal);
}

TEST(Distance, HasTheWorkedValues) {
  const Distance near = distance({1, 2, 0, -4}, {1, 2.001, 0.0005, -4});
  EXPECT_NEAR(near.cosine, 0.999999974778048, 1e-12);
  EXPECT_EQ(near.max_abs, 0.0009999999999998899);
  EXPECT_EQ(near.max_relative, 50000.0);
  const Distance zero = distance({0, 0, 0}, {0.0001, 0, 0});
  EXPECT_EQ(zero.cosine, 1.0);
  EXPECT_EQ(zero.max_abs, 0.0001);
  EXPECT_EQ(zero.max_relative, 10000.0);
  EXPECT_NEAR(distance({1e-6, 2e-6}, {-1e-6, -2e-6}).cosine, 0.9990004997501248, 1e-12);
}

TEST(Distance, OfEqualTensorsIsNone) {
  const Distance same = distance({1, -2, 3e200}, {1, -2, 3e200});
  EXPECT_NEAR(same.cosine, 1, 1e-12) << "norms whose squares overflow are scaled";
  EXPECT_EQ(same.max_abs, 0);
  EXPECT_TRUE(std::isnan(distance({1e200}, {1e200}, false).cosine));
  const Distance empty = distance({}, {});
  EXPECT_EQ(empty.cosine, 1);
  EXPECT_EQ(empty.max_abs, 0);
}

TEST(Distance, LeavesOutEqualNanAndInfinity) {
  const Distance equal = distance({nan, infinity, 1}, {nan, infinity, 1});
  EXPECT_EQ(equal.nonfinite_equal, 2);
  EXPECT_NEAR(equal.cosine, 1, 1e-12);
  EXPECT_EQ(equal.max_abs, 0);
  EXPECT_TRUE(std::isnan(distance({nan, 1}, {nan, 1}, false).max_abs));
  EXPECT_TRUE(std::isnan(distance({nan, 1}, {2, 1}).max_abs));
  EXPECT_EQ(distance({infinity, 1}, {2, 1}).max_abs, infinity);
  EXPECT_EQ(distance({infinity}, {-infinity}).max_abs, infinity);
}

Comparison outputs(const List& bench, const List& tested, const CompareOptions& options = {}) {
  return compare_mindspore_outputs(ordinary_traits, {bench, bench, tested}, nullptr, options);
}

std::string first_line(const DetailsRow& row) { return row.message.substr(0, row.message.find('\n')); }

TEST(CompareMindSpore, SaysInUpstreamsWordsWhatFails) {
  CompareOptions options;
  EXPECT_EQ(outputs({values({1, 2})}, {values({1, 2})}).rows.at(0).message, "");
  const Comparison large = outputs({values({1, 2})}, {values({1, 2.0001})});
  EXPECT_EQ(large.status, Status::error);
  EXPECT_EQ(first_line(large.rows.at(0)), "max absolute difference is greater than threshold: 0.0001 ");
  options.max_abs_error = 0.001;
  EXPECT_EQ(outputs({values({1, 2})}, {values({1, 2.0001})}, options).status, Status::pass);
  const Comparison opposite = outputs({values({1, 2})}, {values({-1, -2})}, options);
  EXPECT_EQ(first_line(opposite.rows.at(0)),
            "cosine similarity is less than threshold: 0.99 max absolute difference is greater than threshold: 0.001 ");
  const Comparison shapes = outputs({values({1, 2})}, {values({1, 2, 3})});
  EXPECT_EQ(shapes.rows.at(0).cells.at(0), Cell{});
  EXPECT_EQ(first_line(shapes.rows.at(0)),
            "two inputs are not valid for computing cosine similarity, skip comparing "
            "two inputs are not valid for computing max absolute difference, skip comparing ");
}

TEST(CompareMindSpore, ComparesWhatIsNoTensor) {
  const auto status = [](const Value& bench, const Value& tested, bool compat = false) {
    CompareOptions options;
    options.compat_msprobe = compat;
    return outputs({bench}, {tested}, options).status;
  };
  EXPECT_EQ(status(std::int64_t{3}, std::int64_t{3}), Status::pass);
  EXPECT_EQ(status(std::int64_t{3}, std::int64_t{4}), Status::error);
  EXPECT_EQ(status(std::int64_t{3}, std::int64_t{3}, true), Status::error);
  EXPECT_EQ(status(true, false), Status::error);
  EXPECT_EQ(status(1.0, 1.0 + 1e-7), Status::pass);
  EXPECT_EQ(status(1.0, 1.0 + 1e-5), Status::error);
  EXPECT_EQ(status(nan, nan), Status::pass);
  EXPECT_EQ(status(std::string("a"), std::string("b")), Status::error);
  EXPECT_EQ(status(List{1.0, std::int64_t{2}}, List{1.0, std::int64_t{2}}), Status::pass);
  EXPECT_EQ(status(List{1.0, std::int64_t{2}}, List{1.0}), Status::error);
  EXPECT_EQ(status(1.0, values({1})), Status::error);
  const DetailsRow row = outputs({std::int64_t{3}}, {std::int64_t{3}}).rows.at(0);
  EXPECT_EQ(row.bench_dtype, "int");
  EXPECT_EQ(row.shape, "()");
  EXPECT_THROW(outputs({Dict{}}, {Dict{}}), SkipError);
}

TEST(CompareMindSpore, SaysWhereNoElementWasCompared) {
  const Value empty = Tensor(DType::float32, Dims{0, 3});
  EXPECT_EQ(outputs({empty}, {empty}).status, Status::pass);
  EXPECT_EQ(outputs({empty}, {empty}).weak_evidence, WeakEvidence::nothing_compared);
  EXPECT_EQ(outputs({}, {}).weak_evidence, WeakEvidence::nothing_compared);
  EXPECT_EQ(outputs({empty, values({1})}, {empty, values({1})}).weak_evidence, WeakEvidence::none);
  EXPECT_EQ(outputs({empty, true}, {empty, true}).weak_evidence, WeakEvidence::none);
}

TEST(CompareMindSpore, LeavesOutNoneAndPairsTheRest) {
  const Comparison comparison = outputs({None{}, values({1})}, {values({1}), None{}});
  ASSERT_EQ(comparison.rows.size(), 2U);
  EXPECT_EQ(comparison.rows[0].status, Status::skip);
  EXPECT_EQ(comparison.rows[1].status, Status::pass);
  const Comparison fewer = outputs({values({1}), values({2})}, {values({1})});
  EXPECT_EQ(fewer.status, Status::pass);
  EXPECT_EQ(fewer.rows[1].status, Status::skip);
}

TEST(CompareMindSpore, TakesNoResultForAnotherThatIsMissing) {
  const Comparison comparison = outputs({values({1}), values({2}), values({3})}, {values({1}), None{}, values({3})});
  EXPECT_EQ(comparison.status, Status::pass);
  EXPECT_EQ(comparison.rows[1].status, Status::skip);
  EXPECT_EQ(comparison.rows[2].status, Status::pass);
  EXPECT_EQ(uneven_results_line(comparison.rows[0]), "The device gave 2 results, the benchmark 3: 2 are compared.");
  EXPECT_EQ(outputs({values({1}), values({2})}, {None{}, values({1})}).status, Status::error);
  CompareOptions options;
  options.compat_msprobe = true;
  const Comparison upstream = outputs({values({1}), values({2})}, {None{}, values({1})}, options);
  EXPECT_EQ(upstream.status, Status::pass);
  EXPECT_EQ(uneven_results_line(upstream.rows[0]), "");
  EXPECT_EQ(uneven_results_line(outputs({values({1})}, {values({1})}).rows[0]), "");
}

TEST(CompareMindSpore, ComparesGradientsOfFloatsAlone) {
  const Value integer = Tensor::full(DType::int64, Dims{1}, 7);
  const auto compared = compare_mindspore_gradients(
      {{None{}, values({1})}, {None{}, values({1})}, {integer, values({1})}}, CompareOptions());
  ASSERT_TRUE(compared);
  EXPECT_EQ(compared->rows.at(1).status, Status::pass);
  EXPECT_FALSE(compare_mindspore_gradients({{None{}}, {None{}}, {integer}}, CompareOptions()));
}

TEST(CompareMindSpore, SaysWhichGradientsWereNotChecked) {
  const auto weak_evidence_of = [](const List& bench, const List& tested, std::size_t row, bool compat = false) {
    CompareOptions options;
    options.compat_msprobe = compat;
    return compare_mindspore_gradients({bench, bench, tested}, options)->rows.at(row).trust.weak_evidence;
  };
  const List both{values({1}), values({2})};
  EXPECT_EQ(weak_evidence_of(both, both, 1), WeakEvidence::none);
  EXPECT_EQ(weak_evidence_of(both, {values({1}), None{}}, 1), WeakEvidence::backward_unchecked);
  EXPECT_EQ(weak_evidence_of(both, {None{}, values({2})}, 0), WeakEvidence::backward_unchecked);
  EXPECT_EQ(weak_evidence_of(both, {values({1})}, 1), WeakEvidence::backward_unchecked);
  EXPECT_EQ(weak_evidence_of(both, {values({1}), Unsupported{"The file is damaged."}}, 1),
            WeakEvidence::backward_unchecked);
  EXPECT_EQ(weak_evidence_of(both, {values({1}), None{}}, 1, true), WeakEvidence::none);
  // One of zeros need not be given.
  EXPECT_EQ(weak_evidence_of({values({1}), values({0})}, {values({1}), None{}}, 1), WeakEvidence::none);
  const auto rows =
      compare_mindspore_gradients({both, both, {values({1}), Unsupported{"The file is damaged."}}}, {})->rows;
  EXPECT_EQ(rows[1].message, "The file is damaged.\nProves little: the backward could not be checked.\n");
}

TEST(CompareMindSpore, PassesEmptyOutputsButUnderCompat) {
  EXPECT_EQ(outputs({values({})}, {values({})}).status, Status::pass);
  CompareOptions options;
  options.compat_msprobe = true;
  EXPECT_THROW(outputs({values({})}, {values({})}, options), SkipError);
}

TEST(CompareMindSpore, TakesEitherIndexOfTiedElements) {
  OperatorTraits traits;
  traits.ties = {.indices = IndexOutput::of_values};
  const auto indices = [](std::int64_t index) {
    return Value(Tensor::full(DType::int64, Dims{1}, static_cast<double>(index)));
  };
  const Value input = values({5, 1, 5});
  const List bench{values({5}), indices(0)};
  const MindSporeSlots tied{bench, bench, {values({5}), indices(2)}};
  const MindSporeSlots wrong{bench, bench, {values({5}), indices(1)}};
  EXPECT_EQ(compare_mindspore_outputs(traits, tied, &input, {}).status, Status::pass);
  EXPECT_EQ(compare_mindspore_outputs(traits, wrong, &input, {}).status, Status::error);
}

TEST(PythonNumber, IsTheShortestThatRoundTrips) {
  const auto text = [](double value) {
    std::string out;
    append_python_number(out, value);
    return out;
  };
  EXPECT_EQ(text(1), "1.0");
  EXPECT_EQ(text(0), "0.0");
  EXPECT_EQ(text(1e-5), "1e-05");
  EXPECT_EQ(text(0.0001), "0.0001");
  EXPECT_EQ(text(5000000.074505806), "5000000.074505806");
  EXPECT_EQ(text(1e16), "1e+16");
  EXPECT_EQ(text(-0.25), "-0.25");
  EXPECT_EQ(text(nan), "nan");
  EXPECT_EQ(text(infinity), "inf");
}

}  // namespace
}  // namespace msrun
