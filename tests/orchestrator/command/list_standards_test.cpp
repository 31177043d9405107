// What `msrun --list-standards` prints of the tables.
#include "orchestrator/command/list_standards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kernels/compare/metrics/standards.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ListStandards, ShowsEveryTable) {
  const std::string text = list_standards_text();
  EXPECT_THAT(text, HasSubstr("\n  ulp_compare, 17 APIs\n    columns: Max ULP Error (ULP误差最大值), "));
  EXPECT_THAT(text, HasSubstr("\n    __matmul__ addbmm addbmm_ addmm "));
  EXPECT_THAT(text, HasSubstr("\n  benchmark, every other API\n"));
  EXPECT_THAT(text, HasSubstr("under --standard per_api (default), the first that applies\n"
                              "  1. the output is float8_e4m3fn, float8_e5m2 or HiFloat8: ulp_compare\n"));
  EXPECT_THAT(text, HasSubstr("  3. the output is float16, bfloat16, float32 or float64: benchmark\n"));
  EXPECT_THAT(text, HasSubstr("\n  float16    2^-10        2^-16 "));
  EXPECT_THAT(text, HasSubstr("\nConstants under --limits current (default), by dtype of the device's output\n"));
  EXPECT_THAT(text, HasSubstr("\nConstants under --limits documented, by dtype of the device's output\n"));
  EXPECT_THAT(text, HasSubstr("\n  bfloat16   2^-8         2^-16                    2^-16 "));
  EXPECT_THAT(text, HasSubstr("\n  L2     2                   1.2 "));
  EXPECT_THAT(text, HasSubstr("\n  float32    2^-14        64 "));
}

TEST(ListStandards, MarksEntriesThatNameNoOperator) {
  const std::string text = list_standards_text();
  EXPECT_THAT(text, HasSubstr(" test_api(!)\n"));
  EXPECT_THAT(text, HasSubstr("Under --compat msprobe gelu is spelled GELU, which no API meets: its level is L0.\n"));
  EXPECT_THAT(text, Not(HasSubstr("matmul(!)")));
}

TEST(ListStandards, GivesTheSameAsJson) {
  const auto json = nlohmann::json::parse(list_standards_json());
  ASSERT_EQ(json["standards"].size(), 6U);
  EXPECT_EQ(json["standards"][2]["name"], "ulp_compare");
  EXPECT_EQ(json["standards"][2]["apis"].size(), 17U);
  EXPECT_EQ(json["selection"]["per_api"].size(), 5U);
  EXPECT_EQ(json["selection"]["current"].size(), 6U);
  EXPECT_EQ(json["constants"]["float32"]["ulp_limit"], thresholds(DType::float32).ulp_limit);
  const auto& documented = json["constants_documented"];
  EXPECT_EQ(documented["float32"]["small_value"], 0x1p-14);
  EXPECT_EQ(documented["float32"]["atol"], 0x1p-30);
  EXPECT_EQ(documented["float16"]["small_value"], 0x1p-11);
  EXPECT_EQ(documented["float16"]["absolute_threshold_atol"], 0x1p-16);
  EXPECT_EQ(documented["float16"]["atol"], 0x1p-16);
  EXPECT_EQ(documented["bfloat16"]["small_value"], 0x1p-8);
  EXPECT_EQ(documented["bfloat16"]["atol"], 0x1p-16);
  EXPECT_EQ(documented["any other"], json["constants"]["any other"]);
  EXPECT_EQ(json["levels"]["L1"]["max_relative_error"], 5);
  EXPECT_EQ(json["missed_by_msprobe"]["gelu"], "GELU");
}

// A name that no API has judges nothing. test_api is all that upstream has in the list of its standard; the two
// backwards are run by autograd for a fused operator, and no dump has a call of them.
TEST(ListStandards, EveryNameMeetsAnApi) {
  const auto json = nlohmann::json::parse(list_standards_json());
  EXPECT_THAT(json["unknown_apis"],
              ElementsAre("test_api", "npu_cross_entropy_loss_backward", "npu_rms_norm_backward"));
  for (const MissedName& missed : missed_level_names()) {
    EXPECT_STRNE(operator_level(missed.name).name, "L0") << missed.name;
    EXPECT_STREQ(operator_level(missed.name, LevelNames::upstream).name, "L0") << missed.name;
  }
}

}  // namespace
}  // namespace msrun
