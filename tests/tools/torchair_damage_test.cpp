// torchair_compare and what is broken: damaged, missing and doubled files, and reports that cannot be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "tests/support/without_privileges.h"
#include "tests/tools/torchair_compare_support.h"
#include "tools/torchair_compare/compare.h"
#include "tools/torchair_compare/dump_file.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(TorchairCompare, DamagedFilesAreRowsAndTheRunGoesOn) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  const fs::path token = target / ge_token;
  fs::resize_file(token / "Mul.Mul_1.14.3.1767607200001731", 20);
  std::string bytes = read_file(token / "Exp.Exp_33.113.3.1767607200058854");
  write_file(token / "Exp.Exp_33.113.3.1767607200058854", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F" + bytes.substr(8));
  copy_tree(fx, scratch / "golden");
  const fs::path golden = scratch / "golden" / rank0 / "graph_1/0";
  fs::resize_file(golden / "add-aten.add.Tensor.INPUT.0.20260105100000000000.npy", 140);
  write_file(golden / "add-aten.add.Tensor.INPUT.1.20260105100000000000.npy", "no numpy file");

  const Compared result = compare(target, scratch / "golden", scratch);
  ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
  for (const char* name : {"Mul.Mul_1.14.3.1767607200001731", "Exp.Exp_33.113.3.1767607200058854"}) {
    const std::vector<std::size_t> rows = rows_of(result.report, name);
    ASSERT_EQ(rows.size(), 1U) << name;
    EXPECT_EQ(cell(result.report, rows[0], "cmp_fail_reason"), "my_data cannot be parsed.");
    EXPECT_EQ(cell(result.report, rows[0], "golden_data_path"), "");
    EXPECT_EQ(cell(result.report, rows[0], "Result"), "FAIL");
  }
  for (const char* name : {"Add.Add.11.2.1767607200000000,inputs,0", "Add.Add.11.2.1767607200000000,inputs,1"}) {
    const std::size_t row = rows_of(result.report, name).at(0);
    EXPECT_EQ(cell(result.report, row, "cmp_fail_reason"), "golden_data cannot be parsed.");
    EXPECT_EQ(cell(result.report, row, "my_dtype"), "torch.float32");
    EXPECT_NE(cell(result.report, row, "my_max_value"), "");
    EXPECT_EQ(cell(result.report, row, "golden_dtype"), "");
  }
  // They are no failures of accuracy.
  EXPECT_THAT(result.finished.out,
              HasSubstr("not compared, because one side cannot be read: 4 (FAIL in the report)\n"));
  EXPECT_THAT(result.finished.err, HasSubstr("Mul.Mul_1.14.3.1767607200001731 is truncated"));
  EXPECT_THAT(result.finished.err, HasSubstr("add-aten.add.Tensor.INPUT.1.20260105100000000000.npy is no numpy file"));
  // Their other tensors are compared.
  EXPECT_EQ(cell(result.report, rows_of(result.report, "Add.Add.11.2.1767607200000000,outputs,0").at(0), "Result"),
            "PASS");
}

// All of a side may be damaged, as after a disk was full: neither accuracy nor success can be told.
TEST(TorchairCompare, DumpsThatCannotBeReadAreNotCompared) {
  const TemporaryDirectory scratch;
  const auto truncated = [&](const fs::path& tree, const std::string& name) {
    copy_tree(tree, scratch / name);
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(scratch / name / rank0)) {
      if (entry.is_regular_file()) fs::resize_file(entry.path(), 5);
    }
    return scratch / name;
  };
  for (const auto& [target, golden] : {std::pair{truncated(ge_on, "target"), fx}, {ge_on, truncated(fx, "golden")}}) {
    const Compared result = compare(target, golden, scratch);
    EXPECT_EQ(result.finished.exit_code, 1) << result.finished.err;
    // What the golden dump cannot have is compared with itself.
    const std::string compared = golden == fx ? "0 tensors compared: 0 passed" : "4 tensors compared: 4 passed";
    EXPECT_THAT(result.finished.out, HasSubstr("rank 0: " + compared + ", 0 failed;"));
    EXPECT_THAT(result.finished.out, HasSubstr("Nothing was compared: "));
    EXPECT_THAT(result.finished.err, HasSubstr("warning: "));
    EXPECT_THAT(result.finished.err, HasSubstr("more files that cannot be read"));
    EXPECT_GT(count_of_result(result.report, "FAIL"), 50U);
  }
}

// Files are read block by block.
TEST(TorchairCompare, FilesMayBeOfAnySize) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "large.npy";
  // Zeros that take no room on the disk.
  constexpr std::uint64_t elements = (std::uint64_t{10} << 30) / 4 + 1;
  std::string head = npy_file({1}).substr(0, 128);
  const std::string shape = "(" + std::to_string(elements) + ",)";
  head.replace(head.find("(1,), }"), shape.size() + 3, shape + ", }");
  write_file(path, head);
  fs::resize_file(path, 128 + elements * 4);
  const torchair::FxOpenFile open = torchair::open_fx_file({path, false, 0});
  EXPECT_EQ(open.tensor.stored.count, static_cast<std::int64_t>(elements));
}

// What lies in it may be what is wrong.
TEST(TorchairCompare, AFolderThatCannotBeReadIsNoSuccess) {
  const TemporaryDirectory scratch;
  torchair::Options options;
  options.target_path = own_target(scratch);
  options.golden_path = scratch / "golden";
  options.output_path = scratch / "out";
  copy_tree(fx, options.golden_path);
  const fs::path locked = fs::path(options.golden_path) / rank0 / "graph_1/77";
  fs::create_directories(options.output_path);
  fs::permissions(options.output_path, fs::perms::all);
  const auto run = [&](std::string& warnings) {
    std::ostringstream out;
    torchair::Messages messages(false, false, [&](const std::string& text) { warnings += text; });
    const WithoutPrivileges user(scratch.path());
    const int code = torchair::compare_dumps(options, messages, out);
    return std::pair(code, out.str());
  };
  std::string warnings;
  EXPECT_EQ(run(warnings).first, 0) << warnings;
  fs::create_directories(locked);
  fs::permissions(locked, fs::perms::none);
  const auto [code, out] = run(warnings);
  fs::permissions(locked, fs::perms::owner_all);
  EXPECT_EQ(code, 2);
  EXPECT_THAT(out, HasSubstr("Not compared: what lies in 1 folder that cannot be read.\n"));
  EXPECT_THAT(warnings, HasSubstr("77 cannot be read: Permission denied"));
}

TEST(TorchairCompare, ABrokenGoldenGeFileIsOneRow) {
  const TemporaryDirectory scratch;
  copy_tree(data / "trees/ge_off/msprobe_ge_dump", scratch / "golden");
  const fs::path token = scratch / "golden" / rank0 / "20260105111501/0/graph_1_0/1/0";
  fs::resize_file(token / "Mul.Mul_1.14.3.1767607200001731", 0);
  const Compared result = compare(ge_on, scratch / "golden", scratch);
  ASSERT_EQ(result.finished.exit_code, 0) << result.finished.err;
  const std::vector<std::size_t> rows = rows_of(result.report, "Mul.Mul_1.14.3.1767607200001731");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(cell(result.report, rows[0], "cmp_fail_reason"), "golden_data cannot be parsed.");
  EXPECT_THAT(cell(result.report, rows[0], "golden_data_path"),
              ::testing::EndsWith("/Mul.Mul_1.14.3.1767607200001731"));
}

// A converter that was stopped between writing its file and removing the dump leaves both.
TEST(TorchairCompare, AFullDumpIsUsedRatherThanWhatWasMadeOfIt) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  const std::string name = "Mul.Mul_1.14.3.1767607200001731";
  fs::copy(data / "converted/ge_on/msprobe_ge_dump" / ge_token / (name + "_min_max.npz"),
           target / ge_token / (name + "_min_max.npz"));
  const Compared result = compare(target, fx, scratch);
  EXPECT_EQ(rows_of(result.report, "/0/" + name + ",inputs,0").size(), 1U);
  EXPECT_EQ(result.report.size(), 177U);
}

// What lacks a counterpart is named: a part of the data of an FX node, and tokens on either side.
TEST(TorchairCompare, MissingGoldenDataAreNamed) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  const fs::path golden = scratch / "golden";
  copy_tree(fx, golden);
  const auto summary = [&] { return compare(target, golden, scratch).finished; };
  const std::string whole = "without golden data: 2,";
  EXPECT_THAT(summary().out, HasSubstr(whole));
  const fs::path token = golden / rank0 / "graph_1/0";
  const auto remove = [&](const std::string& start) {
    std::size_t removed = 0;
    std::vector<fs::path> files;
    for (const fs::path& file : fs::directory_iterator(token)) files.push_back(file);
    for (const fs::path& file : files) {
      if (file.filename().string().starts_with(start)) removed += fs::remove(file) ? 1 : 0;
    }
    EXPECT_EQ(removed, 1U) << start;
  };
  remove("log-aten.log.default.OUTPUT.0.");
  const Finished output = summary();
  EXPECT_THAT(output.err, HasSubstr("FX data missing, GE tensor name: Log_13, FX tensor name: "
                                    "log-aten.log.default.OUTPUT.0\n"));
  EXPECT_THAT(output.out, HasSubstr("without golden data: 3,"));
  // A gap.
  remove("mul-aten.mul.Tensor.INPUT.0.");
  EXPECT_THAT(summary().err, HasSubstr("FX tensor name: mul-aten.mul.Tensor.INPUT.0\n"));

  fs::remove_all(target / rank0 / "20260105101501/0/graph_1_0/1/1");
  const Finished tokens = summary();
  EXPECT_THAT(tokens.err, HasSubstr("warning: Golden token_id 1 not found in the dump data to compare"));
  EXPECT_THAT(tokens.out, HasSubstr("\n  tokens of the golden dump alone: 1\n"));
}

TEST(TorchairCompare, ADamagedGraphTextIsUsedUpToTheDamage) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  const std::string text = read_file(target / graph_text);
  write_file(target / graph_text, text.substr(0, text.find("name: \"TopK_3\"")));
  const Compared result = compare(target, fx, scratch);
  EXPECT_EQ(result.finished.exit_code, 0);
  EXPECT_THAT(result.finished.err, HasSubstr("is damaged in line"));
  EXPECT_THAT(rows_of(result.report, "Mul.Mul_1.14.3.1767607200001731,outputs,0"), ::testing::SizeIs(1));
  EXPECT_THAT(rows_of(result.report, "Exp.Exp_33.113.3.1767607200058854,outputs,0"), ::testing::IsEmpty());
  EXPECT_THAT(result.finished.out, Not(HasSubstr("dumped but not in the graph: 0")));
}

// Neither half a report nor the empty file that held its name.
TEST(TorchairCompare, AReportThatCannotBeWrittenIsNotThere) {
  const TemporaryDirectory scratch;
  const fs::path out = scratch / "out";
  const std::string command = "ulimit -f 20; '" + programs() + "/torchair_compare' -tp '" + ge_on.string() + "' -gp '" +
                              fx.string() + "' -o '" + out.string() + "' > /dev/null 2> '" +
                              (scratch / "err").string() + "'";
  const int status = std::system(("bash -c \"" + command + "\"").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_THAT(read_file(scratch / "err"), HasSubstr("cannot be written: File too large"));
  EXPECT_FALSE(fs::exists(out));
}

TEST(TorchairCompare, AnEmptyGraphTextIsRefused) {
  const TemporaryDirectory scratch;
  const fs::path target = own_target(scratch);
  write_file(target / graph_text, "");
  const Compared result = compare(target, fx, scratch);
  EXPECT_EQ(result.finished.exit_code, 2);
  EXPECT_THAT(result.finished.err, HasSubstr(graph_text + " holds no operators."));
  EXPECT_TRUE(result.report.empty());
}

}  // namespace
}  // namespace msrun::testing
