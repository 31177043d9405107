// Blocks of rows that several threads make: in which order they are taken, and what becomes of errors.
#include "orchestrator/output/ordered_blocks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

namespace msrun {
namespace {

TEST(OrderedBlocks, AreTakenInOrderWhicheverThreadMakesThem) {
  for (const unsigned threads : {1U, 2U, 5U}) {
    for (const std::size_t count : {0U, 1U, 3U, 200U}) {
      OrderedBlocks blocks(count, threads, [](std::size_t number, RowBlock& block) {
        block.details += "details " + std::to_string(number);
        block.result += "result " + std::to_string(number);
      });
      std::size_t next = 0;
      blocks.take_all([&](const RowBlock& block) {
        EXPECT_EQ(block.details, "details " + std::to_string(next));
        EXPECT_EQ(block.result, "result " + std::to_string(next));
        ++next;
      });
      EXPECT_EQ(next, count);
    }
  }
}

TEST(OrderedBlocks, ThrowWhatMakingOrTakingThemThrows) {
  for (const unsigned threads : {1U, 3U}) {
    OrderedBlocks unmakable(50, threads, [](std::size_t number, RowBlock& /*block*/) {
      if (number == 7) throw std::runtime_error("seven");
    });
    EXPECT_THROW(unmakable.take_all([](const RowBlock&) {}), std::runtime_error);
    std::atomic<std::size_t> made = 0;
    OrderedBlocks untakable(1000, threads, [&](std::size_t /*number*/, RowBlock& /*block*/) { ++made; });
    EXPECT_THROW(untakable.take_all([](const RowBlock&) { throw std::runtime_error("full"); }), std::runtime_error);
    // Only a few are made ahead.
    EXPECT_LT(made, 20U);
  }
}

}  // namespace
}  // namespace msrun
