#include "kernels/io/files/folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "kernels/io/files/file.h"
#include "kernels/io/files/paths.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string text(const PendingFile& file, const std::string& bytes) {
  EXPECT_EQ(::write(file.descriptor(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return bytes;
}

TEST(FolderTest, StaysTheFolderThatWasOpened) {
  const TemporaryDirectory scratch;
  fs::create_directory(scratch / "out");
  const Folder folder(scratch.file("out"));
  EXPECT_TRUE(folder.is_at_its_path());
  fs::rename(scratch / "out", scratch / "moved");
  EXPECT_FALSE(folder.is_at_its_path());
  fs::create_directory(scratch / "victim");
  fs::create_directory_symlink("victim", scratch / "out");
  EXPECT_FALSE(folder.is_at_its_path());
  PendingFile file(folder, "a");
  text(file, "x");
  EXPECT_TRUE(file.publish());
  folder.subfolder("inner");
  EXPECT_TRUE(fs::is_empty(scratch / "victim"));
  EXPECT_EQ(read_file(scratch / "moved" / "a"), "x");
  EXPECT_TRUE(fs::is_directory(scratch / "moved" / "inner"));
  // A link to where it has gone is a way to it.
  fs::remove(scratch / "out");
  fs::create_directory_symlink("moved", scratch / "out");
  EXPECT_TRUE(folder.is_at_its_path());
}

TEST(FolderTest, SubfoldersAreNoLinksAndNoFiles) {
  const TemporaryDirectory scratch;
  const Folder folder(scratch.path());
  fs::create_directory(scratch / "there");
  EXPECT_EQ(folder.subfolder("there").path(), scratch.file("there"));
  EXPECT_TRUE(fs::is_directory(folder.subfolder("new").path()));
  fs::create_directory_symlink("there", scratch / "link");
  scratch.write("file", "");
  fs::create_symlink("nowhere", scratch / "dangling");
  EXPECT_THAT(error_of<WriteError>([&] { folder.subfolder("link"); }), HasSubstr("not a symbolic link"));
  EXPECT_THAT(error_of<WriteError>([&] { folder.subfolder("file"); }), HasSubstr("file should be a directory!"));
  EXPECT_THAT(error_of<WriteError>([&] { folder.subfolder("dangling"); }), HasSubstr("not a symbolic link"));
  for (const char* name : {"there", "link", "file", "dangling"}) EXPECT_FALSE(folder.make_new(name)) << name;
  EXPECT_TRUE(folder.make_new("another"));
  EXPECT_THAT(error_of<WriteError>([&] { Folder(scratch.file("none")); }), HasSubstr("none cannot be opened"));
}

TEST(PreparedDirectoryTest, GoesAgainWhereNothingWasMadeInIt) {
  const testing::TemporaryDirectory scratch;
  const fs::path deep = scratch / "a/b/c/";
  { const PreparedDirectory directory(deep); }
  EXPECT_FALSE(fs::exists(scratch / "a"));
  {
    const PreparedDirectory directory(deep);
    std::ofstream(scratch / "a/b/kept") << "x";
  }
  EXPECT_FALSE(fs::exists(scratch / "a/b/c"));
  EXPECT_TRUE(fs::exists(scratch / "a/b/kept"));
  // What was there before stays.
  fs::create_directories(scratch / "there");
  { const PreparedDirectory directory(scratch / "there"); }
  EXPECT_TRUE(fs::exists(scratch / "there"));
}

TEST(PendingFileTest, HasNoNameBeforeItIsComplete) {
  const TemporaryDirectory scratch;
  const Folder folder(scratch.path());
  {
    PendingFile dropped(folder, "a");
    ASSERT_TRUE(dropped.is_open());
    text(dropped, "x");
    EXPECT_THAT(scratch.names(), IsEmpty());
  }
  EXPECT_THAT(scratch.names(), IsEmpty());
  for (const std::string bytes : {"first", "second"}) {
    PendingFile file(folder, "a");
    text(file, bytes);
    EXPECT_TRUE(file.publish());
    EXPECT_EQ(read_file(scratch / "a"), bytes);
    EXPECT_THAT(scratch.names(), ElementsAre("a"));
  }
}

TEST(PendingFileTest, TakesNoNameAsNewThatSomethingHas) {
  const TemporaryDirectory scratch;
  scratch.write("taken", "of another");
  {
    PendingFile file(Folder(scratch.path()), "a");
    text(file, "ours");
    EXPECT_FALSE(file.publish_as_new("taken"));
    EXPECT_EQ(errno, EEXIST);
    EXPECT_TRUE(file.publish_as_new("b"));
  }
  EXPECT_THAT(scratch.names(), ElementsAre("b", "taken"));
  EXPECT_EQ(read_file(scratch / "taken"), "of another");
  EXPECT_EQ(read_file(scratch / "b"), "ours");
}

TEST(PendingFileTest, ReplacesALinkAndNotWhatItPointsTo) {
  const TemporaryDirectory scratch;
  scratch.write("victim", "precious");
  fs::create_symlink("victim", scratch / "a");
  fs::create_symlink("victim", scratch / ".a.msrun.tmp");
  PendingFile file(Folder(scratch.path()), "a");
  text(file, "x");
  EXPECT_TRUE(file.publish());
  EXPECT_EQ(read_file(scratch / "victim"), "precious");
  EXPECT_EQ(read_file(scratch / "a"), "x");
  EXPECT_THAT(scratch.names(), ElementsAre(".a.msrun.tmp", "a", "victim"));
}

TEST(PendingFileTest, LeavesFilesOfOthersAlone) {
  const TemporaryDirectory scratch;
  scratch.write("a", "old");
  scratch.write("a.tmp", "of the user");
  // Of a process that writes the same name at this time, and so holds the lock.
  scratch.write(".a.msrun.tmp", "of another");
  const UniqueFd other(open(scratch.file(".a.msrun.tmp").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(other.get(), LOCK_EX | LOCK_NB), 0);
  PendingFile file(Folder(scratch.path()), "a");
  text(file, "x");
  EXPECT_TRUE(file.publish());
  EXPECT_EQ(read_file(scratch / "a"), "x");
  EXPECT_EQ(read_file(scratch / "a.tmp"), "of the user");
  EXPECT_EQ(read_file(scratch / ".a.msrun.tmp"), "of another");
  EXPECT_THAT(scratch.names(), ElementsAre(".a.msrun.tmp", "a", "a.tmp"));
}

TEST(PendingFileTest, RemovesWhatAKilledWriterHasLeft) {
  const TemporaryDirectory scratch;
  scratch.write(".a.msrun.tmp", "left");
  scratch.write(".a.msrun.1.tmp", "left as well");
  PendingFile file(Folder(scratch.path()), "a");
  EXPECT_THAT(scratch.names(), IsEmpty());
  EXPECT_TRUE(file.publish());
  EXPECT_THAT(scratch.names(), ElementsAre("a"));
}

TEST(PendingFileTest, ReplacesFilesOfTheLongestName) {
  const TemporaryDirectory scratch;
  const std::string longest(255, 'a');
  for (const std::string bytes : {"first", "second"}) {
    PendingFile file(Folder(scratch.path()), longest);
    text(file, bytes);
    EXPECT_TRUE(file.publish());
    EXPECT_EQ(read_file(scratch / longest), bytes);
  }
  EXPECT_THAT(scratch.names(), ElementsAre(longest));
}

TEST(PendingFileTest, TheUmaskDecidesTheMode) {
  const TemporaryDirectory scratch;
  const mode_t before = umask(027);
  PendingFile file(Folder(scratch.path()), "a");
  umask(before);
  ASSERT_TRUE(file.publish());
  struct stat status {};
  ASSERT_EQ(stat(scratch.file("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST(PendingFileTest, ADirectoryOfItsNameIsAFailure) {
  const TemporaryDirectory scratch;
  PendingFile file(Folder(scratch.path()), "a");
  fs::create_directory(scratch / "a");
  EXPECT_FALSE(file.publish());
  EXPECT_THAT(scratch.names(), ElementsAre("a"));
}

TEST(OutputFileTest, IsNotWrittenThroughALink) {
  const TemporaryDirectory scratch;
  scratch.write("victim", "precious");
  fs::create_symlink("victim", scratch / "a");
  OutputFile file(Folder(scratch.path()), "a");
  file.write(std::as_bytes(std::span(std::string_view("x"))));
  file.close();
  EXPECT_EQ(read_file(scratch / "victim"), "precious");
  EXPECT_EQ(read_file(scratch / "a"), "x");
}

TEST(AppendedFileTest, IsNotWrittenThroughALink) {
  const TemporaryDirectory scratch;
  const Folder folder(scratch.path());
  scratch.write("victim", "precious");
  fs::create_symlink("victim", scratch / "a");
  fs::create_symlink("nowhere", scratch / "b");
  const auto open = [&](const char* name, AppendedFile::Mode mode) { AppendedFile(folder, name, mode); };
  EXPECT_THAT(error_of<WriteError>([&] { open("a", AppendedFile::Mode::existing); }), HasSubstr("a cannot be opened"));
  EXPECT_THAT(error_of<FileExists>([&] { open("a", AppendedFile::Mode::create_new); }), HasSubstr("already exists"));
  EXPECT_THAT(error_of<FileExists>([&] { open("b", AppendedFile::Mode::create_new); }), HasSubstr("already exists"));
  EXPECT_FALSE(fs::exists(scratch / "nowhere"));
}

// Whoever is killed at any instant of it leaves nothing.
TEST(OutputDirectory, IsProvedWritableWithoutAName) {
  const TemporaryDirectory scratch;
  const UniqueFd watch(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(inotify_add_watch(watch.get(), scratch.path().c_str(), IN_CREATE), 0);
  prepare_output_directory(scratch.path());
  std::string events(4096, '\0');
  EXPECT_LT(::read(watch.get(), events.data(), events.size()), 0) << "a file was made";
}

}  // namespace
}  // namespace msrun::testing
