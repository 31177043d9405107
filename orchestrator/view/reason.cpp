#include "orchestrator/view/reason.h"

#include <array>
#include <sstream>
#include <utility>

#include "kernels/base/text.h"

namespace msrun {

namespace {

// What stands in a Message from the sentence on that judges the rounding: the most telling lines.
std::vector<std::string> explanation_in(const std::string& message) {
  const std::size_t start = message.find("\nNot explained by rounding");
  std::vector<std::string> lines;
  if (start == std::string::npos) return lines;
  std::istringstream rest(message.substr(start + 1));
  for (std::string line; std::getline(rest, line);) lines.push_back(sanitised(line));
  return lines;
}

// One line or more.
std::vector<std::string> row_reason(const char* direction, std::size_t index, const DetailsRow& row) {
  std::string text = std::string(direction) + ".output." + std::to_string(index) + ":";
  if (std::vector<std::string> lines = explanation_in(row.message); !lines.empty()) {
    lines.front().insert(0, text + " ");
    return lines;
  }
  const std::string message = first_line(row.message);
  if (!message.empty()) return {text + " " + message};
  const char* separator = " ";
  for (const auto& [metric, label] : {std::pair{Metric::cosine, "cosine "},
                                      {Metric::max_abs_error, "max abs error "},
                                      {Metric::max_relative_error, "max rel error "},
                                      {Metric::binary_error_rate, "mismatch rate "},
                                      {Metric::ulp_max, "max ULP "}}) {
    if (row[metric].kind == Cell::Kind::blank) continue;
    text += separator + std::string(label) + short_number(row[metric].value);
    separator = ", ";
  }
  return {text};
}

}  // namespace

std::string first_line(const std::string& message) {
  std::size_t begin = message.find_first_not_of("\r\n ");
  if (begin == std::string::npos) return {};
  return sanitised(message.substr(begin, message.find_first_of("\r\n", begin) - begin));
}

std::vector<std::string> reason_of(const ApiResult& result, Status status) {
  for (const bool explained : {false, true}) {
    for (std::size_t i = 0; i < result.forward_rows.size(); ++i) {
      const DetailsRow& row = result.forward_rows[i];
      if (row.status == status && row.rounding_only == explained) return row_reason("forward", i, row);
    }
    for (std::size_t i = 0; i < result.backward_rows.size(); ++i) {
      const DetailsRow& row = result.backward_rows[i];
      if (row.status == status && row.rounding_only == explained) return row_reason("backward", i, row);
    }
  }
  return {"no details row says why (dropout: the shares of zeros differ)"};
}

std::string_view overflow_verdict(const OverflowFinding& finding) {
  if (finding.is_none()) return "no overflow";
  constexpr std::array<std::string_view, 3> verdicts{"normal", "abnormal", "skip"};
  return verdicts[static_cast<std::size_t>(finding.verdict)];
}

std::string api_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

}  // namespace msrun
