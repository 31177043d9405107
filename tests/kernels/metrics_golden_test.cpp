// The comparison under compat_msprobe against metrics_golden.json: what upstream computed for 412 pairs of outputs
// (layout and comparison rule: precision_metrics.md 14.1). MSRUN_METRICS_GOLDEN names another file of the same layout.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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

class MetricsGolden : public testing::TestWithParam<Policy> {};

TEST_P(MetricsGolden, EveryCase) {
  const char* other = std::getenv("MSRUN_METRICS_GOLDEN");
  const std::string path = other != nullptr ? other : TEST_DATA_DIR "/metrics_golden.json";
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

INSTANTIATE_TEST_SUITE_P(Policies, MetricsGolden, testing::Values(Policy::current, Policy::per_api),
                         [](const auto& policy) { return policy_text(policy.param); });

}  // namespace
}  // namespace msrun
