// What `msrun --list-judgement` prints of the tables of the judge.
#include "orchestrator/command/list_judgement.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "runner/judge/rules.h"
#include "runner/judge/vetoes.h"

namespace msrun {
namespace {

using ::testing::HasSubstr;

TEST(ListJudgement, NamesEveryRuleInItsOrder) {
  const std::string text = list_judgement_text();
  std::size_t at = 0;
  int number = 0;
  for (const Rule& rule : rules()) {
    const std::size_t found = text.find(std::to_string(++number) + "  " + std::string(rule.name), at);
    ASSERT_NE(found, std::string::npos) << rule.name;
    at = found;
  }
  for (const Veto& veto : vetoes()) EXPECT_THAT(text, HasSubstr(std::string(veto.name))) << veto.name;
}

TEST(ListJudgement, LinesFitThePage) {
  std::istringstream text(list_judgement_text());
  for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 110U) << line;
}

// Who reads it has to tell them apart, and programs too.
TEST(ListJudgement, EveryRuleHasANameOfItsOwnAndAReason) {
  std::set<std::string_view> names;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_TRUE(rule.reason.ends_with('.')) << rule.name;
  }
  for (const Veto& veto : vetoes()) {
    EXPECT_TRUE(names.insert(veto.name).second) << veto.name;
    EXPECT_TRUE(veto.reason.ends_with('.')) << veto.name;
  }
}

TEST(ListJudgement, HasTheSameAsJson) {
  const auto json = nlohmann::json::parse(list_judgement_json());
  ASSERT_EQ(json["rules"].size(), rules().size());
  EXPECT_EQ(json["rules"][0]["name"], rules().front().name);
  EXPECT_EQ(json["rules"][0]["code"], rules().front().code);
  EXPECT_EQ(json["vetoes"][0]["code"], vetoes().front().code);
  EXPECT_EQ(json["rules"][0]["stage"], "glance");
  EXPECT_EQ(json["rules"][0]["cost"], "pass_over_result");
  EXPECT_EQ(json["vetoes"].size(), vetoes().size());
}

// A stage is entered once: its rules stand together.
TEST(ListJudgement, RulesOfAStageStandTogether) {
  std::set<Stage> left;
  std::optional<Stage> stage;
  for (const Rule& rule : rules()) {
    if (rule.stage == stage) continue;
    EXPECT_FALSE(left.contains(rule.stage)) << rule.name;
    if (stage) left.insert(*stage);
    stage = rule.stage;
  }
}

}  // namespace
}  // namespace msrun
