// Who closes a descriptor, and when.
#include "kernels/base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <type_traits>

namespace msrun {
namespace {

static_assert(!std::is_copy_constructible_v<UniqueFd> && !std::is_copy_assignable_v<UniqueFd>);

bool is_open(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }

UniqueFd some_file() { return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TEST(UniqueFd, OwnsNothingAtFirst) {
  const UniqueFd none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.get(), -1);
  EXPECT_FALSE(UniqueFd(open("/nowhere/at/all", O_RDONLY | O_CLOEXEC)));
}

TEST(UniqueFd, ClosesWhatItOwns) {
  int descriptor = -1;
  {
    const UniqueFd file = some_file();
    ASSERT_TRUE(file);
    descriptor = file.get();
    EXPECT_TRUE(is_open(descriptor));
  }
  EXPECT_FALSE(is_open(descriptor));
}

TEST(UniqueFd, StandardInputIsADescriptor) {
  const UniqueFd saved(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10));
  {
    const UniqueFd zero(STDIN_FILENO);
    EXPECT_TRUE(zero);
  }
  EXPECT_FALSE(is_open(STDIN_FILENO));
  if (saved) dup2(saved.get(), STDIN_FILENO);
}

TEST(UniqueFd, MovingHandsItOver) {
  UniqueFd first = some_file();
  const int descriptor = first.get();
  UniqueFd second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT: what a moved-from owner is, is the question
  EXPECT_EQ(second.get(), descriptor);

  UniqueFd third = some_file();
  const int closed = third.get();
  third = std::move(second);
  EXPECT_EQ(third.get(), descriptor);
  EXPECT_TRUE(is_open(descriptor));
  EXPECT_FALSE(is_open(closed));

  UniqueFd& itself = third;
  third = std::move(itself);
  EXPECT_EQ(third.get(), descriptor);
  EXPECT_TRUE(is_open(descriptor));
}

TEST(UniqueFd, ResetClosesAndReleaseDoesNot) {
  UniqueFd file = some_file();
  const int first = file.get();
  file.reset();
  EXPECT_FALSE(file);
  EXPECT_FALSE(is_open(first));

  file = some_file();
  const int kept = file.release();
  EXPECT_FALSE(file);
  EXPECT_TRUE(is_open(kept));
  file.reset(kept);
  EXPECT_EQ(file.get(), kept);
}

}  // namespace
}  // namespace msrun
