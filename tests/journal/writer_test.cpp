#include "journal/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "journal/error.h"
#include "journal/format.h"
#include "journal/holder.h"
#include "tests/journal/support.h"

namespace msrun::journal::testing {
namespace {

using ::testing::HasSubstr;

std::string noise(std::size_t size, std::uint64_t seed) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<char>(static_cast<unsigned char>(seed >> 56));
  }
  return bytes;
}

TEST(Writer, RoundTripThroughAFile) {
  const TemporaryDirectory folder;
  using namespace std::string_literals;
  const std::string metadata = "{\"fingerprint\":1,\"bytes\":\"\0\xFF\"}"s;
  const Records records = {"one", "", "zero \0 inside"s, noise(1000, 1), std::string(100000, 'x')};
  {
    Writer writer = Writer::create(folder / "run.journal", metadata);
    for (const std::string& record : records) {
      writer.append(record);
      writer.flush();
    }
    writer.flush();  // an empty batch is no frame
    EXPECT_EQ(writer.size(), std::filesystem::file_size(folder / "run.journal"));
    writer.close();
  }
  const Contents contents = read_journal(folder / "run.journal");
  EXPECT_EQ(contents.recovery.metadata, metadata);
  EXPECT_EQ(contents.records, records);
  EXPECT_EQ(contents.recovery.records, records.size());
  EXPECT_EQ(contents.recovery.frames, records.size());
  EXPECT_EQ(contents.recovery.valid_size, std::filesystem::file_size(folder / "run.journal"));
  expect_clean(contents.recovery);
}

TEST(Writer, EmptyJournalAndEmptyMetadata) {
  const TemporaryDirectory folder;
  Writer::create(folder / "run.journal", "").close();
  const Contents contents = read_journal(folder / "run.journal");
  EXPECT_EQ(contents.recovery.metadata, "");
  EXPECT_EQ(contents.recovery.valid_size, file_prefix_size + checksum_size);
  EXPECT_TRUE(contents.records.empty());
  expect_clean(contents.recovery);
}

TEST(Writer, ABatchIsOneFrameAndNothingIsWrittenBeforeFlush) {
  std::string bytes;
  Writer writer = Writer::create(std::make_unique<MemoryFile>(bytes), "m");
  const std::size_t header = bytes.size();
  for (int i = 0; i < 1000; ++i) writer.append("record " + std::to_string(i));
  EXPECT_EQ(bytes.size(), header);
  writer.flush();
  EXPECT_EQ(writer.size(), bytes.size());
  const Contents contents = read_all(bytes);
  EXPECT_EQ(contents.recovery.frames, 1U);
  EXPECT_EQ(contents.recovery.records, 1000U);
  EXPECT_EQ(contents.records[999], "record 999");
}

TEST(Writer, AppendFlushesBeforeABatchGetsTooLarge) {
  std::string bytes;
  Writer writer = Writer::create(std::make_unique<MemoryFile>(bytes), "m");
  const std::string record(Writer::batch_size / 4 - record_prefix_size, 'r');
  for (int i = 0; i < 4; ++i) writer.append(record);
  EXPECT_EQ(read_all(bytes).recovery.frames, 0U);
  writer.append("");
  const Recovery full = read_all(bytes).recovery;
  EXPECT_EQ(full.records, 4U);
  EXPECT_EQ(full.uncompressed_bytes, file_prefix_size + 1 + checksum_size + Writer::batch_size);
  writer.flush();
  EXPECT_EQ(read_all(bytes).recovery.uncompressed_bytes, full.uncompressed_bytes + record_prefix_size);
}

TEST(Writer, DroppedWithoutFlushLosesOnlyTheBatch) {
  const TemporaryDirectory folder;
  {
    Writer writer = Writer::create(folder / "run.journal", "m");
    writer.append("flushed");
    writer.flush();
    writer.append("not flushed");
  }
  EXPECT_EQ(read_journal(folder / "run.journal").records, Records{"flushed"});
}

TEST(Writer, TheLargestRecordFitsEvenIfItCannotBeCompressed) {
  std::string bytes;
  Writer writer = Writer::create(std::make_unique<MemoryFile>(bytes), "m");
  writer.append("before");
  const std::string largest = noise(max_record_size, 3);
  writer.append(largest);
  EXPECT_THROW(writer.append(largest + "x"), Error);
  writer.append("after");
  writer.close();
  const Contents contents = read_all(bytes);
  ASSERT_EQ(contents.records.size(), 3U);
  EXPECT_EQ(contents.records[0], "before");
  EXPECT_TRUE(contents.records[1] == largest);
  EXPECT_EQ(contents.records[2], "after");
}

TEST(Writer, CreateRefusesAnExistingFileAndLeavesItAlone) {
  const TemporaryDirectory folder;
  write_file(folder / "taken", "precious");
  try {
    Writer::create(folder / "taken", "m");
    FAIL();
  } catch (const WriteError& error) {
    EXPECT_EQ(error.code(), EEXIST);
    EXPECT_THAT(error.what(), HasSubstr((folder / "taken").string()));
  }
  EXPECT_EQ(read_file(folder / "taken"), "precious");
  EXPECT_THROW(Writer::create(folder / "no/such/folder", "m"), WriteError);
  EXPECT_THROW(Writer::create(folder / "big", std::string(max_metadata_size + 1, ' ')), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "big"));
}

TEST(Writer, TheUmaskDecidesTheMode) {
  const TemporaryDirectory folder;
  const mode_t before = umask(027);
  Writer::create(folder / "run.journal", "m").close();
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat((folder / "run.journal").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST(Writer, ResumesManyTimes) {
  const TemporaryDirectory folder;
  Writer::create(folder / "run.journal", "the options").close();
  Records expected;
  for (int round = 0; round < 5; ++round) {
    const Contents contents = read_journal(folder / "run.journal");
    ASSERT_EQ(contents.records, expected);
    ASSERT_EQ(contents.recovery.metadata, "the options");
    Writer writer = Writer::resume(folder / "run.journal", contents.recovery.valid_size);
    EXPECT_EQ(writer.size(), contents.recovery.valid_size);
    expected.push_back("round " + std::to_string(round));
    writer.append(expected.back());
    writer.close();
    std::ofstream(folder / "run.journal", std::ios::app | std::ios::binary) << "torn " << round;
  }
  EXPECT_EQ(read_journal(folder / "run.journal").records, expected);
}

TEST(Writer, ResumeNeverCutsAGoodFrame) {
  const Built built = small_journal();
  const TemporaryDirectory folder;
  write_file(folder / "run.journal", built.bytes + "torn");
  EXPECT_THROW(Writer::resume(folder / "run.journal", built.ends[4]), Error);
  EXPECT_THROW(Writer::resume(folder / "run.journal", built.ends[0] - 1), Error);
  EXPECT_THROW(Writer::resume(folder / "run.journal", built.bytes.size() + 5), Error);
  EXPECT_EQ(read_file(folder / "run.journal"), built.bytes + "torn");
  Writer::resume(folder / "run.journal", built.bytes.size()).close();
  EXPECT_EQ(read_file(folder / "run.journal"), built.bytes);
}

TEST(Writer, ResumeRefusesForeignFiles) {
  const TemporaryDirectory folder;
  write_file(folder / "text", "API Name,Forward Test Success\n");
  EXPECT_THROW(Writer::resume(folder / "text", 10), NotAJournal);
  EXPECT_EQ(read_file(folder / "text"), "API Name,Forward Test Success\n");
  write_file(folder / "empty", "");
  EXPECT_THROW(Writer::resume(folder / "empty", 0), EmptyFile);
  EXPECT_THROW(Writer::resume(folder / "none", 0), WriteError);
  EXPECT_FALSE(std::filesystem::exists(folder / "none"));
}

// A child process that runs `body`, says so through a pipe, and lives until it is killed or let go.
class Child {
 public:
  template <typename Body>
  explicit Child(Body body) {
    if (pipe(from_) != 0 || pipe(to_) != 0) throw std::runtime_error("pipe failed");
    pid_ = fork();
    if (pid_ == 0) {
      close(to_[1]);
      body(from_[1]);
      char byte = 'r';
      if (write(from_[1], &byte, 1) != 1 || ::read(to_[0], &byte, 1) < 0) _exit(1);
      _exit(0);
    }
    close(from_[1]);
    close(to_[0]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) end(SIGKILL);
    close(from_[0]);
    close(to_[1]);
  }
  pid_t pid() const { return pid_; }
  // Waits for one byte of the child.
  bool wait_for_byte() {
    char byte = 0;
    return ::read(from_[0], &byte, 1) == 1;
  }
  void end(int signal) {
    kill(pid_, signal);
    waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  int from_[2];
  int to_[2];
  pid_t pid_;
};

TEST(Lock, OneWriterAtATime) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder / "run.journal";
  Child child([&](int) {
    static Writer writer = Writer::create(path, "m");
    writer.append("of the child");
    writer.flush();
  });
  ASSERT_TRUE(child.wait_for_byte());
  const Contents contents = read_journal(path);  // readers need no lock
  EXPECT_EQ(contents.records, Records{"of the child"});
  try {
    Writer::resume(path, contents.recovery.valid_size);
    FAIL();
  } catch (const Locked& error) {
    EXPECT_THAT(error.what(), HasSubstr(path.string()));
    EXPECT_THAT(error.what(), HasSubstr("process " + std::to_string(child.pid()) + " ("));
    EXPECT_THAT(error.what(), HasSubstr("journal_tests"));
  }
  EXPECT_EQ(find_holder(path).value_or(Holder{}).pid, child.pid());
  child.end(SIGKILL);
  EXPECT_FALSE(find_holder(path)) << "the dead hold nothing";
  EXPECT_NO_THROW(Writer::resume(path, contents.recovery.valid_size));
}

TEST(Lock, IsKeptByAForkedChildUntilItClosesItsCopy) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder / "run.journal";
  for (const bool closes : {false, true}) {
    std::filesystem::remove(path);
    Writer writer = Writer::create(path, "m");
    writer.append("in the batch at the fork");
    Child child([&](int) {
      if (closes) writer.close_in_child();
    });
    ASSERT_TRUE(child.wait_for_byte());
    EXPECT_THROW(Writer::resume(path, writer.size()), Locked) << "the parent's own lock";
    writer.close();
    const std::uint64_t size = std::filesystem::file_size(path);
    if (closes) {
      EXPECT_NO_THROW(Writer::resume(path, size));
    } else {
      EXPECT_THROW(Writer::resume(path, size), Locked);
    }
    EXPECT_EQ(read_journal(path).records, Records{"in the batch at the fork"});
  }
}

TEST(Writer, ClosesWithoutASync) {
  struct Counts {
    int syncs = 0;
    int closes = 0;
    int close_error = 0;
  };
  class ClosingFile final : public MemoryFile {
   public:
    ClosingFile(std::string& bytes, Counts& counts) : MemoryFile(bytes), counts_(counts) {}
    void sync() override { ++counts_.syncs; }
    void close() override {
      ++counts_.closes;
      if (counts_.close_error != 0) throw WriteError(name(), "close", counts_.close_error);
    }

   private:
    Counts& counts_;
  };
  for (const int error : {0, EDQUOT}) {
    std::string bytes;
    Counts counts{.close_error = error};
    Writer writer = Writer::create(std::make_unique<ClosingFile>(bytes, counts), "m");
    writer.append("record");
    if (error == 0) {
      writer.close_unsynced();
    } else {
      EXPECT_THROW(writer.close_unsynced(), WriteError);
    }
    EXPECT_EQ(counts.syncs, 0);
    EXPECT_EQ(counts.closes, 1);
    EXPECT_EQ(read_all(bytes).records, Records{"record"});
  }
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder / "run.journal";
  Writer writer = Writer::create(path, "m");
  writer.append("record");
  writer.close_unsynced();
  EXPECT_EQ(read_journal(path).records, Records{"record"});
  EXPECT_NO_THROW(Writer::resume(path, std::filesystem::file_size(path))) << "it is unlocked";
}

// What a killed writer has forked has its copy of the file until it notices.
TEST(Lock, WaitsForTheChildrenOfAKilledWriter) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder / "run.journal";
  int lasting[2];
  ASSERT_EQ(pipe(lasting), 0);
  Child writer_process([&](int) {
    static Writer writer = Writer::create(path, "m");
    writer.append("record");
    writer.flush();
    if (fork() == 0) {
      close(lasting[1]);
      char byte = 0;
      const ssize_t none = ::read(lasting[0], &byte, 1);  // until the test lets go
      usleep(200'000);
      _exit(none == 0 ? 0 : 1);
    }
  });
  ASSERT_TRUE(writer_process.wait_for_byte());
  const std::uint64_t size = std::filesystem::file_size(path);
  writer_process.end(SIGKILL);
  try {
    Writer::resume(path, size);
    FAIL() << "the child has the file";
  } catch (const Locked& error) {
    EXPECT_THAT(error.what(), HasSubstr("or is just ending"));
  }
  close(lasting[0]);
  close(lasting[1]);
  EXPECT_NO_THROW(Writer::resume(path, size));
}

TEST(Lock, HoldersAreNamedWithTheirCommand) {
  EXPECT_EQ(holder_text({0, ""}), "a process that cannot be seen from here");
  EXPECT_EQ(holder_text({7, ""}), "process 7");
  EXPECT_EQ(holder_text({7, "msrun -n 4"}), "process 7 (msrun -n 4)");
  EXPECT_FALSE(find_holder("/nowhere/at/all"));
}

TEST(Lock, IsReleasedWithTheWriter) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder / "run.journal";
  { const Writer writer = Writer::create(path, "m"); }
  const std::uint64_t size = std::filesystem::file_size(path);
  Writer first = Writer::resume(path, size);
  EXPECT_THROW(Writer::resume(path, size), Locked);
  Writer moved = std::move(first);
  EXPECT_THROW(Writer::resume(path, size), Locked);
  moved.close();
  EXPECT_NO_THROW(Writer::resume(path, size));
}

TEST(Writer, WhatWasFlushedSurvivesAKill) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder / "run.journal";
  Child child([&](int out) {
    Writer writer = Writer::create(path, "m");
    for (int i = 0;; ++i) {
      writer.append("record " + std::to_string(i));
      writer.flush();
      if (write(out, "f", 1) != 1) _exit(1);
    }
  });
  const std::size_t acknowledged = 200;
  for (std::size_t i = 0; i < acknowledged; ++i) ASSERT_TRUE(child.wait_for_byte());
  child.end(SIGKILL);
  const Contents contents = read_journal(path);
  ASSERT_GE(contents.records.size(), acknowledged);
  for (std::size_t i = 0; i < contents.records.size(); ++i)
    EXPECT_EQ(contents.records[i], "record " + std::to_string(i));
  EXPECT_EQ(contents.recovery.damaged_regions, 0U);
}

// A real file that may not grow: the write is cut short by the kernel, then refused.
TEST(Writer, AFileSizeLimitIsAWriteErrorThatCanBeMended) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder / "run.journal";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  Writer writer = Writer::create(path, "m");
  writer.append("first");
  writer.flush();
  const std::uint64_t good = writer.size();
  rlimit tight = before;
  tight.rlim_cur = good + 1000;
  const std::string large = noise(5000, 9);
  writer.append(large);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  int code = 0;
  try {
    writer.flush();
  } catch (const WriteError& error) {
    code = error.code();
  }
  const std::uint64_t size_then = std::filesystem::file_size(path);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(code, EFBIG);
  EXPECT_EQ(size_then, good);
  writer.append("last");
  writer.close();
  const Contents contents = read_journal(path);
  EXPECT_EQ(contents.records, (Records{"first", large, "last"}));
  expect_clean(contents.recovery);
}

}  // namespace
}  // namespace msrun::journal::testing
