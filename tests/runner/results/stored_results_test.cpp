#include "runner/results/stored_results.h"

#include <gtest/gtest.h>

#include "runner/results/bytes.h"
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

// One object for all results, as those who write them have.
TEST(StoredResults, GivesBackEveryFieldWhateverWasThereBefore) {
  const std::vector<ApiResult> results = varied_results(300);
  StoredResults stored(results.size());
  for (const ApiResult& result : results) stored.put(result);
  ApiResult read;
  ApiResult decoded;
  for (const std::size_t step : {1U, 7U, 299U}) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      const ApiResult& result = results[i * step % results.size()];
      stored.get(result.task, read);
      ASSERT_EQ(encode(read), encode(result)) << result.task;
      decode_result(encode(result), decoded);
      ASSERT_EQ(encode(decoded), encode(result)) << result.task;
    }
  }
}

TEST(Records, AreDecodedInPlaceOfAnotherOnlyIfTheyAreResults) {
  const std::string record = encode(result_of(1, Status::pass));
  EXPECT_TRUE(is_latest_result(record));
  EXPECT_FALSE(is_latest_result(record.substr(0, 3)));
  std::string earlier = record;
  --earlier[1];
  EXPECT_FALSE(is_latest_result(earlier));
  EXPECT_FALSE(is_latest_result(encode(TimeNote{2})));
  ApiResult read;
  EXPECT_THROW(decode_result(record.substr(0, record.size() - 1), read), RecordError);
  EXPECT_THROW(decode_result(record + "x", read), RecordError);
  EXPECT_THROW(decode_result(encode(TimeNote{2}), read), RecordError);
}

}  // namespace
}  // namespace msrun
