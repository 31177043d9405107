// Outputs that the user has named /dev/stdout or the like: what a process has open is neither replaced nor lost.
#include "kernels/io/files/named_output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>

#include "kernels/base/write_all.h"
#include "kernels/io/dump/tensor_folder.h"
#include "kernels/io/files/paths.h"
#include "kernels/io/files/temporary_name.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string name_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

TEST(NamedOutput, ALinkToAPipeStaysALink) {
  const TemporaryDirectory folder;
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd read(ends[0]);
  const UniqueFd write(ends[1]);
  const std::string link = folder.file("stdout");
  std::filesystem::create_symlink(name_of(write.get()), link);
  std::filesystem::create_symlink("stdout", folder.file("again"));
  for (const std::string& path : {link, folder.file("again")}) {
    EXPECT_THAT(error_of<WriteError>([&] { AtomicFile file(path); }),
                AllOf(HasSubstr(path), HasSubstr("which a process has open")));
    EXPECT_THAT(error_of<WriteError>([&] { require_file_output("--junit", path); }), HasSubstr("--junit " + path));
  }
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_THAT(folder.names(), ElementsAre("again", "stdout"));
}

TEST(NamedOutput, AFileThatIsOpenIsNotReplacedThroughItsDescriptor) {
  const TemporaryDirectory folder;
  const std::string log = folder.write("log", "kept\n");
  const UniqueFd open(::open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  std::filesystem::create_symlink("/proc/self/fd", folder.file("fd"));
  for (const std::string& path : {name_of(open.get()), folder.file("fd/" + std::to_string(open.get()))}) {
    EXPECT_TRUE(descriptor_behind(path).has_value()) << path;
    EXPECT_THAT(error_of<WriteError>([&] { AtomicFile file(path); }), HasSubstr("which a process has open"));
    const UniqueFd more = open_to_append(path);
    ASSERT_TRUE(more);
    EXPECT_TRUE(write_all(more.get(), "more\n"));
  }
  EXPECT_EQ(read_file(log), "kept\nmore\nmore\n");
}

TEST(NamedOutput, WhatIsWrittenBesideACopyFollowsIt) {
  const TemporaryDirectory folder;
  const std::string log = folder.write("log", "");
  const UniqueFd open(::open(log.c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_TRUE(write_all(open_to_append(name_of(open.get())).get(), "export\n"));
  EXPECT_TRUE(write_all(open.get(), "report\n"));
  EXPECT_EQ(read_file(log), "export\nreport\n");
}

// Who may write into an output folder can put a link there, under a name that a program will choose.
TEST(NamedOutput, ALinkAtAnOwnNameIsReplaced) {
  const TemporaryDirectory folder;
  const std::string victim = folder.write("victim", "precious");
  std::filesystem::create_symlink("victim", folder.file("page.html"));
  {
    AtomicFile file(OwnName{folder.file("page.html")});
    file.write("page");
    file.commit();
  }
  EXPECT_EQ(read_file(victim), "precious");
  EXPECT_EQ(read_file(folder.file("page.html")), "page");
  EXPECT_FALSE(std::filesystem::is_symlink(folder.file("page.html")));
}

TEST(NamedOutput, NothingIsWrittenAmongTheTensorsOfARecording) {
  const TemporaryDirectory folder;
  const std::string recording = folder.write("dump.json", "{}");
  std::filesystem::create_directories(folder.file("dump_tensor_data/deep"));
  std::filesystem::create_symlink("dump_tensor_data", folder.file("link"));
  for (const char* inside : {"dump_tensor_data/a.pt", "dump_tensor_data/deep/new", "link/a.pt"}) {
    EXPECT_THAT(error_of<UserError>([&] { check_outside_tensors("--junit", folder.file(inside), recording); }),
                HasSubstr("would lie among the tensors of the recording"))
        << inside;
  }
  EXPECT_NO_THROW(check_outside_tensors("--junit", folder.file("dump_tensor_data.xml"), recording));
  EXPECT_NO_THROW(check_outside_tensors("--junit", "", recording));
}

TEST(NamedOutput, ATemporaryNameThatIsLeftOverIsPassedOver) {
  const TemporaryDirectory place;
  const Folder folder(place.path().string());
  const std::string name = temporary_name(folder, "kind");
  const std::size_t dot = name.rfind('.');
  const std::string next = name.substr(0, dot + 1) + std::to_string(std::stoi(name.substr(dot + 1)) + 1);
  place.write(next, "left");
  EXPECT_NE(temporary_name(folder, "kind"), next);
  EXPECT_EQ(read_file(place.file(next)), "left");
}

TEST(NamedOutput, FilesAndNamesThatAreFreePass) {
  const TemporaryDirectory folder;
  const std::string file = folder.write("a", "");
  std::filesystem::create_symlink("a", folder.file("link"));
  std::filesystem::create_symlink("nowhere", folder.file("dangling"));
  std::filesystem::create_symlink("circle", folder.file("circle"));
  for (const std::string& path :
       {file, folder.file("link"), folder.file("dangling"), folder.file("new"), folder.file("circle"), std::string()}) {
    EXPECT_NO_THROW(require_file_output("--junit", path)) << path;
    EXPECT_FALSE(descriptor_behind(path)) << path;
  }
  EXPECT_EQ(error_of<WriteError>([&] { require_file_output("--junit", "/dev/null"); }),
            "--junit /dev/null should be a file!");
}

}  // namespace
}  // namespace msrun::testing
