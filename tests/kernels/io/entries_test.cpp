#include "kernels/io/files/entries.h"

#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace msrun::testing {
namespace {

TEST(Entries, OfAFolderAreInTheOrderOfTheirNames) {
  const TemporaryDirectory folder;
  for (const char* name : {"c", "a", "b"}) folder.write(name, "");
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : entries_of(folder.path())) names.push_back(entry.path().filename());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(Entries, OfWhatIsNoFolderAreAnError) {
  const TemporaryDirectory folder;
  const std::string file = folder.write("file", "");
  std::error_code error;
  EXPECT_TRUE(entries_of(file, error).empty());
  EXPECT_EQ(error, std::errc::not_a_directory);
  EXPECT_EQ(error_of<UserError>([&] { entries_of(file); }),
            "The directory " + file + " cannot be read: Not a directory.");
  EXPECT_TRUE(entries_of(fs::path(file).parent_path(), error).size() == 1);
  EXPECT_FALSE(error);
}

}  // namespace
}  // namespace msrun::testing
