#include "orchestrator/session/host_slowness.h"

#include <gtest/gtest.h>

namespace msrun {
namespace {

// How fast a host is no test may ask for: it has other things to do.
TEST(HostSlowness, IsMeasuredOnAnyNumberOfThreads) {
  for (const std::size_t threads : {0, 1, 3}) {
    const HostSlowness slowness = measured_slowness(threads);
    for (const double kind : {slowness.calls, slowness.elements, slowness.large_elements, slowness.half_elements,
                              slowness.products, slowness.half_products}) {
      EXPECT_GE(kind, 0.01) << threads;
      EXPECT_LE(kind, 1000) << threads;
    }
  }
}

}  // namespace
}  // namespace msrun
