// Every sample dump on torch against the files that msProbe wrote for it with torch as the device: asked for msProbe's
// rules and for torch's stream of random data, the statuses are the same. torch/other_statuses.txt lists the APIs for
// which they are not, with the reason. Recordings of an NPU's own operators run on a stand-in for torch_npu, which puts
// them together of torch's; msProbe had one as well.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>

#include "runner/workers/shared_forks.h"
#include "tests/support/golden_dumps.h"
#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/torch_python.h"

namespace msrun::testing {
namespace {

// Beginnings of names of which other_statuses.txt knows that they differ.
std::vector<std::string> listed() {
  std::vector<std::string> beginnings;
  std::istringstream lines(read_file(source_root() + "/tests/e2e/torch/other_statuses.txt"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t star = line.find("* ");
    EXPECT_NE(star, std::string::npos) << line << ": a name, '*', and the reason";
    beginnings.push_back(line.substr(0, star));
  }
  return beginnings;
}

// The workers of all runs of this process, which import torch once: what a run finds in its environment.
std::string shared_workers() {
  static const std::unique_ptr<SharedForks> workers = [] {
    WorkerOptions options;
    options.kind = "cpu";
    options.python = torch_python();
    std::unique_ptr<SharedForks> forks = SharedForks::start(options, STDERR_FILENO);
    // Every program that is started from here on may use it.
    EXPECT_EQ(fcntl(forks->descriptor(), F_SETFD, 0), 0);
    return forks;
  }();
  return workers->variable();
}

class TorchGolden : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_torch()) GTEST_SKIP() << torch_python() << " has no torch";
  }

  Rows result_of(const std::vector<std::string>& devices, const std::string& out) {
    const bool of_npu = GetParam().starts_with("npu_");
    std::vector<std::string> words{"-api_info", dump(GetParam()),
                                   "-o",        scratch_ / out,
                                   "--backend", of_npu ? "torch:npu" : "torch:cpu",
                                   "--python",  torch_python(),
                                   "-n",        "2",
                                   "--compat",  "msprobe",
                                   "-d"};
    words.insert(words.end(), devices.begin(), devices.end());
    words.insert(words.end(), {"--seed-mode", "stream"});
    const std::string environment =
        of_npu ? "PYTHONPATH=" + source_root() + "/tests/e2e/torch/fake_npu" : shared_workers();
    const Finished finished = msrun(words, scratch_.path(), {environment});
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    return read_csv(only_file(scratch_ / out, "accuracy_checking_result_"));
  }

  const TemporaryDirectory scratch_;
};

TEST_P(TorchGolden, HasTheStatusesOfMsprobe) {
  const Rows rows = result_of({"0"}, "one");
  // Torch takes long to start for every device, and what the other recordings have is calls like these.
  const std::set<std::string> some{"cnn_fp32", "llama_bf16", "npu_fused_synth_bf16", "zoo_tensor"};
  if (some.contains(GetParam())) {
    EXPECT_TRUE(result_of({"0", "1"}, "two") == rows) << "it depends on the devices";
  }
  const Rows expected = read_csv(golden(GetParam(), "result"));
  ASSERT_EQ(names(rows), names(expected));
  const std::vector<std::string> beginnings = listed();
  std::size_t others = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const auto& row = rows[i];
    if (row[1] == expected[i][1] && row[2] == expected[i][2]) continue;
    const std::string statuses =
        row[0] + ": '" + row[1] + "', '" + row[2] + "', not '" + expected[i][1] + "', '" + expected[i][2] + "'";
    const bool is_listed =
        std::ranges::any_of(beginnings, [&](const std::string& beginning) { return row[0].starts_with(beginning); });
    if (is_listed) continue;
    // A newer torch runs what msProbe's had no kernel for.
    const bool had_no_kernel =
        expected[i].size() > 3 && expected[i][3].find("not implemented for") != std::string::npos;
    if (had_no_kernel && row[1] != "SKIP" && !torch_is_of_golden_files()) continue;
    // What is skipped does not depend on the processor that torch was built for, as last bits do.
    EXPECT_EQ(row[1] == "SKIP", expected[i][1] == "SKIP") << statuses;
    EXPECT_EQ(row[2] == "SKIP", expected[i][2] == "SKIP") << statuses;
    std::cout << statuses << '\n';
    ++others;
  }
  // Which processor msProbe's torch ran on decides about its products in bfloat16.
  const bool other_products = GetParam().find("bf16") != std::string::npos && torch_rounds_partial_sums();
  if (other_products) return;
  // Last bits in bfloat16 differ between versions of torch, and with them a few statuses.
  const bool other_bits = GetParam().find("bf16") != std::string::npos && !torch_is_of_golden_files();
  const std::size_t allowed = other_bits ? 10 : 2;
  EXPECT_LE(others * 100, allowed * (rows.size() - 1)) << "more than " << allowed << " of 100 APIs have another status";
}

INSTANTIATE_TEST_SUITE_P(AllDumps, TorchGolden, ::testing::ValuesIn(golden_dumps()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace msrun::testing
