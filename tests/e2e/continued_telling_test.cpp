// What a run that is continued tells of the part that is done: annotations, tensors that nobody kept, and a recording
// that its journal cannot name.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ContinuedTelling : public Untouched {
 protected:
  Finished check(std::vector<std::string> words) {
    words.insert(words.end(), {"--no-report", "--retries", "0"});
    return msrun(words, scratch_.path());
  }
  std::string result() { return only_file(out(), "accuracy_checking_result_"); }
  // A run in which matmuls are wrong, stopped after the first few.
  void begin() {
    EXPECT_EQ(check({"-api_info", dump("llama_fp32"), "-o", out(), "-n", "1", "--only", "Torch.matmul.*", "--sim-fault",
                     "Torch.matmul.*=acc-fp16", "--max-failures", "1"})
                  .exit_code,
              1);
  }
};

TEST_F(ContinuedTelling, AnnotatesWhatTheEarlierRunFound) {
  begin();
  const Finished run = check({"-csv_path", result(), "--message-format", "github", "--max-failures", "100"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (int call = 0; call < 4; ++call) {
    const std::string command = "::error title=Torch.matmul." + std::to_string(call) + "::suspicious: ";
    const std::size_t at = run.out.find(command);
    EXPECT_NE(at, std::string::npos) << command;
    EXPECT_EQ(run.out.find(command, at + 1), std::string::npos) << command;
  }
}

TEST_F(ContinuedTelling, NamesCallsWhoseTensorsWereNotKept) {
  begin();
  const std::size_t before = names(read_csv(result())).size();
  ASSERT_GT(before, 0U);
  ASSERT_LT(before, 4U);
  const Finished run = check({"-csv_path", result(), "-save_error_data", "--max-failures", "100"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr(std::to_string(before) + " call"), HasSubstr(" no tensors in "),
                             HasSubstr("checked without -save_error_data")));
}

TEST_F(ContinuedTelling, HasNothingToSayOfTensorsThatAreThere) {
  for (const char* rank : {"rank0", "rank1"}) {
    fs::create_directories(scratch_ / "job" / rank);
    fs::copy(dump("llama_fp32"), scratch_ / "job" / rank);
  }
  for (const std::string& recording : {std::string(dump("llama_fp32")), (scratch_ / "job").string()}) {
    fs::remove_all(out());
    EXPECT_EQ(check({"-api_info", recording, "-o", out(), "-save_error_data", "--only", "Torch.matmul.*", "--sim-fault",
                     "Torch.matmul.*=acc-fp16"})
                  .exit_code,
              0);
    const Finished run = check({"-csv_path", only_journal(out())});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, Not(HasSubstr("no tensors in")));
  }
}

// The header of a journal is JSON.
TEST_F(ContinuedTelling, SaysThatAPathIsNoText) {
  const std::string recording = scratch_ / "\xff\xfe.json";
  fs::copy_file(dump("llama_fp32"), recording);
  EXPECT_EQ(check({"-api_info", recording, "-o", out(), "--only", "Torch.matmul.*"}).exit_code, 0);
  const Finished refused = check({"-csv_path", result()});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("bytes that are no UTF-8"), HasSubstr("give it with -api_info"),
                                 Not(HasSubstr("does not exist"))));
  const Finished run = check({"-csv_path", result(), "-api_info", recording});
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

}  // namespace
}  // namespace msrun::testing
