// torchair_compare against the reference reports of torchair.md 12 (tests/data/torchair/expected).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "tests/tools/torchair_compare_support.h"

namespace msrun::testing {
namespace {

// torchair.md 8: how far a cell may be from the reference.
bool close_enough(const std::string& title, const std::string& expected, const std::string& actual,
                  const std::function<std::string(const std::string&)>& of_row) {
  if (expected == actual) return true;
  const std::optional<double> e = number(expected);
  const std::optional<double> a = number(actual);
  if (!e || !a || expected.ends_with('%') != actual.ends_with('%')) return false;
  const double difference = std::abs(*e - *a);
  const auto largest = [&](const std::string& side) {
    return std::max(std::abs(number(of_row(side + "_max_value")).value_or(0)),
                    std::abs(number(of_row(side + "_min_value")).value_or(0)));
  };
  if (title == "Cosine" || title == "cosine_similarity") return difference <= 2e-10;
  if (title == "golden_mean_value") return difference <= 1e-6 * largest("golden");
  if (title == "my_mean_value") return difference <= 1e-6 * largest("my");
  if (title == "Mean diff") return difference <= 1e-6 * (largest("golden") + largest("my"));
  if (title == "kl_divergence") return difference <= 1e-6 + 1e-4 * std::abs(*e);
  if (title == "mean_relative_error" || title == "mean_absolute_error" || title == "relative_euclidean_distance" ||
      title == "EucDist") {
    return difference <= 1e-9 + 1e-6 * std::abs(*e);
  }
  if (title == "L2norm diff") return difference <= 1e-9 * std::max(1.0, std::abs(*e));
  // Percentages of small differences of nearly equal means and norms.
  if (title == "MeanRelativeErr" || title == "NormRelativeErr") return difference <= 1e-3 + 1e-6 * std::abs(*e);
  return difference == 0;
}

// The references call every row with NaN or Inf a failure. Where both sides have the same extremes and no more is
// known, they are the same in the trees, and count as equal.
bool is_equal_not_finite(const Rows& expected, std::size_t row) {
  const auto same = [&](const std::string& title) {
    return cell(expected, row, "golden_" + title) == cell(expected, row, "my_" + title);
  };
  return expected.front().front() == "API Name" && same("max_value") && same("min_value") &&
         cell(expected, row, "cmp_fail_reason") == "golden_data includes NAN or inf. my_data includes NAN or inf.";
}

// The documented columns of such a row; the others are those of the reference. Where the extremes alone are known, they
// may hide anything.
void expect_pass(const Rows& actual, std::size_t row) {
  EXPECT_EQ(cell(actual, row, "Result"), "PASS");
  const bool converted = cell(actual, row, "my_data_path").find("_min_max.") != std::string::npos;
  EXPECT_EQ(cell(actual, row, "Accuracy Reached or Not"), "Yes");
  EXPECT_THAT(cell(actual, row, "Err_message"),
              ::testing::MatchesRegex(
                  converted ? "Not (fully )?checked: (NaN|Inf) on both sides hides the other values."
                            : "NaN or Inf at [0-9]+ positions is the same on both sides and counts as equal."));
}

void expect_rows(const Rows& expected, const Rows& actual, const fs::path& root,
                 const std::set<std::string>& not_compared = {}) {
  ASSERT_EQ(expected.front(), actual.front());
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t i = 1; i < expected.size(); ++i) {
    const bool equal_not_finite = is_equal_not_finite(expected, i);
    if (equal_not_finite) expect_pass(actual, i);
    for (std::size_t k = equal_not_finite ? column(expected, "token_id") : 0; k < expected[i].size(); ++k) {
      const std::string& title = expected.front()[k];
      if (not_compared.contains(title)) continue;
      std::string text = expected[i][k];
      const std::string placeholder = "${FIXTURES}";
      if (const std::size_t at = text.find(placeholder); at != std::string::npos) {
        text.replace(at, placeholder.size(), fs::canonical(root).string());
      }
      const auto of_row = [&](const std::string& name) { return cell(expected, i, name); };
      EXPECT_TRUE(close_enough(title, text, actual[i].at(k), of_row))
          << "row " << i << ", " << title << ": " << text << " expected, " << actual[i][k];
    }
  }
}

struct Reference {
  std::string name;
  std::string folder;  // trees or converted
  std::string target;
  std::string golden;
  std::string rank = "_rank0";
  bool upstream = false;

  // GoogleTest would print the bytes, addresses among them.
  friend std::ostream& operator<<(std::ostream& out, const Reference& reference) {
    return out << reference.name << reference.rank;
  }
};

const std::vector<Reference> references{
    {"on_fx", "trees", "ge_on/msprobe_ge_dump", "fx_post710/msprobe_fx_dump", "_rank0", true},
    {"on_off", "trees", "ge_on/msprobe_ge_dump", "ge_off/msprobe_ge_dump", "_rank0", true},
    {"old_fx_pre710", "trees", "ge_on_old/msprobe_ge_dump", "fx_pre710/data_dump", "", true},
    {"quirks", "trees", "ge_quirks/msprobe_ge_dump", "fx_quirks/msprobe_fx_dump"},
    {"conv_on_fx", "converted", "ge_on/msprobe_ge_dump", "fx_post710/msprobe_fx_dump"},
    {"conv_on_off", "converted", "ge_on/msprobe_ge_dump", "ge_off/msprobe_ge_dump"},
};

class TorchairReference : public ::testing::TestWithParam<Reference> {};

TEST_P(TorchairReference, ReportAndSkippedRows) {
  const Reference& reference = GetParam();
  const TemporaryDirectory scratch;
  const fs::path root = data / reference.folder;
  const Compared result = compare(root / reference.target, root / reference.golden, scratch);
  ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
  EXPECT_THAT(result.report_path.filename().string(),
              ::testing::StartsWith("msprobe_cmp_report" + reference.rank + "_20"));
  expect_rows(read_csv(data / "expected" / ("final_" + reference.name + reference.rank + ".csv")), result.report, root);
  const Rows skipped = read_csv(data / "expected" / ("skipped_" + reference.name + reference.rank + ".csv"));
  if (skipped.size() == 1) {
    EXPECT_TRUE(result.skipped.empty());
  } else {
    ASSERT_FALSE(result.skipped.empty());
    expect_rows(skipped, result.skipped, root);
  }
}

TEST_P(TorchairReference, LegacyColumnsAreThoseOfUpstream) {
  const Reference& reference = GetParam();
  if (!reference.upstream) GTEST_SKIP() << "upstream fails on this tree";
  const TemporaryDirectory scratch;
  const fs::path root = data / reference.folder;
  const Compared result = compare(root / reference.target, root / reference.golden, scratch, {"--legacy_columns"});
  ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
  // Upstream's paths of the golden side of two GE dumps are not these (F17).
  const std::set<std::string> not_compared =
      reference.name == "on_off" ? std::set<std::string>{"golden_data_path"} : std::set<std::string>{};
  expect_rows(read_csv(data / "expected" / ("upstream_" + reference.name + reference.rank + ".csv")), result.report,
              root, not_compared);
}

INSTANTIATE_TEST_SUITE_P(All, TorchairReference, ::testing::ValuesIn(references),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace msrun::testing
