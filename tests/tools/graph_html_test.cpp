// The page that graph writes of its own model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/browser.h"
#include "tests/tools/graph_support.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(GraphHtml, APageIsWrittenForEveryRank) {
  GraphRun run;
  const Finished finished =
      run.run_with({"-tp", graph_data("dumps/batch/npu/step1"), "-gp", graph_data("dumps/batch/bench/step1"), "-o",
                    (run.folder() / "out").string(), "--format", "html"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  for (const char* rank : {"compare_rank0_", "compare_rank1_"}) {
    EXPECT_THAT(read_file(run.file(".html", rank)), Not(HasSubstr("http://")));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(run.folder() / "out"), fs::directory_iterator()), 2)
      << "neither .vis nor .vis.db";
}

TEST(GraphHtml, TheBrowserShowsBothGraphs) {
  if (browser().empty()) GTEST_SKIP() << "no browser is installed";
  GraphRun run;
  const Finished finished =
      run.run_with({"-tp", graph_data("dumps/pt_stat/npu"), "-gp", graph_data("dumps/pt_stat/bench"), "-o",
                    (run.folder() / "out").string(), "--format", "all", "-oc"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const TemporaryDirectory scratch;
  const std::string document = document_of(run.file(".html"), scratch);
  EXPECT_THAT(document, AllOf(HasSubstr("Graph of two recordings"), HasSubstr("Module.module.Float16Module.forward.0"),
                              HasSubstr("error")));
}

TEST(GraphHtml, OneGraphAndTensorsAndChecksumsArePagesToo) {
  for (const char* dumps : {"pt_md5", "pt_tensor", "ms_tensor", "micro", "newstyle", "overflow"}) {
    GraphRun run;
    std::vector<std::string> arguments{"-tp",      graph_data(std::string("dumps/") + dumps + "/npu"),
                                       "-o",       (run.folder() / "out").string(),
                                       "--format", "html"};
    const std::string bench = graph_data(std::string("dumps/") + dumps + "/bench");
    if (fs::exists(bench)) arguments.insert(arguments.end(), {"-gp", bench});
    const Finished finished = run.run_with(arguments);
    EXPECT_EQ(finished.exit_code, 0) << dumps << ": " << finished.err;
    EXPECT_GT(fs::file_size(run.file(".html")), 1000U);
  }
}

}  // namespace
}  // namespace msrun::testing
