// What others do in the output folder while a run goes on: links and files in the places of its own. Nothing is written
// through them, nothing finished is lost, and nothing is left behind.
#include <gmock/gmock.h>
#include <sys/mount.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <memory>
#include <set>
#include <thread>

#include "tests/support/test_paths.h"
#include "tests/support/unfinished.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class OutputFolder : public Unfinished {
 protected:
  // Ends by itself soon after all other calls are done.
  std::unique_ptr<Process> ending_run() { return busy_run({"--task-timeout", "3", "--retries", "0"}); }

  fs::path result() const { return only_file(out(), "accuracy_checking_result_"); }
  fs::path details() const { return only_file(out(), "accuracy_checking_details_"); }
  fs::path victim() const { return scratch_ / "victim"; }

  std::vector<std::string> on_two_devices() const {
    return {"-api_info", dump("llama_bf16"), "-n", "4", "-d", "0", "1", "-o", out()};
  }
};

TEST_F(OutputFolder, AFileInThePlaceOfADevicesFolderCanBeMended) {
  fs::create_directory(out());
  write_file(out() / "device0", "");
  const Finished run = msrun(on_two_devices(), scratch_.path());
  EXPECT_EQ(run.exit_code, 3) << run.out << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("device0 should be a directory"), HasSubstr("Continue it with: ")));
  expect_as_if_undisturbed();
  fs::remove(out() / "device0");
  const Finished again = msrun({"-csv_path", result()}, scratch_.path());
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  expect_as_if_undisturbed();
  std::size_t rows = 0;
  for (const char* device : {"device0", "device1"}) {
    rows += read_csv(only_file(out() / device, "accuracy_checking_result_")).size() - 1;
  }
  EXPECT_EQ(rows, 84U);
}

// A disk with room for bytes, but not for the names that a run ends with.
TEST_F(OutputFolder, ADiskWithoutInodesCanBeMended) {
  const fs::path disk = scratch_ / "disk";
  fs::create_directory(disk);
  // Its own folder, journal and two CSVs, and one file that takes the place of a CSV; the folder of a device is too
  // much.
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "nr_inodes=5") != 0) {
    GTEST_SKIP() << "mounting a small disk needs more rights";
  }
  std::vector<std::string> words = on_two_devices();
  words.back() = disk;
  const Finished run = msrun(words, scratch_.path());
  const std::size_t rows = read_csv(only_file(disk, "accuracy_checking_result_")).size();
  const bool more = mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT, "nr_inodes=100") == 0;
  const Finished again = msrun({"-csv_path", only_file(disk, "accuracy_checking_result_")}, scratch_.path());
  fs::copy(disk, out(), fs::copy_options::recursive);
  umount2(disk.c_str(), MNT_DETACH);
  EXPECT_EQ(run.exit_code, 3) << run.out << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("No space left on device"), HasSubstr("Continue it with: ")));
  EXPECT_EQ(rows, 85U);
  ASSERT_TRUE(more);
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  expect_as_if_undisturbed();
}

TEST_F(OutputFolder, ALinkInThePlaceOfADevicesFolderIsNotFollowed) {
  fs::create_directory(out());
  fs::create_directory(victim());
  fs::create_directory_symlink(victim(), out() / "device0");
  const Finished run = msrun(on_two_devices(), scratch_.path());
  EXPECT_EQ(run.exit_code, 3) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("should be a directory, not a symbolic link"));
  EXPECT_TRUE(fs::is_empty(victim()));
  expect_as_if_undisturbed();
}

TEST_F(OutputFolder, LinksInThePlacesOfTheCsvsAreReplaced) {
  const auto run = ending_run();
  write_file(victim(), "precious");
  const fs::path csv_of_results = result();
  for (const fs::path& csv : {csv_of_results, details()}) {
    fs::rename(csv, scratch_ / csv.filename().string());
    fs::create_symlink(victim(), csv);
    // Where a temporary file would be.
    fs::create_symlink(victim(), out() / ("." + csv.filename().string() + ".msrun.tmp"));
  }
  const Finished finished = run->wait();
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_EQ(read_file(victim()), "precious");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(csv_of_results)));
  EXPECT_EQ(read_csv(csv_of_results).size(), 85U);
  for (const fs::path& csv : {csv_of_results, details()}) {
    EXPECT_TRUE(fs::remove(out() / ("." + csv.filename().string() + ".msrun.tmp"))) << "no file of ours";
  }
  expect_only_result_files();
}

TEST_F(OutputFolder, WhatComesToLieInItsPlaceIsNotWrittenTo) {
  const auto run = ending_run();
  const fs::path moved = scratch_ / "moved";
  fs::rename(out(), moved);
  fs::create_directory(victim());
  fs::create_directory_symlink(victim(), out());
  const Finished finished = run->wait();
  EXPECT_EQ(finished.exit_code, 3) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("is no longer the one that the run began in"));
  EXPECT_TRUE(fs::is_empty(victim()));
  EXPECT_EQ(read_csv(only_file(moved, "accuracy_checking_result_")).size(), 85U);
  EXPECT_EQ(msrun({"-csv_path", only_file(moved, "accuracy_checking_result_")}, scratch_.path()).exit_code, 0);
}

TEST_F(OutputFolder, ThatIsMovedHoldsTheRun) {
  const auto run = ending_run();
  fs::rename(out(), scratch_ / "moved");
  const Finished finished = run->wait();
  EXPECT_THAT(finished.out, AllOf(HasSubstr("the folder was moved"), HasSubstr("-csv_path accuracy_checking_"),
                                  ::testing::Not(HasSubstr("start it again"))));
  const Finished again = msrun({"-csv_path", only_journal(scratch_ / "moved")}, scratch_.path());
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
}

TEST_F(OutputFolder, LinksAreNotFollowedByWhoContinues) {
  const fs::path csv = killed_run();
  write_file(victim(), "precious");
  for (const fs::path& file : {csv, details()}) {
    fs::remove(file);
    fs::create_symlink(victim(), file);
  }
  const Finished finished = resume(csv);
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_EQ(read_file(victim()), "precious");
  expect_as_if_undisturbed();

  // Without the journal they would be read, with it the journal would be written.
  const fs::path journal = only_journal(out());
  fs::rename(journal, scratch_ / "journal");
  fs::create_symlink(scratch_ / "journal", journal);
  expect_refused({"-csv_path", csv}, {"is a symbolic link"});
  fs::remove(journal);
  fs::rename(csv, scratch_ / "result");
  fs::create_symlink(scratch_ / "result", csv);
  expect_refused({"-api_info", dump("llama_bf16"), "-csv_path", csv}, {"not a symbolic link"});
}

// It is to be replaced, and what it holds is read to see whether anything would be lost.
TEST_F(OutputFolder, AResultFileWithoutEndIsNotRead) {
  const fs::path csv = killed_run();
  fs::resize_file(csv, std::uintmax_t{1} << 40);  // without a block on the disk
  const Finished finished = resume(csv);
  EXPECT_EQ(finished.exit_code, 3) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("It was to be replaced; move it away."));
  EXPECT_EQ(fs::file_size(csv), std::uintmax_t{1} << 40);
}

TEST_F(OutputFolder, TensorsOfFailuresAreNotWrittenThroughALink) {
  fs::create_directory(scratch_ / "tensors");
  write_file(scratch_ / "config.json",
             R"({"acc_check": {"error_data_path": ")" + (scratch_ / "tensors").string() + R"("}})");
  const auto run = busy_run({"--task-timeout", "3", "--retries", "0", "-save_error_data", "-config",
                             scratch_ / "config.json", "--sim-fault", "Functional.silu.*=wrong-block"});
  const fs::path folder = only_file(scratch_ / "tensors", "ut_error_data");
  EXPECT_FALSE(fs::is_empty(folder));
  fs::rename(folder, scratch_ / "moved");
  fs::create_directory(victim());
  fs::create_directory_symlink(victim(), folder);
  EXPECT_EQ(run->wait().exit_code, 0);
  EXPECT_TRUE(fs::is_empty(victim()));
}

TEST_F(OutputFolder, RunsThatStartAtOnceHaveFilesOfTheirOwn) {
  constexpr int at_once = 5;
  std::vector<std::unique_ptr<Process>> runs;
  for (int i = 0; i < at_once; ++i) {
    const fs::path scratch = scratch_ / std::to_string(i);
    fs::create_directory(scratch);
    runs.push_back(std::make_unique<Process>(
        std::vector<std::string>{"-api_info", dump("vit_fp32"), "-n", "1", "-o", out()}, scratch));
  }
  for (const auto& run : runs) {
    const Finished finished = run->wait();
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  }
  std::map<std::string, int> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(out())) {
    const std::string name = entry.path().filename().string();
    ++files[entry.path().extension() == ".journal" ? "journal" : name.substr(0, name.rfind('_'))];
    if (name.ends_with(".csv")) {
      EXPECT_GE(read_csv(entry.path()).size(), 56U) << name;
    }
  }
  EXPECT_EQ(files, (std::map<std::string, int>{{"journal", at_once},
                                               {"accuracy_checking_result", at_once},
                                               {"accuracy_checking_details", at_once},
                                               {"accuracy_checking_report", at_once}}));
}

TEST_F(OutputFolder, DanglingLinksAreNamesThatAreTaken) {
  fs::create_directory(out());
  const std::time_t now = std::time(nullptr);
  std::set<std::string> taken;
  for (int second = 0; second < 10; ++second) {
    const std::time_t when = now + second;
    std::tm local{};
    localtime_r(&when, &local);
    std::string stamp(20, '\0');
    stamp.resize(std::strftime(stamp.data(), stamp.size(), "%Y%m%d%H%M%S", &local));
    const std::string name = second % 3 == 0   ? "accuracy_checking_" + stamp + ".journal"
                             : second % 3 == 1 ? "accuracy_checking_result_" + stamp + ".csv"
                                               : "accuracy_checking_details_" + stamp + ".csv";
    fs::create_symlink(victim(), out() / name);
    taken.insert(name);
  }
  const Finished run = msrun({"-api_info", dump("vit_fp32"), "-o", out()}, scratch_.path());
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_FALSE(fs::exists(victim()));
  for (const std::string& name : taken) EXPECT_TRUE(fs::is_symlink(out() / name)) << name;
}

TEST_F(OutputFolder, AnExportThatIsKilledLeavesNothing) {
  ASSERT_EQ(msrun(on_two_devices(), scratch_.path()).exit_code, 0);
  const fs::path folder = scratch_ / "exports";
  fs::create_directory(folder);
  for (int i = 0; i < 20; ++i) {
    Process run({"journal", out(), "--export", folder / "results.jsonl"}, scratch_.path());
    std::this_thread::sleep_for(std::chrono::milliseconds(i * 2));
    run.signal(i % 2 == 0 ? SIGINT : SIGKILL);
    run.wait();
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      EXPECT_EQ(entry.path().filename(), "results.jsonl");
    }
    fs::remove(folder / "results.jsonl");
  }
}

}  // namespace
}  // namespace msrun::testing
