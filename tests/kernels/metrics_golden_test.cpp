// The comparison under compat_msprobe against metrics_golden.json: what upstream computed for 412 pairs of outputs
// (layout and comparison rule: precision_metrics.md 14.1). MSRUN_METRICS_GOLDEN names another file of the same layout.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/compare/compare.h"
#include "kernels/error.h"

namespace msrun {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::byte> decode_base64(const std::string& text) {
  std::vector<std::byte> bytes;
  std::uint32_t window = 0;
  int bits = 0;
  for (const char c : text) {
    const std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t digit = alphabet.find(c);
    if (digit == std::string_view::npos) break;
    window = window << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<std::byte>(window >> bits));
    }
  }
  return bytes;
}

Tensor make_tensor(const std::string& dtype, const Json& shape, const std::string& data) {
  const Dims dims(shape.begin(), shape.end());
  Tensor tensor(parse_dtype(dtype).value(), {dims.data(), dims.size()});
  const std::vector<std::byte> bytes = decode_base64(data);
  EXPECT_EQ(bytes.size(), tensor.bytes());
  std::copy_n(bytes.begin(), std::min(bytes.size(), tensor.bytes()), tensor.mutable_data<std::byte>());
  return tensor;
}

Value make_value(const Json& tagged) {
  const std::string tag = tagged.at("t");
  if (tag == "tensor") return make_tensor(tagged.at("dtype"), tagged.at("shape"), tagged.at("data"));
  if (tag == "int") return tagged.at("v").get<std::int64_t>();
  if (tag == "bool") return tagged.at("v").get<bool>();
  if (tag == "str") return tagged.at("v").get<std::string>();
  if (tag == "float") return std::strtod(tagged.at("v").get<std::string>().c_str(), nullptr);
  if (tag == "list" || tag == "tuple") {
    List list;
    for (const Json& item : tagged.at("v")) list.push_back(make_value(item));
    return list;
  }
  if (tag == "dict") {
    Dict dict;
    for (const auto& [key, item] : tagged.at("v").items()) dict.emplace_back(key, make_value(item));
    return dict;
  }
  EXPECT_EQ(tag, "none");
  return None{};
}

std::optional<Standard> forced_standard(const Json& test) {
  if (!test.contains("forced_standard")) return std::nullopt;
  for (const Standard standard : {Standard::absolute_threshold, Standard::binary_consistency, Standard::ulp,
                                  Standard::dual_1000, Standard::accumulative_error, Standard::benchmark}) {
    if (test["forced_standard"] == standard_text(standard)) return standard;
  }
  ADD_FAILURE() << "unknown standard " << test["forced_standard"];
  return std::nullopt;
}

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

// A SkipError makes one SKIP row, as the caller of the comparison does.
template <class F>
Comparison run(F&& compare) {
  try {
    return compare();
  } catch (const SkipError& error) {
    return skipped(error.what());
  }
}

std::string check_tensor_case(const Json& test, Policy policy) {
  CompareOptions options;
  options.policy = policy;
  options.compat_msprobe = true;
  const std::string api = test["api_name"];
  const Json& shape = test["shape"];
  const Tensor bench = make_tensor(test["bench_dtype"], test.value("bench_shape", shape), test["bench"]);
  const Tensor device = make_tensor(test["device_dtype"], shape, test["device"]);
  const Comparison comparison = run([&] {
    if (const auto standard = forced_standard(test)) {
      return Comparison{Status::pass, {compare_tensors(api, bench, device, *standard, options)}};
    }
    return compare_outputs("Functional." + api + ".0", bench, device, test.value("input_fp8", false), options);
  });
  if (comparison.rows.size() != 1) return std::to_string(comparison.rows.size()) + " rows";
  const bool per_api = policy == Policy::per_api && test.contains("expected_per_api");
  Tolerance tolerance;
  if (test["bench_dtype"] == "float16" && test["device_dtype"] == "float16") tolerance = {0x1p-10, 0x1p-24};
  return differences(comparison.rows.front(), test[per_api ? "expected_per_api" : "expected"], test["status"],
                     test["message"], tolerance);
}

std::string check_structure_case(const Json& test, Policy policy) {
  CompareOptions options;
  options.policy = policy;
  options.compat_msprobe = true;
  const Comparison comparison = run([&] {
    return compare_outputs("Functional." + test["api_name"].get<std::string>() + ".0", make_value(test["bench_value"]),
                           make_value(test["device_value"]), false, options);
  });
  std::string result;
  if (test["final_status"] != status_text(comparison.status)) {
    result += std::string("final status ") + status_text(comparison.status) + "\n";
  }
  const Json& rows = test["rows"];
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
  for (const Json& test : cases) {
    const std::string difference =
        test["kind"] == "tensor" ? check_tensor_case(test, GetParam()) : check_structure_case(test, GetParam());
    EXPECT_TRUE(difference.empty()) << test["name"] << (test.contains("forced_standard") ? " (forced)" : "") << '\n'
                                    << difference;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, MetricsGolden, testing::Values(Policy::current, Policy::per_api),
                         [](const auto& policy) { return policy_text(policy.param); });

}  // namespace
}  // namespace msrun
