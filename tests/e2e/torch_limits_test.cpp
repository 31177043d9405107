// What a recording may make torch do: read the memory of others, crash, take memory without end. And what is left where
// msrun is killed, or the host has no descriptors.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/base/exit_code.h"
#include "tests/support/test_paths.h"
#include "tests/support/torch_python.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Json = nlohmann::ordered_json;
using Sizes = std::vector<std::int64_t>;

Json tensor(const Sizes& shape, const std::string& dtype = "float32", double low = -1, double high = 1) {
  return {{"type", "torch.Tensor"}, {"dtype", "torch." + dtype}, {"shape", shape}, {"Max", high}, {"Min", low},
          {"requires_grad", false}};
}
Json labels(const Sizes& shape, std::int64_t label) {
  return tensor(shape, "int64", static_cast<double>(label), static_cast<double>(label));
}
Json integer(std::int64_t value) { return {{"type", "int"}, {"value", value}}; }
Json integers(const Sizes& values) {
  Json list = Json::array();
  for (const std::int64_t value : values) list.push_back(integer(value));
  return list;
}
Json real(double value) { return {{"type", "float"}, {"value", value}}; }
Json truth(bool value) { return {{"type", "bool"}, {"value", value}}; }
Json call(const std::vector<Json>& args, const Json& kwargs = Json::object()) {
  return {{"input_args", args}, {"input_kwargs", kwargs}, {"output", Json::array()}};
}

class TorchLimits : public Untouched {
 protected:
  using Rows = std::map<std::string, std::vector<std::string>>;

  void SetUp() override {
    if (!has_torch()) GTEST_SKIP() << torch_python() << " has no torch";
  }

  std::vector<std::string> words(const Json& calls, const std::vector<std::string>& more) {
    Json root = Json::parse(dump_text(""));
    for (const auto& [name, content] : calls.items()) root["data"][name + ".forward"] = content;
    std::vector<std::string> arguments{"-api_info", write_dump(root.dump()), "-o", out(), "--backend", "torch:cpu"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  // Rows by name. Nothing crashes.
  Rows run(const Json& calls, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = words(calls, {"--python", torch_python(), "-n", "1"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    finished_ = msrun(arguments, scratch_.path());
    EXPECT_THAT(finished_.out + finished_.err, Not(HasSubstr("the runner of device")));
    Rows rows;
    const auto table = read_csv(only_file(out(), "accuracy_checking_result_"));
    for (std::size_t i = 1; i < table.size(); ++i) rows[table[i].at(0)] = table[i];
    return rows;
  }

  void expect_refused(const Rows& rows, const std::string& name, const std::string& reason) {
    EXPECT_EQ(rows.at(name).at(1), "SKIP") << name;
    EXPECT_THAT(rows.at(name).back(), AllOf(HasSubstr(reason), Not(HasSubstr("torch:cpu")))) << name;
  }

  Finished finished_;
};

TEST_F(TorchLimits, AViewThatReachesBeyondItsTensorIsRefused) {
  const Json x = tensor({4});
  const std::int64_t far = std::int64_t{1} << 62;
  const auto alias = [](const Json& input, const Sizes& sizes, const Sizes& strides) {
    return call({input, integers(sizes), integers(strides)});
  };
  const Rows rows = run({{"Aten._reshape_alias.0", alias(x, {100}, {100})},
                         {"Aten._reshape_alias.1", alias(x, {2, 2}, {1, 3})},
                         {"Aten._reshape_alias.2", alias(x, {3, 3}, {far, far})},
                         {"Aten._reshape_alias.3", alias(x, {2}, {-1})},
                         {"Aten._reshape_alias.4", alias(tensor({0}), {1}, {1})},
                         {"Aten._reshape_alias.5", alias(x, {2, 2}, {1})},
                         {"Aten._reshape_alias.6", alias(x, {0, 100}, {far, far})},
                         {"Aten._reshape_alias.7", alias(x, {2, 2}, {1, 2})},
                         {"Aten._reshape_alias.8", alias(x, {3, 2}, {1, 1})},
                         {"Aten._reshape_alias.9", alias(x, {2, 2}, {2, 1})}});
  expect_refused(rows, "Aten._reshape_alias.0",
                 "A view of sizes (100,) with strides (100,) reaches over 9901 elements, and the tensor has 4.");
  expect_refused(rows, "Aten._reshape_alias.1", "reaches over 5 elements, and the tensor has 4.");
  expect_refused(rows, "Aten._reshape_alias.2", "reaches over 9223372036854775807 elements");
  expect_refused(rows, "Aten._reshape_alias.3", "has a negative number.");
  expect_refused(rows, "Aten._reshape_alias.4", "reaches over 1 elements, and the tensor has 0.");
  expect_refused(rows, "Aten._reshape_alias.5", "needs a stride for each size.");
  // What lies within the tensor is compared as torch sees it.
  for (const char* name : {"Aten._reshape_alias.7", "Aten._reshape_alias.8", "Aten._reshape_alias.9"}) {
    EXPECT_EQ(rows.at(name).at(1), "pass") << name << rows.at(name).back();
  }
}

// Each of these is taken at its word by some torch, and read beyond its tensors, or crashes it.
TEST_F(TorchLimits, ArgumentsThatTorchBelievesAreCheckedBefore) {
  const Json log_probs = tensor({5, 1, 3}, "float32", -3, -1);
  const Json lengths = call({log_probs, labels({1, 2}, 1), integers({-5}), integers({2})});
  const Json plane = tensor({1, 1, 8, 8});
  const Json samples = tensor({1, 1, 2}, "float32", 1e6, 1e6);
  const Json square = tensor({3, 3});
  Json statistics = call(
      {tensor({2, 3, 4}), tensor({1}), tensor({1}), tensor({1}), tensor({1}), truth(false), real(0.1), real(1e-5)});
  const Rows rows =
      run({{"Functional.ctc_loss.0", call({log_probs, labels({1, 2}, 100'000), integers({5}), integers({2})})},
           {"Functional.ctc_loss.1", lengths},
           {"Torch.linalg.ldl_solve.0", call({square, tensor({3}, "int32", 100'000, 100'000), tensor({3, 1})})},
           {"Functional.fractional_max_pool2d.0",
            call({plane, integer(2)}, {{"output_size", integer(3)}, {"_random_samples", samples}})},
           {"Functional.multi_margin_loss.0", call({tensor({2, 3}), labels({2}, 2)}, {{"weight", tensor({1})}})},
           {"Torch.native_batch_norm.0", statistics},
           {"Functional.native_channel_shuffle.0", call({tensor({1, 4, 2, 2}), integer(0)})},
           {"Aten.upsample_bilinear2d.0",
            call({tensor({1, 1, 4, 4}), integers({8, 8}), truth(false), real(1e-9), real(1e-9)})},
           {"Functional.relu.0", call({tensor({4})})}});
  expect_refused(rows, "Functional.ctc_loss.0", "label 100000 is out of range");
  expect_refused(rows, "Functional.ctc_loss.1", "input_lengths has a length of -5");
  expect_refused(rows, "Torch.linalg.ldl_solve.0", "the pivots are not those of a factorisation");
  expect_refused(rows, "Functional.fractional_max_pool2d.0", "a sample is not between 0 and 1");
  expect_refused(rows, "Functional.multi_margin_loss.0", "weight");
  expect_refused(rows, "Torch.native_batch_norm.0", "");
  expect_refused(rows, "Functional.native_channel_shuffle.0", "divisible by groups");
  expect_refused(rows, "Aten.upsample_bilinear2d.0", "lies beyond the 4 elements of the input");
  EXPECT_EQ(rows.at("Functional.relu.0").at(1), "pass");
}

TEST_F(TorchLimits, ResultsBeyondTheMemoryAreRefusedInTheSameWords) {
  const std::int64_t large = std::int64_t{1} << 20;
  const std::int64_t absurd = std::int64_t{1} << 40;
  const Json one = tensor({1});
  const Json line = tensor({large});
  const Json calls{{"Tensor.expand.0", call({one, integer(absurd)})},
                   {"Torch.broadcast_to.0", call({one, integers({absurd})})},
                   {"Tensor.unfold.0", call({line, integer(0), integer(large / 2), integer(1)})},
                   {"Torch.meshgrid.0", call({line, line})},
                   {"Tensor.repeat.0", call({one, integer(absurd)})},
                   {"Torch.tile.0", call({one, integers({absurd})})},
                   {"Torch.repeat_interleave.0", call({one, integer(absurd)})},
                   {"Torch.outer.0", call({line, line})},
                   {"Torch.kron.0", call({line, line})},
                   {"Torch.cdist.0", call({tensor({large, 1}), tensor({large, 1})})},
                   {"Torch.cartesian_prod.0", call({line, line})},
                   {"Functional.one_hot.0", call({labels({large}, 1), integer(1 << 30)})},
                   {"Torch.arange.0", call({integer(absurd)})},
                   {"Torch.full.0", call({integers({absurd}), real(1)})},
                   {"Torch.zeros.0", call({integer(absurd)})},
                   {"Torch.eye.0", call({integer(large)})},
                   {"Torch.linspace.0", call({integer(0), integer(1), integer(absurd)})},
                   {"Functional.pad.0", call({one, integers({absurd, 0})})},
                   {"Functional.interpolate.0", call({tensor({1, 1, 4, 4}), integers({large, large})})},
                   // What torch allocates is refused by its allocator, and told likewise.
                   {"Torch.add.0", call({tensor({large, 1}), tensor({1, large})})},
                   {"Torch.matmul.0", call({tensor({large, 1}), tensor({1, large})})}};
  const Rows rows = run(calls, {"--memory", "1G"});
  for (const auto& [name, content] : calls.items()) {
    expect_refused(rows, name, "The call needs more than the 1024 MiB of memory that --memory allows: a tensor of ");
  }
  EXPECT_LT(finished_.peak, std::uint64_t{1} << 30);
}

TEST_F(TorchLimits, ALackOfDescriptorsIsSaidSo) {
  const std::vector<std::string> arguments =
      words({{"Functional.relu.0", call({tensor({4})})}}, {"--python", torch_python(), "-n", "1"});
  bool said = false;
  for (const rlim_t limit : {8, 12, 16, 18, 20, 22}) {
    const InheritedLimit few(RLIMIT_NOFILE, limit);
    const Finished finished = msrun(arguments, scratch_.path());
    EXPECT_NE(finished.exit_code, exit_internal) << limit << finished.err;
    said = said || finished.err.find("raise the limit with ulimit -n") != std::string::npos;
    if (limit == 16) {
      EXPECT_EQ(finished.exit_code, exit_usage) << finished.err;
      EXPECT_THAT(finished.err, HasSubstr("more files are needed than the 16 that may be open"));
    }
  }
  EXPECT_TRUE(said);
}

// Where the interpreter is a script that starts another one, that is no child of msrun.
TEST_F(TorchLimits, APythonBehindAScriptEndsWithMsrunWhateverItIsAt) {
  for (const char* fault : {"hanging_import", "hanging_inspection", "hang"}) {
    SCOPED_TRACE(fault);
    fs::remove(scratch_ / "pids");
    const std::string program =
        scratch_.write("python", "#!/bin/sh\n" + torch_python() + " '" + source_root() +
                                     "/tests/e2e/torch/faulty_python.py' \"$@\" &\necho $! >> '" +
                                     scratch_.file("pids") + "'\nwait $!\n");
    ASSERT_EQ(chmod(program.c_str(), 0755), 0);
    Process run(words({{"Functional.relu.0", call({tensor({4})})}}, {"--python", program, "--task-timeout", "300"}),
                scratch_.path(), {std::string("MSRUN_TEST_FAULT=") + fault});
    std::vector<pid_t> pids;
    ASSERT_TRUE(eventually(60, [&] {
      std::ifstream file(scratch_ / "pids");
      pids.clear();
      for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
      return !pids.empty();
    }));
    usleep(4'000'000);
    run.signal(SIGKILL);
    run.wait();
    for (const pid_t pid : pids) EXPECT_TRUE(eventually(20, [&] { return kill(pid, 0) != 0; })) << pid;
  }
}

}  // namespace
}  // namespace msrun::testing
