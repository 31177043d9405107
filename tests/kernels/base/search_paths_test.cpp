#include "kernels/base/search_paths.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace msrun {
namespace {

TEST(SearchPaths, HaveNoEmptyEntries) {
  EXPECT_EQ(without_empty_entries("/a:/b"), "/a:/b");
  EXPECT_EQ(without_empty_entries(":/a::/b:"), "/a:/b");
  EXPECT_EQ(without_empty_entries(".:/a"), ".:/a");
  for (const char* empty : {"", ":", ":::"}) EXPECT_EQ(without_empty_entries(empty), "") << empty;
}

TEST(SearchPaths, AreFolders) {
  EXPECT_EQ(listed_folders(":/a::b:"), (std::vector<std::string>{"/a", "b"}));
  EXPECT_TRUE(listed_folders("::").empty());
}

TEST(SearchPaths, NameNoFolderThatIsMeantBySilence) {
  setenv("PATH", ":/bin::/usr/bin", 1);
  setenv("PYTHONPATH", ":", 1);
  search_no_unnamed_folder();
  EXPECT_STREQ(std::getenv("PATH"), "/bin:/usr/bin");
  EXPECT_EQ(std::getenv("PYTHONPATH"), nullptr);
}

}  // namespace
}  // namespace msrun
