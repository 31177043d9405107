// Wrong gradients in recordings: every recorded gradient is changed in several ways, and the run must say so. The
// recordings hold gradients of arguments in their order (opinfo_sample, gradients/arguments) and what the dumper's
// hooks on autograd nodes give (gradients/nodes).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "kernels/io/torch/pt_file.h"
#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

enum class Verdict { passed, accused, skipped };
using Verdicts = std::map<std::string, Verdict>;  // of the backwards, by the name of the call

struct Fault {
  const char* name;
  std::function<void(std::vector<double>&)> apply;
};

const std::vector<Fault>& faults() {
  static const std::vector<Fault> list{
      {"scaled",
       [](std::vector<double>& values) {
         for (double& value : values) value *= 1.5;
       }},
      {"one element",
       [](std::vector<double>& values) {
         const auto largest = std::ranges::max_element(values, {}, [](double value) { return std::abs(value); });
         *largest += *largest == 0 ? 1 : *largest / 2;
       }},
      {"negated",
       [](std::vector<double>& values) {
         for (double& value : values) value = -value;
       }},
      {"reversed", [](std::vector<double>& values) { std::ranges::reverse(values); }},
      {"zero", [](std::vector<double>& values) { std::ranges::fill(values, 0); }},
  };
  return list;
}

// A copy of a recording whose gradients can be changed. Its other files are those of the recording.
class Recording {
 public:
  Recording(const fs::path& source, fs::path copy) : copy_(std::move(copy)) {
    fs::create_directories(data());
    fs::copy_file(source / "dump.json", copy_ / "dump.json");
    for (const auto& entry : fs::directory_iterator(source / "dump_tensor_data")) {
      const std::string name = entry.path().filename();
      std::error_code other_device;
      fs::create_hard_link(entry.path(), data() / name, other_device);
      if (other_device) fs::copy_file(entry.path(), data() / name);
      const std::size_t at = name.find(".backward.output.");
      if (at != std::string::npos) gradients_[name.substr(0, at)].push_back(name);
    }
    for (auto& [call, files] : gradients_) std::ranges::sort(files);
  }

  // Runs the recording as it is.
  Verdicts verdicts() {
    const fs::path out = copy_ / "out";
    const Finished run = msrun({"-api_info", copy_ / "dump.json", "--backend", "recorded", "--recorded-on", "cpu", "-n",
                                "2", "-o", out, "--message-format", "json"},
                               copy_);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    fs::remove_all(out);
    Verdicts result;
    std::istringstream events(run.out);
    for (std::string line; std::getline(events, line);) {
      const auto event = nlohmann::json::parse(line);
      if (event.at("type") != "api_result" || event.at("backward").is_null()) continue;
      const std::string status = event.at("backward");
      if (status == " " || event.at("forward") == "SKIP") continue;
      result[event.at("name")] = status == "SKIP"                                            ? Verdict::skipped
                                 : status == "pass" || event.at("rounding_only").get<bool>() ? Verdict::passed
                                                                                             : Verdict::accused;
    }
    return result;
  }

  std::size_t most_gradients() const {
    std::size_t most = 0;
    for (const auto& [call, files] : gradients_) most = std::max(most, files.size());
    return most;
  }

  // Verdicts of the calls in which the gradient of that index could be changed by the fault.
  Verdicts with_fault(const Fault& fault, std::size_t index) {
    std::map<std::string, Tensor> changed;
    for (const auto& [call, files] : gradients_) {
      if (index >= files.size()) continue;
      const std::string path = data() / files[index];
      const Tensor tensor = read_pt(path);
      if (is_complex(tensor.dtype()) || tensor.numel() == 0) continue;
      const Tensor wide = tensor.to(DType::float64).contiguous();
      std::vector<double> values(wide.data<double>(), wide.data<double>() + wide.numel());
      fault.apply(values);
      const Tensor wrong = Tensor::from<double>(DType::float64, wide.shape(), std::span<const double>(values));
      if (same_values(wrong.to(tensor.dtype()).to(DType::float64).contiguous(), wide)) continue;
      changed[call] = tensor;
      fs::remove(path);
      write_pt(path, wrong.to(tensor.dtype()));
    }
    Verdicts result;
    if (changed.empty()) return result;
    const Verdicts all = verdicts();
    for (const auto& [call, tensor] : changed) {
      if (all.contains(call)) result[call] = all.at(call);
      write_pt(data() / gradients_[call][index], tensor);
    }
    return result;
  }

 private:
  fs::path data() const { return copy_ / "dump_tensor_data"; }

  static bool same_values(const Tensor& a, const Tensor& b) {
    return std::equal(a.data<double>(), a.data<double>() + a.numel(), b.data<double>());
  }

  fs::path copy_;
  std::map<std::string, std::vector<std::string>> gradients_;
};

struct Counts {
  std::size_t planted = 0;
  std::size_t accused = 0;
  std::size_t skipped = 0;
  std::string others;  // what was not accused, one a line
};

// Every `step`-th pair of a fault and an index of a gradient, from `first` on: all are many runs.
Counts plant(const fs::path& source, const fs::path& scratch, std::size_t first = 0, std::size_t step = 1) {
  Recording recording(source, scratch / "copy");
  Counts counts;
  std::size_t number = 0;
  for (std::size_t index = 0; index < recording.most_gradients(); ++index) {
    for (const Fault& fault : faults()) {
      if (number++ % step != first) continue;
      for (const auto& [call, verdict] : recording.with_fault(fault, index)) {
        ++counts.planted;
        counts.accused += verdict == Verdict::accused ? 1 : 0;
        counts.skipped += verdict == Verdict::skipped ? 1 : 0;
        if (verdict != Verdict::accused) {
          counts.others += call + ", gradient " + std::to_string(index) + ", " + fault.name +
                           (verdict == Verdict::skipped ? ": SKIP\n" : ": passed\n");
        }
      }
    }
  }
  fs::remove_all(scratch / "copy");
  return counts;
}

class PlantedGradients : public ::testing::TestWithParam<const char*> {};

TEST_P(PlantedGradients, SoundOnesPass) {
  const TemporaryDirectory out;
  for (const auto& [call, verdict] :
       Recording(test_data("/gradients/" + std::string(GetParam())), out / "copy").verdicts()) {
    EXPECT_NE(verdict, Verdict::accused) << call;
  }
}

TEST_P(PlantedGradients, AreFound) {
  const TemporaryDirectory out;
  const Counts counts = plant(test_data("/gradients/" + std::string(GetParam())), out.path());
  std::cout << counts.planted << " planted, " << counts.accused << " found, " << counts.skipped << " SKIP\n"
            << counts.others;
  EXPECT_GE(counts.planted, 1000U);
  EXPECT_LE(counts.skipped, 15U) << counts.others;
  EXPECT_GE(counts.accused, counts.planted * 98 / 100) << counts.others;
}

INSTANTIATE_TEST_SUITE_P(Recordings, PlantedGradients, ::testing::Values("arguments", "nodes"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST(PlantedGradients, AreFoundInOperatorSamples) {
  const TemporaryDirectory out;
  Counts all;
  std::size_t first = 0;
  for (const char* category : {"matmul_linalg", "nn_loss", "nn_norm"}) {
    const Counts counts = plant(test_data("/opinfo_sample/" + std::string(category)), out.path(), first++ % 3, 3);
    all.planted += counts.planted;
    all.accused += counts.accused;
    all.skipped += counts.skipped;
    all.others += counts.others;
  }
  EXPECT_GE(all.planted, 100U);
  EXPECT_EQ(all.skipped, 0U) << all.others;
  EXPECT_GE(all.accused, all.planted * 95 / 100) << all.others;
}

}  // namespace
}  // namespace msrun::testing
