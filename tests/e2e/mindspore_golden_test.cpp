// acc_check of MindSpore dumps against the files that the tool in use writes for them: every difference is named here,
// and there is no other.
#include <gmock/gmock.h>

#include <cmath>
#include <sstream>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using ::testing::UnorderedElementsAreArray;

struct Golden {
  std::string name;
  // "details" or "result", the name of the row, and what is there in place of what.
  std::vector<std::string> differences;
};

constexpr const char* gone = "no row";

std::string joined(const std::vector<std::string>& cells) {
  std::string text;
  for (std::size_t i = 1; i < cells.size(); ++i) text += (i > 1 ? "," : "") + cells[i];
  return text;
}

double number(const std::string& text) { return text.empty() ? std::nan("") : std::stod(text); }

// What rounding the benchmark once may change (decision 39): 16 units in the last place of numbers up to 8.
double rounding_of(const std::string& dtype) {
  const double epsilon = dtype == "Float16" ? 0x1p-10 : dtype == "BFloat16" ? 0x1p-7 : dtype == "Float32" ? 0x1p-23 : 0;
  return 16 * 8 * epsilon;
}

// Cosine, MaxAbsErr and MaxRelativeErr of two rows; where the golden errors are 0, ours may be those of rounding.
bool same_metrics(const std::vector<std::string>& golden, const std::vector<std::string>& found) {
  if (golden[4].empty() || found[4].empty() || golden[4] == "nan") {
    return golden[4] == found[4] && golden[5] == found[5] && golden[6] == found[6];
  }
  if (!(std::abs(number(golden[4]) - number(found[4])) < (golden[5] == "0.0" ? 1e-6 : 1e-12))) return false;
  if (golden[5] == "0.0") return number(found[5]) <= rounding_of(golden[2]);
  return std::abs(number(golden[5]) - number(found[5])) <= 1e-6 * number(golden[5]) &&
         std::abs(number(golden[6]) - number(found[6])) <= 1e-6 * number(golden[6]);
}

// Without the metrics where these agree.
std::vector<std::string> shown(std::vector<std::string> row, const std::vector<std::string>& other) {
  if (row.size() == 9 && other.size() == 9 && same_metrics(row, other)) row.erase(row.begin() + 4, row.begin() + 7);
  return row;
}

std::vector<std::string> differences(const std::string& kind, const Rows& golden, const Rows& found) {
  std::map<std::string, std::vector<std::string>> expected;
  for (const auto& row : golden) expected[row.at(0)] = row;
  std::vector<std::string> list;
  std::vector<std::string> order;
  for (const auto& row : found) {
    const auto same = expected.find(row.at(0));
    const bool is_known = same != expected.end();
    if (is_known) order.push_back(row[0]);
    if (!is_known) {
      list.push_back(kind + " " + row[0] + ": " + gone + " -> " + joined(row));
      continue;
    }
    const std::vector<std::string> was = shown(same->second, row);
    const std::vector<std::string> is = shown(row, same->second);
    if (was != is && !(was.size() != row.size() && joined(was) == joined(is))) {
      list.push_back(kind + " " + row[0] + ": " + joined(was) + " -> " + joined(is));
    }
    expected.erase(same);
  }
  for (const auto& [name, row] : expected) list.push_back(kind + " " + name + ": " + joined(row) + " -> " + gone);
  std::vector<std::string> golden_order;
  for (const auto& row : golden) {
    if (std::ranges::find(order, row[0]) != order.end()) golden_order.push_back(row[0]);
  }
  EXPECT_EQ(order, golden_order) << "the order of rows";
  return list;
}

std::string first_bytes(const fs::path& path, std::size_t count) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(count, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  return bytes;
}

class MindSporeGolden : public ::testing::TestWithParam<Golden> {};

TEST_P(MindSporeGolden, HasTheNamedDifferencesAndNoOther) {
  const Golden& golden = GetParam();
  const TemporaryDirectory scratch;
  const fs::path folder = test_data("/mindspore/" + golden.name);
  const fs::path out = scratch / "out";
  const Finished run =
      msrun({"acc_check", "-api_info", folder / "dump.json", "-o", out, "--max-abs-err", "0.001"}, scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::vector<std::string> found;
  for (const std::string kind : {"details", "result"}) {
    const fs::path ours = only_file(out, "accuracy_checking_" + kind + "_");
    const fs::path theirs = folder / (kind + ".csv");
    const Rows golden_rows = fs::exists(theirs) ? read_csv(theirs) : Rows{};
    const Rows rows = read_csv(ours);
    if (!golden_rows.empty()) {
      EXPECT_EQ(rows.at(0), golden_rows.at(0));
      const std::size_t header = joined(golden_rows[0]).size();
      EXPECT_EQ(first_bytes(ours, header), first_bytes(theirs, header)) << "mark and titles";
    }
    const std::vector<std::string> more = differences(
        kind, {golden_rows.begin() + (golden_rows.empty() ? 0 : 1), golden_rows.end()}, {rows.begin() + 1, rows.end()});
    found.insert(found.end(), more.begin(), more.end());
  }
  EXPECT_THAT(found, UnorderedElementsAreArray(golden.differences));
}

const std::vector<Golden>& all_golden() {
  static const std::vector<Golden> all{
#include "tests/e2e/mindspore_differences.inc"
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(Dumps, MindSporeGolden, ::testing::ValuesIn(all_golden()),
                         [](const auto& info) { return "dump_" + info.param.name; });

}  // namespace
}  // namespace msrun::testing
