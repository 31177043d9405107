// Journals read record by record: of today, of version 1, and of both.
#include "runner/results/journal_records.h"

#include <gmock/gmock.h>

#include <optional>
#include <sstream>

#include "journal/writer.h"
#include "kernels/base/error.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::IsEmpty;
using testing::read_file;
using ::testing::SizeIs;
using testing::TemporaryDirectory;

// What the handlers were told, one word each.
class Told {
 public:
  RecordHandlers handlers() {
    RecordHandlers handlers;
    handlers.result = [this](ApiResult&& result) { words.push_back(result.name); };
    handlers.attempt = [this](const AttemptNote& note) {
      words.push_back("attempt " + std::to_string(static_cast<int>(note.event)));
    };
    handlers.time = [this](const TimeNote& note) { words.push_back("time " + std::to_string(note.time)); };
    return handlers;
  }
  std::vector<std::string> words;
};

class JournalRecords : public ::testing::Test {
 protected:
  std::unique_ptr<journal::Source> journal_of(const std::vector<std::string>& records) {
    const std::string path = directory_.file("run.journal");
    journal::Writer writer = journal::Writer::create(path, "{}");
    for (const std::string& record : records) writer.append(record);
    writer.close();
    return journal::open_source(path);
  }

  TemporaryDirectory directory_;
};

std::string result(const std::string& name) { return encode(skip_result(3, name, "reason", Outcome::not_checkable)); }

TEST_F(JournalRecords, AreGivenByKindInTheirOrder) {
  const auto source = journal_of({start_note(), result("Torch.add.0"), encode(TimeNote{2}), result("Torch.mul.0"),
                                  std::string("\x90\x01R\xD2 of a later program"), end_note()});
  Told told;
  const journal::Recovery recovery = read_records(*source, told.handlers());
  EXPECT_EQ(recovery.records, 6U);
  EXPECT_THAT(told.words, ElementsAre("attempt 0", "Torch.add.0", "time 2.000000", "Torch.mul.0", "attempt 2"));
  EXPECT_EQ(read_records(*source, {}).records, 6U) << "nobody listens";
}

TEST_F(JournalRecords, ThatCannotBeReadAreNamed) {
  const std::string good = result("Torch.add.0");
  const auto source = journal_of({good, good.substr(0, good.size() - 1), good});
  const std::string what = directory_.file("run.journal") + ": record 2 cannot be read: it is cut short";
  Told told;
  RecordHandlers handlers = told.handlers();
  EXPECT_EQ(error_of<UserError>([&] { read_records(*source, handlers); }), what);
  told.words.clear();
  handlers.unreadable = [&](const std::string& text) { told.words.push_back(text); };
  read_records(*source, handlers);
  EXPECT_THAT(told.words, ElementsAre("Torch.add.0", what, "Torch.add.0"));
}

TEST(Losses, AreAClauseEach) {
  using ::testing::ElementsAre;
  journal::Recovery recovery;
  recovery.repeated_frames = recovery.displaced_frames = 2;
  EXPECT_THAT(losses_of(recovery, 0), IsEmpty());
  EXPECT_EQ(losses_text(recovery, 0), "");
  recovery.damaged_bytes = 1024;
  recovery.damaged_regions = 2;
  recovery.torn_tail = true;
  recovery.torn_bytes = 1;
  recovery.missing_frames = 1;
  EXPECT_THAT(losses_of(recovery, 3), ElementsAre("1,024 bytes in 2 places are damaged", "1 byte at the end is torn",
                                                  "1 batch is missing by number", "3 records cannot be read"));
  recovery.damaged_regions = 0;
  recovery.missing_frames = 2000;
  EXPECT_EQ(losses_text(recovery, 1),
            "1 byte at the end is torn, 2,000 batches are missing by number, 1 record cannot be read");
}

// tests/data/journal_version_1: two runs that were killed, both with the same call in flight.
TEST_F(JournalRecords, OfVersion1AreReadAndFollowedByThoseOfToday) {
  const std::string path = directory_.write(
      "old.journal", read_file(testing::test_data("/journal_version_1/accuracy_checking_20261122031752.journal")));
  Told told;
  AttemptHistory attempts;
  RecordHandlers handlers = told.handlers();
  handlers.attempt = [&](const AttemptNote& note) { attempts.see(note); };
  const journal::Recovery recovery = read_records(*journal::open_source(path), handlers);
  EXPECT_EQ(recovery.version, 1U);
  EXPECT_EQ(recovery.records, 29U);
  EXPECT_THAT(told.words, SizeIs(21)) << "20 results and a note of the time";
  EXPECT_THAT(attempts.suspects(2), SizeIs(1));
  EXPECT_THAT(attempts.suspects(3), IsEmpty());

  journal::Writer writer = journal::Writer::resume(path, recovery.valid_size);
  writer.append(start_note());
  writer.append(result("Torch.add.0"));
  writer.close();
  const journal::Recovery both = read_records(*journal::open_source(path), handlers);
  EXPECT_EQ(both.version, 1U);
  EXPECT_EQ(both.records, 31U);
  EXPECT_EQ(told.words.back(), "Torch.add.0");
  EXPECT_THAT(attempts.suspects(3), SizeIs(1)) << "the second run ended without a word";
}

}  // namespace
}  // namespace msrun
