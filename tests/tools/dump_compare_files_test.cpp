// The files of the comparison of two recordings other than its table of comma-separated values, and the calls that it
// hands to msrun. One recording serves all of them, hence longer than other files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "kernels/base/error.h"
#include "tests/support/error_of.h"
#include "tests/support/torch_python.h"
#include "tests/support/without_privileges.h"
#include "tests/tools/browser.h"
#include "tests/tools/dump_compare_support.h"
#include "tools/dump_compare/result_files.h"
#include "tools/recordings/folders.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

const Json ones = recorded_tensor(1, 1, 1, 2);
const Json twos = recorded_tensor(2, 2, 2, 4);

// The cells of the first sheet of a workbook as JSON: a list of rows, each a list of [type, value, fill].
Json sheet(const fs::path& workbook, const fs::path& scratch) {
  const std::string script = R"py(
import json, re, sys, zipfile
import xml.etree.ElementTree as ET
book = zipfile.ZipFile(sys.argv[1])
tag = lambda name: '{http://schemas.openxmlformats.org/spreadsheetml/2006/main}' + name
texts = []
if 'xl/sharedStrings.xml' in book.namelist():
    texts = [''.join(t.text or '' for t in item.iter(tag('t'))) for item in ET.fromstring(book.read('xl/sharedStrings.xml'))]
styles = ET.fromstring(book.read('xl/styles.xml'))
fills = []
for fill in styles.find(tag('fills')):
    color = fill.find('.//' + tag('fgColor'))
    fills.append('' if color is None else color.get('rgb', '')[-6:])
formats = [fills[int(xf.get('fillId', 0))] for xf in styles.find(tag('cellXfs'))]
rows = []
for row in ET.fromstring(book.read('xl/worksheets/sheet1.xml')).iter(tag('row')):
    cells = []
    for cell in row:
        kind = cell.get('t', 'n')
        value = cell.find(tag('v'))
        text = value.text if value is not None else ''.join(t.text or '' for t in cell.iter(tag('t')))
        if kind == 's': kind, text = 'text', texts[int(text)]
        if kind in ('inlineStr', 'str'): kind = 'text'
        cells.append([kind, text, formats[int(cell.get('s', 0))]])
    rows.append(cells)
names = re.findall('<sheet name="([^"]*)"', book.read('xl/workbook.xml').decode())
print(json.dumps({'rows': rows, 'sheets': names}))
)py";
  Process python({"-c", script, workbook.string()}, scratch, {}, torch_python());
  const Finished run = python.wait();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return Json::parse(run.out);
}

TEST(DumpCompareXlsx, HoldsTheCellsOfTheToolInUse) {
  const TemporaryDirectory scratch;
  const Finished run = run_tool(
      "dump_compare",
      {"-tp", compare_data("05_stat_odd/target/dump.json"), "-gp", compare_data("05_stat_odd/golden/dump.json"), "-o",
       (scratch.path() / "out").string(), "--xlsx", "--compat", "msprobe"},
      scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json book = sheet(only_file(scratch.path() / "out", "compare_result_"), scratch.path());
  EXPECT_EQ(book["sheets"], Json::array({"Sheet1"}));
  const Rows golden = read_csv(compare_data("expected_upstream/05_stat_odd_xlsx.xlsx.csv"));
  ASSERT_EQ(book["rows"].size(), golden.size());
  for (std::size_t r = 0; r < golden.size(); ++r) {
    ASSERT_EQ(book["rows"][r].size(), golden[r].size()) << r;
    for (std::size_t c = 0; c < golden[r].size(); ++c) {
      const Json& cell = book["rows"][r][c];
      const std::string place = golden[r][0] + ", " + golden[0][c];
      if (cell[0] == "n") {
        const double number = std::stod(cell[1].get<std::string>());
        ASSERT_NO_THROW(std::stod(golden[r][c])) << place;
        // msProbe reads its statistics again from text, with fewer digits.
        EXPECT_NEAR(number, std::stod(golden[r][c]), 1e-14 + 1e-8 * std::abs(number)) << place;
      } else if (cell[0] == "b") {
        EXPECT_EQ(cell[1] == "1" ? "TRUE" : "FALSE", golden[r][c]) << place;
      } else if (!golden[r][c].ends_with('%')) {
        EXPECT_EQ(cell[1], golden[r][c]) << place;
      }
      EXPECT_EQ(cell[2], "") << place;
    }
  }
}

TEST(DumpCompareXlsx, ErrorsAreRedWarningsYellowAndNumbersAreNumbers) {
  ComparedDumps dumps;
  dumps.write("target", {{"Torch.exp.0.forward", recorded_call({ones}, {recorded_tensor(9, 1, 1, 9)})},
                         {"Torch.log.0.forward", recorded_call({ones}, {})},
                         {"Torch.sin.0.forward", recorded_call({ones}, {})}});
  dumps.write("golden", {{"Torch.exp.0.forward", recorded_call({ones}, {twos})},
                         {"Torch.sin.0.forward", recorded_call({ones}, {})}});
  ASSERT_EQ(dumps.run({"--xlsx"}).exit_code, 0);
  const Json rows = sheet(only_file(dumps.folder() / "out", "compare_result_"), dumps.folder())["rows"];
  ASSERT_EQ(rows.size(), 5U);
  const auto column = [&](const char* title) {
    std::size_t found = 0;
    while (rows[0][found][1] != title) ++found;
    return found;
  };
  const auto fill = [&](std::size_t row) { return rows[row][column("NPU Name")][2]; };
  EXPECT_EQ(fill(0), "");
  EXPECT_EQ(fill(1), "");
  EXPECT_EQ(fill(2), "FFC7CE");
  EXPECT_EQ(fill(3), "FFEB9C");
  EXPECT_EQ(fill(4), "");
  EXPECT_EQ(rows[2][column("NPU max")], Json::array({"n", "9", "FFC7CE"}));
  EXPECT_EQ(rows[2][column("Max diff")], Json::array({"n", "7", "FFC7CE"}));
  EXPECT_EQ(rows[2][column("NPU Requires_grad")][1], "False");
  EXPECT_EQ(rows[2][column("Requires_grad Consistent")], Json::array({"b", "1", "FFC7CE"}));
  EXPECT_EQ(rows[2][column("NormRelativeErr")][1], "125.0%");
}

TEST(DumpCompareXlsx, HoldsNoCharacterThatXmlHasNot) {
  ComparedDumps dumps;
  const Json data{{"Torch.e\uFFFFx\uFFFEp.0.forward", recorded_call({ones}, {twos})}};
  dumps.write("target", data);
  dumps.write("golden", data);
  ASSERT_EQ(dumps.run({"--xlsx"}).exit_code, 0);
  const Json rows = sheet(only_file(dumps.folder() / "out", "compare_result_"), dumps.folder())["rows"];
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1][0][1], "Torch.e\uFFFDx\uFFFDp.0.forward.input.0");
}

// Whoever may write into the folder, and foresees a name, leads no byte elsewhere.
TEST(DumpCompareXlsx, WritesThroughNoLink) {
  const TemporaryDirectory scratch;
  write_file(scratch / "victim", "untouched");
  fs::create_directory(scratch / "out");
  fs::create_symlink("../victim", scratch / ("out/.compare_result_" + std::to_string(::getpid()) + ".xlsx.tmp"));
  const auto names = [&] {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(scratch / "out")) found.insert(entry.path().filename());
    return found;
  };
  const std::set<std::string> before = names();
  const dump_compare::ResultPlace place{(scratch / "out").string(), "compare_result_"};
  const std::vector<dump_compare::NamelessFile> files = dump_compare::xlsx_file(place, {"NPU Name"}, 0, false)->close();
  EXPECT_EQ(read_file(scratch / "victim"), "untouched");
  EXPECT_EQ(names(), before);
  std::string stamp = "1";
  EXPECT_EQ(read_file(dump_compare::publish(place, stamp, files).front()).substr(0, 2), "PK");
}

TEST(DumpCompareHtml, ShowsWorstRowsFirstAndForeignTextAsText) {
  if (browser().empty()) GTEST_SKIP() << "no browser";
  ComparedDumps dumps;
  const std::string odd = "Torch.<img src=x onerror=alert(1)>.0.forward";
  dumps.write("target", {{"Torch.log.0.forward", recorded_call({ones}, {twos})}, {odd, recorded_call({ones}, {twos})}});
  dumps.write("golden", {{"Torch.log.0.forward", recorded_call({ones}, {twos})}, {odd, recorded_call({ones}, {ones})}});
  ASSERT_EQ(dumps.run({"--html", "--first-divergence"}).exit_code, 0);
  fs::path page;
  for (const auto& entry : fs::directory_iterator(dumps.folder() / "out")) {
    if (entry.path().extension() == ".html") page = entry.path();
  }
  ASSERT_FALSE(page.empty());
  const TemporaryDirectory scratch;
  const std::string document = document_of(page, scratch);
  EXPECT_THAT(document, HasSubstr("First divergence: rank 0, Torch.&lt;img src=x onerror=alert(1)&gt;.0.forward"));
  EXPECT_THAT(document, Not(HasSubstr("<img src=x")));
  const std::size_t table = document.find("<tbody");
  const std::size_t worst = document.find("onerror=alert(1)&gt;.0.forward.output.0", table);
  const std::size_t sound = document.find("Torch.log.0.forward.input.0", table);
  ASSERT_NE(table, std::string::npos);
  ASSERT_NE(worst, std::string::npos);
  ASSERT_NE(sound, std::string::npos);
  EXPECT_LT(worst, sound);
}

// What differs in a file but for the times in names.
TEST(DumpCompareDifferenceAnalysis, WritesTheFilesOfTheToolInUse) {
  const TemporaryDirectory scratch;
  const fs::path out = scratch.path() / "out";
  const Finished run =
      run_tool("dump_compare",
               {"-tp", compare_data("08_two_ranks/step0/target"), "-gp", compare_data("08_two_ranks/step0/golden"),
                "-o", out.string(), "-da", "--compat", "msprobe"},
               scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(read_file(only_file(out, "diff_analyze_")),
            read_file(compare_data("expected_upstream/08_two_ranks_da.diff_analyze.json")));
  for (const char* rank : {"rank0", "rank1"}) {
    const Json calls = Json::parse(read_file(only_file(out, "compare_result_" + std::string(rank) + "_")));
    const Rows golden =
        read_csv(compare_data("expected_upstream/08_two_ranks_da." + std::string(rank) + ".is_same.csv"));
    ASSERT_EQ(calls.size() + 1, golden.size());
    std::size_t row = 0;
    for (const auto& [name, call] : calls.items()) {
      const std::vector<std::string> extract{name, call["is_same"] == true ? "True" : "False",
                                             std::to_string(call["op_items"].size())};
      EXPECT_EQ(extract, golden[++row]);
    }
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(out), fs::directory_iterator()), 3);
}

TEST(DumpCompareDifferenceAnalysis, FindsTheSideOfACommunicationThatWasFedWrongly) {
  // Both ranks communicate first, so that the search goes through communications: rank 1 computes wrongly before the
  // second all_reduce, rank 0 later.
  ComparedDumps dumps;
  const Json group{{"group", {{"type", "torch.ProcessGroup"}, {"group_ranks", {0, 1}}}}};
  const auto data = [&](bool early, bool late) {
    Json reduce = recorded_call({ones}, {twos});
    reduce["input_kwargs"] = group;
    const Json good = recorded_call({ones}, {twos});
    const Json bad = recorded_call({ones}, {recorded_tensor(9, 9, 9, 18)});
    return Json{{"Distributed.all_reduce.0.forward", reduce},
                {"Torch.exp.0.forward", early ? bad : good},
                {"Distributed.all_reduce.1.forward", reduce},
                {"Torch.log.0.forward", late ? bad : good},
                {"Distributed.all_reduce.2.forward", reduce}};
  };
  dumps.write("target/rank0", data(false, true));
  dumps.write("target/rank1", data(true, false));
  dumps.write("golden/rank0", data(false, false));
  dumps.write("golden/rank1", data(false, false));
  const auto run = [&] {
    fs::remove_all(dumps.folder() / "out");
    return run_tool("dump_compare",
                    {"-tp", (dumps.folder() / "target").string(), "-gp", (dumps.folder() / "golden").string(), "-o",
                     (dumps.folder() / "out").string(), "-da", "--compat", "msprobe"},
                    dumps.folder());
  };
  ASSERT_EQ(run().exit_code, 0);
  const Json found = Json::parse(read_file(only_file(dumps.folder() / "out", "diff_analyze_")));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found["rank_1"][0]["op_name"], "Torch.exp.0.forward");
  dumps.write("target/rank0", data(false, false));
  dumps.write("target/rank1", data(false, false));
  const Finished none = run();
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_THAT(none.out, HasSubstr("Cannot find any diff node, no need to generate analyze file.\n"));
}

TEST(DumpCompareRepairs, B32FilesAreSearchedLikeFolders) {
  const std::string target = compare_data("08_two_ranks/step0/target/rank1/dump.json");
  const std::string golden = compare_data("08_two_ranks/step0/golden/rank1/dump.json");
  const TemporaryDirectory scratch;
  const auto run = [&](const std::string& out, const std::vector<std::string>& options) {
    std::vector<std::string> words{"-tp", target, "-gp", golden, "-o", (scratch.path() / out).string(), "-da"};
    words.insert(words.end(), options.begin(), options.end());
    return run_tool("dump_compare", words, scratch.path());
  };
  EXPECT_THAT(run("ours", {}).out, HasSubstr("First divergence: rank 0, Functional.layer_norm.1.forward\n"));
  ASSERT_EQ(run("theirs", {"--compat", "msprobe"}).exit_code, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path() / "theirs"), fs::directory_iterator()), 1);
  EXPECT_EQ(only_file(scratch.path() / "theirs", "compare_result_").extension(), ".csv");
}

TEST(DumpCompareRepairs, B33RoundingIsNotBlamed) {
  const TemporaryDirectory scratch;
  const Finished run =
      run_tool("dump_compare",
               {"-tp", compare_data("08_two_ranks/step0/target"), "-gp", compare_data("08_two_ranks/step0/golden"),
                "-o", (scratch.path() / "out").string(), "-da"},
               scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json found = Json::parse(read_file(only_file(scratch.path() / "out", "first_divergence_")));
  EXPECT_EQ(found["first"]["rank"], 1);
  EXPECT_EQ(found["also"], Json::array());
}

TEST(DumpCompareSuspects, AreCheckedByMsrun) {
  const TemporaryDirectory scratch;
  const fs::path out = scratch.path() / "out";
  const Finished run = run_tool("dump_compare",
                                {"-tp", compare_data("01_stat_fp32/target/dump.json"), "-gp",
                                 compare_data("01_stat_fp32/golden/dump.json"), "-o", out.string(), "--check-suspects"},
                                scratch.path());
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("Checked Functional.silu.0: msrun ended with exit code 0, results in "));
  const Rows results = read_csv(csv_in(out / "suspects" / "rank0", "accuracy_checking_result_"));
  EXPECT_EQ(names(results), std::vector<std::string>{"Functional.silu.0"});
  EXPECT_NE(only_file(out, "first_divergence_"), fs::path());
  EXPECT_NE(only_file(out, "compare_result_"), fs::path());
}

TEST(DumpCompareSuspects, ThatMsrunCannotCheckAreSaidAndNoSuccess) {
  ComparedDumps dumps;
  const Json wrong = recorded_tensor(9, 9, 9, 18);
  for (const auto& [name, reason] : {std::pair("Module.fc.Linear.forward.0", "is a module"),
                                     std::pair("Torch.nothing_like_that.0.forward", "msrun ended with exit code 1")}) {
    dumps.write("target", {{name, recorded_call({ones}, {wrong})}});
    dumps.write("golden", {{name, recorded_call({ones}, {twos})}});
    const Finished run = dumps.run({"--check-suspects"});
    EXPECT_EQ(run.exit_code, 2) << run.out << run.err;
    EXPECT_THAT(run.out, HasSubstr("Not checked: ")) << name;
    EXPECT_THAT(run.out, HasSubstr(reason)) << name;
    EXPECT_EQ(dumps.rows().size(), 2U);
  }
  EXPECT_EQ(dumps.run({"--check-suspects", "--compat", "msprobe"}).exit_code, 2);
}

// Folders of recordings, and what is told of them.
class DumpCompareInputs : public ::testing::Test {
 protected:
  const Json call_{
      {"Torch.exp.0.forward", recorded_call({recorded_tensor(1, 1, 1, 2)}, {recorded_tensor(2, 2, 2, 4)})}};

  void write(const std::vector<std::string>& places) {
    for (const std::string& place : places) dumps_.write(place, call_);
  }
  fs::path path(const std::string& below) const { return dumps_.folder() / below; }
  Finished compare(const std::string& target, const std::string& golden, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"-tp", path(target), "-gp", path(golden), "-o", path("out")};
    words.insert(words.end(), more.begin(), more.end());
    return run_tool("dump_compare", words, dumps_.folder());
  }

  ComparedDumps dumps_;
};

TEST_F(DumpCompareInputs, AnEmptyFolderOfARankOrStepDoesNotStopTheOthers) {
  write({"t/rank0", "g/rank0", "g/rank1", "st/step0/rank0", "sg/step0/rank0"});
  fs::create_directories(path("t/rank1"));
  Finished run = compare("t", "g");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("rank1: There is neither dump.json nor debug.json in " + path("t/rank1").string()));
  EXPECT_NE(only_file(path("out"), "compare_result_rank0_"), fs::path());
  for (const char* side : {"st/step1", "sg/step1"}) fs::create_directories(path(side));
  run = compare("st", "sg");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("step1: No or multiple proc directories were found"));
  EXPECT_NE(only_file(path("out/step0"), "compare_result_rank0_"), fs::path());
}

TEST_F(DumpCompareInputs, FoldersOfProcessesArePairedWhateverTheirNumbersAre) {
  write({"t/step0/pid9527", "t/step1/proc9527", "g/step0/pid4711", "g/step1/pid4711"});
  const Finished run = compare("t", "g");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(only_file(path("out/step0"), "compare_result_"), fs::path());
  EXPECT_NE(only_file(path("out/step1"), "compare_result_"), fs::path());
  EXPECT_FALSE(recordings::process_folder(path("t")).has_value());
  EXPECT_EQ(recordings::process_folder(path("t/step0")), path("t/step0/pid9527").string());
  fs::create_directories(path("t/step0/proc1"));
  EXPECT_FALSE(recordings::process_folder(path("t/step0")).has_value());
}

TEST_F(DumpCompareInputs, TheFolderAroundARecordingIsTaken) {
  write({"t/dump/step0/proc1", "g/step0/proc2"});
  const Finished run = compare("t", "g");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(only_file(path("out/step0"), "compare_result_"), fs::path());
  EXPECT_EQ(recordings::recording_folder(path("t")), path("t/dump").string());
  EXPECT_EQ(recordings::recording_folder(path("g")), path("g").string());
}

TEST_F(DumpCompareInputs, ARefusedCommandLeavesNoFolder) {
  write({"t", "g"});
  write_file(path("g/dump.json"), R"({"task": "tensor", "data": {}})");
  const Finished run = compare("t/dump.json", "g/dump.json");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_FALSE(fs::exists(path("out")));
  // One that was there stays.
  fs::create_directories(path("out"));
  EXPECT_EQ(compare("t/dump.json", "g/dump.json").exit_code, 2);
  EXPECT_TRUE(fs::exists(path("out")));
}

TEST_F(DumpCompareInputs, StacksAreReadFromTheFileThatIsNamed) {
  write({"t", "g"});
  fs::create_directories(path("s"));
  write_file(path("s/mine.json"), R"({"Torch.exp.0.forward": ["File right.py"]})");
  write_file(path("s/stack.json"), R"({"Torch.exp.0.forward": ["File wrong.py"]})");
  const auto run = [&](const Json& stacks) {
    const Json input{{"npu_path", path("t/dump.json").string()},
                     {"bench_path", path("g/dump.json").string()},
                     {"stack_path", stacks}};
    write_file(path("input.json"), input.dump());
    fs::remove_all(path("out"));
    return run_tool("dump_compare", {"-i", path("input.json"), "-o", path("out")}, dumps_.folder());
  };
  EXPECT_EQ(run(path("s/mine.json").string()).exit_code, 0);
  EXPECT_THAT(dumps_.rows().front().at("NPU_Stack_Info"), HasSubstr("right.py"));
  const Finished missing = run(path("s/none.json").string());
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("s/none.json"));
  const Finished number = run(5);
  EXPECT_EQ(number.exit_code, 2);
  EXPECT_THAT(number.err, HasSubstr("stack_path is no text"));
  EXPECT_EQ(run(nullptr).exit_code, 0);
}

// A recording whose two entries have one name; the first has a NaN.
std::string repeated_text() {
  const auto entry = [](const char* largest) {
    const std::string tensor =
        R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[2],"requires_grad":false,"Max":)";
    const std::string rest = R"(,"Min":1,"Mean":1,"Norm":1})";
    return R"("Torch.exp.0.forward":{"input_args":[)" + tensor + "1" + rest + R"(],"input_kwargs":{},"output":[)" +
           tensor + largest + rest + "]}";
  };
  return R"({"task":"statistics","framework":"pytorch","data":{)" + entry("NaN") + "," + entry("1") + "}}";
}

TEST_F(DumpCompareInputs, ARecordingThatIsComparedWithItselfIsTold) {
  write({"t/rank0", "g/rank0"});
  EXPECT_EQ(compare("t", "g").err, "");
  EXPECT_THAT(compare("t", "t").err, HasSubstr("t/rank0/dump.json is compared with itself"));
}

TEST_F(DumpCompareInputs, EntriesThatOccurAgainAreToldAndNoneIsLostToTheSearchForOverflows) {
  for (const char* side : {"t", "g"}) {
    fs::create_directories(path(side));
    std::ofstream(path(side) / "dump.json") << repeated_text();
  }
  const std::string again =
      "that occur again, the later in place of the earlier: 1; the first is 'Torch.exp.0.forward'";
  EXPECT_THAT(compare("t", "g").err, AllOf(HasSubstr(again), HasSubstr("t/dump.json"), HasSubstr("g/dump.json")));
  const Finished search = run_tool("overflow_check", {"-i", path("t"), "-o", path("found")}, dumps_.folder());
  EXPECT_THAT(search.out, HasSubstr("First NaN or infinity: rank 0, Torch.exp.0.forward"));
  EXPECT_THAT(search.err, HasSubstr("occur again"));
  const std::string found = read_file(only_file(path("found"), "anomaly_analyze_"));
  EXPECT_THAT(found, HasSubstr("NaN")) << "of the two entries the document has that one";
  EXPECT_EQ(found.find("data_info"), found.rfind("data_info"));
}

TEST_F(DumpCompareInputs, TwoDataAreRefusedAsByThePreCheck) {
  write({"g"});
  fs::create_directories(path("t"));
  const std::string text = read_file(path("g/dump.json"));
  std::ofstream(path("t") / "dump.json") << text.substr(0, text.rfind('}')) << R"(,"data":{}})";
  for (const Finished& run : {compare("t", "g"), run_tool("overflow_check", {"-i", path("t")}, dumps_.folder())}) {
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_THAT(run.err, HasSubstr("the key data occurs twice"));
  }
}

TEST_F(DumpCompareInputs, AFolderThatCannotBeReadIsNotCalledOneWithoutADump) {
  write({"t/rank0"});
  fs::permissions(path("t/rank0"), fs::perms::none);
  {
    const WithoutPrivileges user(dumps_.folder());
    const auto problem = [&](const auto& call) { return error_of<UserError>(call); };
    const std::string folder = path("t/rank0");
    EXPECT_THAT(problem([&] { recordings::dump_file(folder); }),
                HasSubstr(folder + " cannot be read: Permission denied"));
    EXPECT_THAT(problem([&] { recordings::rank_folders(folder); }), HasSubstr("Permission denied"));
    EXPECT_EQ(recordings::rank_folders(path("t")).size(), 1U);
  }
  fs::permissions(path("t/rank0"), fs::perms::owner_all);
  EXPECT_TRUE(recordings::rank_folders(path("nowhere")).empty());
  EXPECT_EQ(recordings::dump_file(path("nowhere")), "");
}

TEST_F(DumpCompareInputs, LoopsOfLinksAreRefused) {
  write({"g"});
  fs::create_symlink("dump.json", path("dump.json"));
  const Finished run = compare("dump.json", "g/dump.json");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("path does not exist, please check! (" + path("dump.json").string()));
  EXPECT_EQ(run_tool("overflow_check", {"-i", path("dump.json")}, dumps_.folder()).exit_code, 2);
}

TEST_F(DumpCompareInputs, WhatIsLeftOutIsTold) {
  write({"t/rank", "t/rank0", "t/rank1", "t/step0", "g/rank0", "g/rank1"});
  const Finished run = compare("t", "g");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr(path("t/rank").string() + " takes no part: there is rank0 beside it."));
  EXPECT_THAT(run.err, HasSubstr(path("t/step0").string() + " takes no part: there are folders of ranks beside it."));
  EXPECT_EQ(compare("t", "g", {"--rank", "1"}).exit_code, 0);
  const Finished refused = compare("t", "g", {"--rank", "1,5"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--rank: there is no rank5 in "));
}

TEST_F(DumpCompareInputs, WhatOneSideAloneHasCountsAsAWarning) {
  write({"t/rank0", "t/rank1", "g/rank0", "g/rank2", "st/step0/rank0", "st/step1/rank0", "sg/step0/rank0"});
  write({"mt/graph/0", "mt/graph/1", "mt/pynative/0", "mg/graph/0"});
  for (const auto& [target, golden, told] :
       {std::tuple("t", "g", "2 folders"), {"st", "sg", "1 folder"}, {"mt", "mg", "2 folders"}}) {
    const Finished run = compare(target, golden, {"--fail-on", "warning"});
    EXPECT_EQ(run.exit_code, 1) << run.err;
    EXPECT_THAT(run.out, HasSubstr("Not compared, which counts as a warning: " + std::string(told) + "."));
    EXPECT_THAT(run.err, HasSubstr("it takes no part."));
    EXPECT_EQ(compare(target, golden, {"--fail-on", "error"}).exit_code, 0);
  }
  const Finished chosen = compare("t", "g", {"--fail-on", "warning", "--rank", "0"});
  EXPECT_EQ(chosen.exit_code, 0);
  EXPECT_EQ(chosen.out.find("Not compared"), std::string::npos);
}

TEST_F(DumpCompareInputs, ANumberThatNeitherSideHasIsNamed) {
  write({"t/rank0", "g/rank0", "st/step0/rank0", "sg/step0/rank0"});
  const Finished rank = compare("t", "g", {"--rank", "5"});
  EXPECT_EQ(rank.exit_code, 2);
  EXPECT_THAT(rank.err, HasSubstr("--rank: there is no rank5 in "));
  const Finished step = compare("st", "sg", {"--step", "5"});
  EXPECT_EQ(step.exit_code, 2);
  EXPECT_THAT(step.err, HasSubstr("--step: there is no step5 in "));
  EXPECT_THAT(compare("st", "sg", {"--rank", "5"}).err, HasSubstr("--rank: there is no rank5 in "));
}

TEST_F(DumpCompareInputs, AFullDiskIsToldInOurWordsWithNamesOfTheUser) {
  write({"t", "g"});
  const auto compare_with = [&](const char* option, int blocks, const std::string& more = "") {
    const std::string limited = "trap '' XFSZ; ulimit -f " + std::to_string(blocks) + "; exec \"$0\" \"$@\"";
    Process run({"-c", limited, programs() + "/dump_compare", "-tp", path("t" + more), "-gp", path("g" + more), "-o",
                 path("out"), option},
                dumps_.folder(), {}, "/bin/sh");
    return run.wait();
  };
  // Of 512 bytes: too few for the file, enough for the table of two rows.
  const Finished sheet = compare_with("--xlsx", 4);
  EXPECT_EQ(sheet.exit_code, 2);
  EXPECT_THAT(sheet.err, AllOf(HasSubstr("compare_result_<time>.xlsx cannot be written"), HasSubstr("File too large"),
                               Not(HasSubstr("[ERROR]")), Not(HasSubstr("packager.c"))));
  // A sheet that is larger than the file that holds it in the end.
  Json calls = Json::object();
  for (int i = 0; i < 300; ++i) calls["Torch.exp." + std::to_string(i) + ".forward"] = call_["Torch.exp.0.forward"];
  for (const char* side : {"tm", "gm"}) dumps_.write(side, calls);
  const Finished rows = compare_with("--xlsx", 200, "m");
  EXPECT_EQ(rows.exit_code, 2) << rows.out;
  EXPECT_THAT(rows.err, HasSubstr("for its rows cannot be kept in temporary files: File too large."));
  const Finished page = compare_with("--html", 16);
  EXPECT_EQ(page.exit_code, 2);
  EXPECT_THAT(page.err, AllOf(HasSubstr("compare_result_<time>.html cannot be written"), Not(HasSubstr(".tmp"))));
}

}  // namespace
}  // namespace msrun::testing
