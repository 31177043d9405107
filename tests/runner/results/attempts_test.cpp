// Which calls were in flight when supervisors died.
#include "runner/results/attempts.h"

#include <gmock/gmock.h>

#include "runner/results/record.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string in_flight(std::vector<std::uint32_t> tasks) { return in_flight_note(tasks); }

AttemptHistory history_of(const std::vector<std::string>& notes) {
  AttemptHistory history;
  for (const std::string& note : notes) history.see(std::get<AttemptNote>(decode_record(note)));
  return history;
}

TEST(Attempts, CountsTheLastCallsOfEveryRunThatEndedWithoutAWord) {
  const AttemptHistory history = history_of({start_note(), in_flight({1, 2}), in_flight({2, 3}),  //
                                             start_note(), in_flight({3, 4}), end_note(),         //
                                             start_note(), in_flight({3, 5})});
  EXPECT_THAT(history.suspects(1), ElementsAre(2, 5, 3));
  EXPECT_THAT(history.suspects(2), ElementsAre(3));
  EXPECT_THAT(history.suspects(3), IsEmpty());
}

// Each time the host goes down, what was in flight most often waits for the others.
TEST(Attempts, NamesThoseLastThatWereInFlightMostOften) {
  const AttemptHistory history = history_of({start_note(), in_flight({1, 2, 7}),  //
                                             start_note(), in_flight({1, 2, 7}),  //
                                             start_note(), in_flight({1})});
  EXPECT_THAT(history.suspects(2), ElementsAre(2, 7, 1));
}

TEST(Attempts, AnOrderlyEndLeavesNothing) {
  EXPECT_THAT(history_of({start_note(), in_flight({1, 2}), end_note()}).suspects(1), IsEmpty());
  EXPECT_THAT(AttemptHistory().suspects(1), IsEmpty());
}

}  // namespace
}  // namespace msrun
