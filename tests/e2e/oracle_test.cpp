// Calls with unusual arguments (empty, 0-d, ties, NaN, infinite, subnormal, huge and tiny numbers, every reduction and
// padding mode) as torch computes them on the CPU: recorded results of which none is to be accused.
// tests/data/generators/oracle.py makes the dumps; calls in which torch's float32 contradicts its own float64 are left
// out there.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

fs::path recordings(const char* name) { return fs::path(test_data()) / name; }

// What is accused although torch computed it, with the reason.
const std::map<std::string, std::string>& known() {
  static const char* const half = "torch's CPU kernel rounds intermediate results to bfloat16";
  static const char* const steps = "a position in float32 lands on the other side of a kink or cancels";
  static const char* const welford = "torch's running mean is infinity minus infinity";
  static const char* const single = "torch 1.13 has infinity in place of NaN for the variance of one element";
  static const char* const sorted = "torch sorts NaN by a comparison that is no order";
  static const std::map<std::string, std::string> names{
      {"Torch.atanh.9", half},
      {"Torch.reciprocal.9", half},
      {"Functional.grid_sample.26", steps},
      {"Functional.grid_sample.29", steps},
      {"Functional.grid_sample.41", steps},
      {"Functional.gelu.0", "torch's vector code for the tail of erf errs by more than its last place"},
      {"Functional.local_response_norm.5",
       "squares near the end of float32, whose products with others overflow or not"},
      {"Torch.var_mean.22", "the mean of small whole numbers is exactly 0, torch's running mean nearly so"},
      {"Torch.var_mean.12", welford},
      {"Torch.var_mean.13", welford},
      {"Torch.std_mean.12", welford},
      {"Torch.std_mean.13", welford},
      {"Torch.mode.6", sorted},
      {"Torch.mode.7", sorted},
      {"Functional.hardswish.0", "torch's vector and scalar code differ at the kinks"},
      {"Torch.var.14", single},
      {"Torch.var.17", single},
      {"Torch.var.20", single},
      {"Torch.var.23", single},
      {"Torch.var_mean.14", single},
      {"Torch.var_mean.17", single},
      {"Torch.var_mean.20", single},
      {"Torch.var_mean.23", single},
      {"Torch.renorm.1", "a row whose norm is NaN is not scaled, but its norm has a gradient here"},
      {"Torch.cumprod.3", "zeros and NaN in one line"},
  };
  return names;
}

// The same of calls at the ends of their domains (tests/data/generators/edges.py), by folder and name.
const std::map<std::string, std::string>& known_edges() {
  static const char* const flat =
      "torch's CPU kernel stores the mean and the deviation of a row of equal elements in bfloat16, and 1e6 times "
      "their "
      "last place is left";
  static const char* const squares = "torch's CPU kernel squares in float16, where the square of 1e-5 is 0";
  static const char* const powers = "powers of elements in float16, infinite times 0";
  static const char* const singular = "a matrix with rows of zeros: errors are those of the whole matrix";
  static const char* const welford = "torch's running mean is infinity minus infinity";
  static const char* const sorted = "torch sorts NaN by a comparison that is no order";
  static const std::map<std::string, std::string> names{
      {"norms_bfloat16/Functional.batch_norm.3", flat},
      {"norms_bfloat16/Functional.instance_norm.2", flat},
      {"norms_bfloat16/Functional.instance_norm.3", flat},
      {"norms_bfloat16/Functional.layer_norm.2", flat},
      {"norms_float16/Functional.pairwise_distance.18", squares},
      {"norms_float16/Functional.pairwise_distance.20", squares},
      {"norms_float16/Torch.norm.19", powers},
      {"norms_float16/Torch.linalg.vector_norm.19", powers},
      {"norms_float32/Torch.linalg.matrix_norm.10", singular},
      {"norms_float32/Torch.linalg.matrix_norm.12", singular},
      {"softmaxes_float32/Torch.mode.0", sorted},
      {"softmaxes_float64/Torch.mode.0", sorted},
      {"softmaxes_float64/Torch.std_mean.0", welford},
      {"softmaxes_float64/Torch.var.0", welford},
      {"softmaxes_float64/Torch.var_mean.0", welford},
  };
  return names;
}

struct Checked {
  std::size_t calls = 0;
  std::size_t checked = 0;
};

// Checks all recordings below a folder, of which none but the known calls may be accused.
Checked expect_sound(const fs::path& root, const std::map<std::string, std::string>& but_for) {
  Checked counts;
  const TemporaryDirectory out;
  EXPECT_TRUE(fs::exists(root));
  for (const auto& entry : fs::directory_iterator(root)) {
    const Finished run = msrun({"-api_info", entry.path() / "dump.json", "--backend", "recorded", "--recorded-on",
                                "cpu", "-n", "2", "-o", out / entry.path().filename(), "--message-format", "json"},
                               out.path());
    EXPECT_EQ(run.exit_code, 0) << run.err;
    std::istringstream events(run.out);
    for (std::string line; std::getline(events, line);) {
      const auto event = nlohmann::json::parse(line);
      if (event.at("type") != "api_result") continue;
      ++counts.calls;
      const std::string name = event.at("name");
      counts.checked += event.at("forward") == "SKIP" ? 0 : 1;
      if (event.at("suspicious").get<bool>()) {
        const std::string place = entry.path().filename().string() + "/" + name;
        EXPECT_TRUE(but_for.contains(name) || but_for.contains(place)) << place << " is accused: " << line;
      }
    }
  }
  return counts;
}

TEST(Oracle, NoResultOfTorchIsAccused) {
  const Checked counts = expect_sound(recordings("oracle"), known());
  EXPECT_GE(counts.calls, 2000U);
  EXPECT_GE(counts.checked, counts.calls * 9 / 10);
}

// Rows of zeros, eps of 0, zeros of both signs, infinities and NaN.
TEST(Oracle, NoEdgeOfTorchIsAccused) {
  const Checked counts = expect_sound(recordings("edges"), known_edges());
  EXPECT_GE(counts.calls, 1500U);
  EXPECT_GE(counts.checked, counts.calls * 9 / 10);
}

// Scale factors that do not reproduce the size (tests/data/generators/shortcuts.py).
TEST(Oracle, NoInterpolationOfTorchIsAccused) {
  const Checked counts = expect_sound(recordings("shortcuts"), {});
  EXPECT_GE(counts.calls, 500U);
  EXPECT_EQ(counts.checked, counts.calls);
}

}  // namespace
}  // namespace msrun::testing
