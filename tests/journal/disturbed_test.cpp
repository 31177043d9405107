// A writer whose file somebody else removes, moves, replaces or cuts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "journal/error.h"
#include "tests/journal/support.h"

namespace msrun::journal::testing {
namespace {

using ::testing::HasSubstr;

TEST(Disturbed, WhatIsRemovedMeanwhileIsNotWrittenTo) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder / "run.journal";
  Writer writer = Writer::create(path, "m");
  std::filesystem::remove(path);
  writer.append("first");
  int code = 0;
  try {
    writer.flush();
  } catch (const WriteError& error) {
    code = error.code();
    EXPECT_NE(std::string(error.what()).find("run.journal"), std::string::npos) << error.what();
  }
  EXPECT_EQ(code, ENOENT);
}

TEST(Disturbed, WhatIsMovedOrReplacedMeanwhileIsNotWrittenTo) {
  for (const bool replaced : {false, true}) {
    const TemporaryDirectory folder;
    const std::filesystem::path path = folder / "run.journal";
    Writer writer = Writer::create(path, "m");
    std::filesystem::rename(path, folder / "moved");
    if (replaced) write_file(path, "of somebody else");
    const std::string before = read_file(folder / "moved");
    writer.append("first");
    EXPECT_THROW(writer.flush(), WriteError);
    EXPECT_THROW(writer.close_unsynced(), WriteError);
    EXPECT_EQ(read_file(folder / "moved"), before);
  }
}

TEST(Disturbed, AFolderMayMoveWithItsJournal) {
  const TemporaryDirectory folder;
  std::filesystem::create_directory(folder / "out");
  Writer writer = Writer::create(folder / "out/run.journal", "m");
  std::filesystem::rename(folder / "out", folder / "moved");
  writer.append("first");
  writer.close();
  EXPECT_EQ(read_journal(folder / "moved/run.journal").records, Records{"first"});
}

// Whatever followed would lie at the wrong place, behind zeros if the file grew to its old size again.
TEST(Disturbed, WhatIsCutMeanwhileIsNotWrittenTo) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder / "run.journal";
  Writer writer = Writer::create(path, "m");
  for (const bool resumed : {false, true}) {
    if (resumed) writer = Writer::resume(path, read_journal(path).recovery.valid_size);
    const std::string before = read_file(path);
    std::filesystem::resize_file(path, 3);
    writer.append("lost");
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        writer.flush();
        ADD_FAILURE();
      } catch (const WriteError& error) {
        EXPECT_EQ(error.code(), ESTALE);
        EXPECT_THAT(error.what(), HasSubstr(path.string() + ": of the "));
      }
      EXPECT_EQ(std::filesystem::file_size(path), 3U);
    }
    write_file(path, before);
    writer.close();
  }
  EXPECT_EQ(read_journal(path).records, (Records{"lost", "lost"}));
}

TEST(Disturbed, WhatIsCutIsSeenAtTheEnd) {
  const TemporaryDirectory folder;
  Writer writer = Writer::create(folder / "run.journal", "m");
  writer.append("first");
  writer.flush();
  std::filesystem::resize_file(folder / "run.journal", 0);
  EXPECT_THROW(writer.close_unsynced(), WriteError);
}

}  // namespace
}  // namespace msrun::journal::testing
