#include "orchestrator/command/result_json.h"

#include <cmath>

#include "kernels/base/text.h"
#include "orchestrator/view/consistency_json.h"
#include "orchestrator/view/difference_json.h"
#include "orchestrator/view/judgement_json.h"
#include "orchestrator/view/trust_json.h"
#include "runner/results/counts.h"

namespace msrun {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no words for these.
Json number_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf");
}

void add_rows(Json& rows, const char* direction, const std::vector<DetailsRow>& details) {
  for (std::size_t i = 0; i < details.size(); ++i) {
    const DetailsRow& row = details[i];
    Json metrics = Json::object();
    for (std::size_t column = 0; column < row.cells.size(); ++column) {
      const Cell& cell = row.cells[column];
      if (cell.kind == Cell::Kind::blank) continue;
      metrics[row.columns->columns()[column].english] = number_json(cell.value);
    }
    rows.push_back({{"direction", direction},
                    {"output", i},
                    {"bench_dtype", row.bench_dtype},
                    {"device_dtype", row.device_dtype},
                    {"shape", row.shape},
                    {"status", status_text(row.status)},
                    {"message", row.message},
                    {"beyond_rounding", row.beyond_rounding},
                    {"judgement", judgement_json(row)},
                    {"proves_little", proves_little_json(row.trust.weak_evidence)},
                    {"visible_fault", visible_fault_json(row)},
                    {"metrics", std::move(metrics)},
                    {"difference", difference_json(row.difference)}});
  }
}

}  // namespace

nlohmann::ordered_json result_json(const ApiResult& result) {
  Json rows = Json::array();
  add_rows(rows, "forward", result.forward_rows);
  add_rows(rows, "backward", result.backward_rows);
  const auto seconds = [](std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; };
  return {{"name", result.name},
          {"task", result.task},
          {"device", result.device < 0 ? Json(nullptr) : Json(result.device)},
          {"forward", status_text(result.forward)},
          {"backward", result.backward ? Json(status_text(*result.backward)) : Json(nullptr)},
          {"outcome", outcome_text(result.outcome)},
          {"tested_on", result.tested_on == TestedOn::unknown ? Json(nullptr) : Json(tested_on_text(result.tested_on))},
          {"message", result.message},
          {"suspicious", is_suspicious(result)},
          {"proves_little", proves_little_json(result)},
          {"inputs", result.inputs == 0 ? Json(nullptr) : Json(hexadecimal(result.inputs))},
          {"checksums", checksums_json(result)},
          {"repeats", repeats_json(result)},
          {"agreement", agreement_json(result)},
          {"seconds",
           {{"materialise", seconds(result.times.materialise)},
            {"device", seconds(result.times.device)},
            {"benchmark", seconds(result.times.benchmark)},
            {"compare", seconds(result.times.compare)}}},
          {"rows", std::move(rows)}};
}

}  // namespace msrun
