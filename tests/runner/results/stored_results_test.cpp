#include "runner/results/stored_results.h"

#include <gtest/gtest.h>

#include "runner/results/record.h"
#include "tests/runner/results/support.h"

namespace msrun {
namespace {

ApiResult result_of(std::uint32_t task, Status forward) {
  ApiResult result;
  result.task = task;
  result.forward = forward;
  return result;
}

TEST(StoredResults, KeepsTheLastOfEachTask) {
  StoredResults stored(2);
  stored.put(result_of(1, Status::pass));
  stored.resize(4);
  stored.put(result_of(3, Status::error));
  stored.put(result_of(1, Status::warning));
  EXPECT_EQ(stored.count(), 2U);
  EXPECT_EQ(stored.get(1).forward, Status::warning);
  EXPECT_EQ(stored.get(3).forward, Status::error);
  EXPECT_FALSE(stored.has(0));
  stored.remove(1);
  stored.remove(0);
  EXPECT_EQ(stored.count(), 1U);
  EXPECT_FALSE(stored.has(1));
}

TEST(StoredResults, GivesBackEveryField) {
  const std::vector<ApiResult> results = varied_results(300);
  StoredResults stored(results.size());
  for (const ApiResult& result : results) stored.put(result);
  for (const ApiResult& result : results) {
    ASSERT_EQ(encode(stored.get(result.task)), encode(result)) << result.task;
    ApiResult outline = result;
    outline.forward_rows.clear();
    outline.backward_rows.clear();
    ASSERT_EQ(encode(stored.outline(result.task)), encode(outline)) << result.task;
  }
}

}  // namespace
}  // namespace msrun
