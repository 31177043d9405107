// What programs inherit, hand on, and learn of the processes that they start.
#include "kernels/base/processes.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <system_error>

#include "kernels/base/guarded_main.h"
#include "tests/support/msrun_process.h"

namespace msrun {
namespace {

using testing::eventually;

class KeptSignals : public ::testing::Test {
 protected:
  KeptSignals() {
    for (std::size_t i = 0; i < numbers.size(); ++i) sigaction(numbers.at(i), nullptr, &before_.at(i));
  }
  ~KeptSignals() override {
    for (std::size_t i = 0; i < numbers.size(); ++i) sigaction(numbers.at(i), &before_.at(i), nullptr);
  }

  static bool is_ignored(int number) {
    struct sigaction action {};
    return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
  }

  static pid_t started(const std::function<void()>& body) {
    const pid_t child = fork();
    if (child == 0) {
      body();
      _exit(7);
    }
    return child;
  }

 private:
  static constexpr std::array<int, 3> numbers{SIGCHLD, SIGPIPE, SIGXFSZ};
  std::array<struct sigaction, 3> before_{};
};

using Processes = KeptSignals;

TEST_F(Processes, AreWaitedFor) {
  std::signal(SIGCHLD, SIG_DFL);
  const pid_t forever = started([] {
    while (true) pause();
  });
  EXPECT_EQ(end_of(forever), std::nullopt);
  kill(forever, SIGTERM);
  EXPECT_EQ(await_end(forever), SIGTERM);
  const int status = await_end(started([] {}));
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

// Neither as running, which is waited for without end, nor as one that has succeeded.
TEST_F(Processes, WhoseStatusIsLostCountAsKilled) {
  std::signal(SIGCHLD, SIG_IGN);
  const pid_t child = started([] {});
  EXPECT_TRUE(eventually(30, [&] { return end_of(child).has_value(); }));
  EXPECT_EQ(end_of(child), unknown_wait_status);
  EXPECT_EQ(await_end(started([] { _exit(0); })), unknown_wait_status);
}

TEST_F(Processes, AreThereToBeWaitedForWhateverWasInherited) {
  std::signal(SIGCHLD, SIG_IGN);
  settle_signals();
  EXPECT_TRUE(is_ignored(SIGPIPE));
  EXPECT_TRUE(is_ignored(SIGXFSZ));
  const int status = await_end(started([] {}));
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  unsettle_signals();
  EXPECT_FALSE(is_ignored(SIGPIPE));
  EXPECT_FALSE(is_ignored(SIGXFSZ));
}

// A child whose parent has ended before it asks for the signal would never get one.
TEST_F(Processes, EndWithTheirParentEvenIfThatIsGoneAlready) {
  const pid_t parent = getpid();
  const auto exit_code = [&](pid_t awaited) {
    const int status = await_end(started([&] { end_with_parent(awaited, SIGKILL); }));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  EXPECT_EQ(exit_code(parent), 7);
  // init is nobody's child of ours, and an orphan's parent in place of the one it had.
  EXPECT_EQ(exit_code(getppid() == parent ? 0 : getppid()), 0);
}

TEST_F(Processes, AProblemOfAPathIsTheUsersToMend) {
  namespace fs = std::filesystem;
  const auto end_with = [](const std::string& path) {
    _exit(guarded_main("program", [&]() -> int {
      throw fs::filesystem_error("cannot", path, std::make_error_code(std::errc::no_such_file_or_directory));
    }));
  };
  EXPECT_EXIT(end_with("/none\nof these"), ::testing::ExitedWithCode(exit_usage),
              "^program: /none_of these cannot be used: No such file or directory\n$");
  EXPECT_EXIT(end_with(""), ::testing::ExitedWithCode(exit_usage), "^program: the working directory cannot be used: ");
}

}  // namespace
}  // namespace msrun
