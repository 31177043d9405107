#include "orchestrator/command/list_standards.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/compare/metrics/standards.h"
#include "orchestrator/command/page_width.h"

namespace msrun {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::span<const std::string_view>;

constexpr std::array all_limits{Limits::current, Limits::documented};

// "2^-10" for a power of two below one, else the shortest decimal: "1e-16", "1".
std::string constant_text(double value) {
  int exponent = 0;
  if (value < 1 && std::frexp(value, &exponent) == 0.5) return "2^" + std::to_string(exponent - 1);
  std::array<char, 32> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

// Words after indent, broken into lines; those that name no operator of ours are marked.
std::string name_lines(Names names, const std::string& indent) {
  std::string text;
  std::string line = indent;
  for (const std::string_view name : names) {
    const std::string word = std::string(name) + (is_known_api(name) ? "" : "(!)");
    if (line.size() + word.size() > page_width) {
      text += line + "\n";
      line = indent;
    }
    line += (line.size() == indent.size() ? "" : " ") + word;
  }
  return text + line + "\n";
}

std::string column_names(Standard standard) {
  std::string text;
  for (const Metric metric : standard_columns(standard)) {
    text +=
        (text.empty() ? "" : ", ") + std::string(metric_title(metric, true)) + " (" + metric_title(metric, false) + ")";
  }
  return text;
}

std::string chosen_text(const SelectionStep& step) {
  return step.standard ? standard_text(*step.standard) : "the standard of that list";
}

// Rows of cells, columns padded to one width.
std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += " " + row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - row[i].size() + 1, ' ');
    }
    text += line + "\n";
  }
  return text;
}

std::string dtype_text(std::optional<DType> dtype) { return dtype ? std::string(name(*dtype)) : "any other"; }

struct NamedConstant {
  const char* name;
  double Thresholds::*value;
};
constexpr std::array<NamedConstant, 7> constants{{
    {"small_value", &Thresholds::small_value},
    {"absolute_threshold_atol", &Thresholds::absolute_threshold_atol},
    {"atol", &Thresholds::atol},
    {"rtol", &Thresholds::rtol},
    {"accumulative_bound", &Thresholds::accumulative_bound},
    {"accumulative_small_value", &Thresholds::accumulative_small_value},
    {"ulp_limit", &Thresholds::ulp_limit},
}};

struct NamedComparisonLimit {
  const char* name;
  double ComparisonLimits::*value;
};
constexpr std::array<NamedComparisonLimit, 4> comparison_limit_names{{
    {"least_error", &ComparisonLimits::least_error},
    {"ulp_mean", &ComparisonLimits::ulp_mean},
    {"ulp_proportion", &ComparisonLimits::ulp_proportion},
    {"error_balance", &ComparisonLimits::error_balance},
}};

struct NamedLimit {
  const char* name;
  double OperatorLevel::*value;
};
constexpr std::array<NamedLimit, 5> limits{{
    {"max_relative_error", &OperatorLevel::max_relative_error},
    {"mean_relative_error", &OperatorLevel::mean_relative_error},
    {"rmse", &OperatorLevel::rmse},
    {"small_value_error", &OperatorLevel::small_value_error},
    {"error_balance", &OperatorLevel::error_balance},
}};

// Names in the lists that meet no operator, each once.
std::vector<std::string_view> unknown_names() {
  std::vector<std::string_view> result;
  const auto collect = [&](Names names) {
    for (const std::string_view name : names) {
      if (!is_known_api(name) && std::ranges::find(result, name) == result.end()) result.push_back(name);
    }
  };
  for (const ApiList& list : api_lists()) collect(list.apis);
  for (const LevelApis& level : operator_levels()) collect(level.apis);
  return result;
}

}  // namespace

std::string list_standards_text() {
  std::string text = "Standards, in the order in which their lists are searched; names are matched exactly\n";
  for (const ApiList& list : api_lists()) {
    text += "\n  " + std::string(standard_text(list.standard)) + ", " + std::to_string(list.apis.size()) +
            (list.apis.size() == 1 ? " API\n" : " APIs\n");
    text += "    columns: " + column_names(list.standard) + "\n" + name_lines(list.apis, "    ");
  }
  text += "\n  " + std::string(standard_text(Standard::benchmark)) +
          ", every other API\n    columns: " + column_names(Standard::benchmark) + "\n";

  for (const Policy policy : {Policy::per_api, Policy::current}) {
    text += "\nSelection under --standard " + std::string(policy_text(policy)) +
            (policy == Policy::per_api ? " (default)" : "") + ", the first that applies\n";
    int number = 0;
    for (const SelectionStep& step : selection_steps()) {
      if (step.only_current && policy != Policy::current) continue;
      text += "  " + std::to_string(++number) + ". " + step.condition + ": " + chosen_text(step) + "\n";
    }
  }

  std::vector<std::vector<std::string>> rows;
  for (const Limits set : all_limits) {
    text += "\nConstants under --limits " + std::string(limits_text(set)) +
            (set == Limits::current ? " (default)" : "") + ", by dtype of the device's output\n";
    rows = {{"dtype"}};
    for (const NamedConstant& constant : constants) rows[0].emplace_back(constant.name);
    for (const DTypeThresholds& entry : thresholds_table(set)) {
      auto& row = rows.emplace_back(std::vector{dtype_text(entry.dtype)});
      for (const NamedConstant& constant : constants) row.push_back(constant_text(entry.values.*constant.value));
    }
    text += table_text(rows);
  }

  text += "\nLimits of api_precision_compare by dtype of the NPU's output; dual-1000 passes from " +
          constant_text(dual_1000_limit) + " on\n";
  rows = {{"dtype"}};
  for (const NamedComparisonLimit& limit : comparison_limit_names) rows[0].emplace_back(limit.name);
  for (const DTypeLimits& entry : comparison_limits_table()) {
    auto& row = rows.emplace_back(std::vector{dtype_text(entry.dtype)});
    for (const NamedComparisonLimit& limit : comparison_limit_names) {
      row.push_back(constant_text(entry.values.*limit.value));
    }
  }
  text += table_text(rows);

  text += "\nLevels: limits of the benchmark standard's ratios in api_precision_compare, NPU error to GPU error\n";
  rows = {{"level"}};
  for (const NamedLimit& limit : limits) rows[0].emplace_back(limit.name);
  rows[0].emplace_back("APIs");
  for (const LevelApis& entry : operator_levels()) {
    auto& row = rows.emplace_back(std::vector<std::string>{entry.level.name});
    for (const NamedLimit& limit : limits) row.push_back(constant_text(entry.level.*limit.value));
    row.push_back(entry.apis.empty() ? "all others" : std::to_string(entry.apis.size()) + " below");
  }
  text += table_text(rows);
  for (const LevelApis& entry : operator_levels()) {
    if (!entry.apis.empty()) text += "  " + std::string(entry.level.name) + "\n" + name_lines(entry.apis, "    ");
  }
  for (const MissedName& missed : missed_level_names()) {
    text += "Under --compat msprobe " + std::string(missed.name) + " is spelled " + std::string(missed.upstream) +
            ", which no API meets: its level is " + operator_level(missed.name, LevelNames::upstream).name + ".\n";
  }

  return text + (unknown_names().empty() ? "" : "\n(!) names no operator that msrun knows.\n");
}

std::string list_standards_json() {
  Json json;
  for (const ApiList& list : api_lists()) {
    Json columns = Json::array();
    for (const Metric metric : standard_columns(list.standard)) columns.push_back(metric_title(metric, false));
    json["standards"].push_back({{"name", standard_text(list.standard)}, {"columns", columns}, {"apis", list.apis}});
  }
  Json columns = Json::array();
  for (const Metric metric : standard_columns(Standard::benchmark)) columns.push_back(metric_title(metric, false));
  json["standards"].push_back({{"name", standard_text(Standard::benchmark)}, {"columns", columns}});
  for (const Policy policy : {Policy::per_api, Policy::current}) {
    Json steps = Json::array();
    for (const SelectionStep& step : selection_steps()) {
      if (step.only_current && policy != Policy::current) continue;
      steps.push_back(
          {{"condition", step.condition}, {"standard", step.standard ? Json(standard_text(*step.standard)) : Json()}});
    }
    json["selection"][policy_text(policy)] = steps;
  }
  for (const Limits set : all_limits) {
    // The table by which files interchange has the key of its own.
    Json& table = set == Limits::current ? json["constants"] : json[std::string("constants_") + limits_text(set)];
    for (const DTypeThresholds& entry : thresholds_table(set)) {
      Json& values = table[dtype_text(entry.dtype)];
      for (const NamedConstant& constant : constants) values[constant.name] = entry.values.*constant.value;
      values["ulp_min_exponent"] = entry.values.ulp_min_exponent;
      values["ulp_fraction_bits"] = entry.values.ulp_fraction_bits;
    }
  }
  for (const DTypeLimits& entry : comparison_limits_table()) {
    Json& values = json["comparison_limits"][dtype_text(entry.dtype)];
    for (const NamedComparisonLimit& limit : comparison_limit_names) values[limit.name] = entry.values.*limit.value;
  }
  for (const LevelApis& entry : operator_levels()) {
    Json& level = json["levels"][entry.level.name];
    for (const NamedLimit& limit : limits) level[limit.name] = entry.level.*limit.value;
    level["apis"] = entry.apis;
  }
  for (const MissedName& missed : missed_level_names()) json["missed_by_msprobe"][missed.name] = missed.upstream;
  json["unknown_apis"] = unknown_names();
  return json.dump() + "\n";
}

}  // namespace msrun
