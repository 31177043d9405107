// -save_error_data of MindSpore runs, whose folder has no time stamp: what several runs save under one name.
#include <gmock/gmock.h>

#include <set>

#include "kernels/io/numpy/npy.h"
#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string recording(const std::string& name) { return test_data("/mindspore/" + name + "/dump.json"); }

class MindSporeErrorData : public Untouched {
 protected:
  Finished run(const std::vector<std::string>& words) { return msrun(words, scratch_.path()); }
};

TEST_F(MindSporeErrorData, SavesTheTensorsOfDirectionsThatFail) {
  const fs::path folder = scratch_ / "out";
  const std::vector<std::string> words{"-api_info",
                                       recording("02_forward_backward_pairs"),
                                       "-o",
                                       folder,
                                       "-save_error_data",
                                       "--only",
                                       "Mint.matmul.0,Mint.add.0",
                                       "--sim-fault",
                                       "Mint.matmul.0=wrong-block"};
  std::vector<std::string> acc_check{"acc_check"};
  acc_check.insert(acc_check.end(), words.begin(), words.end());
  ASSERT_EQ(run(acc_check).exit_code, 0);
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder / "error_data"))
    files.insert(entry.path().filename().string());
  EXPECT_TRUE(files.contains("Mint.matmul.0.forward.input.0.npy"));
  EXPECT_TRUE(files.contains("Mint.matmul.0.forward.input.1.npy"));
  EXPECT_TRUE(files.contains("Mint.matmul.0.forward.output.0.npy"));
  EXPECT_TRUE(files.contains("Mint.matmul.0.forward.bench_output.0.npy"));
  for (const std::string& file : files) EXPECT_THAT(file, HasSubstr("Mint.matmul.0."));
  const Tensor saved = read_npy((folder / "error_data" / "Mint.matmul.0.forward.input.0.npy").string());
  EXPECT_EQ(saved.shape(), (Dims{4, 8}));
  EXPECT_EQ(static_cast<float>(saved.item()), -0.25091975927352905F);
  // A second run has the folder's name, and what the first one saved is kept; one over several devices has its own.
  acc_check.back() = "Mint.matmul.0=scale=2";
  const Finished second = run(acc_check);
  ASSERT_EQ(second.exit_code, 0);
  const fs::path kept = only_file(folder, "error_data_before_");
  EXPECT_THAT(second.out, HasSubstr("they are set aside as " + kept.string()));
  EXPECT_EQ(std::distance(fs::directory_iterator(kept), {}), static_cast<std::ptrdiff_t>(files.size()));
  EXPECT_NE(read_file(kept / "Mint.matmul.0.forward.output.0.npy"),
            read_file(folder / "error_data" / "Mint.matmul.0.forward.output.0.npy"));
  ASSERT_EQ(run(words).exit_code, 0);
  only_file(folder, "ut_error_data");
}

TEST_F(MindSporeErrorData, SavesWhereItBeganWhicheverCommandGoesOn) {
  const fs::path folder = scratch_ / "out";
  const std::vector<std::string> words{"acc_check",
                                       "-api_info",
                                       recording("02_forward_backward_pairs"),
                                       "-o",
                                       folder,
                                       "-save_error_data",
                                       "--only",
                                       "Mint.matmul.0,Mint.add.0",
                                       "--retries",
                                       "0",
                                       "--sim-fault",
                                       "Mint.*=scale=2",
                                       "--sim-fault",
                                       "Mint.add.0=crash"};
  ASSERT_EQ(run(words).exit_code, 0);
  const auto saved = [&] { return std::distance(fs::directory_iterator(folder / "error_data"), {}); };
  const auto before = saved();
  ASSERT_EQ(run({"-csv_path", only_file(folder, "accuracy_checking_result_"), "--retry-skip"}).exit_code, 0);
  EXPECT_GT(saved(), before);
  for (const auto& entry : fs::directory_iterator(folder)) {
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("ut_error_data")));
  }
}

// Another run has taken the name in between, and what that one saves stays its own.
TEST_F(MindSporeErrorData, SavesIntoItsOwnFolderWhateverItIsCalledNow) {
  const fs::path folder = scratch_ / "out";
  const auto words = [&](const std::string& fault) {
    return std::vector<std::string>{"acc_check",
                                    "-api_info",
                                    recording("02_forward_backward_pairs"),
                                    "-o",
                                    folder,
                                    "-save_error_data",
                                    "--only",
                                    "Mint.matmul.0,Mint.add.0",
                                    "--retries",
                                    "0",
                                    "--sim-fault",
                                    "Mint.*=" + fault,
                                    "--sim-fault",
                                    "Mint.add.0=crash"};
  };
  ASSERT_EQ(run(words("scale=2")).exit_code, 0);
  const fs::path first = only_file(folder, "accuracy_checking_result_");
  ASSERT_EQ(run(words("scale=3")).exit_code, 0);
  const auto files = [](const fs::path& of) { return std::distance(fs::directory_iterator(of), {}); };
  const fs::path aside = only_file(folder, "error_data_before_");
  const auto before = files(aside);
  const auto of_other = files(folder / "error_data");
  const Finished continued = run({"-csv_path", first, "--retry-skip"});
  ASSERT_EQ(continued.exit_code, 0) << continued.out << continued.err;
  EXPECT_THAT(continued.out, HasSubstr("error_data will be saved in " + aside.string()));
  EXPECT_GT(files(aside), before);
  EXPECT_EQ(files(folder / "error_data"), of_other);
  // Removed, its tensors are not said to have never been saved.
  fs::remove_all(aside);
  const Finished again = run({"-csv_path", first});
  EXPECT_THAT(again.out, AllOf(HasSubstr("what was saved of them is no longer there"),
                               Not(HasSubstr("checked without -save_error_data"))));
  EXPECT_EQ(files(folder / "error_data"), of_other);
}

// An empty folder holds nothing that would have to be kept.
TEST_F(MindSporeErrorData, SetsNoEmptyFolderOfErrorDataAside) {
  const fs::path folder = scratch_ / "out";
  const std::vector<std::string> words{"acc_check", "-api_info", recording("01_quick_start_where"),
                                       "-o",        folder,      "-save_error_data"};
  for (int i = 0; i < 2; ++i) ASSERT_EQ(run(words).exit_code, 0);
  for (const auto& entry : fs::directory_iterator(folder)) {
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("_before_")));
  }
}

}  // namespace
}  // namespace msrun::testing
