// Which calls were in flight when supervisors died.
#include "runner/results/attempts.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "runner/results/record.h"
#include "runner/results/result.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string in_flight(std::vector<std::uint32_t> tasks) { return in_flight_note(tasks); }

AttemptHistory history_of(const std::vector<std::string>& notes) {
  AttemptHistory history;
  for (const std::string& note : notes) history.see(note);
  return history;
}

TEST(Attempts, ANoteIsNoResult) {
  EXPECT_EQ(kind_of(start_note()), RecordKind::attempt_note);
  EXPECT_EQ(kind_of(in_flight({1, 2})), RecordKind::attempt_note);
  EXPECT_EQ(kind_of(end_note()), RecordKind::attempt_note);
  EXPECT_EQ(kind_of(encode(skip_result(0, "Torch.add.0", "reason"))), RecordKind::result);
}

TEST(Attempts, CountsTheLastCallsOfEveryRunThatEndedWithoutAWord) {
  const AttemptHistory history = history_of({start_note(), in_flight({1, 2}), in_flight({2, 3}),  //
                                             start_note(), in_flight({3, 4}), end_note(),         //
                                             start_note(), in_flight({3, 5})});
  EXPECT_THAT(history.suspects(1), ElementsAre(2, 3, 5));
  EXPECT_THAT(history.suspects(2), ElementsAre(3));
  EXPECT_THAT(history.suspects(3), IsEmpty());
}

TEST(Attempts, AnOrderlyEndLeavesNothing) {
  EXPECT_THAT(history_of({start_note(), in_flight({1, 2}), end_note()}).suspects(1), IsEmpty());
  EXPECT_THAT(AttemptHistory().suspects(1), IsEmpty());
}

TEST(Attempts, RefusesWhatItDidNotWrite) {
  AttemptHistory history;
  std::string bad = in_flight({1});
  bad.pop_back();
  EXPECT_THROW(history.see(bad), std::runtime_error);
  bad = end_note();
  bad.back() = 9;
  EXPECT_THROW(history.see(bad), std::runtime_error);
}

}  // namespace
}  // namespace msrun
