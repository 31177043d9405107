#include "orchestrator/command/list_judgement.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "kernels/base/text.h"
#include "kernels/compare/bounds/constants.h"
#include "orchestrator/command/page_width.h"
#include "runner/judge/rules.h"
#include "runner/judge/vetoes.h"

namespace msrun {
namespace {

// Columns: of the rule and its number, and of these and its cost.
constexpr std::size_t rule_width = 30;
constexpr std::size_t cost_width = 44;
// Of the name of a number, and of this and its value.
constexpr std::size_t number_width = 32;
constexpr std::size_t number_value_width = 44;

}  // namespace

std::string list_judgement_text() {
  std::string text =
      "A result is compared with the benchmark: the same call in higher precision. If it differs, rules are asked in\n"
      "this order. Each gives every element a bound: the largest error that sound arithmetic may make there. An\n"
      "element beyond its bound is open. The first rule that leaves none open explains the result. A veto may still\n"
      "refuse it. What no rule explains is suspicious. The second column says what a rule computes.\n";
  std::optional<Stage> stage;
  int number = 0;
  for (const Rule& rule : rules()) {
    if (rule.stage != stage) text += "\n" + std::string(reason_of(rule.stage)) + "\n";
    stage = rule.stage;
    const std::string count = std::to_string(++number);
    const std::string name = (count.size() == 1 ? "  " : " ") + count + "  " + std::string(rule.name);
    text += beside_column(padded_to(name, rule_width) + std::string(text_of(rule.cost)), cost_width, rule.reason);
  }
  text += "\nVetoes, asked of what a rule explains.\n";
  for (const Veto& veto : vetoes()) text += beside_column("     " + std::string(veto.name), rule_width, veto.reason);
  text += "\nNumbers of rules and vetoes.\n";
  for (const JudgeConstant& constant : judge_constants()) {
    const std::string name = "     " + std::string(constant.name);
    text += beside_column(padded_to(name, number_width) + short_number(constant.value), number_value_width,
                          std::string(constant.unit) + ". " + std::string(constant.reason));
  }
  return text;
}

std::string list_judgement_json() {
  using Json = nlohmann::ordered_json;
  Json all_rules = Json::array();
  for (const Rule& rule : rules()) {
    all_rules.push_back({{"code", rule.code},
                         {"name", rule.name},
                         {"stage", name_of(rule.stage)},
                         {"cost", name_of(rule.cost)},
                         {"reason", rule.reason}});
  }
  Json all_vetoes = Json::array();
  for (const Veto& veto : vetoes())
    all_vetoes.push_back({{"code", veto.code}, {"name", veto.name}, {"reason", veto.reason}});
  Json all_constants = Json::array();
  for (const JudgeConstant& constant : judge_constants()) {
    all_constants.push_back({{"name", constant.name},
                             {"value", constant.value},
                             {"unit", constant.unit},
                             {"reason", constant.reason},
                             {"evidence", constant.evidence}});
  }
  return Json{{"rules", std::move(all_rules)},
              {"vetoes", std::move(all_vetoes)},
              {"constants", std::move(all_constants)}}
             .dump() +
         "\n";
}

}  // namespace msrun
