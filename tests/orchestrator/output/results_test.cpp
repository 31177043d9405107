// The store of results and what it writes into journal and CSVs.
#include "orchestrator/output/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "journal/error.h"
#include "kernels/base/clock.h"
#include "runner/results/journal_records.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_directory.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::read_file;
using ::testing::SizeIs;
using testing::TemporaryDirectory;

class NoView final : public ProgressView {
 public:
  void run_started(const RunStarted&) override {}
  void api_result(const ApiResult& result) override { shown.push_back(result.name); }
  void runner_died(const RunnerDied&) override {}
  void progress(const ProgressState&) override {}
  void run_finished(const RunFinished&) override {}
  std::vector<std::string> shown;
};

// Counts what reaches the storage device, which may be full.
class CountingFile final : public journal::File {
 public:
  CountingFile(std::string& bytes, int& syncs, const bool& full) : bytes_(bytes), syncs_(syncs), full_(full) {}
  std::string name() const override { return "memory"; }
  std::uint64_t size() const override { return bytes_.size(); }
  std::size_t read_at(std::uint64_t offset, char* to, std::size_t count) const override {
    return journal::MemorySource(bytes_).read_at(offset, to, count);
  }
  std::size_t append(std::string_view bytes) override {
    if (full_) throw journal::WriteError(name(), "write", ENOSPC);
    bytes_.append(bytes);
    return bytes.size();
  }
  void sync() override { ++syncs_; }
  void truncate(std::uint64_t size) override { bytes_.resize(size); }

 private:
  std::string& bytes_;
  int& syncs_;
  const bool& full_;
};

ApiResult result_of(std::uint32_t task, Status forward, int device = 0) {
  ApiResult result;
  result.task = task;
  result.name = "Functional.relu." + std::to_string(task);
  result.device = device;
  result.forward = forward;
  result.message = forward == Status::skip ? "reason" : "";
  DetailsRow row(pytorch_columns());
  row.status = forward;
  result.forward_rows.push_back(row);
  return result;
}

class Results : public ::testing::Test {
 protected:
  ResultStore store(std::size_t tasks, std::vector<int> devices = {0}) {
    return {tasks, std::move(devices), run_files(directory_.path(), "20260101000000"), {}, *writer_, view_};
  }

  // The records of one kind that are in the journal.
  template <class T>
  std::vector<T> journalled() const {
    std::vector<T> records;
    RecordHandlers handlers;
    handlers.result = [&](const ApiResult& result) { add(records, result); };
    handlers.time = [&](const TimeNote& note) { add(records, note); };
    read_records(journal::MemorySource(bytes_), handlers);
    return records;
  }

  template <class T>
  static void add(std::vector<T>& records, const T& record) {
    records.push_back(record);
  }
  template <class T, class Other>
  static void add(std::vector<T>& /*records*/, const Other& /*record*/) {}

  TemporaryDirectory directory_;
  std::string bytes_;
  int syncs_ = 0;
  bool full_ = false;
  std::optional<journal::Writer> writer_ =
      journal::Writer::create(std::make_unique<CountingFile>(bytes_, syncs_, full_), "metadata");
  NoView view_;
};

TEST_F(Results, ReachJournalAndCsvsWithTheCommit) {
  ResultStore results = store(2);
  results.open_fresh_csvs();
  results.add(result_of(1, Status::pass));
  EXPECT_THAT(journalled<ApiResult>(), IsEmpty());
  results.commit();
  ASSERT_THAT(journalled<ApiResult>(), SizeIs(1));
  EXPECT_EQ(encode(journalled<ApiResult>().front()), encode(result_of(1, Status::pass)));
  EXPECT_THAT(view_.shown, ElementsAre("Functional.relu.1"));
  results.add(result_of(1, Status::error));  // it has one
  results.add(result_of(2, Status::error));  // there is no such call
  results.commit();
  EXPECT_EQ(results.done(), 1U);
  EXPECT_EQ(results.summary().counts().pass, 1U);
  EXPECT_EQ(results.summary().counts().error, 0U);
}

TEST_F(Results, ThatCannotBeJournalledCountForNothing) {
  ResultStore results = store(3);
  results.open_fresh_csvs();
  results.add(result_of(0, Status::pass));
  results.commit();
  full_ = true;
  results.add(result_of(1, Status::pass));
  results.add(result_of(2, Status::error));
  EXPECT_THROW(results.commit(), journal::WriteError);
  results.drop_uncommitted();
  EXPECT_THAT(view_.shown, ElementsAre("Functional.relu.0"));
  EXPECT_EQ(results.done(), 1U);
  EXPECT_FALSE(results.is_done(1));
  EXPECT_EQ(results.summary().counts().pass, 1U);
  EXPECT_EQ(results.summary().counts().error, 0U);
  EXPECT_THAT(journalled<ApiResult>(), SizeIs(1));
}

TEST_F(Results, AreTimedInTheJournal) {
  const double before = unix_seconds();
  ResultStore results = store(100);
  results.open_fresh_csvs();
  results.note(start_note());
  results.commit();
  EXPECT_THAT(journalled<TimeNote>(), IsEmpty()) << "nothing has been finished";
  for (std::uint32_t task = 0; task < 100; ++task) {
    results.add(result_of(task, Status::pass));
    results.commit();
  }
  EXPECT_LE(journalled<TimeNote>().size(), 2U) << "at most one a second";
  results.finish();
  const std::vector<TimeNote> notes = journalled<TimeNote>();
  ASSERT_GE(notes.size(), 2U);
  EXPECT_GE(notes.front().time, before);
  EXPECT_LE(notes.back().time, unix_seconds());
}

TEST_F(Results, AreSyncedInGroupsWithinTheDelay) {
  ResultStore results = store(2000);
  results.open_fresh_csvs();
  results.sync_within(std::chrono::milliseconds(200));
  const int before = syncs_;
  const double start = steady_seconds();
  std::uint32_t task = 0;
  while (steady_seconds() - start < 0.5) {
    results.add(result_of(task++, Status::pass));
    results.commit();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GE(syncs_ - before, 1);
  EXPECT_LE(syncs_ - before, 3) << "one sync is to carry many results";

  // The last of them are not left waiting for the next.
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  results.commit();
  const int after = syncs_;
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  results.commit();
  EXPECT_EQ(syncs_, after) << "there was nothing to sync";
}

TEST_F(Results, AreSyncedEvenIfTheRunEndsByAnError) {
  const int before = syncs_;
  {
    ResultStore results = store(2);
    results.open_fresh_csvs();
    results.sync_within(std::chrono::hours(1));
    results.add(result_of(0, Status::pass));
    results.commit();
    EXPECT_EQ(syncs_, before);
  }
  EXPECT_EQ(syncs_, before + 1);
}

TEST_F(Results, AreNotSyncedUnlessAsked) {
  ResultStore results = store(2);
  results.open_fresh_csvs();
  const int before = syncs_;
  results.add(result_of(0, Status::pass));
  results.commit();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  results.commit();
  results.finish();
  EXPECT_EQ(syncs_, before);
}

TEST_F(Results, OfAnEarlierRunAreTakenOrRunAgain) {
  StoredResults earlier(4);
  earlier.put(result_of(0, Status::pass));
  earlier.put(result_of(1, Status::skip));
  earlier.put(result_of(3, Status::error, 5));
  ResultStore results = store(4);
  results.restore(std::move(earlier), [](const ApiResult& result) { return result.forward == Status::skip; });
  EXPECT_EQ(results.restored(), 2U);
  EXPECT_TRUE(results.is_done(0));
  EXPECT_FALSE(results.is_done(1));
  EXPECT_EQ(results.summary().counts().skip, 0U);
  EXPECT_EQ(results.summary().counts().error, 1U);
  EXPECT_THAT(results.rewrite_and_open_csvs(SetAside::Matters::rows), IsEmpty()) << "there were none";
  EXPECT_THAT(journalled<ApiResult>(), IsEmpty()) << "they are in it already";
  results.add(result_of(1, Status::warning));
  results.finish();
  const std::string csv = read_file(directory_.file("accuracy_checking_result_20260101000000.csv"));
  EXPECT_THAT(csv, HasSubstr("relu.0,pass, \r\nFunctional.relu.1,warning, ,Suspicious: "));
  EXPECT_THAT(csv, HasSubstr("\r\nFunctional.relu.3,error, ,Suspicious: "));
  // Device 5 is not used any more; what ran on it is still to be seen.
  EXPECT_THAT(read_file(directory_.file("device5/accuracy_checking_result_20260101000000.csv")),
              HasSubstr("relu.3,error"));
  EXPECT_THAT(read_file(directory_.file("device0/accuracy_checking_result_20260101000000.csv")),
              Not(HasSubstr("relu.3")));
}

// Rows need not be written as they come: the end of the run puts them in order, or that of the store.
TEST_F(Results, AreInTheCsvsOfAStoreThatNobodyFinished) {
  const auto csv = directory_.file("accuracy_checking_result_20260101000000.csv");
  {
    ResultStore results = store(3);
    results.open_fresh_csvs();
    results.add(result_of(2, Status::pass));
    results.commit();
    results.add(result_of(0, Status::skip));
    results.commit();
  }
  const std::string rows = read_file(csv);
  EXPECT_THAT(rows, HasSubstr("Functional.relu.2,pass, \r\nFunctional.relu.0,SKIP, ,reason\r\n"));
}

// Without descriptors, or inodes, for the files that the end of a run makes.
TEST_F(Results, AreInTheCsvsWhereNoNewFilesCanBeMade) {
  if (testing::sanitized) GTEST_SKIP() << testing::sanitizer_opens_files;
  const auto csv = directory_.file("accuracy_checking_result_20260101000000.csv");
  {
    ResultStore results = store(3);
    results.open_fresh_csvs();
    results.add(result_of(2, Status::pass));
    results.add(result_of(0, Status::error));
    results.commit();
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_ANY_THROW(results.finish());
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  }
  EXPECT_THAT(read_file(csv), HasSubstr("Functional.relu.2,pass, \r\nFunctional.relu.0,error, "));
}

TEST_F(Results, ReachTheCsvsWithinAboutASecond) {
  const auto csv = directory_.file("accuracy_checking_result_20260101000000.csv");
  ResultStore results = store(3);
  results.open_fresh_csvs();
  const double start = steady_seconds();
  results.add(result_of(2, Status::pass));
  results.commit();
  while (read_file(csv).find("relu.2") == std::string::npos && steady_seconds() - start < 60) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    results.commit();
  }
  EXPECT_THAT(read_file(csv), HasSubstr("Functional.relu.2,pass, \r\n"));
  results.add(result_of(0, Status::error));
  results.finish();
  const std::string rows = read_file(csv);
  EXPECT_LT(rows.find("relu.0,error"), rows.find("relu.2,pass"));
  EXPECT_EQ(rows.find("relu.2"), rows.rfind("relu.2"));
}

// Rows of calls that are not planned stand where they are in the dump.
TEST_F(Results, KeptOnesStandBetweenThoseOfThePlan) {
  ResultStore results = store(2);
  KeptResults kept{StoredResults(3), {0, 1, 2}};
  for (const std::uint32_t place : {0U, 1U, 2U}) {
    ApiResult result = result_of(place, Status::pass, -1);
    result.name = "Kept." + std::to_string(place);
    kept.results.put(result);
  }
  results.keep(std::move(kept));
  results.rewrite_and_open_csvs(SetAside::Matters::rows);
  results.add(result_of(1, Status::pass));
  results.add(result_of(0, Status::pass));
  results.finish();
  EXPECT_EQ(results.done(), 2U);
  const std::string csv = read_file(directory_.file("accuracy_checking_result_20260101000000.csv"));
  EXPECT_THAT(csv, HasSubstr("Kept.0,pass, \r\nFunctional.relu.0,pass, \r\nKept.1,pass, \r\nFunctional.relu.1,pass, "
                             "\r\nKept.2,pass, \r\n"));
}

}  // namespace
}  // namespace msrun
