// The comparison under compat_msprobe against metrics_golden.json: what upstream computed for 412 pairs of outputs
// (layout and comparison rule: precision_metrics.md 14.1). MSRUN_METRICS_GOLDEN names another file of the same layout.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/test_paths.h"
#include "tools/tensor_compare/cases.h"

namespace msrun {
namespace {

using Json = nlohmann::ordered_json;

struct Tolerance {
  double relative = 2e-6;
  double absolute = 1e-12;
};

bool same_cell(const std::string& actual, const std::string& expected, const Tolerance& tolerance) {
  if (actual == expected) return true;
  char* end = nullptr;
  const double a = std::strtod(actual.c_str(), &end);
  if (end == actual.c_str() || *end != '\0') return false;
  const double b = std::strtod(expected.c_str(), &end);
  if (end == expected.c_str() || *end != '\0') return false;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= tolerance.relative * std::max(std::abs(a), std::abs(b)) + tolerance.absolute;
}

// What differs between a row and its expectation, one line each; empty if nothing does.
std::string differences(const DetailsRow& row, const Json& cells, const std::string& status, const std::string& message,
                        const Tolerance& general) {
  std::string result;
  const auto check = [&](const std::string& title, const std::string& actual, const Tolerance& tolerance) {
    const std::string expected = cells.contains(title) ? cells[title].get<std::string>() : " ";
    if (!same_cell(actual, expected, tolerance)) result += title + ": " + actual + " instead of " + expected + "\n";
  };
  check("Bench Dtype", row.bench_dtype, general);
  check("DEVICE Dtype", row.device_dtype, general);
  check("Shape", row.shape, general);
  for (int i = 0; i < metric_count; ++i) {
    const auto metric = static_cast<Metric>(i);
    const Tolerance tolerance = metric == Metric::cosine ? Tolerance{0, 1e-12} : general;
    check(metric_title(metric, false), cell_text(row[metric], 14), tolerance);
  }
  if (status_text(row.status) != status) result += std::string("status ") + status_text(row.status) + "\n";
  if (row.message != message) result += "message " + row.message + "\n";
  return result;
}

std::string check_case(const Json& expectation, const ComparisonCase& test, Policy policy) {
  CompareOptions options;
  options.policy = policy;
  options.compat_msprobe = true;
  const Comparison comparison = compare_case(test, options);
  std::string result;
  if (expectation["kind"] == "tensor") {
    if (comparison.rows.size() != 1) return std::to_string(comparison.rows.size()) + " rows";
    const bool per_api = policy == Policy::per_api && expectation.contains("expected_per_api");
    Tolerance tolerance;
    if (expectation["bench_dtype"] == "float16" && expectation["device_dtype"] == "float16") {
      tolerance = {0x1p-10, 0x1p-24};
    }
    return differences(comparison.rows.front(), expectation[per_api ? "expected_per_api" : "expected"],
                       expectation["status"], expectation["message"], tolerance);
  }
  if (expectation["final_status"] != status_text(comparison.status)) {
    result += std::string("final status ") + status_text(comparison.status) + "\n";
  }
  const Json& rows = expectation["rows"];
  if (rows.size() != comparison.rows.size()) return result + std::to_string(comparison.rows.size()) + " rows\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json& row = rows[i];
    result += differences(comparison.rows[i], row["expected"], row["status"], row["message"], {});
  }
  return result;
}

class MetricsGolden : public ::testing::TestWithParam<Policy> {};

TEST_P(MetricsGolden, EveryCase) {
  const char* other = std::getenv("MSRUN_METRICS_GOLDEN");
  const std::string path = other != nullptr ? other : testing::test_data("/metrics_golden.json");
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  const Json cases = Json::parse(file);
  ASSERT_FALSE(cases.empty());
  if (other == nullptr) {
    EXPECT_EQ(cases.size(), 412U);
  }
  const std::vector<ComparisonCase> tests = read_cases(path);
  ASSERT_EQ(tests.size(), cases.size());
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const std::string difference = check_case(cases[i], tests[i], GetParam());
    EXPECT_TRUE(difference.empty()) << tests[i].name << (tests[i].forced ? " (forced)" : "") << '\n' << difference;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, MetricsGolden, ::testing::Values(Policy::current, Policy::per_api),
                         [](const auto& policy) { return policy_text(policy.param); });

// What makes a row differ from upstream's where compat is not asked for; empty where nothing does.
std::string reason(const DetailsRow& upstream, const DetailsRow& row) {
  std::vector<Metric> changed;
  for (int i = 0; i < metric_count; ++i) {
    const auto metric = static_cast<Metric>(i);
    if (cell_text(upstream[metric], 14) != cell_text(row[metric], 14)) changed.push_back(metric);
  }
  const auto says = [&](const char* text) { return row.message.find(text) != std::string::npos; };
  const bool same_message = upstream.message == row.message;
  const bool same_status = upstream.status == row.status;
  if (same_message && same_status && changed.empty()) return "";
  if (says("is on one side only")) return "NaN or infinity on one side only is an error";
  if (says("the same on both sides and counts as equal")) return "equal NaN and infinities are equal";
  if (same_message && changed == std::vector{Metric::rmse}) return "squares are not rounded";
  if (same_message && std::ranges::includes(standard_columns(Standard::ulp), changed)) return "the ULP scale is exact";
  if (same_message && changed == std::vector{Metric::binary_error_rate}) return "a scalar mismatch has an error rate";
  return "another";
}

// The cases of the golden file in which the default departs from upstream, per API, with the reason of each that is not
// told by the row itself.
TEST(MetricsGoldenDefaults, DepartFromUpstreamForAReasonOnly) {
  const std::map<std::string, std::string> others{
      {"edge int16 unsupported", "int16 is compared by value"},
      {"edge complex64", "real and imaginary parts are compared"},
      {"edge complex128", "real and imaginary parts are compared"},
      {"edge quant int8 wraparound", "differences of quantised outputs do not wrap"},
      {"edge bench bf16 device f32", "a bfloat16 benchmark is widened"},
      {"struct bench longer than device", "a missing output is an error"},
      {"struct device longer than bench", "an output beyond the benchmark's is an error"},
      {"struct nested list", "nested outputs are compared"},
      {"struct dict same keys", "values of a dict are compared"},
      {"struct tuple vs tensor", "a tensor is no tuple of its rows"},
  };
  std::map<std::string, int> counts;
  std::set<std::string> seen;
  for (const ComparisonCase& test : read_cases(testing::test_data("/metrics_golden.json"))) {
    CompareOptions options;
    const Comparison ours = compare_case(test, options);
    options.compat_msprobe = true;
    const Comparison upstream = compare_case(test, options);
    if (ours.rows.size() != upstream.rows.size()) {
      EXPECT_TRUE(others.contains(test.name)) << test.name;
      seen.insert(test.name);
      continue;
    }
    for (std::size_t i = 0; i < ours.rows.size(); ++i) {
      const std::string why = reason(upstream.rows[i], ours.rows[i]);
      if (why.empty()) continue;
      if (why != "another") {
        ++counts[why];
        // Nothing that upstream finds wrong passes but for equal NaN and infinities.
        if (ours.rows[i].status == Status::pass) {
          EXPECT_TRUE(upstream.rows[i].status == Status::pass || why == "equal NaN and infinities are equal")
              << test.name;
        }
        continue;
      }
      EXPECT_TRUE(others.contains(test.name)) << test.name << ' ' << ours.rows[i].message;
      seen.insert(test.name);
    }
  }
  EXPECT_EQ(seen.size(), others.size());
  const std::map<std::string, int> expected{
      {"NaN or infinity on one side only is an error", 52},
      {"a scalar mismatch has an error rate", 3},
      {"equal NaN and infinities are equal", 24},
      {"squares are not rounded", 21},
      {"the ULP scale is exact", 3},
  };
  EXPECT_EQ(counts, expected);
}

}  // namespace
}  // namespace msrun
