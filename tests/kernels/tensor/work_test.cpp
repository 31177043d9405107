#include "kernels/tensor/work.h"

#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "kernels/numeric/sums.h"

namespace msrun {
namespace {

TEST(Work, IsInProportionToTheRecordedElements) {
  const WorkScope scope(100);
  EXPECT_NO_THROW(take_work(1e10));
  EXPECT_THROW(take_work(1e12), SkipError);
}

TEST(Work, AddsUp) {
  const WorkScope scope(0);
  EXPECT_NO_THROW(take_work(6e10));
  EXPECT_THROW(take_work(6e10), SkipError);
}

TEST(Work, OfLargeMatricesIsAllowed) {
  // A layer of a large model, and its vocabulary: forward and both gradients.
  for (const auto& [m, k, n] : {std::tuple{8192, 16384, 53248}, {65536, 8192, 256000}, {32768, 32768, 32768}}) {
    const double products = double{1} * m * k * n;
    const WorkScope scope(double{1} * m * k + double{1} * k * n);
    for (int i = 0; i < 3; ++i) EXPECT_NO_THROW(take_work(products));
  }
}

TEST(Work, OfAnInnerScopeIsThatOfTheOuter) {
  const WorkScope outer(0);
  {
    const WorkScope inner(1e9);
    EXPECT_THROW(take_work(1e12), SkipError);
  }
  EXPECT_THROW(take_work(1), SkipError);
}

TEST(Work, IsNotLimitedOutside) {
  { const WorkScope scope(0); }
  EXPECT_NO_THROW(take_work(1e30));
}

TEST(Work, SumsCount) {
  const WorkScope scope(0);
  EXPECT_THROW(note_sums(1'000'000, 1'000'000), SkipError);
}

}  // namespace
}  // namespace msrun
