#include "kernels/base/time_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace msrun {
namespace {

TEST(TimeText, HasTheFormThatIsAskedFor) {
  EXPECT_EQ(utc_time_text(1.7e9), "2023-11-14 22:13:20");
  EXPECT_EQ(utc_time_text(1.7e9, stamp_time), "20231114221320");
  EXPECT_EQ(local_time_text(1.7e9).size(), utc_time_text(1.7e9).size());
}

// They come from headers that anybody may have written, and a conversion of what does not fit is undefined.
TEST(TimeText, NumbersThatAreNoTimesAreQuestionMarks) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double number : {1e300, -1e300, 1e12, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(utc_time_text(number), "?") << number;
    EXPECT_EQ(local_time_text(number), "?") << number;
  }
}

}  // namespace
}  // namespace msrun
