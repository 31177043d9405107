// Every single operation on the file fails once: nothing that was flushed is lost, and trying again succeeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <set>
#include <string>
#include <type_traits>

#include "journal/error.h"
#include "journal/format.h"
#include "tests/journal/support.h"

namespace msrun::journal::testing {
namespace {

struct Faults {
  int operations = 0;         // appends, syncs and cuts so far
  std::set<int> failing;      // which of them fail, counted from 0
  int code = ENOSPC;          // with this errno
  bool takes_a_part = false;  // a failing append first writes half of what it was given, and the next one fails
  std::size_t largest = std::numeric_limits<std::size_t>::max();   // of what one append takes
  std::size_t capacity = std::numeric_limits<std::size_t>::max();  // of the disk
  std::set<std::string> failed;                                    // the kinds of operation that failed
};

class FaultyFile : public MemoryFile {
 public:
  FaultyFile(std::string& bytes, Faults& faults) : MemoryFile(bytes), faults_(faults) {}

  std::size_t append(std::string_view bytes) override {
    const int operation = faults_.operations++;
    if (faults_.failing.contains(operation)) {
      const bool first = faults_.takes_a_part && !faults_.failing.contains(operation - 1);
      if (!first || bytes.size() < 2) refuse("write");
      faults_.failing.insert(operation + 1);
      return MemoryFile::append(bytes.substr(0, bytes.size() / 2));
    }
    const std::size_t room = faults_.capacity - std::min<std::size_t>(faults_.capacity, size());
    if (room == 0) refuse("write");
    return MemoryFile::append(bytes.substr(0, std::min(room, faults_.largest)));
  }
  void sync() override {
    if (faults_.failing.contains(faults_.operations++)) refuse("sync");
  }
  void truncate(std::uint64_t size) override {
    if (faults_.failing.contains(faults_.operations++)) refuse("cut");
    MemoryFile::truncate(size);
  }

 private:
  [[noreturn]] void refuse(const std::string& action) {
    faults_.failed.insert(action);
    throw WriteError(name(), action, faults_.code);
  }

  Faults& faults_;
};

// A run as a supervisor makes it, which tries each failed call again.
class Session {
 public:
  explicit Session(Faults& faults) : faults_(faults) {}

  void play() {
    Writer writer = again([&] {
      bytes.clear();
      return Writer::create(std::make_unique<FaultyFile>(bytes, faults_), "metadata");
    });
    for (int batch = 0; batch < 3; ++batch) write_batch(writer, batch);
    again([&] { writer.close(); });
    // A torn tail, and the run goes on.
    bytes += "the start of a frame";
    Writer resumed = again([&] {
      return Writer::resume(std::make_unique<FaultyFile>(bytes, faults_), read_all(bytes).recovery.valid_size);
    });
    for (int batch = 3; batch < 5; ++batch) write_batch(resumed, batch);
    again([&] { resumed.close(); });
  }

  std::string bytes;
  Records written;
  Records flushed;  // what a reader must find even right after a failure
  int failures = 0;

 private:
  void write_batch(Writer& writer, int batch) {
    for (int i = 0; i < 3; ++i) {
      written.push_back("batch " + std::to_string(batch) + " record " + std::to_string(i));
      again([&] { writer.append(written.back()); });
    }
    again([&] { writer.flush(); });
    flushed = written;
    again([&] { writer.sync(); });
  }

  template <typename Call>
  std::invoke_result_t<Call> again(Call call) {
    while (true) {
      try {
        return call();
      } catch (const WriteError& error) {
        if (++failures > 10) throw;
        EXPECT_EQ(error.code(), faults_.code);
        if (!flushed.empty()) {
          const Contents contents = read_all(bytes);
          // A frame may be whole though the call that was to write or sync it failed later on.
          EXPECT_GE(contents.records.size(), flushed.size());
          EXPECT_TRUE(std::equal(flushed.begin(), flushed.end(), contents.records.begin()));
        }
      }
    }
  }

  Faults& faults_;
};

void expect_whole(const Session& run) {
  const Contents contents = read_all(run.bytes);
  EXPECT_EQ(contents.records, run.written);
  EXPECT_EQ(contents.recovery.frames, 5U);
  EXPECT_EQ(contents.recovery.metadata, "metadata");
  expect_clean(contents.recovery);
}

int count_operations(std::size_t largest) {
  Faults faults;
  faults.largest = largest;
  Session run(faults);
  run.play();
  EXPECT_EQ(run.failures, 0);
  expect_whole(run);
  return faults.operations;
}

TEST(Faults, EachOperationFailsOnce) {
  const std::size_t unlimited = std::numeric_limits<std::size_t>::max();
  for (const std::size_t largest : {unlimited, std::size_t{7}}) {
    const int operations = count_operations(largest);
    std::set<std::string> failed;
    for (int failing = 0; failing < operations; ++failing) {
      for (const bool takes_a_part : {false, true}) {
        SCOPED_TRACE("operation " + std::to_string(failing) + (takes_a_part ? " in part" : ""));
        Faults faults;
        faults.failing = {failing};
        faults.takes_a_part = takes_a_part;
        faults.largest = largest;
        Session run(faults);
        run.play();
        EXPECT_GE(run.failures, 1);
        expect_whole(run);
        failed.insert(faults.failed.begin(), faults.failed.end());
      }
    }
    EXPECT_EQ(failed, (std::set<std::string>{"write", "sync", "cut"}));
  }
}

TEST(Faults, TheCutAfterAFailedWriteFailsToo) {
  const int operations = count_operations(7);
  std::set<std::string> failed;
  for (int failing = 0; failing < operations; ++failing) {
    for (const int last : {failing + 1, failing + 2}) {  // the cut; the next try as well
      SCOPED_TRACE("operations " + std::to_string(failing) + " to " + std::to_string(last));
      Faults faults;
      for (int operation = failing; operation <= last; ++operation) faults.failing.insert(operation);
      faults.largest = 7;
      faults.code = EIO;
      Session run(faults);
      run.play();
      EXPECT_GE(run.failures, 1);
      expect_whole(run);
      failed.insert(faults.failed.begin(), faults.failed.end());
    }
  }
  EXPECT_TRUE(failed.contains("cut"));
}

TEST(Faults, AFullDiskKeepsTheBatchUntilThereIsRoom) {
  std::string bytes;
  Faults faults;
  Writer writer = Writer::create(std::make_unique<FaultyFile>(bytes, faults), "metadata");
  writer.append("first");
  writer.flush();
  const std::uint64_t good = writer.size();
  writer.append("second");
  faults.capacity = good + 10;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(writer.flush(), WriteError);
    EXPECT_EQ(bytes.size(), good);
    EXPECT_EQ(writer.size(), good);
  }
  writer.append("third");
  faults.capacity = std::numeric_limits<std::size_t>::max();
  writer.flush();
  EXPECT_EQ(read_all(bytes).records, (Records{"first", "second", "third"}));
}

TEST(Faults, AnAppendThatCannotFlushDoesNotTakeTheRecord) {
  std::string bytes;
  Faults faults;
  Writer writer = Writer::create(std::make_unique<FaultyFile>(bytes, faults), "metadata");
  const std::string half(Writer::batch_size / 2 - record_prefix_size, 'h');
  writer.append(half);
  writer.append(half);
  faults.capacity = bytes.size();
  for (int i = 0; i < 3; ++i) EXPECT_THROW(writer.append("one too many"), WriteError);
  faults.capacity = std::numeric_limits<std::size_t>::max();
  writer.append("one too many");
  writer.close();
  EXPECT_EQ(read_all(bytes).records, (Records{half, half, "one too many"}));
}

TEST(Faults, ADestructorAfterAFailureDoesNotThrow) {
  std::string bytes;
  Faults faults;
  {
    Writer writer = Writer::create(std::make_unique<FaultyFile>(bytes, faults), "metadata");
    writer.append("kept");
    writer.flush();
    writer.append("lost");
    faults.failing = {faults.operations, faults.operations + 1, faults.operations + 2};
    faults.takes_a_part = true;
    EXPECT_THROW(writer.flush(), WriteError);
  }
  const Contents contents = read_all(bytes);
  EXPECT_EQ(contents.records, Records{"kept"});
  EXPECT_TRUE(contents.recovery.torn_tail);
}

}  // namespace
}  // namespace msrun::journal::testing
