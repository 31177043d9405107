// shrink: planted faults, recorded results and a damaged torch are shrunk to recordings that fail for the same cause
// when msrun runs them alone; what cannot be shrunk, and interrupts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "journal/file.h"
#include "kernels/io/dump/dump_json.h"
#include "kernels/io/stored/tensor_file.h"
#include "kernels/io/torch/pt_file.h"
#include "runner/results/journal_records.h"
#include "tests/support/error_of.h"
#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/torch_python.h"
#include "tests/support/untouched.h"
#include "tests/tools/shrink/planted_faults.h"
#include "tools/shrink/cause.h"
#include "tools/shrink/trial.h"

namespace msrun::testing {
namespace {

using shrink::Cause;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

Finished run_shrink(const Words& words, const TemporaryDirectory& scratch) {
  return run_tool("shrink", words, scratch.path());
}

// The result of the one call of a recording that msrun runs.
std::optional<ApiResult> result_of(const fs::path& dump_json, const Words& options, const TemporaryDirectory& scratch) {
  static int runs = 0;
  const std::string out = scratch / ("check" + std::to_string(++runs));
  Words words{"-api_info", dump_json.string(), "-o", out, "-n", "1"};
  words.insert(words.end(), options.begin(), options.end());
  const Finished run = msrun(words, scratch.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  std::optional<ApiResult> found;
  const auto source = journal::open_source(only_file(out, "accuracy_checking_2"));
  read_records(
      *source,
      {.result = [&](ApiResult&& result) { found = std::move(result); }, .attempt = {}, .time = {}, .unreadable = {}});
  return found;
}

struct Contents {
  std::int64_t elements = 0;  // of the arguments
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<std::string> files;
};

Contents contents_of(const fs::path& dump_json) {
  Contents contents;
  DumpReader reader(dump_json.string());
  reader.read([&](std::string_view name, DumpEntry&& entry) {
    const bool forward = name.ends_with(".forward");
    const auto see = [&](const Value& leaf) {
      const TensorSpec* spec = recorded_tensor(leaf);
      if (spec == nullptr) return;
      contents.shapes.push_back(spec->shape);
      contents.files.push_back(spec->data_name);
      contents.elements += forward ? static_cast<std::int64_t>(recorded_elements(*spec)) : 0;
    };
    for_each_leaf(entry.args, see);
    for_each_leaf(entry.kwargs, see);
    for_each_leaf(entry.grad_inputs, see);
  });
  return contents;
}

// Zero elements of the files that a recording names.
std::int64_t zeros_of(const fs::path& folder) {
  std::int64_t zeros = 0;
  for (const std::string& file : contents_of(folder / "dump.json").files) {
    const Tensor tensor = read_tensor_file((folder / "dump_tensor_data" / file).string()).to(DType::float64);
    for (std::int64_t i = 0; i < tensor.numel(); ++i) zeros += tensor.item(i) == 0 ? 1 : 0;
  }
  return zeros;
}

class PlantedFaults : public ::testing::TestWithParam<PlantedFault> {};

TEST_P(PlantedFaults, FailAloneForTheSameCauseWhenTheyAreSmall) {
  const TemporaryDirectory scratch;
  const PlantedFault& planted = GetParam();
  const std::string name = planted.call + ".0";
  const std::string dump_json = scratch.write("dump.json", dump_of(planted));
  const Words options{"--backend", "sim", "--sim-fault", "*=" + planted.fault};
  const std::optional<ApiResult> before = result_of(dump_json, options, scratch);
  ASSERT_TRUE(before);
  const std::optional<Cause> cause = shrink::cause_of(*before);
  ASSERT_TRUE(cause) << "is not suspicious before it is shrunk";

  Words words{"--api", name, "-i", dump_json, "-o", scratch / "small"};
  words.insert(words.end(), options.begin(), options.end());
  const Finished run = run_shrink(words, scratch);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::cout << run.out;
  EXPECT_THAT(scratch.names(), Contains("small"));
  EXPECT_FALSE(fs::exists(scratch / "small" / ".work"));
  EXPECT_THAT(read_file(scratch / "small" / "README.txt"), HasSubstr("msrun -api_info smallest/dump.json"));

  const Contents original = contents_of(dump_json);
  for (const char* folder : {"smallest", "same_shape"}) {
    const fs::path written = scratch / "small" / folder / "dump.json";
    const std::optional<ApiResult> after = result_of(written, options, scratch);
    ASSERT_TRUE(after);
    EXPECT_TRUE(shrink::shows(*after, *cause)) << folder << ": " << cause->message;
    const Contents contents = contents_of(written);
    if (std::string(folder) == "same_shape") {
      EXPECT_EQ(contents.shapes, original.shapes);
    } else {
      EXPECT_LE(static_cast<double>(contents.elements), planted.share * static_cast<double>(original.elements));
    }
  }
}

// The first of them show each kind of step; the whole list takes a quarter of an hour and runs with MSRUN_SHRINK_ALL.
std::vector<PlantedFault> faults_to_try() {
  std::vector<PlantedFault> faults = planted_faults();
  constexpr std::size_t usual = 6;
  if (std::getenv("MSRUN_SHRINK_ALL") == nullptr) faults.resize(usual);
  return faults;
}

std::string test_name(const ::testing::TestParamInfo<PlantedFault>& info) {
  std::string name = info.param.call + "_" + info.param.fault + (info.param.dtype == "float32" ? "" : "_half");
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Sim, PlantedFaults, ::testing::ValuesIn(faults_to_try()), test_name);

PlantedFault small_sum() {
  return {"Torch.add", tensor_json("[12, 10]") + "," + tensor_json("[12, 10]"), {}, "[12, 10]", "wrong-element"};
}

TEST(Shrink, TakesCallAndOptionsFromTheJournalOfARun) {
  const TemporaryDirectory scratch;
  const std::string dump_json = scratch.write("dump.json", dump_of(small_sum()));
  const Finished run = msrun({"-api_info", dump_json, "-o", scratch / "out", "--sim-fault", "Torch.add.*=wrong-element",
                              "--seed", "7", "-n", "2", "-d", "3", "1"},
                             scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Finished shrunk = run_shrink({"--api", "Torch.add.0", "-i", scratch / "out", "-o", scratch / "small"}, scratch);
  ASSERT_EQ(shrunk.exit_code, 0) << shrunk.err;
  EXPECT_EQ(shrunk.err, "");
  EXPECT_THAT(shrunk.out, StartsWith("Torch.add.0 on sim: forward.output.0: Not explained by rounding: 1 of 120 "));
  EXPECT_THAT(shrunk.out, HasSubstr("One element of 120 differs"));
  const std::string readme = read_file(scratch / "small" / "README.txt");
  EXPECT_THAT(readme, HasSubstr("--sim-fault 'Torch.add.*=wrong-element' --seed 7"));
  EXPECT_THAT(readme, HasSubstr(" -d "));
  // One element is told from others where there are three.
  EXPECT_LE(contents_of(scratch / "small" / "smallest" / "dump.json").elements, 6);
  EXPECT_EQ(zeros_of(scratch / "small" / "same_shape"), 240);
}

TEST(Shrink, TakesACallOfOneOfSeveralRanksFromItsRecording) {
  const TemporaryDirectory scratch;
  for (const std::string rank : {"rank0", "rank1"}) {
    fs::create_directories(scratch / "in" / rank);
    scratch.write("in/" + rank + "/dump.json", dump_of(small_sum()));
  }
  const Finished run = msrun({"-api_info", scratch / "in", "-o", scratch / "out", "--sim-fault",
                              "rank1:Torch.add.*=wrong-element", "-n", "1", "--no-report"},
                             scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Finished shrunk =
      run_shrink({"--api", "rank1:Torch.add.0", "-i", scratch / "out", "-o", scratch / "small"}, scratch);
  ASSERT_EQ(shrunk.exit_code, 0) << shrunk.err;
  EXPECT_THAT(shrunk.out, StartsWith("Torch.add.0 on sim: "));
  EXPECT_THAT(read_file(scratch / "small" / "README.txt"), HasSubstr("--sim-fault 'Torch.add.*=wrong-element'"));
  // On the other rank nothing is wrong, and of a folder of recordings the call says which one is meant.
  const Finished sound =
      run_shrink({"--api", "rank0:Torch.add.0", "-i", scratch / "out", "-o", scratch / "a"}, scratch);
  EXPECT_EQ(sound.exit_code, 1) << sound.err;
  const Finished unclear = run_shrink({"--api", "Torch.add.0", "-i", scratch / "in", "-o", scratch / "b"}, scratch);
  EXPECT_EQ(unclear.exit_code, 2);
  EXPECT_THAT(unclear.err, HasSubstr("such as rank0:Torch.add.0"));
}

TEST(Shrink, RefusesWhatItCannotShrink) {
  const TemporaryDirectory scratch;
  const std::string dump_json = scratch.write("dump.json", dump_of(small_sum()));
  const auto attempt = [&](const Words& words) { return run_shrink(words, scratch); };
  const std::string out = scratch / "small";

  const Finished sound = attempt({"--api", "Torch.add.0", "-i", dump_json, "-o", out, "--backend", "sim"});
  EXPECT_EQ(sound.exit_code, 1);
  EXPECT_EQ(sound.err, "shrink: Torch.add.0 is not suspicious on sim\n");
  EXPECT_FALSE(fs::exists(out));

  const Finished unknown = attempt({"--api", "Torch.ad.0", "-i", dump_json, "-o", out});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.err, "shrink: --api Torch.ad.0 is not in " + dump_json + ", did you mean Torch.add.0?\n");

  fs::create_directory(out);
  write_file(scratch / "small" / "mine", "x");
  const Finished full = attempt({"--api", "Torch.add.0", "-i", dump_json, "-o", out});
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_EQ(full.err, "shrink: -o: " + out + " is not empty\n");
  EXPECT_EQ(read_file(scratch / "small" / "mine"), "x");

  EXPECT_EQ(attempt({"--api", "Torch.add.0", "-i", scratch / "none.json", "-o", out}).exit_code, 2);
  EXPECT_THAT(attempt({"-i", dump_json, "-o", out}).err, HasSubstr("--api is needed"));
  const Finished fault = attempt({"--api", "Torch.add.0", "-i", dump_json, "-o", scratch / "a", "--sim-fault", "x"});
  EXPECT_EQ(fault.exit_code, 2);
  EXPECT_THAT(fault.err, HasSubstr("shrink: Torch.add.0 could not be run: msrun: "));
}

// A file that may not grow is to a program what a full disk is. With less room the log takes nothing, with more the
// journal does not.
TEST(Shrink, SaysThatTheDiskIsFull) {
  const TemporaryDirectory scratch;
  const PlantedFault planted = planted_faults().front();
  const std::string dump_json = scratch.write("dump.json", dump_of(planted));
  for (const rlim_t room : {400, 2500}) {
    const InheritedLimit disk(RLIMIT_FSIZE, room);
    const Finished finished = run_shrink({"--api", planted.call + ".0", "-i", dump_json, "-o", scratch / "small",
                                          "--backend", "sim", "--sim-fault", "*=" + planted.fault},
                                         scratch);
    EXPECT_EQ(finished.exit_code, 2) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr("File too large")) << room;
  }
}

TEST(Shrink, NamesAFolderThatCannotBeMade) {
  const TemporaryDirectory scratch;
  scratch.write("taken", "");
  const shrink::Trial trial({}, scratch / "taken/run");
  EXPECT_THAT(error_of<UserError>([&] { trial.run({}, "Torch.add.0", std::nullopt); }),
              HasSubstr("taken/run cannot be made anew: Not a directory"));
}

// A call whose recording is gone does not fail, and so would seem unsteady.
TEST(Shrink, SaysThatItsFolderWasRemoved) {
  const TemporaryDirectory scratch;
  const PlantedFault planted = planted_faults().front();
  const std::string dump_json = scratch.write("dump.json", dump_of(planted));
  Process search({"--api", planted.call + ".0", "-i", dump_json, "-o", scratch / "small", "--backend", "sim",
                  "--sim-fault", "*=" + planted.fault, "--times", "1000", "--time", "100"},
                 scratch.path(), {}, "shrink");
  ASSERT_TRUE(eventually(60, [&] { return fs::exists(scratch.path() / "small/.work/run/out"); }));
  std::error_code raced;
  EXPECT_TRUE(eventually(60, [&] {
    fs::remove_all(scratch.path() / "small", raced);
    return !search.running();
  }));
  const Finished finished = search.wait();
  EXPECT_EQ(finished.exit_code, 2) << finished.err;
  EXPECT_THAT(finished.err, ::testing::AnyOf(HasSubstr("was removed while it was in use"),
                                             HasSubstr("cannot be made anew: No such file or directory")));
  EXPECT_THAT(finished.err, ::testing::Not(HasSubstr("does not fail the same way")));
}

// Interrupts the search once it has found something smaller than before elements.
Finished interrupted_when_smaller(const Words& words, std::int64_t before, const TemporaryDirectory& scratch) {
  Process process(words, scratch.path(), {}, "shrink");
  const fs::path smallest = scratch / "small" / "smallest" / "dump.json";
  EXPECT_TRUE(eventually(200, [&] {
    try {
      return !process.running() || (fs::exists(smallest) && contents_of(smallest).elements < before);
    } catch (const std::exception&) {
      return false;  // it was replaced meanwhile
    }
  }));
  process.signal(SIGINT);
  return process.wait();
}

TEST(Shrink, KeepsTheSmallestSoFarWhenItIsInterrupted) {
  const TemporaryDirectory scratch;
  const PlantedFault planted = planted_faults().front();
  const std::string dump_json = scratch.write("dump.json", dump_of(planted));
  const std::int64_t before = contents_of(dump_json).elements;
  const Words options{"--backend", "sim", "--sim-fault", "*=" + planted.fault};
  Words words{"--api", planted.call + ".0", "-i", dump_json, "-o", scratch / "small"};
  words.insert(words.end(), options.begin(), options.end());
  const Finished finished = interrupted_when_smaller(words, before, scratch);
  EXPECT_EQ(finished.exit_code, 3) << finished.err;
  const fs::path smallest = scratch / "small" / "smallest" / "dump.json";
  EXPECT_LT(contents_of(smallest).elements, before);
  EXPECT_THAT(read_file(scratch / "small" / "README.txt"), HasSubstr("interrupted before it was done"));
  EXPECT_FALSE(fs::exists(scratch / "small" / ".work"));
  const auto result = result_of(smallest, options, scratch);
  ASSERT_TRUE(result);
  EXPECT_TRUE(shrink::cause_of(*result));
}

// Of a call that hangs every run takes the limit of one call.
TEST(Shrink, KeepsItsTimeWithACallThatHangs) {
  const TemporaryDirectory scratch;
  const PlantedFault planted = planted_faults().front();
  const std::string dump_json = scratch.write("dump.json", dump_of(planted));
  const Words call{"--api",           planted.call + ".0", "-i",  dump_json,     "-o",
                   scratch / "small", "--backend",         "sim", "--sim-fault", "*=hang"};
  const auto refused = [&](const Words& more) {
    Words words = call;
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = run_shrink(words, scratch);
    EXPECT_EQ(finished.exit_code, 2) << finished.out;
    EXPECT_FALSE(fs::exists(scratch / "small"));
    return finished.err;
  };
  EXPECT_THAT(refused({"--time", "1", "--task-timeout", "100s"}), HasSubstr("gave no result within --time 1 s"));
  EXPECT_THAT(refused({"--time", "3", "--task-timeout", "1s"}), HasSubstr("--time 3 s"));
}

TEST(Shrink, SaysThatThereIsNothingWhenItIsInterruptedAtOnce) {
  const TemporaryDirectory scratch;
  const PlantedFault planted = planted_faults().front();
  const std::string dump_json = scratch.write("dump.json", dump_of(planted));
  Process process({"--api", planted.call + ".0", "-i", dump_json, "-o", scratch / "small", "--backend", "sim",
                   "--sim-fault", "*=hang", "--time", "1000", "--task-timeout", "900s"},
                  scratch.path(), {}, "shrink");
  EXPECT_TRUE(eventually(100, [&] { return fs::exists(scratch / "small" / ".work" / "run"); }));
  process.signal(SIGINT);
  const Finished finished = process.wait();
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.err, HasSubstr("interrupted before there was a result; nothing is left in"));
  EXPECT_FALSE(fs::exists(scratch / "small"));
}

// Wrong elements of a recorded output: as few of them are left as show the cause, and the call stays as it was.
TEST(Shrink, MendsRecordedResults) {
  const TemporaryDirectory scratch;
  fs::copy(dump("zoo_tensor").parent_path(), scratch / "dump", fs::copy_options::recursive);
  const std::string name = "Torch.matmul.0";
  const fs::path output = scratch / "dump" / "dump_tensor_data" / (name + ".forward.output.0.pt");
  Tensor wrong = read_pt(output.string()).clone();
  ASSERT_EQ(wrong.dtype(), DType::float32);
  for (std::int64_t i = 0; i < wrong.numel(); i += 2) wrong.mutable_data<float>()[i] += 3;
  fs::permissions(output, fs::perms::owner_write, fs::perm_options::add);
  write_pt(output.string(), wrong);
  const fs::path dump_json = scratch / "dump" / "dump.json";
  const Finished run = run_shrink({"--api", name, "-i", dump_json.string(), "-o", scratch / "small"}, scratch);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith(name + " on recorded: forward.output.0: "));
  for (const char* folder : {"smallest", "same_shape"}) {
    const fs::path data = scratch / "small" / folder / "dump_tensor_data";
    const Tensor left = read_pt((data / (name + ".forward.output.0.pt")).string());
    ASSERT_EQ(left.shape(), wrong.shape());
    std::int64_t still_wrong = 0;
    for (std::int64_t i = 0; i < left.numel(); ++i) still_wrong += left.item(i) == wrong.item(i) && i % 2 == 0 ? 1 : 0;
    EXPECT_EQ(still_wrong, 1);
    const auto result = result_of(scratch / "small" / folder / "dump.json", {"--backend", "recorded"}, scratch);
    ASSERT_TRUE(result);
    EXPECT_TRUE(shrink::cause_of(*result));
  }
}

// A Python takes seconds to import torch: the first run and the process that forks the workers of all others do.
TEST(Shrink, ShrinksWhatAPythonWithADamagedTorchComputes) {
  if (!has_torch()) GTEST_SKIP() << "there is no torch";
  const TemporaryDirectory scratch;
  const PlantedFault planted{"Functional.relu", tensor_json("[12, 40]"), {}, "[12, 40]", {}};
  const std::string dump_json = scratch.write("dump.json", dump_of(planted));
  const std::string starts = scratch / "starts";
  const std::string python =
      scratch.write("python", "#!/bin/sh\necho . >> '" + starts + "'\nexec " + torch_python() + " '" + source_root() +
                                  "/tests/tools/shrink/damaged_torch.py' \"$@\"\n");
  chmod(python.c_str(), 0755);
  const Words options{"--backend", "torch:cpu", "--python", python};
  Words words{"--api", "Functional.relu.0", "-i", dump_json, "-o", scratch / "small", "--time", "300"};
  words.insert(words.end(), options.begin(), options.end());
  const Finished finished = run_shrink(words, scratch);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, StartsWith("Functional.relu.0 on torch:cpu: forward.output.0: "));
  EXPECT_EQ(read_file(starts), ".\n.\n");
  const fs::path smallest = scratch / "small" / "smallest" / "dump.json";
  EXPECT_LT(contents_of(smallest).elements, 40);
  const auto result = result_of(smallest, options, scratch);
  ASSERT_TRUE(result);
  const auto cause = shrink::cause_of(*result);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->place, "column");
}

// What is written is read by torch as well, with the elements that msrun reads.
TEST(Shrink, WritesTensorsThatTorchLoads) {
  if (!has_torch()) GTEST_SKIP() << "there is no torch";
  const TemporaryDirectory scratch;
  const std::string dump_json = scratch.write("dump.json", dump_of(small_sum()));
  const Finished run = run_shrink({"--api", "Torch.add.0", "-i", dump_json, "-o", scratch / "small", "--backend", "sim",
                                   "--sim-fault", "*=wrong-element"},
                                  scratch);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string script = scratch.write("load.py", R"(
import json, sys, torch
folder = sys.argv[1]
entry = json.load(open(folder + "/dump.json"))["data"]["Torch.add.0.forward"]
for argument in entry["input_args"]:
    tensor = torch.load(folder + "/dump_tensor_data/" + argument["data_name"])
    assert list(tensor.shape) == argument["shape"], tensor
    assert str(tensor.dtype) == argument["dtype"]
    assert tensor.max().item() == argument["Max"]
)");
  const std::string command = torch_python() + " " + script + " " + (scratch / "small" / "same_shape").string();
  EXPECT_EQ(std::system(command.c_str()), 0);
  // The script is that of op_generate, where the build has it.
  if (fs::exists(fs::path(programs()) / "op_generate")) {
    EXPECT_TRUE(fs::exists(scratch / "small" / "smallest" / "Torch.add.0.forward.py")) << run.out;
  }
}

// The recording of the same shape keeps its backward, whose gradients are zeros by then: of a fault of the forward the
// script runs the forward.
TEST(Shrink, WritesTheScriptOfTheDirectionThatFails) {
  if (!fs::exists(fs::path(programs()) / "op_generate")) GTEST_SKIP() << "this build has no op_generate";
  const TemporaryDirectory scratch;
  PlantedFault planted = small_sum();
  planted.has_backward = true;
  const std::string dump_json = scratch.write("dump.json", dump_of(planted));
  for (const std::string fault : {"wrong-element", "gradient-sign", "crash"}) {
    const std::string out = scratch / fault;
    const Finished run = run_shrink(
        {"--api", "Torch.add.0", "-i", dump_json, "-o", out, "--backend", "sim", "--sim-fault", "*=" + fault}, scratch);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const bool backward = fault == "gradient-sign";
    for (const fs::path& folder : {fs::path(out) / "smallest", fs::path(out) / "same_shape"}) {
      EXPECT_EQ(fs::exists(folder / "Torch.add.0.forward.py"), !backward) << folder;
      EXPECT_EQ(fs::exists(folder / "Torch.add.0.backward.py"), backward) << folder;
    }
  }
}

}  // namespace
}  // namespace msrun::testing
