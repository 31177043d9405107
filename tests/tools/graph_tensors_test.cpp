// graph on recordings with tensors whose files cannot be compared: nothing may read as if it agreed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <limits>
#include <span>
#include <vector>

#include "tests/support/npy_file.h"
#include "tests/tools/graph_support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

const std::string call = "Functional.relu.0.forward";

// Both sides of one call with tensors in .npy files.
class GraphTensors : public ::testing::Test {
 protected:
  GraphTensors() {
    for (const std::string side : {"npu", "bench"}) {
      GraphDump dump;
      dump.header["task"] = "tensor";
      dump.call("Module.net.Net.forward.0", nullptr).call(call, "Module.net.Net.forward.0");
      dump.data[call]["input_args"][0]["data_name"] = call + ".input.0.npy";
      dump.data[call]["output"][0]["data_name"] = call + ".output.0.npy";
      dump.write(run_.folder() / side);
      fs::create_directories(run_.folder() / side / "dump_tensor_data");
      for (const char* leaf : {"input.0", "output.0"}) put(side, leaf, {1, 2, 3, 4});
    }
  }

  fs::path file(const std::string& side, const std::string& leaf) const {
    return run_.folder() / side / "dump_tensor_data" / (call + "." + leaf + ".npy");
  }
  void put(const std::string& side, const std::string& leaf, const std::vector<float>& values) const {
    write_npy(file(side, leaf),
              Tensor::from<float>(DType::float32, std::array<std::int64_t, 2>{2, 2}, std::span<const float>(values)));
  }

  Json index() const {
    const Json graph = run_.vis();
    return graph["NPU"]["node"][call]["data"]["precision_index"];
  }
  std::string row(const std::string& column) const { return node_row(run_.file(".vis.db"), call).at(column); }

  GraphRun run_;
};

TEST_F(GraphTensors, ThatAgreeAreGood) {
  const Finished finished = run_.run();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  EXPECT_EQ(index(), 0);
  EXPECT_EQ(row("precision_index"), "0");
}

TEST_F(GraphTensors, WhoseFileIsMissingAreErrors) {
  for (const char* side : {"npu", "bench"}) {
    for (const char* leaf : {"input.0", "output.0"}) {
      fs::remove(file(side, leaf));
      const Finished finished = run_.run();
      EXPECT_EQ(finished.exit_code, 0) << finished.err;
      EXPECT_THAT(finished.err, HasSubstr("1 pair of tensors could not be compared"));
      EXPECT_THAT(finished.err, HasSubstr(std::string(leaf) + ".npy cannot be read: No such file or directory"));
      EXPECT_EQ(index(), 1) << side << ' ' << leaf;
      EXPECT_EQ(row("precision_index"), "1");
      EXPECT_THAT(row("input_data") + row("output_data"), HasSubstr("error: Dump file not found or read failed."));
      put(side, leaf, {1, 2, 3, 4});
    }
  }
}

TEST_F(GraphTensors, WhoseFileIsTornAreErrors) {
  fs::resize_file(file("npu", "output.0"), fs::file_size(file("npu", "output.0")) - 4);
  const Finished finished = run_.run();
  EXPECT_THAT(finished.err, HasSubstr("1 pair of tensors could not be compared"));
  EXPECT_EQ(index(), 1);
  EXPECT_EQ(row("precision_index"), "1");
  run_.run({"--format", "vis", "--compat", "1.2.1"});
  EXPECT_EQ(index(), 0) << "as msprobe 1.2.1";
}

TEST_F(GraphTensors, WithoutAnyFileAreNotCompared) {
  fs::remove_all(run_.folder() / "npu" / "dump_tensor_data");
  const Finished finished = run_.run();
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.out, HasSubstr("Nothing was compared: no pair of files of tensors could be read."));
  EXPECT_THAT(finished.err, HasSubstr("2 pairs of tensors could not be compared"));
}

// The viewer refuses files that the group may write, whatever the umask is.
TEST_F(GraphTensors, AreInFilesThatTheirOwnerAloneWrites) {
  const mode_t before = umask(002);
  const Finished finished = run_.run();
  umask(before);
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  for (const char* ending : {".vis", ".vis.db"}) {
    EXPECT_EQ(fs::status(run_.file(ending)).permissions(), fs::perms(0644)) << ending;
  }
}

TEST_F(GraphTensors, WithNanAtOtherPlacesAreErrors) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  put("npu", "output.0", {nan, 2, 3, 4});
  put("bench", "output.0", {1, nan, 3, 4});
  const Finished finished = run_.run();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(index(), 1);
  EXPECT_EQ(row("precision_index"), "1");
  EXPECT_THAT(row("output_data"), HasSubstr("error: The position of inf or nan in NPU and bench Tensor do not match."));
  put("bench", "output.0", {nan, 2, 3, 4});
  run_.run();
  EXPECT_EQ(index(), 0) << "equal NaN agree";
  EXPECT_EQ(row("precision_index"), "0");
}

}  // namespace
}  // namespace msrun::testing
