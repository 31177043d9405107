// Calls that wait for a device that never answers: they keep no other call from running.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

// As many calls hang as the host has processors (twelve at most), and the rest of the recording is run all the same.
TEST(WaitingCalls, HoldNoProcessor) {
  const TemporaryDirectory scratch;
  const std::size_t processors = std::clamp(std::thread::hardware_concurrency(), 1U, 12U);
  const std::string vector =
      R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[8],"Max":2.0,"Min":-2.0,"Mean":0.0,"Norm":1.0,)"
      R"("requires_grad":false})";
  std::string text = R"({"task":"statistics","level":"L1","framework":"pytorch","dump_data_dir":null,"data":{)";
  const std::size_t calls = processors + 6;
  for (std::size_t i = 0; i < calls; ++i) {
    // Those that hang are the largest, and so the first that are taken.
    const std::string name = i < processors ? "Torch.exp." : "Functional.relu.";
    text += (i > 0 ? ",\"" : "\"") + name + std::to_string(i) + R"(.forward":{"input_args":[)" + vector +
            R"(],"input_kwargs":{},"output":[)" + vector + "]}";
  }
  const std::string dump = scratch.write("dump.json", text + "}}");
  const std::string threads = std::to_string(std::min<std::size_t>(processors + 1, 8) * 3);
  Process process({"-api_info", dump, "-o", scratch / "out", "--backend", "sim", "-d", "0", "1", "2", "-n", threads,
                   "--task-timeout", "900s", "--sim-fault", "Torch.exp.*=hang", "--message-format", "json"},
                  scratch.path());
  const auto done = [&] {
    const std::string events = process.out();
    std::size_t count = 0;
    const std::string result = R"("api_result","name":"Functional.relu.)";
    for (std::size_t at = events.find(result); at != std::string::npos; at = events.find(result, at + 1)) ++count;
    return count >= calls - processors;
  };
  EXPECT_TRUE(eventually(100, done)) << process.out();
  process.signal(SIGKILL);
}

}  // namespace
}  // namespace msrun::testing
