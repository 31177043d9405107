// What api_precision_compare finds that nobody named: the files of both devices and the number of decimals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "journal/run_files.h"
#include "journal/writer.h"
#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::api_precision_compare {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::Finished;
using ::testing::HasSubstr;

class ApiPrecisionCompareFound : public ::testing::Test {
 protected:
  // A details file of the samples, in a folder below.
  void put(const std::string& name, bool of_npu) const {
    fs::create_directories((scratch_ / name).parent_path());
    fs::copy_file(testing::test_data(of_npu ? "/api_precision_compare/npu_details.csv"
                                            : "/api_precision_compare/gpu_details.csv"),
                  scratch_ / name);
  }

  // The journal of a run on such a device, beside its details file.
  void put_journal(const std::string& stamp, const std::string& device) const {
    journal::Writer::create(run_files(scratch_.path().string(), stamp).journal,
                            R"({"program": "msrun", "torch_device": ["torch:)" + device + "\"]}")
        .close();
  }

  // Runs the command in the folder.
  Finished run(const std::string& words, const std::vector<std::string>& environment = {}) const {
    testing::Process shell(
        {"-c", "cd '" + scratch_.path().string() + "' && '" + testing::programs() + "/api_precision_compare' " + words},
        scratch_.path(), environment, "/bin/sh");
    return shell.wait();
  }

  static constexpr const char* first = "accuracy_checking_details_20261121071535.csv";
  static constexpr const char* second = "accuracy_checking_details_20261121080102.csv";
  testing::TemporaryDirectory scratch_;
};

TEST_F(ApiPrecisionCompareFound, TheOtherFileOfTheCurrentFolder) {
  put(first, true);
  put("gpu.csv", false);
  const Finished finished = run("-gpu gpu.csv -o out");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr(std::string("the NPU file is ") + first + ", which was found"));
  put(second, false);
  EXPECT_EQ(run(std::string("-npu ") + first + " -o more").exit_code, 0);
  EXPECT_THAT(run("-gpu gpu.csv -o none").err,
              AllOf(HasSubstr("the option -npu FILE is missing"), HasSubstr(first), HasSubstr(second)));
}

TEST_F(ApiPrecisionCompareFound, FilesInFoldersOfTheirDevices) {
  put(std::string("npu/") + first, true);
  put(std::string("gpu/") + second, false);
  const Finished finished = run("-o out");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, AllOf(HasSubstr(std::string("the NPU file is npu/") + first),
                                  HasSubstr(std::string("the GPU file is gpu/") + second)));
}

TEST_F(ApiPrecisionCompareFound, WhoseAFileIsIsToldByItsJournal) {
  put(first, false);
  put(second, true);
  EXPECT_THAT(run("-o none").err, HasSubstr("the option -npu FILE is missing"));
  put_journal("20261121071535", "cuda");
  const Finished finished = run("-o out");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, AllOf(HasSubstr(std::string("the GPU file is ") + first),
                                  HasSubstr(std::string("the NPU file is ") + second)));
}

TEST_F(ApiPrecisionCompareFound, NothingIsToldFromNothing) {
  EXPECT_THAT(run("-o none").err, HasSubstr("has no file accuracy_checking_details_<time>.csv"));
  EXPECT_EQ(run("-o none").exit_code, 2);
}

// A file without end takes no memory.
TEST_F(ApiPrecisionCompareFound, AConfigYamlOfAnySizeIsRefused) {
  put("npu.csv", true);
  put("gpu.csv", false);
  scratch_.write("config.json", "{}");
  scratch_.write("config.yaml", "precision: 3\n");
  std::filesystem::resize_file(scratch_ / "config.yaml", std::uintmax_t{100} << 30);
  for (const char* named : {"config.json", "config.yaml"}) {
    const Finished finished = run(std::string("-npu npu.csv -gpu gpu.csv -o out -config ") + named);
    EXPECT_EQ(finished.exit_code, 2) << named;
    EXPECT_THAT(finished.err, HasSubstr("config.yaml")) << named;
  }
}

TEST_F(ApiPrecisionCompareFound, DecimalsAreThoseOfConfigYaml) {
  put("npu.csv", true);
  put("gpu.csv", false);
  const std::string files = "-npu npu.csv -gpu gpu.csv ";
  const auto details = [&](const std::string& out) {
    return testing::read_file(testing::only_file(scratch_ / out, "api_precision_compare_details"));
  };
  ASSERT_EQ(run(files + "-o usual").exit_code, 0);
  EXPECT_THAT(details("usual"), HasSubstr("1.00000000000000"));
  scratch_.write("config.yaml", "precision: 3\n");
  ASSERT_EQ(run(files + "-o named -config config.yaml").exit_code, 0);
  EXPECT_THAT(details("named"), HasSubstr(",1.000,")) << "what is copied from a mixed column stays as it was";
  scratch_.write("config.json", "{}");
  ASSERT_EQ(run(files + "-o beside -config config.json").exit_code, 0);
  EXPECT_EQ(details("beside"), details("named"));
  const std::string package = "packages/msprobe/pytorch/api_accuracy_checker";
  fs::create_directories(scratch_ / package);
  scratch_.write(package + "/config.yaml", "precision: 3\n");
  ASSERT_EQ(run(files + "-o found", {"PYTHONPATH=" + scratch_.file("packages")}).exit_code, 0);
  EXPECT_EQ(details("found"), details("named"));
}

}  // namespace
}  // namespace msrun::api_precision_compare
