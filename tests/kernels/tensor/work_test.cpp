#include "kernels/tensor/work.h"

#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "kernels/numeric/evaluation_context.h"

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

TEST(Work, OfLongSequencesAndWidePatchesIsAllowed) {
  struct Case {
    const char* what;
    double elements;
    double operations;
  };
  // As the kernels count them: gradients of inputs have all elements of the kernel, whatever the stride is.
  constexpr double million = 1 << 20;
  const Case cases[] = {
      {"attention of one head over a million tokens", 4 * million * 64, 4 * million * million * 64},
      {"patches of a video", 3.0 * 64 * 512 * 512 + 1152.0 * 3 * 1024 + 1152.0 * 16 * 1024,
       1152.0 * 1024 * 3 * 64 * 512 * 512},
      {"patches of ten million samples", 1e7 + 64.0 * 4096, 64.0 * 4096 * 1e7},
      {"patches of one image", 3.0 * 224 * 224 + 1024.0 * 3 * 32 * 32, 1024.0 * 1024 * 3 * 224 * 224},
  };
  for (const Case& c : cases) {
    const WorkScope scope(c.elements);
    EXPECT_NO_THROW(take_work(c.operations)) << c.what;
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
  EXPECT_THROW(EvaluationContext{}.note_sums(1'000'000, 1'000'000), SkipError);
}

}  // namespace
}  // namespace msrun
