#include "orchestrator/view/judgement_json.h"

#include "orchestrator/view/outputs_json.h"
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

nlohmann::ordered_json judgements_json(const ApiResult& result) { return outputs_json(result, judgement_json); }

}  // namespace msrun
