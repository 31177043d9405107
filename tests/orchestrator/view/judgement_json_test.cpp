// The codes of a verdict for machines.
#include "orchestrator/view/judgement_json.h"

#include <gtest/gtest.h>

#include "runner/judge/rules.h"
#include "runner/judge/vetoes.h"

namespace msrun {
namespace {

using Json = nlohmann::ordered_json;

TEST(JudgementJson, NamesTheLastRuleAndTheVetoWithTheirCodes) {
  DetailsRow row;
  EXPECT_EQ(judgement_json(row), Json(nullptr));
  row.judgement = {.asked = {{.rule = 2, .open = 7, .share = 3}, {.rule = 17, .open = 0, .share = 0.5}},
                   .explained = true,
                   .veto = 0};
  EXPECT_EQ(judgement_json(row), Json({{"explained", true},
                                       {"rule", find_rule(17)->name},
                                       {"rule_code", 17},
                                       {"veto", nullptr},
                                       {"veto_code", nullptr}}));
  row.judgement->explained = false;
  row.judgement->veto = vetoes().front().code;
  EXPECT_EQ(judgement_json(row)["veto"], vetoes().front().name);
  EXPECT_EQ(judgement_json(row)["veto_code"], vetoes().front().code);
}

TEST(JudgementJson, GivesCodesOfLaterProgramsAsTheyAre) {
  DetailsRow row;
  row.judgement = {.asked = {{.rule = 250, .open = 1, .share = 2}}, .explained = true, .veto = 251};
  ASSERT_EQ(find_rule(250), nullptr);
  EXPECT_EQ(judgement_json(row)["rule"], "rule 250");
  EXPECT_EQ(judgement_json(row)["rule_code"], 250);
  EXPECT_EQ(judgement_json(row)["veto"], "veto 251");
}

TEST(JudgementJson, LeavesOutWhatNeededNoMoreThanAGlance) {
  ApiResult result;
  result.forward_rows.resize(2);
  result.backward_rows.resize(1);
  result.forward_rows[1].judgement = {.asked = {{.rule = 4, .open = 0, .share = 0.1}}, .explained = true, .veto = 0};
  result.backward_rows[0].judgement = {.asked = {{.rule = 23, .open = 1, .share = 9}}, .explained = false, .veto = 0};
  const Json all = judgements_json(result);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all["forward.output.1"]["rule_code"], 4);
  EXPECT_EQ(all["backward.output.0"]["explained"], false);
}

}  // namespace
}  // namespace msrun
