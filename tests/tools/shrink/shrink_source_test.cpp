// Where shrink takes a call from: which run of a folder, and which faults of a run of several ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "kernels/io/torch/pt_file.h"
#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/tools/shrink/planted_faults.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

PlantedFault small_call() {
  return {"Torch.add", tensor_json("[12, 10]") + "," + tensor_json("[12, 10]"), {}, "[12, 10]", "wrong-element"};
}

class ShrinkSource : public ::testing::Test {
 protected:
  ShrinkSource() : recording_(scratch_.write("dump.json", dump_of(small_call()))) {}

  Finished check(std::vector<std::string> words) const {
    words.insert(words.end(), {"-n", "1", "--no-report"});
    return msrun(words, scratch_.path());
  }
  Finished shrink(const std::string& api, const std::string& input) const {
    return run_tool("shrink", {"--api", api, "-i", input, "-o", scratch_ / "small"}, scratch_.path());
  }

  TemporaryDirectory scratch_;
  std::string recording_;
};

// A copy that somebody has kept is no run of the folder, whatever its name is.
TEST_F(ShrinkSource, IsTheNewestRunOfAFolder) {
  PlantedFault other = small_call();
  other.call = "Torch.mul";
  fs::create_directories(scratch_ / "in");
  const std::string earlier = scratch_.write("in/dump.json", dump_of(other));
  ASSERT_EQ(check({"-api_info", earlier, "-o", scratch_ / "earlier"}).exit_code, 0);
  ASSERT_EQ(
      check({"-api_info", recording_, "-o", scratch_ / "out", "--sim-fault", "Torch.add.*=wrong-element"}).exit_code,
      0);
  fs::copy_file(only_file(scratch_ / "earlier", "accuracy_checking_2"), scratch_ / "out/backup.journal");
  const Finished shrunk = shrink("Torch.add.0", scratch_ / "out");
  EXPECT_EQ(shrunk.exit_code, 0) << shrunk.err;
}

TEST_F(ShrinkSource, IsNoPartOfARecordingThatIsNotNamed) {
  for (const char* part : {"1/2", "2/2"}) {
    ASSERT_EQ(check({"-api_info", recording_, "-o", scratch_ / "out", "--shard", part}).exit_code, 0);
  }
  const Finished shrunk = shrink("Torch.add.0", scratch_ / "out");
  EXPECT_EQ(shrunk.exit_code, 2);
  EXPECT_THAT(shrunk.err, HasSubstr("is of a part of a recording"));
}

TEST_F(ShrinkSource, MeansTheRanksOfAFaultAsARunDoes) {
  for (const std::string rank : {"rank0", "rank1"}) {
    fs::create_directories(scratch_ / "in" / rank);
    scratch_.write("in/" + rank + "/dump.json", dump_of(small_call()));
  }
  ASSERT_EQ(
      check({"-api_info", scratch_ / "in", "-o", scratch_ / "out", "--sim-fault", "rank[:1]:Torch.add.*=wrong-element"})
          .exit_code,
      0);
  const Finished shrunk = shrink("rank1:Torch.add.0", scratch_ / "out");
  EXPECT_EQ(shrunk.exit_code, 0) << shrunk.err;
}

// By what made a recording its results are judged, those of the written one as well.
TEST_F(ShrinkSource, SaysWhatMadeRecordedResults) {
  fs::copy(dump("zoo_tensor").parent_path(), scratch_ / "dump", fs::copy_options::recursive);
  const std::string name = "Torch.abs.0";
  const fs::path output = scratch_ / "dump" / "dump_tensor_data" / (name + ".forward.output.0.pt");
  Tensor wrong = read_pt(output.string()).clone();
  wrong.mutable_data<float>()[0] += 3;
  fs::permissions(output, fs::perms::owner_write, fs::perm_options::add);
  write_pt(output.string(), wrong);
  const fs::path dump_json = scratch_ / "dump" / "dump.json";
  std::string text = read_file(dump_json);
  text.insert(text.find('{') + 1, R"("msrun": {"device": "cuda:0", "settings": {"matmul.allow_tf32": true}},)");
  fs::permissions(dump_json, fs::perms::owner_write, fs::perm_options::add);
  write_file(dump_json, text);
  const Finished run = run_tool("shrink",
                                {"--api", name, "-i", dump_json.string(), "-o", scratch_ / "small", "--backend",
                                 "recorded", "--recorded-on", "cuda"},
                                scratch_.path());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (const char* folder : {"smallest", "same_shape"}) {
    EXPECT_THAT(read_file(scratch_ / "small" / folder / "dump.json"),
                HasSubstr(R"("msrun": {"device": "cuda", "settings": {"matmul.allow_tf32": "true"}})"));
  }
}

}  // namespace
}  // namespace msrun::testing
