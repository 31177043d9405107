#include "runner/report/call_details.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/base/text.h"
#include "kernels/compare/metrics/message_lines.h"
#include "kernels/compare/policies/failed_metric.h"
#include "runner/results/counts.h"
#include "runner/results/reason.h"

namespace msrun::report {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_rows = 24;
constexpr std::size_t most_message_lines = 12;

// Pairs of a place in the histogram and the elements there.
Json sizes_json(const std::vector<std::uint64_t>& counts) {
  Json sizes = Json::array();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) sizes.push_back({i, counts[i]});
  }
  return sizes;
}

Json difference_json(const Difference& difference) {
  const DifferenceMap& map = difference.map;
  return {{"kind", kind_text(map.kind)},
          {"elements", map.elements},
          {"wrong", map.wrong},
          {"place", map.place},
          {"legend", map.picture.empty() ? "" : picture_legend(map)},
          {"picture", map.picture},
          {"relative", sizes_json(difference.errors.relative)},
          {"ulps", sizes_json(difference.errors.ulps)},
          {"explained", std::isfinite(difference.explained) ? difference.explained : 0}};
}

// Absolute errors are on the scale of the values.
bool is_value(Metric metric) { return metric == Metric::max_abs_error || metric == Metric::rmse; }

Json metrics_json(const DetailsRow& row, std::optional<double> max_abs_error, const Redaction& redaction) {
  Json metrics = Json::array();
  const std::optional<Metric> failed = failed_metric(row, max_abs_error);
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const Cell& cell = row.cells[i];
    if (cell.kind == Cell::Kind::blank) continue;
    const Column& column = row.columns->columns()[i];
    const std::optional<MetricLimit> limit = walk_limit(row, column.metric, max_abs_error);
    const bool hidden = redaction.on() && is_value(column.metric);
    metrics.push_back({column.english, hidden ? "" : short_number(cell.value),
                       limit ? std::string{limit->relation, ' '} + short_number(limit->limit) : "",
                       failed == column.metric ? 1 : 0});
  }
  return metrics;
}

Json lines_json(const DetailsRow& row, const Redaction& redaction) {
  Json lines = Json::array();
  std::istringstream rest(row.message);
  for (std::string line; std::getline(rest, line) && lines.size() < most_message_lines;) {
    if (!line.empty()) lines.push_back(redaction.line(&row, sanitised(line)));
  }
  return lines;
}

// What is wrong with an output of which no elements are counted: its dtype, say.
std::string finding_of(const DetailsRow& row, const Redaction& redaction) {
  std::size_t begin = find_verdict(row.message, unexplained_line);
  if (begin == std::string::npos) return {};
  begin += unexplained_line.size();
  const std::string line = first_line(row.message.substr(begin));
  return redaction.line(&row, line.substr(std::min(line.find_first_not_of(": "), line.size())));
}

void add_rows(Json& rows, const char* direction, const std::vector<DetailsRow>& details,
              std::optional<double> max_abs_error, const Redaction& redaction) {
  std::size_t number = 0;
  for (const DetailsRow& row : details) {
    // What had nothing to compare has no number.
    const bool is_numbered = row.status != Status::skip || !row.message.empty();
    const std::string name = std::string(direction) + ".output." + std::to_string(number);
    if (is_numbered) ++number;
    if (!is_numbered || rows.size() >= most_rows) continue;
    Json json{{"name", name},
              {"bench", row.bench_dtype},
              {"device", row.device_dtype},
              {"shape", row.shape},
              {"status", status_text(row.status)},
              {"beyond", row.beyond_rounding},
              {"rounding", row.rounding_only}};
    json["metrics"] = metrics_json(row, max_abs_error, redaction);
    json["lines"] = lines_json(row, redaction);
    if (row.beyond_rounding && !row.difference) json["finding"] = finding_of(row, redaction);
    if (row.difference) json["difference"] = difference_json(*row.difference);
    if (row.trust.visible) json["visible"] = {row.trust.visible->of_one, row.trust.visible->of_all};
    rows.push_back(std::move(json));
  }
}

Json inputs_json(const std::vector<InputNote>& notes, const Redaction& redaction) {
  Json inputs = Json::array();
  for (const InputNote& note : notes) {
    std::string range;
    if (!redaction.on() && note.least && note.most) {
      range = short_number(*note.least) + " … " + short_number(*note.most);
    }
    if (!note.is_finite) range += range.empty() ? "NaN or infinite" : ", and NaN or infinite";
    inputs.push_back({note.name, note.dtype, note.shape, range});
  }
  return inputs;
}

Json agreement_json(const Agreement& agreement) {
  Json answers = Json::array();
  for (const DeviceAnswer& answer : agreement.answers) {
    answers.push_back({answer.device, answer.digest == 0 ? "" : hexadecimal(answer.digest), answer.blamed ? 1 : 0});
  }
  return answers;
}

}  // namespace

Json call_details(const ApiResult& result, std::optional<double> max_abs_error, const Redaction& redaction) {
  Json rows = Json::array();
  add_rows(rows, "forward", result.forward_rows, max_abs_error, redaction);
  add_rows(rows, "backward", result.backward_rows, max_abs_error, redaction);
  Json lines = Json::array();
  std::string output;
  const Status status = overall_status(result);
  if (is_suspicious(result) || status == Status::warning || status == Status::error) {
    const Reason reason = reason_of(result);
    output = reason.output;
    for (const std::string& line : reason.lines) lines.push_back(redaction.line(reason.row, line));
  } else {
    const std::string line = first_line(result.message);
    lines.push_back(line.empty() && is_weak_evidence(result) ? std::string(weak_evidence_sentence(result.weak_evidence))
                                                             : redaction.reason(line));
  }
  Json details{{"output", output},
               {"reason", lines},
               {"rows", std::move(rows)},
               {"inputs", inputs_json(result.input_notes, redaction)}};
  if (result.repeats) {
    details["repeats"] = {{"runs", result.repeats->runs}, {"different", result.repeats->different}};
  }
  if (result.agreement) details["devices"] = agreement_json(*result.agreement);
  if (result.inputs != 0 && !redaction.on()) details["inputs_checksum"] = hexadecimal(result.inputs);
  return details;
}

}  // namespace msrun::report
