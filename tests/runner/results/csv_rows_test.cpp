#include "runner/results/csv_rows.h"
#include "kernels/compare/policies/column_sets.h"

#include <gtest/gtest.h>

#include "kernels/compare/bounds/trust.h"
#include "kernels/compare/metrics/columns.h"

namespace msrun {
namespace {

TEST(CsvRows, TakeNamesOfOutputsApart) {
  const auto name = parse_row_name("Torch.a.forward.output.0.backward.output.12");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->api, "Torch.a.forward.output.0");
  EXPECT_FALSE(name->forward);
  EXPECT_EQ(name->index, "12");
  EXPECT_TRUE(parse_row_name("Torch.a.0.forward.output.x")->forward);
  for (const char* other : {"", "0", "Torch.a.0.forward", "Torch.a.0.forward.input.0"}) {
    EXPECT_FALSE(parse_row_name(other)) << other;
  }
}

TEST(CsvRows, KnowStatusesAsTheyAreWritten) {
  EXPECT_EQ(parse_status("SKIP"), Status::skip);
  EXPECT_EQ(parse_status("warning"), Status::warning);
  EXPECT_EQ(parse_status("skip"), std::nullopt);
  EXPECT_EQ(parse_status(""), std::nullopt);
}

TEST(CsvRows, ReadTheVerdictFromTheMessage) {
  DetailsRow row(*find_columns(1));
  row.message = "limit\nExplained by float16 rounding: at most 1 ULP.\nProves little: " +
                std::string(weak_evidence_text(WeakEvidence::constant)) + "\n";
  read_verdict(row);
  EXPECT_TRUE(row.rounding_only);
  EXPECT_FALSE(row.beyond_rounding);
  EXPECT_EQ(row.trust.weak_evidence, WeakEvidence::constant);
  // What is rounded on the way is explained as well; a pass needs no explanation.
  row.message = "limit\nRounds its partial sums to bfloat16: computed so, the call errs as much.\n";
  row.status = Status::error;
  read_verdict(row);
  EXPECT_TRUE(row.rounding_only);
  EXPECT_FALSE(row.beyond_rounding);
  row.status = Status::pass;
  read_verdict(row);
  EXPECT_FALSE(row.rounding_only);
  row.message = "limit\nNot explained by rounding: 3 elements.\n";
  read_verdict(row);
  EXPECT_FALSE(row.rounding_only);
  EXPECT_TRUE(row.beyond_rounding);
  EXPECT_EQ(row.trust.weak_evidence, WeakEvidence::none);
}

}  // namespace
}  // namespace msrun
