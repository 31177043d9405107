// Results of several tensors, dropout and gradients: which rows there are and what follows from them.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "tests/kernels/compare/support.h"

namespace msrun::testing {
namespace {

Tensor right() { return vector(DType::float32, {1, 2, 3}); }
Tensor wrong() { return vector(DType::float32, {1, 2, 4}); }
Tensor bench() { return vector(DType::float64, {1, 2, 3}); }

Comparison compare_lists(const Value& expected, const Value& actual, const CompareOptions& options = {}) {
  return compare_call("Torch.split.0", expected, actual, options);
}

// D5, DEV-15.
TEST(Structures, AnyErrorMakesTheDirectionAnError) {
  CompareOptions mild;
  const Value expected = List{bench(), vector(DType::float64, {100, 200, 300}), None{}};
  const Value actual = List{wrong(), vector(DType::float32, {100, 200, 300.1}), None{}};
  const Comparison comparison = compare_lists(expected, actual, mild);
  ASSERT_EQ(comparison.rows.size(), 3U);
  EXPECT_EQ(comparison.rows[1].status, Status::warning);
  EXPECT_EQ(comparison.rows[2].status, Status::skip);
  EXPECT_EQ(comparison.status, Status::error);
  EXPECT_EQ(compare_lists(expected, actual, compat()).status, Status::warning) << "upstream: the last one wins";
}

TEST(Structures, SkippedRowsAloneArePass) {
  EXPECT_EQ(compare_lists(List{None{}}, List{None{}}).status, Status::pass);
  EXPECT_EQ(compare_lists(None{}, None{}).rows.front().message, "Bench output is None, skip this test.");
  EXPECT_TRUE(compare_lists(List{}, List{}).rows.empty());
  EXPECT_EQ(compare_lists(List{}, List{}).weak_evidence, WeakEvidence::nothing_compared);
}

// DEV-14.
TEST(Structures, MissingDeviceOutputsAreAnError) {
  const Comparison comparison = compare_lists(List{bench(), bench()}, List{right()});
  ASSERT_EQ(comparison.rows.size(), 1U);
  EXPECT_EQ(comparison.status, Status::error);
  EXPECT_EQ(comparison.rows.front().message, "bench and npu output structure is different.");
  EXPECT_THROW(compare_lists(List{bench(), bench()}, List{right()}, compat()), SkipError);
}

TEST(Structures, OutputsBeyondTheBenchmarksAreAnError) {
  const auto expect_refused = [](const Value& expected, const Value& actual) {
    const Comparison comparison = compare_lists(expected, actual);
    EXPECT_EQ(comparison.status, Status::error);
    EXPECT_EQ(comparison.rows.back().message, "bench and npu output structure is different.");
  };
  expect_refused(List{bench()}, List{right(), wrong()});
  expect_refused(List{bench()}, List{right(), None{}});
  expect_refused(List{std::int64_t{4}}, List{std::int64_t{4}, std::int64_t{8}});
  expect_refused(List{}, List{std::int64_t{4}});
  expect_refused(List{List{bench()}}, List{List{right(), right()}});
  EXPECT_EQ(compare_lists(List{bench()}, List{right(), wrong()}, compat()).status, Status::pass)
      << "msProbe takes no notice of them";
}

// Releases of an operator differ in what they give behind its results.
TEST(Structures, WhatTheBenchmarkHasNoValueForMayBeAnything) {
  const Value expected = List{bench(), Unsupported{"Not compared."}, Unsupported{"Not compared."}};
  for (const Value& actual : {Value(List{right()}), Value(List{right(), wrong()}), Value(List{right(), None{}, 1.0})}) {
    const Comparison comparison = compare_lists(expected, actual);
    EXPECT_EQ(comparison.status, Status::pass);
    EXPECT_EQ(comparison.rows.size(), actual.get<List>()->size());
    EXPECT_EQ(comparison.rows.back().status, comparison.rows.size() == 1 ? Status::pass : Status::skip);
  }
  EXPECT_EQ(compare_lists(expected, List{}).status, Status::error);
  EXPECT_EQ(compare_lists(expected, List{right(), None{}, None{}, None{}}).status, Status::error);
  EXPECT_EQ(compare_lists(List{Unsupported{"Not compared."}, bench()}, List{None{}, wrong()}).status, Status::error);
}

// DEV-13.
TEST(Structures, NestedOutputsAreFlattenedDepthFirst) {
  const Value expected = List{bench(), List{bench(), bench()}, Dict{{"a", bench()}, {"b", std::int64_t{1}}}};
  const Value actual = List{right(), List{right(), wrong()}, Dict{{"b", std::int64_t{1}}, {"a", right()}}};
  const Comparison comparison = compare_lists(expected, actual);
  ASSERT_EQ(comparison.rows.size(), 5U);
  EXPECT_EQ(comparison.rows[2].status, Status::error);
  EXPECT_EQ(comparison.rows[3].status, Status::pass);
  EXPECT_EQ(comparison.rows[4].device_dtype, "<class 'int'>");
  const Comparison upstream = compare_lists(expected, actual, compat());
  ASSERT_EQ(upstream.rows.size(), 3U);
  EXPECT_EQ(upstream.rows[1].message, "Unexpected output type in compare_core: <class 'list'>");
}

TEST(Structures, DifferentKindsAreErrors) {
  EXPECT_EQ(compare_one("f", bench(), None{}).message, "bench and npu output type is different.");
  EXPECT_EQ(compare_one("f", bench(), Tensor()).message, "bench and npu output type is different.");
  EXPECT_EQ(compare_one("f", List{bench()}, right()).message, "bench and npu output type is different.");
  EXPECT_EQ(compare_one("f", std::int64_t{1}, true).message, "bench and npu output type is different.");
  EXPECT_EQ(compare_one("f", true, std::int64_t{1}).status, Status::pass) << "in Python a bool is an int";
  EXPECT_EQ(compare_one("f", true, std::int64_t{2}).status, Status::error);
  EXPECT_EQ(compare_one("f", Dict{{"a", None{}}}, Dict{{"b", None{}}}).message,
            "bench and npu output dict keys are different.");
  const Dict longer{{"a", None{}}, {"b", None{}}};
  EXPECT_EQ(compare_one("f", Dict{{"a", None{}}}, longer).message, "bench and npu output dict keys are different.");
  EXPECT_EQ(compare_one("f", longer, Dict{{"a", None{}}}).status, Status::error);
  EXPECT_EQ(compare_one("f", DType::int64, DType::int64).message,
            "Unexpected output type in compare_core: <class 'torch.dtype'>");
}

TEST(Structures, VarsAndViewsAreTensors) {
  Tape tape;
  const Tensor table = tensor(DType::float32, {3, 2}, {1, 10, 2, 20, 3, 30});
  EXPECT_EQ(compare_one("f", bench(), tape.constant(table.select(1, 0))).status, Status::pass);
  const Tensor transposed = table.transpose(0, 1);
  const Tensor plain = tensor(DType::float64, {2, 3}, {1, 2, 3, 10, 20, 30});
  EXPECT_EQ(compare_one("f", plain, transposed)[Metric::max_abs_error].value, 0);
  const Dims repeated = {4, 3};
  EXPECT_EQ(compare_one("f", bench().expand({repeated.data(), 2}), right().expand({repeated.data(), 2})).status,
            Status::pass);
}

TEST(Structures, NamesHaveThreeOrFourSegments) {
  EXPECT_EQ(short_api_name("Functional.softmax.0"), "softmax");
  EXPECT_EQ(short_api_name("Torch.linalg.inv.12"), "linalg.inv");
  EXPECT_EQ(short_api_name("Aten.add.Tensor.3"), "add");
  EXPECT_EQ(short_api_name("Aten.add.3"), "add");
  EXPECT_THROW(short_api_name("Torch.softmax"), SkipError);
  try {
    compare_call("a.b.c.d.e", None{}, None{});
    FAIL();
  } catch (const SkipError& error) {
    EXPECT_STREQ(error.what(), "API name a.b.c.d.e has not been adapted.");
  }
}

TEST(Dropout, ComparesTheShareOfZeros) {
  const auto zeros = [](int count, int total) {
    std::vector<double> values(static_cast<std::size_t>(total), 1);
    std::fill_n(values.begin(), count, 0);
    return vector(DType::float32, values);
  };
  const auto status = [](const Value& a, const Value& b, const CompareOptions& options = {}) {
    const Comparison comparison = compare_call("Functional.dropout.0", a, b, options);
    EXPECT_TRUE(comparison.rows.empty());
    return comparison.status;
  };
  EXPECT_EQ(status(zeros(50, 100), zeros(41, 100)), Status::pass);
  EXPECT_EQ(status(zeros(50, 100), zeros(40, 100)), Status::error) << "the limit itself fails";
  EXPECT_EQ(status(zeros(50, 100), zeros(60, 100)), Status::error) << "too many zeros";
  EXPECT_EQ(status(zeros(50, 100), zeros(50, 100).reshape(Dims{10, 10})), Status::error) << "another shape";
  std::vector<double> negative(100, 1);
  std::fill_n(negative.begin(), 50, -1);
  EXPECT_EQ(status(zeros(50, 100), vector(DType::float32, negative)), Status::error) << "no zeros";
  EXPECT_EQ(status(zeros(0, 99), zeros(99, 99)), Status::pass) << "too few elements to judge";
  EXPECT_EQ(status(List{zeros(50, 100), None{}}, List{zeros(0, 100), None{}}), Status::error) << "first output, DEV-6";
  EXPECT_THROW(status(List{zeros(50, 100)}, List{zeros(0, 100)}, compat()), SkipError);
  const auto gradients = compare_gradients("Functional.dropout.0", traits_of_call("Functional.dropout.0"),
                                           {zeros(50, 100)}, {zeros(10, 100)}, false, {});
  ASSERT_TRUE(gradients.has_value());
  EXPECT_EQ(gradients->status, Status::error);
}

// Of four channels half are expected to be zero; none is no wonder. Of 400 elements that are drawn one by one it is.
TEST(Dropout, OfChannelsIsJudgedByTheirNumber) {
  const Value dropped = vector(DType::float32, std::vector<double>(400, 0)).reshape(Dims{2, 2, 10, 10});
  const Value kept = vector(DType::float32, std::vector<double>(400, 1)).reshape(Dims{2, 2, 10, 10});
  for (const char* name : {"Functional.dropout2d.0", "Functional.feature_alpha_dropout.0"}) {
    const Comparison comparison = compare_call(name, dropped, kept, {});
    EXPECT_EQ(comparison.status, Status::error) << name << ": the documented limit";
    EXPECT_TRUE(comparison.by_chance) << name;
  }
  EXPECT_FALSE(compare_call("Functional.dropout.0", dropped, kept, {}).by_chance);
}

TEST(Gradients, OneRowEachAndNothingWithoutGradients) {
  EXPECT_FALSE(compare_gradients("Torch.mul.0", ordinary_traits, {}, {right()}, false, {}).has_value());
  EXPECT_FALSE(compare_gradients("Torch.mul.0", ordinary_traits, {bench()}, {}, false, {}).has_value());
  const auto comparison = compare_gradients("Torch.mul.0", ordinary_traits, {bench(), None{}, bench()},
                                            {right(), None{}, wrong()}, false, {});
  ASSERT_TRUE(comparison.has_value());
  ASSERT_EQ(comparison->rows.size(), 3U);
  EXPECT_EQ(comparison->rows[1].status, Status::skip);
  EXPECT_EQ(comparison->status, Status::error);
  const auto none = compare_gradients("Torch.mul.0", ordinary_traits, {None{}}, {None{}}, false, {});
  EXPECT_EQ(none->status, Status::pass);
  const Comparison skip = skipped("Multiple backward is not supported.");
  EXPECT_EQ(skip.status, Status::skip);
  EXPECT_EQ(skip.rows.front().message, "Multiple backward is not supported.");
}

}  // namespace
}  // namespace msrun::testing
