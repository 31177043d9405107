#include "orchestrator/view/judgement_json.h"

#include "runner/judge/rules.h"
#include "runner/judge/vetoes.h"

namespace msrun {

nlohmann::ordered_json judgement_json(const DetailsRow& row) {
  if (!row.judgement || row.judgement->asked.empty()) return nullptr;
  const std::uint8_t rule = row.judgement->asked.back().rule;
  nlohmann::ordered_json json{{"explained", row.judgement->explained},
                              {"rule", name_of_rule(rule)},
                              {"rule_code", rule},
                              {"veto", nullptr},
                              {"veto_code", nullptr}};
  if (row.judgement->veto != 0) {
    json["veto"] = name_of_veto(row.judgement->veto);
    json["veto_code"] = row.judgement->veto;
  }
  return json;
}

nlohmann::ordered_json judgements_json(const ApiResult& result) {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  const auto add = [&](const char* direction, const std::vector<DetailsRow>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (nlohmann::ordered_json one = judgement_json(rows[i]); !one.is_null())
        all[direction + std::to_string(i)] = std::move(one);
    }
  };
  add("forward.output.", result.forward_rows);
  add("backward.output.", result.backward_rows);
  return all;
}

}  // namespace msrun
