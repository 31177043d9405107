// Recorded results as the device under test: the operator sample dumps, and dumps that real models left.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "kernels/io/torch/pt_file.h"
#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

fs::path sample_root() {
  const char* other = std::getenv("MSRUN_OPINFO");
  return other != nullptr ? fs::path(other) : fs::path(test_data()) / "opinfo_sample";
}

struct Verdict {
  std::string forward;
  std::string backward;
};

std::map<std::string, Verdict> verdicts(const fs::path& csv, std::size_t name, std::size_t forward,
                                        std::size_t backward) {
  std::map<std::string, Verdict> result;
  for (const auto& row : read_csv(csv)) {
    if (row.size() > backward && row[name].find('.') != std::string::npos)
      result[row[name]] = {row[forward], row[backward]};
  }
  return result;
}

std::map<std::string, Verdict> check(const fs::path& dump_json, const fs::path& folder, const fs::path& scratch) {
  const Finished run = msrun(
      {"-api_info", dump_json, "-o", folder, "--backend", "recorded", "--recorded-on", "cpu", "-n", "2"}, scratch);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return verdicts(only_file(folder, "accuracy_checking_result_"), 0, 1, 2);
}

// Every entry of expected_verdict.csv passes its forward. A backward that msProbe leaves out, because the call has
// several outputs, is checked and passes, too.
TEST(Recorded, OperatorSamples) {
  const std::map<std::string, Verdict> expected = verdicts(sample_root() / "expected_verdict.csv", 1, 2, 3);
  ASSERT_FALSE(expected.empty());
  const TemporaryDirectory out;
  std::map<std::string, Verdict> found;
  for (const auto& entry : fs::directory_iterator(sample_root())) {
    if (!fs::exists(entry.path() / "dump.json")) continue;
    const fs::path folder = out / entry.path().filename().string();
    found.merge(check(entry.path() / "dump.json", folder, out.path()));
  }
  for (const auto& [name, verdict] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    // Its dtype is named, a half type in which msProbe computes its benchmark; correct rounding exceeds the limits.
    const bool names_half = name == "Torch.cumsum.2";
    EXPECT_EQ(found[name].forward, names_half ? "warning" : verdict.forward) << name;
    if (verdict.backward == "pass") {
      EXPECT_EQ(found[name].backward, "pass") << name;
    } else {
      EXPECT_TRUE(found[name].backward == "pass" || found[name].backward == "SKIP" || found[name].backward == " ")
          << name << ": " << found[name].backward;
    }
  }
}

// Dumps of float32 models: whatever order autograd gave the gradients in, none is taken for wrong.
TEST(Recorded, ModelDumps) {
  const TemporaryDirectory out;
  for (const char* name : {"vit_fp32_tensor", "zoo_tensor"}) {
    std::size_t backward_passes = 0;
    for (const auto& [api, verdict] : check(dump(name), out / name, out.path())) {
      // The second call of each API of the zoo is in bfloat16, where correct rounding exceeds the limits.
      if (std::string(name) == "zoo_tensor" && (verdict.forward == "warning" || verdict.forward == "error")) continue;
      if (api == "Tensor.pow.1" || api == "Torch.exp.1" || api == "Tensor.float.0") continue;
      EXPECT_TRUE(verdict.backward != "error" && verdict.backward != "warning") << name << " " << api;
      backward_passes += verdict.backward == "pass" ? 1 : 0;
    }
    EXPECT_GT(backward_passes, 15U) << name;
  }
}

TEST(Recorded, NeedsTensors) {
  const TemporaryDirectory out;
  const Finished run = msrun({"-api_info", dump("cnn_fp32"), "-o", out / "out", "--backend", "recorded"}, out.path());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.err.find("holds statistics, not tensors"), std::string::npos) << run.err;
  EXPECT_FALSE(fs::exists(out / "out"));
}

TEST(Recorded, ADumpMayBeALink) {
  const TemporaryDirectory out;
  fs::create_symlink(fs::path(test_data()) / "opinfo_sample" / "nn_activation" / "dump.json", out / "dump.json");
  EXPECT_EQ(check(out / "dump.json", out / "out", out.path())["Functional.gelu.0"].forward, "pass");
}

TEST(Recorded, WarnsOfADirectoryThatIsMissing) {
  const TemporaryDirectory out;
  fs::copy_file(fs::path(test_data()) / "opinfo_sample" / "nn_activation" / "dump.json", out / "dump.json");
  const Finished run = msrun({"-api_info", out / "dump.json", "-o", out / "out", "--backend", "recorded"}, out.path());
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_NE(run.out.find("Nothing was checked"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("there is no directory " + (out / "dump_tensor_data").string()), std::string::npos) << run.out;
}

// A result whose file is gone is a SKIP with the file's name; a changed one is an error.
TEST(Recorded, LooksAtTheFilesOfTheResults) {
  const TemporaryDirectory out;
  const fs::path source = fs::path(test_data()) / "opinfo_sample" / "nn_activation";
  fs::copy(source, out / "dump", fs::copy_options::recursive);
  const fs::path data = out / "dump" / "dump_tensor_data";
  fs::remove(data / "Functional.softmax.0.forward.output.0.pt");
  fs::remove(data / "Functional.softmax.1.backward.output.0.pt");
  // Another call's gradient of the same shape in place of the output.
  fs::copy_file(data / "Functional.gelu.0.backward.input.0.pt", data / "Functional.gelu.0.forward.output.0.pt",
                fs::copy_options::overwrite_existing);
  auto found = check(out / "dump" / "dump.json", out / "out", out.path());
  EXPECT_EQ(found["Functional.softmax.0"].forward, "SKIP");
  EXPECT_EQ(found["Functional.softmax.1"].forward, "pass");
  EXPECT_EQ(found["Functional.softmax.1"].backward, "SKIP");
  EXPECT_EQ(found["Functional.gelu.0"].forward, "error");
  const std::string rows = read_file(only_file(out / "out", "accuracy_checking_result_"));
  EXPECT_NE(rows.find("Functional.softmax.0.forward.output.0.pt"), std::string::npos) << rows;
}

// The file counts, not the dump: but if they disagree, the file may be that of another call.
TEST(Recorded, SaysOfAFileThatItIsNotWhatTheDumpSays) {
  const TemporaryDirectory out;
  fs::copy(fs::path(test_data()) / "opinfo_sample" / "nn_activation", out / "dump", fs::copy_options::recursive);
  const fs::path data = out / "dump" / "dump_tensor_data";
  const std::string output = "Functional.gelu.0.forward.output.0.pt";
  const std::string gradient = "Functional.softmax.1.backward.input.0.pt";
  const std::array<std::int64_t, 1> shape{2};
  for (const std::string& name : {output, gradient}) {
    fs::remove(data / name);
    write_pt((data / name).string(), Tensor::full(DType::float64, shape, 1));
  }
  auto found = check(out / "dump" / "dump.json", out / "out", out.path());
  EXPECT_EQ(found["Functional.gelu.0"].forward, "error");
  EXPECT_EQ(found["Functional.softmax.1"].backward, "SKIP");
  std::size_t notes = 0;
  for (const auto& row : read_csv(only_file(out / "out", "accuracy_checking_details_"))) {
    const bool note = row.back().find(" holds torch.float64 (2,), the dump says torch.float") != std::string::npos;
    if (note) ++notes;
    const bool one_of_two =
        row[0] == "Functional.gelu.0.forward.output.0" || row[0] == "Functional.softmax.1.forward.output.0";
    EXPECT_EQ(note, one_of_two) << row[0] << row.back();
  }
  EXPECT_EQ(notes, 2U);
}

// What the file holds says whether there is a gradient, if the dump names a dtype that is none.
TEST(Recorded, ADtypeThatIsUnknownDoesNotKeepAGradientFromBeingChecked) {
  const TemporaryDirectory out;
  fs::copy(fs::path(test_data()) / "opinfo_sample" / "nn_activation", out / "dump", fs::copy_options::recursive);
  nlohmann::json dump = nlohmann::json::parse(read_file(out / "dump" / "dump.json"));
  dump["data"]["Functional.gelu.0.forward"]["input_args"][0]["dtype"] = "torch.float7";
  fs::remove(out / "dump" / "dump.json");
  write_file(out / "dump" / "dump.json", dump.dump());
  auto found = check(out / "dump" / "dump.json", out / "out", out.path());
  EXPECT_EQ(found["Functional.gelu.0"].forward, "pass");
  EXPECT_EQ(found["Functional.gelu.0"].backward, "pass");
  const std::string details = read_file(only_file(out / "out", "accuracy_checking_details_"));
  EXPECT_NE(details.find("the dump says torch.float7"), std::string::npos);
}

// One bit that flipped on a disk makes an error of the device's result; the file's checksum tells.
TEST(Recorded, SaysOfAFileThatItMayBeDamaged) {
  const TemporaryDirectory out;
  fs::copy(fs::path(test_data()) / "opinfo_sample" / "nn_activation", out / "dump", fs::copy_options::recursive);
  const fs::path file = out / "dump" / "dump_tensor_data" / "Functional.gelu.0.forward.output.0.pt";
  std::string bytes = read_file(file);
  // The elements begin at a multiple of 64 behind the name of their entry; the fourth byte has the exponent.
  const std::size_t begin = (bytes.find("/data/0") + 64) / 64 * 64;
  bytes[begin + 3] ^= 0x40;
  fs::remove(file);
  write_file(file, bytes);
  EXPECT_EQ(check(out / "dump" / "dump.json", out / "out", out.path())["Functional.gelu.0"].forward, "error");
  const std::string details = read_file(only_file(out / "out", "accuracy_checking_details_"));
  EXPECT_NE(details.find("The bytes of the file Functional.gelu.0.forward.output.0.pt do not agree with its checksum"),
            std::string::npos);
  EXPECT_EQ(details.find("do not agree"), details.rfind("do not agree"));
}

// The same of a gradient's file: the note stands in the row that is blamed, which the result file repeats.
TEST(Recorded, SaysOfAGradientsFileThatItMayBeDamaged) {
  const TemporaryDirectory out;
  fs::copy(fs::path(test_data()) / "opinfo_sample" / "nn_activation", out / "dump", fs::copy_options::recursive);
  const std::string name = "Functional.gelu.0.backward.output.0.pt";
  const fs::path file = out / "dump" / "dump_tensor_data" / name;
  std::string bytes = read_file(file);
  const std::size_t begin = (bytes.find("/data/0") + 64) / 64 * 64;
  bytes[begin + 3] ^= 0x40;
  fs::remove(file);
  write_file(file, bytes);
  EXPECT_EQ(check(out / "dump" / "dump.json", out / "out", out.path())["Functional.gelu.0"].backward, "error");
  const std::string note = "The bytes of the file " + name + " do not agree with its checksum";
  for (const auto& row : read_csv(only_file(out / "out", "accuracy_checking_details_"))) {
    EXPECT_EQ(row.back().find(note) != std::string::npos, row[0] == "Functional.gelu.0.backward.output.0") << row[0];
  }
  EXPECT_NE(read_file(only_file(out / "out", "accuracy_checking_result_")).find(note), std::string::npos);
}

// A recording of gradients whose backward entry of one call is changed, and that call checked; no SKIP is let through.
class ChangedGradients {
 public:
  ChangedGradients(const std::string& recording, std::string call) : call_(std::move(call)) {
    fs::copy(test_data("/gradients/" + recording), scratch_ / "dump", fs::copy_options::recursive);
  }
  template <class F>
  void change(const F& f) const {
    const fs::path file = scratch_ / "dump" / "dump.json";
    nlohmann::json dump = nlohmann::json::parse(read_file(file));
    f(dump["data"][call_ + ".backward"]);
    fs::remove(file);
    write_file(file, dump.dump());
  }
  fs::path data() const { return scratch_ / "dump" / "dump_tensor_data"; }
  Finished run() const {
    fs::remove_all(scratch_ / "out");
    return msrun({"-api_info", scratch_ / "dump" / "dump.json", "-o", scratch_ / "out", "--backend", "recorded",
                  "--recorded-on", "cpu", "--only", call_, "--fail-on", "skip", "--summary"},
                 scratch_.path());
  }
  // The fields of the call's result.
  std::vector<std::string> result() const {
    return read_csv(only_file(scratch_ / "out", "accuracy_checking_result_")).at(1);
  }

 private:
  TemporaryDirectory scratch_;
  std::string call_;
};

// Of three gradients that a layer norm has, the dump holds two: the third is one that nobody has checked.
TEST(Recorded, AGradientThatIsMissingAmongOthersCountsAsUnchecked) {
  const ChangedGradients recording("arguments", "Functional.layer_norm.0");
  EXPECT_EQ(recording.run().exit_code, 0);
  recording.change([](nlohmann::json& entry) { entry["output"][1] = nullptr; });
  const Finished lacking = recording.run();
  EXPECT_EQ(lacking.exit_code, 1) << lacking.out;
  EXPECT_NE(lacking.out.find("Functional.layer_norm.0: the backward could not be checked."), std::string::npos)
      << lacking.out;
  const std::vector<std::string> result = recording.result();
  EXPECT_EQ(result.at(2), "pass");
  EXPECT_EQ(result.at(3), "backward.output.1: The dump holds no gradient of this argument's shape.");
}

// The gradient of a view is that of the call's output: it says nothing of the product's.
TEST(Recorded, TheGradientOfAViewCountsAsUnchecked) {
  const ChangedGradients recording("nodes", "Tensor.__matmul__.0");
  const Finished run = recording.run();
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_NE(run.out.find("Tensor.__matmul__.0: the backward could not be checked."), std::string::npos) << run.out;
  const std::vector<std::string> result = recording.result();
  EXPECT_EQ(result.at(2), "pass");
  EXPECT_EQ(
      result.at(3),
      "backward.output.0: The dump holds the gradients of the last step inside __matmul__, which computes nothing: it "
      "is that of the output.");
}

// A view keeps the order of the elements.
TEST(Recorded, TheGradientOfAViewIsNotATransposedOne) {
  const ChangedGradients recording("nodes", "Tensor.__matmul__.0");
  std::string name;
  recording.change([&](const nlohmann::json& entry) { name = entry["output"][0]["data_name"]; });
  const fs::path file = recording.data() / name;
  const Tensor gradient = read_pt(file.string());
  ASSERT_EQ(gradient.shape(), (Dims{4, 2, 4}));
  const Tensor swapped = gradient.reshape(Dims{2, 2, 2, 4}).transpose(0, 1).contiguous().reshape(Dims{4, 2, 4});
  fs::remove(file);
  write_pt(file.string(), swapped);
  EXPECT_EQ(recording.run().exit_code, 1);
  EXPECT_EQ(recording.result().at(2), "error");
}

// torch's CPU kernels round bfloat16 on the way. Such results are a class of their own, listed with its reason, and no
// fault; what is wrong besides is one.
TEST(Recorded, RoundingOnTheWayIsAClassOfItsOwn) {
  const TemporaryDirectory out;
  for (const auto& [name, expected] :
       {std::pair{"llama_bf16_tensor", "Functional.silu.0"}, std::pair{"zoo_tensor", "Torch.matmul.1"}}) {
    const Finished run = msrun({"-api_info", dump(name), "-o", out / name, "--backend", "recorded", "--recorded-on",
                                "cpu", "-n", "2", "--message-format", "json", "--fail-on", "suspicious"},
                               out.path());
    EXPECT_EQ(run.exit_code, 0) << run.err;
    std::istringstream events(run.out);
    bool found = false;
    for (std::string line; std::getline(events, line);) {
      const auto event = nlohmann::json::parse(line);
      if (event.at("type") != "api_result") continue;
      EXPECT_FALSE(event.at("suspicious").get<bool>()) << line;
      found = found || (event.at("name") == expected && event.at("proves_little") == "half_steps");
    }
    EXPECT_TRUE(found) << name << " " << expected;
    EXPECT_NE(read_file(only_file(out / name, "accuracy_checking_details_")).find("Rounds its "), std::string::npos);
  }
}

// What a damaged file has in place of a name goes into a Message, and the CSVs stay text.
TEST(Recorded, MessagesAreTextWhateverAFileHolds) {
  const TemporaryDirectory out;
  fs::copy(fs::path(test_data()) / "opinfo_sample" / "nn_activation", out / "dump", fs::copy_options::recursive);
  const fs::path file = out / "dump" / "dump_tensor_data" / "Functional.gelu.0.forward.input.0.pt";
  std::string bytes = read_file(file);
  const std::size_t name = bytes.find("_rebuild_tensor_v2");
  ASSERT_NE(name, std::string::npos);
  bytes.replace(name, 4, "\xE0\x1B[m");
  fs::remove(file);
  write_file(file, bytes);
  EXPECT_EQ(check(out / "dump" / "dump.json", out / "out", out.path())["Functional.gelu.0"].forward, "SKIP");
  for (const char* kind : {"result", "details"}) {
    const std::string text = read_file(only_file(out / "out", "accuracy_checking_" + std::string(kind) + "_"));
    EXPECT_NE(text.find("uses torch._utils.\xEF\xBF\xBD_[muild_tensor_v2"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace msrun::testing
