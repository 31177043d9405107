// For tests of torchair_compare: runs the real program on the reference trees (tests/data/torchair) and on trees made
// of them, and reads the reports.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/tools/torchair_convert_support.h"

namespace msrun::testing {

inline const fs::path data = fs::path(test_data()) / "torchair";

struct Compared {
  Finished finished;
  Rows report;   // the header first; empty if there is no report
  Rows skipped;  // empty if there is none
  fs::path report_path;
};

inline Compared compare(const fs::path& target, const fs::path& golden, const TemporaryDirectory& scratch,
                        std::vector<std::string> further = {}) {
  static int count = 0;
  const fs::path out = scratch / ("out" + std::to_string(++count));
  std::vector<std::string> words{"compare",       "--mode",        "torchair",      "--target_path", target.string(),
                                 "--golden_path", golden.string(), "--output_path", out.string()};
  words.insert(words.end(), further.begin(), further.end());
  Compared result;
  result.finished = msrun(words, scratch.path());
  if (!fs::exists(out)) return result;
  for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("_skipped.csv")) {
      result.skipped = read_csv(entry.path());
    } else if (name.ends_with(".csv")) {
      result.report = read_csv(entry.path());
      result.report_path = entry.path();
    }
  }
  return result;
}

inline std::size_t column(const Rows& rows, const std::string& title) {
  const auto found = std::find(rows.front().begin(), rows.front().end(), title);
  if (found == rows.front().end()) throw std::runtime_error("no column " + title);
  return static_cast<std::size_t>(found - rows.front().begin());
}

inline std::string cell(const Rows& rows, std::size_t row, const std::string& title) {
  return rows.at(row).at(column(rows, title));
}

// Rows whose my_data_path ends so.
inline std::vector<std::size_t> rows_of(const Rows& rows, const std::string& ending) {
  std::vector<std::size_t> found;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (cell(rows, i, "my_data_path").ends_with(ending)) found.push_back(i);
  }
  return found;
}

inline std::optional<double> number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || (*end != '\0' && std::string(end) != "%")) return std::nullopt;
  return value;
}

inline const fs::path ge_on = data / "trees/ge_on/msprobe_ge_dump";
inline const fs::path fx = data / "trees/fx_post710/msprobe_fx_dump";
inline const fs::path rank0 = "worldsize1_global_rank0";
inline const std::string graph_text = "dynamo_original_graph_1_rank_0_pid_4242_ts_20260105101500123456.txt";
inline const fs::path ge_token = rank0 / "20260105101501/0/graph_1_0/1/0";

// A copy of ge_on that a test may change.
inline fs::path own_target(const TemporaryDirectory& scratch, const std::string& name = "target") {
  copy_tree(ge_on, scratch / name);
  return scratch / name;
}

// Rows that passed, or failed.
inline std::size_t count_of_result(const Rows& rows, const std::string& result) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) count += cell(rows, i, "Result") == result ? 1 : 0;
  return count;
}

}  // namespace msrun::testing
