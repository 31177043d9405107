#include "orchestrator/output/run_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_file;
using testing::TemporaryDirectory;

std::string input_error(const std::string& path, std::uint64_t max_bytes = max_json_bytes) {
  return error_of<UserError>([&] { check_input_file(path, {".json"}, max_bytes); });
}

TEST(InputFile, SpacesAndUnicodeAreFine) {
  const TemporaryDirectory folder;
  EXPECT_EQ(input_error(folder.write("my dump (1).json", "{}")), "");
  EXPECT_EQ(input_error(folder.write("精度.json", "{}")), "");
  std::filesystem::create_symlink(folder.file("精度.json"), folder.file("link.json"));
  EXPECT_EQ(input_error(folder.file("link.json")), "");
}

TEST(InputFile, RefusedInTheWordsOfTheSpecification) {
  const TemporaryDirectory folder;
  EXPECT_EQ(input_error(folder.file("a.json")), "The file path " + folder.file("a.json") + " does not exist.");
  EXPECT_EQ(input_error(folder.path()), "The " + folder.path().string() + " should be a file!");
  const std::string text = folder.write("a.txt", "{}");
  EXPECT_EQ(input_error(text), text + " should be one of the following types of files: ['.json']!");
  const std::string large = folder.write("a.json", "12345");
  EXPECT_EQ(input_error(large, 5), "The size (5) of " + large + " exceeds (5) bytes, tools not support.");
  EXPECT_EQ(input_error(large, 6), "");
  EXPECT_EQ(input_error("a\nb.json"), "The file path a_b.json contains special characters.");
  EXPECT_EQ(input_error("a\x7F.json"), "The file path a_.json contains special characters.");
  EXPECT_EQ(input_error(std::string(256, 'a')), "The file path length exceeds limit.");
  EXPECT_EQ(input_error(std::string(2100, 'a') + "/" + std::string(2100, 'b')), "The file path length exceeds limit.");
  EXPECT_EQ(input_error(""), "The file path is empty.");
}

TEST(InputFile, PermissionsCount) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TemporaryDirectory folder;
  const std::string path = folder.write("a.json", "{}");
  chmod(path.c_str(), 0400);
  EXPECT_EQ(input_error(path), "");
  EXPECT_EQ(error_of<UserError>([&] { check_input_file(path, {".json"}, 10, Access::read_write); }),
            "The file path " + path + " is not writable.");
  chmod(path.c_str(), 0);
  EXPECT_EQ(input_error(path), "The file path " + path + " is not readable.");
}

std::string levels(const std::string& root, int count) {
  std::string path = root;
  for (int i = 0; i < count; ++i) path += "/x";
  return path;
}

TEST(OutputDirectory, IsCreatedWithAtMostSixteenLevels) {
  const TemporaryDirectory folder;
  prepare_output_directory(levels(folder.path(), 16));
  EXPECT_TRUE(std::filesystem::is_directory(levels(folder.path(), 16)));
  EXPECT_THAT(std::filesystem::is_empty(levels(folder.path(), 16)), true);
  prepare_output_directory(folder.file("new/"));
  const std::string deep = levels(folder.file("deep"), 16);
  EXPECT_THAT(error_of<UserError>([&] { prepare_output_directory(deep); }), HasSubstr("more than 16 missing levels"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("deep")));
}

TEST(OutputDirectory, MustBeAWritableDirectory) {
  const TemporaryDirectory folder;
  const std::string file = folder.write("file", "");
  EXPECT_EQ(error_of<UserError>([&] { prepare_output_directory(file); }), "The " + file + " should be a directory!");
  EXPECT_THAT(error_of<UserError>([&] { prepare_output_directory(file + "/below"); }), HasSubstr("cannot be created"));
  EXPECT_THAT(error_of<UserError>([] { prepare_output_directory("/proc/self"); }), HasSubstr("is not writable."));
}

TEST(Timestamp, IsLocalTime) {
  const char* zone = std::getenv("TZ");
  const std::string before = zone == nullptr ? "" : zone;
  setenv("TZ", "XYZ-8", 1);
  tzset();
  EXPECT_EQ(timestamp(0), "19700101080000");
  EXPECT_EQ(timestamp(1767225599), "20260101075959");
  before.empty() ? unsetenv("TZ") : setenv("TZ", before.c_str(), 1);
  tzset();
}

TEST(RunFilesTest, ShareOneStamp) {
  const RunFiles files = run_files("out/", "20260102030405");
  EXPECT_EQ(files.result, "out/accuracy_checking_result_20260102030405.csv");
  EXPECT_EQ(files.details, "out/accuracy_checking_details_20260102030405.csv");
  EXPECT_EQ(files.journal, "out/accuracy_checking_20260102030405.journal");
  EXPECT_EQ(files.report, "out/accuracy_checking_report_20260102030405.html");
  EXPECT_EQ(run_files("", "1").result, "./accuracy_checking_result_1.csv");
}

// As text "shard9of16" is greater than the others, and a part greater than the whole run.
TEST(RunFilesTest, OfAFolderTheLastWrittenOfOneSecondIsTheNewest) {
  const TemporaryDirectory folder;
  const std::string second = "accuracy_checking_20260102030405";
  auto written = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  const auto newest_with = [&](const std::string& name) {
    std::filesystem::last_write_time(folder.write(name, ""), written += std::chrono::seconds(1));
    return error_of<UserError>([&] { resumed_run_files(folder.path().string()); });
  };
  EXPECT_THAT(newest_with("accuracy_checking_20260102030404.journal"), HasSubstr("its newest run is continued with"));
  EXPECT_THAT(newest_with(second + "_shard9of16.journal"), HasSubstr("shard9of16.journal"));
  EXPECT_THAT(newest_with(second + "_shard10of16.journal"),
              HasSubstr("its newest run, of a part of the recording, is continued with -csv_path " +
                        folder.file(second + "_shard10of16.journal")));
  EXPECT_THAT(newest_with(second + ".journal"),
              HasSubstr("its newest run is continued with -csv_path " + folder.file(second + ".journal")));
  EXPECT_THAT(newest_with("accuracy_checking_20260102030403.journal"), HasSubstr(second + ".journal"));
}

TEST(RunFilesTest, MayHaveNoStamp) {
  const RunFiles files = run_files("out", "");
  EXPECT_EQ(files.result, "out/accuracy_checking_result.csv");
  EXPECT_EQ(files.details, "out/accuracy_checking_details.csv");
  EXPECT_EQ(files.journal, "out/accuracy_checking.journal");
  for (const std::string& path : {files.result, files.details, files.journal}) {
    ASSERT_TRUE(files_of_run_file(path)) << path;
    EXPECT_EQ(files_of_run_file(path)->journal, files.journal);
  }
  EXPECT_FALSE(files_of_run_file("out/accuracy_checking_result_.csv"));
  EXPECT_FALSE(files_of_run_file("out/accuracy_checking_result1.csv"));
}

TEST(RunFilesTest, MaySayOfWhichPartTheyAre) {
  for (const std::string& part : {shard_label(2, 8), node_label("node 1_a/b.c-7")}) {
    const RunFiles files = run_files("out", "20260102030405_" + part);
    for (const std::string& path : {files.result, files.details, files.journal}) {
      ASSERT_TRUE(files_of_run_file(path)) << path;
      EXPECT_EQ(files_of_run_file(path)->journal, files.journal);
    }
  }
  EXPECT_EQ(run_files("out", "20260102030405_" + shard_label(2, 8)).journal,
            "out/accuracy_checking_20260102030405_shard2of8.journal");
  EXPECT_EQ(node_label("node 1_a/b.c-7"), "node-node-1-a-b.c-7");
  for (const char* name :
       {"20260102030405_", "20260102030405_copy", "20260102030405_shard1of2 (1)", "2026_shard1of2"}) {
    EXPECT_FALSE(files_of_run_file("out/accuracy_checking_" + std::string(name) + ".journal")) << name;
  }
}

TEST(RunFilesTest, ACsvOfOneDeviceLeadsToTheRunOfAll) {
  const TemporaryDirectory folder;
  const std::string name = "accuracy_checking_result_20260102030405.csv";
  for (const char* device : {"device0", "device12", "devices"}) {
    std::filesystem::create_directory(folder.file(device));
    folder.write(std::string(device) + "/" + name, "");
    folder.write(std::string(device) + "/accuracy_checking_details_20260102030405.csv", "");
  }
  const std::string journal = folder.write("accuracy_checking_20260102030405.journal", "");
  for (const char* device : {"device0/", "device12/"}) {
    EXPECT_EQ(resumed_run_files(folder.file(device + name)).journal, journal);
    EXPECT_EQ(resumed_run_files(folder.file(device + name)).result, folder.file(name));
  }
  EXPECT_EQ(resumed_run_files(folder.file("devices/" + name)).result, folder.file("devices/" + name));
  folder.write("device0/accuracy_checking_20260102030405.journal", "");
  EXPECT_EQ(resumed_run_files(folder.file("device0/" + name)).result, folder.file("device0/" + name))
      << "a run of its own";
}

TEST(RunFilesTest, ResumeDerivesTheOtherFiles) {
  const TemporaryDirectory folder;
  const std::string result = folder.write("accuracy_checking_result_20260102030405.csv", "");
  EXPECT_EQ(resumed_run_files(result).result, result) << "whether that is enough is asked where it is read";
  folder.write("accuracy_checking_20260102030405.journal", "");
  EXPECT_EQ(resumed_run_files(result).journal, folder.file("accuracy_checking_20260102030405.journal"));
  std::filesystem::remove(result);
  EXPECT_EQ(resumed_run_files(result).result, result) << "the journal is enough";
  folder.write("accuracy_checking_result_20260102030405.csv", "");
  std::filesystem::remove(folder.file("accuracy_checking_20260102030405.journal"));
  folder.write("accuracy_checking_details_20260102030405.csv", "");
  const RunFiles files = resumed_run_files(result);
  EXPECT_EQ(files.result, result);
  EXPECT_EQ(files.details, folder.file("accuracy_checking_details_20260102030405.csv"));
  EXPECT_EQ(files.stamp, "20260102030405");
  EXPECT_EQ(files.directory, folder.path());
}

// It is written anew from the journal.
TEST(RunFilesTest, ResumeTakesADetailsFileOfAnySizeBesideAJournal) {
  const TemporaryDirectory folder;
  const RunFiles files = run_files(folder.path(), "20260101000000");
  for (const std::string& path : {files.result, files.details}) std::ofstream(path) << "API name\n";
  std::filesystem::resize_file(files.details, max_csv_bytes);
  EXPECT_THAT(error_of<UserError>([&] { resumed_run_files(files.result); }), HasSubstr("exceeds"));
  std::ofstream(files.journal) << "journal";
  EXPECT_EQ(resumed_run_files(files.result).details, files.details);
}

TEST(RunFilesTest, AreToldByEitherCsv) {
  for (const char* name : {"result", "details"}) {
    const auto files = files_of_csv("out/accuracy_checking_" + std::string(name) + "_20260102030405.csv");
    ASSERT_TRUE(files);
    EXPECT_EQ(files->journal, "out/accuracy_checking_20260102030405.journal");
  }
  for (const char* path :
       {"", "x.csv", "accuracy_checking_result_2026010203040x.csv", "accuracy_checking_result_20260102030405.txt"}) {
    EXPECT_FALSE(files_of_csv(path)) << path;
  }
}

TEST(RunFilesTest, ResumeRefusesOtherNames) {
  const TemporaryDirectory folder;
  for (const char* name :
       {"accuracy_checking_result_2026010203040.csv", "accuracy_checking_result_2026010203040x.csv",
        "my_accuracy_checking_result_20260102030405.csv", "accuracy_checking_result_20260102030405 (1).csv"}) {
    const std::string path = folder.write(name, "");
    EXPECT_THAT(error_of<UserError>([&] { resumed_run_files(path); }),
                HasSubstr("When continue acc_check, please do not modify the result csv name."))
        << name;
  }
  const std::string text = folder.write("accuracy_checking_result_20260102030405.txt", "");
  EXPECT_THAT(error_of<UserError>([&] { resumed_run_files(text); }), HasSubstr("['.csv']!"));
}

TEST(AtomicFileTest, AppearsOnlyWhenCommitted) {
  const TemporaryDirectory folder;
  const std::string path = folder.write("a.csv", "old");
  {
    AtomicFile file(path);
    file.write("new ");
    file.write(std::string(3 << 20, 'x'));
    EXPECT_EQ(read_file(path), "old");
    file.commit();
  }
  EXPECT_EQ(read_file(path), "new " + std::string(3 << 20, 'x'));
  EXPECT_THAT(folder.names(), ElementsAre("a.csv"));
}

TEST(AtomicFileTest, AbandonedLeavesNothing) {
  const TemporaryDirectory folder;
  { AtomicFile(folder.file("a.csv")).write("new"); }
  EXPECT_THAT(folder.names(), IsEmpty());
  const std::string path = folder.write("b.csv", "old");
  { AtomicFile(path).write("new"); }
  EXPECT_EQ(read_file(path), "old");
}

TEST(AtomicFileTest, TemporaryFileOfAKilledProcessIsRemoved) {
  const TemporaryDirectory folder;
  folder.write(".a.csv.msrun.tmp", "a long left-over");
  AtomicFile file(folder.file("a.csv"));
  file.write("new");
  file.commit();
  EXPECT_EQ(read_file(folder.file("a.csv")), "new");
  EXPECT_THAT(folder.names(), ElementsAre("a.csv"));
}

TEST(AtomicFileTest, DoesNotTakeThePlaceOfAPipe) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(error_of<WriteError>([&] { AtomicFile file(path); }), "The " + path + " should be a file!");
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST(AtomicFileTest, ErrorsNameTheFile) {
  EXPECT_EQ(error_of<WriteError>([] { AtomicFile("/nonexistent/a.csv"); }),
            "The file /nonexistent/a.csv cannot be created: No such file or directory");
  const TemporaryDirectory folder;
  EXPECT_THAT(error_of<WriteError>([&] {
                AtomicFile file(folder.file("a.csv"));
                file.write("x");
                std::filesystem::create_directories(folder.file("a.csv/b"));
                file.commit();
              }),
              HasSubstr("a.csv cannot be replaced: "));
  EXPECT_THAT(folder.names(), ElementsAre("a.csv"));
}

TEST(AtomicFileTest, ReplacesWhatALinkPointsTo) {
  const TemporaryDirectory folder;
  folder.write("real.csv", "old");
  std::filesystem::create_symlink("real.csv", folder.file("link.csv"));
  AtomicFile file(folder.file("link.csv"));
  file.write("new");
  file.commit();
  EXPECT_EQ(read_file(folder.file("real.csv")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link.csv")));
}

}  // namespace
}  // namespace msrun
