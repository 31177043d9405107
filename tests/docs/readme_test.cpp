// What a newcomer must find in the README: what can be tested, and where the files of a run lie.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

std::string readme() { return read_file(fs::path(source_root()) / "README.md"); }

TEST(Readme, SaysInItsFirstTenLinesWhatCanBeTestedToday) {
  std::istringstream lines(readme());
  std::string first;
  std::string line;
  for (int i = 0; i < 10 && std::getline(lines, line); ++i) first += line + '\n';
  for (const char* part : {"can be tested today", "recording with tensors", "simulated device", "no NPU or GPU",
                           "`--require-device`", "`--backend torch`"}) {
    EXPECT_THAT(first, HasSubstr(part));
  }
}

TEST(Readme, NamesTheFilesOfARun) {
  const std::string text = readme();
  for (const char* part : {"accuracy_checking_result_", "accuracy_checking_details_", "/device<id>/",
                           "`-save_error_data`", "ut_error_data<time>/"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

}  // namespace
}  // namespace msrun::testing
