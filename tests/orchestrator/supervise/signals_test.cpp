// Signals that come while they are held back: none is lost that somebody is still to act on.
#include "orchestrator/supervise/signals.h"

#include <gtest/gtest.h>

#include <csignal>
#include <optional>

namespace msrun {
namespace {

bool is_held(int number) {
  sigset_t now;
  return sigprocmask(SIG_BLOCK, nullptr, &now) == 0 && sigismember(&now, number) == 1;
}

TEST(HeldSignals, AreDroppedAtTheEnd) {
  {
    const HeldSignals held;
    EXPECT_TRUE(is_held(SIGTERM));
    raise(SIGTERM);
    raise(SIGINT);
  }
  EXPECT_FALSE(is_held(SIGTERM));
}

// A signal between the last look of a supervisor and its end is for whoever goes on after it.
TEST(HeldSignals, OfTheInnerOnesAreLeftToTheOuter) {
  {
    const HeldSignals outer;
    {
      const HeldSignals inner;
      raise(SIGTERM);
    }
    EXPECT_TRUE(is_held(SIGTERM));
    const UniqueFd queue = signal_queue();
    EXPECT_EQ(next_signal(queue.get()), std::optional<int>(SIGTERM));
    EXPECT_EQ(next_signal(queue.get()), std::nullopt);
    { const HeldSignals inner; }
    raise(SIGINT);
  }
  EXPECT_FALSE(is_held(SIGTERM));
}

}  // namespace
}  // namespace msrun
