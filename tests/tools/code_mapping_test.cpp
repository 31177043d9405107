// The parts of code_mapping and the program as its users see it.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/base/error.h"
#include "tests/support/error_of.h"
#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/without_privileges.h"
#include "tools/code_mapping/cells.h"
#include "tools/code_mapping/dump_files.h"
#include "tools/code_mapping/scope_index.h"
#include "tools/code_mapping/statistic_table.h"

namespace msrun::code_mapping {
namespace {

using msrun::testing::Finished;
using msrun::testing::read_file;
using msrun::testing::run_tool;
using msrun::testing::TemporaryDirectory;
using msrun::testing::test_data;
using msrun::testing::WithoutPrivileges;
using msrun::testing::write_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::vector<std::string> scopes(const Graph& graph) {
  std::vector<std::string> result;
  for (const Node& node : graph.nodes()) result.emplace_back(node.scope);
  return result;
}

std::vector<std::string> stacks(const Graph& graph) {
  std::vector<std::string> result;
  for (const Node& node : graph.nodes()) result.push_back(graph.code_stack(node));
  return result;
}

// A node of one scope, as one line of the graph's text and the lines below it.
std::string node(const std::string& scope, const std::string& source = "", const std::string& attributes = "") {
  return "  %0(CNode_1) = Op(%1) " + attributes + "\n      : (<A>) -> (<B>)\n      # Fullname with scope: (" + scope +
         ")\n" + (source.empty() ? "" : "      # " + source + "/\n");
}

TEST(CodeMappingGraph, BracketsInStringsDoNotMatterAndGradientsHaveTheStackOfTheirNode) {
  const Graph graph(R"(# IR entry: @1_f_2
subgraph @1_f_2() {
  %0(CNode_5$t) = PrimFunc_Exp(%para1_x) cnode_primal_attrs: {unique_id: "7"}
      : (<Tensor[Float32], (2)>) -> (<Tensor[Float32], (2)>)
      # Fullname with scope: (Default/cell-Inner/Exp-op0)
      # In file m.py:2, 4~14/    t = exp(x)/
  %1(out) = ExpGrad(%0, "NC(H") cnode_primal_attrs: {forward_unique_id: "7"}
      : (<Tensor[Float32], (2)>) -> (<Tensor[Float32], (2)>)
      # Fullname with scope: (Gradients/Default/cell-Inner/gradExp/ExpGrad-op0)
  Return(%1)
      : (<Tensor[Float32], (2)>)
      # Fullname with scope: (Default/Return-op0)
}
)");
  EXPECT_THAT(scopes(graph),
              ElementsAre("Default/cell-Inner/Exp-op0", "Gradients/Default/cell-Inner/gradExp/ExpGrad-op0"));
  const std::string stack = "In file m.py:2, 4~14/    t = exp(x)";
  EXPECT_THAT(stacks(graph), ElementsAre(stack, stack));
}

TEST(CodeMappingGraph, EveryNodeLineIsANodeOfItsOwn) {
  const Graph graph(node("a", "In file x.py:1, 1~2/ x") + "}\nsubgraph @g() {\n" + node("b", "In file y.py:1, 1~2/ y") +
                    "  %3 = NoVariable()\n  # SCOPE of it : (c)\n  %para1_x: <T> : [] # scope: (not)\n");
  EXPECT_THAT(scopes(graph), ElementsAre("a", "b", "c"));
  EXPECT_THAT(stacks(graph), ElementsAre("In file x.py:1, 1~2/ x", "In file y.py:1, 1~2/ y", ""));
}

TEST(CodeMappingGraph, ANodeWithoutAScopeBorrowsNone) {
  const Graph graph(
      "  %0(a) = A()\n      # In file a.py:1, 1~2/ with scope(x): (y)/\n  %1(b) = B()\n" +
      std::string("      # Fullname with scope: (b)\n  %2(c) = C()\n  Return(%2)\n      # with scope: (r)\n"));
  EXPECT_THAT(scopes(graph), ElementsAre("b"));
}

TEST(CodeMappingGraph, BlanksAndCarriageReturnsBehindAScopeAreTolerated) {
  const Graph graph("  %0(a) = A()  \r\n   # Fullname with scope: (s)  \t\r\n   # In file a.py:1, 1~2/\tx/  \r\n\r\n");
  EXPECT_THAT(scopes(graph), ElementsAre("s"));
  EXPECT_THAT(stacks(graph), ElementsAre("In file a.py:1, 1~2/\tx"));
}

TEST(CodeMappingGraph, TheLastIdCountsAndThoseInStringsDoNot) {
  const std::string text = node("f1", "In file a.py:1, 1~2/ one", R"(cnode_primal_attrs: {unique_id: "1"})") +
                           node("f2", "In file a.py:2, 1~2/ two", R"(cnode_primal_attrs: {unique_id: "2"})");
  const auto stack_of = [&](const std::string& attributes) {
    return stacks(Graph(text + node("Gradients/g", "In file g.py:1, 1~2/ own", attributes))).back();
  };
  EXPECT_EQ(stack_of(R"({unique_id: "1", forward_unique_id: "2"})"), "In file a.py:2, 1~2/ two");
  EXPECT_EQ(stack_of(R"({forward_unique_id: "1"} text: "unique_id: \"2\"")"), "In file a.py:1, 1~2/ one");
  EXPECT_EQ(stack_of(R"(torn: " {forward_unique_id: "2"})"), "In file a.py:2, 1~2/ two");
  EXPECT_EQ(stack_of(R"({forward_unique_id: "3"})"), "In file g.py:1, 1~2/ own");
}

TEST(CodeMappingGraph, OfSeveralForwardNodesWithOneIdTheLastIsTaken) {
  const std::string attributes = R"({unique_id: "1"})";
  const Graph graph(node("Gradients/g", "", attributes) + node("a", "In file a.py:1, 1~2/ a", attributes) +
                    node("b", "In file b.py:1, 1~2/ b", attributes));
  EXPECT_EQ(graph.code_stack(graph.nodes().front()), "In file b.py:1, 1~2/ b");
}

std::string found(const std::vector<std::string>& all, const std::string& name) {
  std::string text;
  for (const std::string& scope : all) text += node(scope);
  const Graph graph(text);
  ScopeIndex index(graph);
  const Node* result = index.find(name);
  EXPECT_EQ(index.find(name), result) << "the second time";
  return result == nullptr ? "none" : std::string(result->scope);
}

TEST(CodeMappingScopes, AreFoundExactlyOrAsTheLongestPartBetweenDelimiters) {
  EXPECT_EQ(found({"Default/Add-op1", "Default/Add-op10"}, "Default_Add-op10"), "Default/Add-op10");
  EXPECT_EQ(found({"Default/Add-op1"}, "Default_Add-op10"), "none");
  EXPECT_EQ(found({"Default/Add-op1"}, "xDefault_Add-op1"), "none");
  EXPECT_EQ(found({"Default/Add-op1"}, "Kernel_Default_Add-op1_0"), "Default/Add-op1");
  EXPECT_EQ(found({"Add-op1", "Default/Add-op1"}, "Kernel_Default_Add-op1"), "Default/Add-op1");
  EXPECT_EQ(found({"b-op1", "a-op1"}, "x_a-op1_b-op1"), "a-op1") << "the leftmost of two that are as long";
  EXPECT_EQ(found({"0", "", "12"}, "Default_Add-op0_12"), "none");
  EXPECT_EQ(found({"0"}, "0"), "none");
  EXPECT_EQ(found({"a/b"}, ""), "none");
}

TEST(CodeMappingScopes, TheLastNodeOfAKeyCounts) {
  const Graph graph(node("a/b", "In file 1.py:1, 1~2/ x") + node("a_b", "In file 2.py:1, 1~2/ x"));
  ScopeIndex index(graph);
  ASSERT_NE(index.find("a_b"), nullptr);
  EXPECT_EQ(index.find("a_b")->scope, "a_b");
}

TEST(CodeMappingScopes, LongNamesAreFoundAsAWholeAlone) {
  const std::string name = std::string(ScopeIndex::longest_searched, '_') + "a";
  EXPECT_EQ(found({"a"}, name), "none");
  EXPECT_EQ(found({"a"}, name.substr(1)), "a");
  EXPECT_EQ(found({"a", name}, name), name);
}

std::string added(const std::string& csv, std::size_t times = 1) {
  const Graph graph(node("Default/Add-op0", "In file a.py:1, 1~2/ x"));
  ScopeIndex index(graph);
  std::string text = csv;
  for (std::size_t i = 0; i < times; ++i) text = with_source_lines(text, graph, index).text;
  return text;
}

TEST(CodeMappingStatistics, ColumnsAreAddedBehindAPaddingColumn) {
  const std::string stack = "\"In file a.py:1, 1~2/ x\"";
  for (const std::string table :
       {"Op Name,Max\nDefault_Add-op0,1.50,\nother,-2,\n", "Op Name,Max\r\nDefault_Add-op0,1.50\r\nother,-2",
        "Op Name,Max,\nDefault_Add-op0,1.50,\n\nother,-2,\n"}) {
    for (const std::size_t times : {1, 2, 3}) {
      EXPECT_EQ(added(table, times), "Op Name,Max,Unnamed: 2,Code Stack,Scope Name\nDefault_Add-op0,1.50,," + stack +
                                         ",Default/Add-op0\nother,-2,,,\n")
          << table << times;
    }
  }
}

// Source lines are looked up as they are, but for the marks of what a spreadsheet would run.
TEST(CodeMappingCells, SourceLinesStayAsTheyAre) {
  EXPECT_EQ(foreign_cell("In file a.py:1, 1~2/ a = 1;-b;=c;@d"), "\"In file a.py:1, 1~2/ a = 1;'-b;'=c;'@d\"");
  EXPECT_EQ(foreign_cell("/dump;-1/a.npy"), "/dump;'-1/a.npy");
  EXPECT_EQ(foreign_cell("=1+1"), "'=1+1");
  EXPECT_EQ(foreign_cell(""), "");
}

TEST(CodeMappingStatistics, OldColumnsAreRefreshedAndNoCellIsLost) {
  EXPECT_EQ(added("Code Stack,Scope Name,Op Name\nold,older,Default_Add-op0\nold,older,\n"),
            "Code Stack,Scope Name,Op Name\n\"In file a.py:1, 1~2/ x\",Default/Add-op0,Default_Add-op0\n,,\n");
  EXPECT_EQ(added("Op Name\nx,1,\"a,\nb\"\n\"Default_Add-op0\"\n"),
            "Op Name,Unnamed: 1,Unnamed: 2,Code Stack,Scope Name\nx,1,\"a,\nb\",,\n"
            "Default_Add-op0,,,\"In file a.py:1, 1~2/ x\",Default/Add-op0\n");
  EXPECT_EQ(added("\xEF\xBB\xBF\xEF\xBB\xBFOp Name\n", 2), added("Op Name\n"));
}

TEST(CodeMappingStatistics, TablesThatCannotBeUsedAreRefused) {
  const auto problem = [](const std::string& csv) { return msrun::testing::error_of<UserError>([&] { added(csv); }); };
  EXPECT_EQ(problem("Name,Max\nx,1\n"), "has no column \"Op Name\"");
  EXPECT_EQ(problem("Op Name\n\"x\n"), "ends within quotes");
  EXPECT_EQ(problem("\n\n"), "has no line of titles");
}

class CodeMapping : public ::testing::Test {
 protected:
  CodeMapping() { fs::copy(test_data("/code_mapping"), data(), fs::copy_options::recursive); }

  fs::path data() const { return scratch_ / "data"; }
  std::string expected(const std::string& name) const { return read_file(data() / "expected" / name); }
  Finished run(std::vector<std::string> words) const {
    words.insert(words.begin(), {"--ir", (data() / "step_graph.ir").string()});
    return run_tool("code_mapping", words, scratch_.path());
  }
  fs::path statistics() const { return data() / "statistic_dump/rank_0/Net/0/0/statistic.csv"; }
  // Has the command rewrite the statistics by another graph of this text.
  Finished run_with(const std::string& graph) const {
    write_file(scratch_ / "other.ir", graph);
    return run_tool("code_mapping", {"--ir", scratch_.file("other.ir"), "--dump_data", statistics().string()},
                    scratch_.path());
  }
  // The table in the folder; paths below `folder` with `name` in its place.
  std::string table(const fs::path& out, const fs::path& folder, const std::string& name) const {
    std::string text = read_file(msrun::testing::only_file(out, "code_mapping_"));
    const std::string path = fs::canonical(folder).string();
    for (std::size_t at = 0; (at = text.find(path, at)) != std::string::npos;) text.replace(at, path.size(), name);
    return text;
  }

  const TemporaryDirectory scratch_;
};

TEST_F(CodeMapping, WritesTheExpectedTablesOfTensors) {
  const fs::path out = scratch_ / "new" / "out";
  Finished finished = run({"--dump_data", (data() / "tensor_dump").string(), "--output", out.string()});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  EXPECT_THAT(finished.out, HasSubstr("Found in the graph: 7 of 8 tensor files\nTable: "));
  EXPECT_EQ(table(out, data() / "tensor_dump", "{DUMP_DATA}"), expected("tensor_expected.csv"));

  const fs::path file = fs::directory_iterator(data() / "single_file")->path();
  finished = run({"--dump_data", file.string(), "--output", (scratch_ / "single").string()});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(table(scratch_ / "single", data() / "single_file", "{DUMP_DATA_DIR}"),
            expected("single_file_expected.csv"));
}

TEST_F(CodeMapping, RewritesStatisticsOnceHoweverOftenItRuns) {
  const fs::path file = data() / "statistic_dump/rank_0/Net/0/0/statistic.csv";
  for (const fs::path& path : {data() / "statistic_dump", file, data() / "statistic_dump/rank_0"}) {
    const Finished finished = run({"--dump_data", path.string(), "--output", (scratch_ / "none").string()});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(finished.err, "");
    EXPECT_EQ(read_file(file), expected("statistic_expected.csv"));
  }
  EXPECT_FALSE(fs::exists(scratch_ / "none"));
}

TEST_F(CodeMapping, AnotherGraphErasesNoSourceLines) {
  ASSERT_EQ(run({"--dump_data", statistics().string()}).exit_code, 0);
  const std::string garbage = "no graph at all\n\x01\xFF";
  for (const std::string& graph : {std::string(), garbage}) {
    const Finished refused = run_with(graph);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.err, "code_mapping: The file " + scratch_.file("other.ir") +
                               " names no scope of any operator: it is not the text of a graph.\n");
    EXPECT_EQ(refused.out, "");
    EXPECT_EQ(read_file(statistics()), expected("statistic_expected.csv"));
  }
  const Finished kept = run_with(node("Elsewhere/Foo-op77"));
  EXPECT_EQ(kept.exit_code, 2);
  EXPECT_THAT(kept.err, HasSubstr("None of the rows of " + statistics().string() + " is in the graph"));
  EXPECT_THAT(kept.err, HasSubstr("; it stays as it is.\n"));
  EXPECT_EQ(kept.out, "");
  EXPECT_EQ(read_file(statistics()), expected("statistic_expected.csv"));
}

TEST_F(CodeMapping, ATableWithoutSourceLinesMayGetEmptyColumns) {
  for (int times = 0; times < 2; ++times) {
    const Finished finished = run_with(node("Elsewhere/Foo-op77"));
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_THAT(finished.out, HasSubstr("Found in the graph: 0 of 11 rows\n"));
  }
  EXPECT_EQ(run({"--dump_data", statistics().string()}).exit_code, 0);
  EXPECT_EQ(read_file(statistics()), expected("statistic_expected.csv"));
}

TEST_F(CodeMapping, NoTableOfTensorsIsMadeByWhatIsNoGraph) {
  write_file(scratch_ / "other.ir", "no graph");
  const Finished refused = run_tool("code_mapping",
                                    {"--ir", scratch_.file("other.ir"), "--dump_data",
                                     (data() / "tensor_dump").string(), "--output", scratch_.file("none")},
                                    scratch_.path());
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_FALSE(fs::exists(scratch_ / "none"));
}

TEST_F(CodeMapping, TheReplacedTableKeepsItsMode) {
  const std::string path = statistics().string();
  for (const mode_t mode : {0600U, 0640U, 0666U}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    struct stat before {};
    ASSERT_EQ(stat(path.c_str(), &before), 0);
    const Finished finished = run({"--dump_data", path});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    struct stat after {};
    ASSERT_EQ(stat(path.c_str(), &after), 0);
    EXPECT_EQ(after.st_mode, before.st_mode);
    EXPECT_EQ(after.st_uid, before.st_uid);
    EXPECT_EQ(after.st_gid, before.st_gid);
    EXPECT_EQ(read_file(path), expected("statistic_expected.csv"));
  }
}

TEST_F(CodeMapping, ALinkStaysAndWhatItLeadsToIsReplaced) {
  fs::create_directory(scratch_ / "links");
  const fs::path link = scratch_ / "links" / "statistic.csv";
  fs::create_symlink(statistics(), link);
  const Finished finished = run({"--dump_data", link.string()});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_file(statistics()), expected("statistic_expected.csv"));
}

TEST_F(CodeMapping, ALinkToADirectoryIsNotFollowedAndSaidSo) {
  fs::create_directories(scratch_ / "elsewhere");
  fs::create_directories(scratch_ / "all/below");
  fs::create_directory_symlink(scratch_ / "elsewhere", scratch_ / "all/link");
  fs::create_directory_symlink(scratch_ / "all/below", scratch_ / "all/again");
  const Finished finished = run({"--dump_data", (scratch_ / "all").string()});
  EXPECT_NE(finished.err.find("The link " + (scratch_ / "all/link").string() + " to a directory was not followed."),
            std::string::npos)
      << finished.err;
  // What lies within the folder is found without the link.
  EXPECT_EQ(finished.err.find("again"), std::string::npos) << finished.err;
}

TEST_F(CodeMapping, AReadOnlyTableIsRefusedAndTheOthersAreWritten) {
  const fs::path other = data() / "statistic_dump/rank_1/statistic.csv";
  fs::create_directory(other.parent_path());
  fs::copy_file(statistics(), other);
  ASSERT_EQ(chmod(other.c_str(), 0644), 0);
  const std::string before = read_file(statistics());
  ASSERT_EQ(chmod(statistics().c_str(), 0400), 0);
  const Finished refused = run({"--dump_data", (data() / "statistic_dump").string()});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("rank_0/Net/0/0/statistic.csv is not writable; it stays as it is.\n"));
  EXPECT_EQ(read_file(statistics()), before);
  EXPECT_EQ(read_file(other), expected("statistic_expected.csv"));
  struct stat status {};
  ASSERT_EQ(stat(statistics().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0400U);
}

TEST_F(CodeMapping, SaysThatItsOutputCouldNotBeWritten) {
  const std::string command = "'" + msrun::testing::programs() + "/code_mapping' --ir '" +
                              (data() / "step_graph.ir").string() + "' --dump_data '" +
                              (data() / "statistic_dump").string() + "' > /dev/full 2> '" + scratch_.file("err") + "'";
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_EQ(read_file(scratch_ / "err"), "code_mapping: the output could not be written\n");
}

TEST_F(CodeMapping, IsACommandOfMsrun) {
  const Finished finished =
      msrun::testing::msrun({"-f", "mindspore", "code_mapping", "--ir", (data() / "step_graph.ir").string(),
                             "--dump_data", (data() / "statistic_dump").string()},
                            scratch_.path());
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("Found in the graph: 10 of 11 rows\n"));
}

TEST_F(CodeMapping, LeavesStatisticsAloneWhereThereAreTensors) {
  const fs::path file = data() / "statistic_dump/rank_0/Net/0/0/statistic.csv";
  const std::string before = read_file(file);
  EXPECT_EQ(
      run({"--dump_data", (data() / "statistic_dump/..").string(), "--output", (scratch_ / "o").string()}).exit_code,
      0);
  EXPECT_EQ(read_file(file), before);
}

TEST_F(CodeMapping, WarnsOfNamesThatSayNoOperator) {
  const fs::path folder = data() / "tensor_dump/rank_0/Net/0/0";
  write_file(folder / "nodots.npy", "");
  write_file(folder / "123.npy", "");
  const Finished finished = run({"--dump_data", folder.string(), "--output", (scratch_ / "o").string()});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.err, HasSubstr("File name \"nodots.npy\" has incorrect format, cannot extract node scope!"));
  EXPECT_THAT(finished.err, HasSubstr("The file name \"123.npy\" is not in "));
  EXPECT_THAT(table(scratch_ / "o", folder, "D"), HasSubstr("D/123.npy,,\n"));
  fs::remove(folder / "mapping.csv");
  const Finished refused = run({"--dump_data", folder.string(), "--output", (scratch_ / "p").string()});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("mapping.csv"));
  EXPECT_THAT(fs::directory_iterator(scratch_ / "p") == fs::directory_iterator(), true) << "no half of a table is left";
}

TEST_F(CodeMapping, SaysWhatItCannotUse) {
  const Finished missing = run({"--dump_data", "nothing"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_EQ(missing.err, "code_mapping: The file path nothing does not exist.\n");
  EXPECT_EQ(run_tool("code_mapping", {"--dump_data", "x"}, scratch_.path()).err,
            "code_mapping: the option --ir is missing (code_mapping -h lists all options)\n");

  const Finished other = run({"--dump_data", (data() / "step_graph.ir").string()});
  EXPECT_EQ(other.exit_code, 0);
  EXPECT_THAT(other.err, HasSubstr("The specified path is neither an .npy file nor a directory: "));

  fs::create_directories(scratch_ / "empty/a");
  write_file(scratch_ / "empty/statistic.csv", "");
  write_file(scratch_ / "empty/a/statistic.csv", "Name\nx\n");
  const Finished empty = run({"--dump_data", (scratch_ / "empty").string()});
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.err, HasSubstr("statistic.csv is empty."));
  EXPECT_THAT(empty.err, HasSubstr("statistic.csv has no column \"Op Name\"; it stays as it is."));
  EXPECT_EQ(read_file(scratch_ / "empty/a/statistic.csv"), "Name\nx\n");
}

TEST_F(CodeMapping, LooksTenLevelsDeep) {
  fs::path folder = scratch_ / "deep";
  for (int i = 0; i < 11; ++i) {
    fs::create_directories(folder);
    folder /= "d";
  }
  write_file(folder.parent_path() / "A.b.npy", "");
  EXPECT_THAT(run({"--dump_data", (scratch_ / "deep").string(), "--output", (scratch_ / "o").string()}).out,
              HasSubstr("of 1 tensor file\n"));
  fs::remove(folder.parent_path() / "A.b.npy");
  fs::create_directories(folder);
  write_file(folder / "A.b.npy", "");
  const Finished finished = run({"--dump_data", (scratch_ / "deep").string(), "--output", (scratch_ / "p").string()});
  EXPECT_THAT(finished.err, HasSubstr("more than 10 levels below"));
  EXPECT_FALSE(fs::exists(scratch_ / "p"));
}

TEST_F(CodeMapping, AFolderThatCannotBeReadIsInputThatCannotBeUsed) {
  fs::create_directories(scratch_ / "dump/locked");
  write_file(scratch_ / "dump/A.b.npy", "");
  fs::permissions(scratch_ / "dump/locked", fs::perms::none);
  std::vector<std::string> warnings;
  {
    const WithoutPrivileges user(scratch_.path());
    const auto files = code_mapping::find_dump_files(scratch_ / "dump",
                                                     [&](const std::string& warning) { warnings.push_back(warning); });
    EXPECT_FALSE(files.is_whole);
    EXPECT_EQ(files.tensors.size(), 1U);
  }
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("locked cannot be read: Permission denied")));
  fs::permissions(scratch_ / "dump/locked", fs::perms::owner_all);
}

TEST_F(CodeMapping, AnyBytesAreAGraph) {
  const std::string graph = read_file(data() / "step_graph.ir");
  const fs::path damaged = scratch_ / "damaged.ir";
  for (std::size_t size = 0; size < graph.size(); size += 97) {
    const Graph cut(graph.substr(0, size));
    ScopeIndex index(cut);
    for (const Node& one : cut.nodes()) EXPECT_LE(cut.code_stack(one).size(), size);
  }
  std::string bytes;
  for (int i = 0; i < 4096; ++i) bytes += static_cast<char>(i * 2654435761U >> 13);
  write_file(damaged, bytes + "\n" +
                          node("s\xFF",
                               "In file \x01"
                               "a.py:1, 1~2/ =x"));
  write_file(scratch_ / "A.s\xFF.npy", "");
  const Finished finished = run_tool(
      "code_mapping",
      {"--ir", damaged.string(), "--dump_data", scratch_.path().string(), "--output", (scratch_ / "o").string()},
      scratch_.path());
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
}

}  // namespace
}  // namespace msrun::code_mapping
