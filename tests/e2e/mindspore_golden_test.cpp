// acc_check of MindSpore dumps against the files that the tool in use writes for them: every difference is named here,
// and there is no other.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

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

std::vector<std::string> without_metrics(std::vector<std::string> row) {
  if (row.size() == 9) row.erase(row.begin() + 4, row.begin() + 7);
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
      list.push_back(kind + " " + row[0] + ": " + gone + " -> " + joined(without_metrics(row)));
      continue;
    }
    const bool agree = row.size() == 9 && same_metrics(same->second, row);
    const std::vector<std::string> was = agree ? without_metrics(same->second) : same->second;
    const std::vector<std::string> is = agree ? without_metrics(row) : row;
    if (was != is) {
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

const std::string not_valid =
    "two inputs are not valid for computing cosine similarity, skip comparing "
    "two inputs are not valid for computing max absolute difference, skip comparing ";
const std::string beyond_limits =
    "cosine similarity is less than threshold: 0.99 max absolute difference is greater than threshold: 0.001 ";
const std::string parse_failed =
    "[msprobe] Api Accuracy Checker parse json failed: check_and_get_from_json_dict failed: ";

std::vector<Golden> all_golden() {
  // Gradients of tensors in lists are compared; values that are no tensors are; the stand-in by which the golden files
  // were made had no mean along an axis.
  const std::vector<std::string> of_lists_and_values{
      "details Mint.cat.0.backward.output.0: no row -> Float32,Float32,(2, 3),pass,",
      "details Mint.cat.0.backward.output.1: no row -> Float32,Float32,(4, 3),pass,",
      "result Mint.cat.0: pass,SKIP,element 0 of tensors does not require grad and does not have a grad_fn -> "
      "pass,pass,",
      "details Mint.mean.0.forward.output.0: no row -> Float32,Float32,(2, 1, 4),pass,",
      "result Mint.mean.0: SKIP,,<lambda>() got an unexpected keyword argument 'dim' -> pass,,",
      "details Tensor.size.0.forward.output.0: int,int,(),error," + not_valid + " -> int,int,(),pass,",
      "details Tensor.size.0.forward.output.1: int,int,(),error," + not_valid + " -> int,int,(),pass,",
      "result Tensor.size.0: error,," + not_valid + not_valid + " -> pass,,",
      "details Tensor.numel.0.forward.output.0: int,int,(),error," + not_valid + " -> int,int,(),pass,",
      "result Tensor.numel.0: error,," + not_valid + " -> pass,,",
      "details Tensor.item.0.forward.output.0: float,float,(),error," + not_valid + " -> float,float,(),pass,",
      "result Tensor.item.0: error,," + not_valid + " -> pass,,",
  };
  // Tensors without elements agree, and so do equal NaN and infinities; a name of four segments is run.
  const std::vector<std::string> of_edge_values{
      "details Mint.abs.0.forward.output.0: no row -> Float32,Float32,(0,),pass,",
      "result Mint.abs.0: SKIP,," + parse_failed + "Max field in api_info.json is missing -> pass,,",
      "details Mint.abs.1.forward.output.0: Float32,Float32,(2, 3),nan,nan,nan,error," + beyond_limits +
          " -> Float32,Float32,(2, 3),1.0,0.0,0.0,pass,6 elements are the same NaN or Inf on both sides.",
      "result Mint.abs.1: error,," + beyond_limits + " -> pass,,",
      "details Mint.abs.6.forward.output.0: no row -> Float32,Float32,(2, 0, 3),pass,",
      "result Mint.abs.6: SKIP,,zero-size array to reduction operation maximum which has no identity -> pass,,",
      "details Mint.log.0.forward.output.0: Float32,Float32,(2, 2),nan,nan,nan,error," + beyond_limits +
          " -> Float32,Float32,(2, 2),1.0,0.0,0.0,pass,4 elements are the same NaN or Inf on both sides.",
      "result Mint.log.0: error,," + beyond_limits + " -> pass,,",
      "details Mint.special.log1p.0.forward.output.0: no row -> Float32,Float32,(2,),pass,",
      "result Mint.special.log1p.0: SKIP,,[msprobe] Api Accuracy Checker get wrong value:  -> pass,,",
  };
  return {
      {"01_quick_start_where", {}},
      {"02_forward_backward_pairs", {}},
      {"03_dtype_matrix", {}},
      {"04_kwargs_lists_multi_output", of_lists_and_values},
      {"05_null_stats_and_edge_values", of_edge_values},
      // An entry that is neither forward nor backward is none of a call.
      {"06_unsupported_names", {"result Mint.neg.0: ,SKIP," + parse_failed + "input is not a dict -> no row"}},
      // The tool in use was not run on it.
      {"07_mindtorch_names",
       {"details Torch.add.0.forward.output.0: no row -> Float32,Float32,(2, 3),pass,",
        "details Functional.relu.0.forward.output.0: no row -> Float32,Float32,(2, 3),pass,",
        "details Functional.relu.0.backward.output.0: no row -> Float32,Float32,(2, 3),pass,",
        "details Tensor.reshape.779.forward.output.0: no row -> BFloat16,BFloat16,(16, 28),pass,",
        "details Tensor.reshape.779.backward.output.0: no row -> BFloat16,BFloat16,(64, 7),pass,",
        "result Torch.add.0: no row -> pass,,", "result Functional.relu.0: no row -> pass,pass,",
        "result Tensor.reshape.779: no row -> pass,pass,"}},
      // Attention without a mask is computed.
      {"08_flash_attention",
       {"details Functional.flash_attention_score.0.forward.output.0: no row -> Float64,Float16,(2, 8, 32),pass,",
        "result Functional.flash_attention_score.0: SKIP,,unsupported operand type(s) for +: 'NoneType' and 'int' -> "
        "pass,,"}},
      {"09_no_framework_field", {}},
      {"10_real_data", {}},
  };
}

INSTANTIATE_TEST_SUITE_P(Dumps, MindSporeGolden, ::testing::ValuesIn(all_golden()),
                         [](const auto& golden) { return "dump_" + golden.param.name; });

}  // namespace
}  // namespace msrun::testing
