// The store of results and the records that it keeps in the journal.
#include "orchestrator/output/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>

#include "journal/reader.h"
#include "runner/results/attempts.h"
#include "tests/support/temporary_directory.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::read_file;
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

// Counts what reaches the storage device.
class CountingFile final : public journal::File {
 public:
  CountingFile(std::string& bytes, int& syncs) : bytes_(bytes), syncs_(syncs) {}
  std::string name() const override { return "memory"; }
  std::uint64_t size() const override { return bytes_.size(); }
  std::size_t read_at(std::uint64_t offset, char* to, std::size_t count) const override {
    return journal::MemorySource(bytes_).read_at(offset, to, count);
  }
  std::size_t append(std::string_view bytes) override {
    bytes_.append(bytes);
    return bytes.size();
  }
  void sync() override { ++syncs_; }
  void truncate(std::uint64_t size) override { bytes_.resize(size); }

 private:
  std::string& bytes_;
  int& syncs_;
};

ApiResult result_of(std::uint32_t task, Status forward, int device = 0) {
  ApiResult result;
  result.task = task;
  result.name = "Functional.relu." + std::to_string(task);
  result.device = device;
  result.forward = forward;
  result.message = forward == Status::skip ? "reason" : "";
  DetailsRow row;
  row.status = forward;
  result.forward_rows.push_back(row);
  return result;
}

class Results : public ::testing::Test {
 protected:
  ResultStore store(std::size_t tasks, std::vector<int> devices = {0}) {
    return {tasks, std::move(devices), run_files(directory_.path(), "20260101000000"), {}, *writer_, view_};
  }

  std::vector<std::string> journalled(RecordKind kind) const {
    std::vector<std::string> records;
    journal::read(journal::MemorySource(bytes_), [&](std::string_view record) {
      if (kind_of(record) == kind) records.emplace_back(record);
    });
    return records;
  }

  TemporaryDirectory directory_;
  std::string bytes_;
  int syncs_ = 0;
  std::optional<journal::Writer> writer_ =
      journal::Writer::create(std::make_unique<CountingFile>(bytes_, syncs_), "metadata");
  NoView view_;
};

TEST(Records, AreToldApart) {
  EXPECT_EQ(kind_of(encode(result_of(3, Status::pass))), RecordKind::result);
  EXPECT_EQ(task_of(encode(result_of(3, Status::pass))), 3U);
  EXPECT_EQ(kind_of(start_note()), RecordKind::attempt_note);
  EXPECT_EQ(kind_of(time_note(12.5)), RecordKind::time_note);
  EXPECT_EQ(time_of(time_note(12.5)), 12.5);
  EXPECT_EQ(time_of(time_note(12.5).substr(0, 9)), std::nullopt);
  for (const char* bytes : {"", "abc", "abcd"}) EXPECT_EQ(kind_of(bytes), RecordKind::unreadable) << bytes;
}

TEST(StoredResults, KeepsTheLastOfEachTask) {
  StoredResults stored(2);
  stored.put(result_of(1, Status::pass));
  stored.resize(4);
  stored.put(result_of(3, Status::error));
  stored.put(result_of(1, Status::warning));
  EXPECT_EQ(stored.count(), 2U);
  EXPECT_EQ(stored.get(1).forward, Status::warning);
  EXPECT_EQ(stored.get(3).forward, Status::error);
  EXPECT_FALSE(stored.has(0));
  stored.remove(1);
  stored.remove(0);
  EXPECT_EQ(stored.count(), 1U);
  EXPECT_FALSE(stored.has(1));
}

TEST(StoredResults, GivesBackEveryField) {
  std::vector<ApiResult> results;
  for (std::uint32_t task = 0; task < 300; ++task) {
    ApiResult result = result_of(task, static_cast<Status>(task % 4), static_cast<int>(task % 9) - 1);
    result.name += std::string(task, 'n');
    if (task % 3 != 0) result.backward = static_cast<Status>(task % 5 % 4);
    result.message = task % 7 == 0 ? std::string(200'000, 'm') : "message " + std::to_string(task % 11);
    result.times = {task, std::uint64_t{1} << (task % 64), 127 + task, UINT64_MAX - task};
    result.rounding_only = task % 2 == 1;
    if (task % 5 == 0) result.overflow = {OverflowFinding::Verdict::not_judged, true, false};
    for (std::uint32_t i = 0; i < task % 6; ++i) {
      DetailsRow row;
      row.bench_dtype = "torch.float" + std::to_string(32 << (i % 2));
      row.device_dtype = i % 2 == 0 ? "" : "a\0b";
      row.shape = "(" + std::to_string(task) + ",)";
      row.status = static_cast<Status>((task + i) % 4);
      row.rounding_only = task % 2 == 0;
      row.message = "row, with \"text\"";
      row.cells[i] = Cell::fp64(0.1 * task);
      row.cells[16] = Cell::fp16(-std::numeric_limits<double>::infinity());
      row.cells[task % 17] = Cell::integer(task);
      (i % 2 == 0 ? result.forward_rows : result.backward_rows).push_back(row);
    }
    results.push_back(std::move(result));
  }
  StoredResults stored(results.size());
  for (const ApiResult& result : results) stored.put(result);
  for (const ApiResult& result : results) {
    ASSERT_EQ(encode(stored.get(result.task)), encode(result)) << result.task;
    ApiResult outline = result;
    outline.forward_rows.clear();
    outline.backward_rows.clear();
    ASSERT_EQ(encode(stored.outline(result.task)), encode(outline)) << result.task;
  }
}

TEST_F(Results, ReachJournalAndCsvsWithTheCommit) {
  ResultStore results = store(2);
  results.open_fresh_csvs();
  results.add(result_of(1, Status::pass));
  EXPECT_THAT(journalled(RecordKind::result), IsEmpty());
  results.commit();
  EXPECT_THAT(journalled(RecordKind::result), ElementsAre(encode(result_of(1, Status::pass))));
  EXPECT_THAT(view_.shown, ElementsAre("Functional.relu.1"));
  results.add(result_of(1, Status::error));  // it has one
  results.add(result_of(2, Status::error));  // there is no such call
  results.commit();
  EXPECT_EQ(results.done(), 1U);
  EXPECT_EQ(results.summary().counts().pass, 1U);
  EXPECT_EQ(results.summary().counts().error, 0U);
}

TEST_F(Results, AreTimedInTheJournal) {
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  };
  const double before = now();
  ResultStore results = store(100);
  results.open_fresh_csvs();
  results.note(start_note());
  results.commit();
  EXPECT_THAT(journalled(RecordKind::time_note), IsEmpty()) << "nothing has been finished";
  for (std::uint32_t task = 0; task < 100; ++task) {
    results.add(result_of(task, Status::pass));
    results.commit();
  }
  EXPECT_LE(journalled(RecordKind::time_note).size(), 2U) << "at most one a second";
  results.finish();
  const std::vector<std::string> notes = journalled(RecordKind::time_note);
  ASSERT_GE(notes.size(), 2U);
  EXPECT_GE(time_of(notes.front()).value_or(0), before);
  EXPECT_LE(time_of(notes.back()).value_or(1e300), now());
}

TEST_F(Results, AreSyncedInGroupsWithinTheDelay) {
  ResultStore results = store(2000);
  results.open_fresh_csvs();
  results.sync_within(std::chrono::milliseconds(200));
  const int before = syncs_;
  const auto start = std::chrono::steady_clock::now();
  std::uint32_t task = 0;
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(500)) {
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
  results.rewrite_and_open_csvs();
  EXPECT_THAT(journalled(RecordKind::result), IsEmpty()) << "they are in it already";
  results.add(result_of(1, Status::warning));
  results.finish();
  const std::string csv = read_file(directory_.file("accuracy_checking_result_20260101000000.csv"));
  EXPECT_THAT(csv, HasSubstr("relu.0,pass, \r\nFunctional.relu.1,warning, \r\nFunctional.relu.3,error, \r\n"));
  // Device 5 is not used any more; what ran on it is still to be seen.
  EXPECT_THAT(read_file(directory_.file("device5/accuracy_checking_result_20260101000000.csv")),
              HasSubstr("relu.3,error"));
  EXPECT_THAT(read_file(directory_.file("device0/accuracy_checking_result_20260101000000.csv")),
              Not(HasSubstr("relu.3")));
}

}  // namespace
}  // namespace msrun
