// Output that does not wait for its reader.
#include "kernels/base/unblocked_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "kernels/base/standard_output.h"

namespace msrun {
namespace {

struct Ends {
  UniqueFd read;
  UniqueFd write;
};

Ends make_pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Ends make_socket() {
  std::array<int, 2> ends{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::string read_all(int descriptor, std::size_t size) {
  std::string text(size, '\0');
  std::size_t got = 0;
  while (got < size) {
    const ssize_t count = ::read(descriptor, text.data() + got, size - got);
    if (count <= 0) break;
    got += static_cast<std::size_t>(count);
  }
  text.resize(got);
  return text;
}

TEST(UnblockedOutput, TakesWhatThereIsRoomForAndNoMore) {
  for (Ends (*make)() : {&make_pipe, &make_socket}) {
    const Ends ends = make();
    UnblockedOutput output(ends.write.get());
    const std::string text(std::size_t{1} << 22, 'a');
    const UnblockedOutput::Outcome first = output.write(text);
    EXPECT_GT(first.bytes, 4096U);
    EXPECT_LT(first.bytes, text.size());
    EXPECT_EQ(first.error, 0);
    EXPECT_EQ(output.write("more").bytes, 0U);
    EXPECT_EQ(read_all(ends.read.get(), first.bytes).size(), first.bytes);
    EXPECT_EQ(output.write("more").bytes, 4U);
    EXPECT_EQ(read_all(ends.read.get(), 4), "more");
    // Whoever shares the descriptor still waits for the reader.
    EXPECT_EQ(fcntl(ends.write.get(), F_GETFL) & O_NONBLOCK, 0);
  }
}

TEST(UnblockedOutput, TellsErrors) {
  std::signal(SIGPIPE, SIG_IGN);
  for (Ends (*make)() : {&make_pipe, &make_socket}) {
    Ends ends = make();
    UnblockedOutput output(ends.write.get());
    ends.read.reset();
    EXPECT_EQ(output.write("x").error, EPIPE);
  }
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(UnblockedOutput(full.get()).write("x").error, ENOSPC);
  EXPECT_EQ(UnblockedOutput(-1).write("x").error, EBADF);
}

// Runs body in a process of its own: its exit code.
template <class Body>
int in_child(const Body& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(StandardOutput, AClosedDescriptorIsNotGivenToAFile) {
  EXPECT_EQ(in_child([] {
              close(STDOUT_FILENO);
              close(STDERR_FILENO);
              occupy_standard_descriptors();
              const int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
              if (file <= STDERR_FILENO) return 1;
              return write(STDOUT_FILENO, "x", 1) < 0 && errno == EBADF ? 0 : 2;
            }),
            0);
}

// A library may print what it likes.
TEST(StandardOutput, DoesNotWaitOnceItIsUnblocked) {
  const Ends ends = make_pipe();
  EXPECT_EQ(in_child([&] {
              alarm(20);
              dup2(ends.write.get(), STDOUT_FILENO);
              dup2(ends.write.get(), STDERR_FILENO);
              unblock_standard_output();
              const std::string text(1 << 16, 'x');
              for (int i = 0; i < 10; ++i) {
                [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
                write_error_line(text);
              }
              return 0;
            }),
            0);
  EXPECT_EQ(fcntl(ends.write.get(), F_GETFL) & O_NONBLOCK, 0);
}

}  // namespace
}  // namespace msrun
