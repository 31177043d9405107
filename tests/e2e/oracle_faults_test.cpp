// Faults planted into recorded results that torch computed (tests/data/oracle): one element wrong, all scaled, negated,
// or shifted by one place. Whatever changes a result by far more than rounding can is found, in outputs and gradients.
// Every call gets one fault here; MSRUN_ORACLE_FAULTS=all gives it each.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "kernels/io/torch/pt_file.h"
#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

enum class Fault : std::uint8_t { element, scaled, negated, shifted };
constexpr std::size_t fault_count = 4;
constexpr std::array<const char*, fault_count> fault_names{"element", "scaled", "negated", "shifted"};

enum class Direction : std::uint8_t { outputs, gradients };

double largest_magnitude(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

std::vector<double> altered(const std::vector<double>& values, Fault fault, bool half) {
  std::vector<double> result = values;
  const double largest = largest_magnitude(values);
  switch (fault) {
    case Fault::element: {
      // A finite element, from the middle on.
      for (std::size_t i = 0; i < values.size(); ++i) {
        double& value = result[(i + values.size() / 2) % values.size()];
        if (!std::isfinite(value)) continue;
        value = value > 0 ? value - 0.6 * largest : value + (largest > 0 ? 0.6 * largest : 1);
        break;
      }
      break;
    }
    case Fault::scaled:
      for (double& value : result) value *= half ? 1.1 : 1.01;
      break;
    case Fault::negated:
      for (double& value : result) value = -value;
      break;
    case Fault::shifted:
      if (!result.empty()) std::rotate(result.begin(), result.end() - 1, result.end());
      break;
  }
  return result;
}

// Changed by more than rounding can: by a thousandth of the largest value, in half types by a twentieth.
bool beyond_rounding(const std::vector<double>& before, const std::vector<double>& after, bool half) {
  const double least = (half ? 0.05 : 1e-3) * largest_magnitude(before);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (std::isfinite(before[i]) && !(std::abs(after[i] - before[i]) <= least)) return true;
  }
  return false;
}

std::vector<double> numbers_of(const Tensor& tensor) {
  const Tensor wide = tensor.to(DType::float64).contiguous();
  return {wide.data<double>(), wide.data<double>() + wide.numel()};
}

// Alters the first floating tensor of a list of recorded results that the fault changes; whether there was one.
bool plant(const nlohmann::json& results, const fs::path& data, Fault fault) {
  for (const auto& item : results) {
    if (item.is_array()) {
      if (plant(item, data, fault)) return true;
      continue;
    }
    if (!item.is_object() || !item.contains("data_name")) continue;
    const std::string dtype = item.at("dtype");
    const bool half = dtype == "torch.bfloat16" || dtype == "torch.float16";
    if (!half && dtype != "torch.float32") continue;
    const std::string file = data / item.at("data_name").get<std::string>();
    const Tensor tensor = read_pt(file);
    const std::vector<double> before = numbers_of(tensor);
    const Tensor after =
        Tensor::from<double>(DType::float64, tensor.shape(), std::span<const double>(altered(before, fault, half)))
            .to(tensor.dtype());
    if (!beyond_rounding(before, numbers_of(after), half)) continue;
    fs::remove(file);
    write_pt(file, after);
    return true;
  }
  return false;
}

// dump.json holds the bare tokens NaN and Infinity, which are no JSON; nothing here needs these numbers.
nlohmann::json read_dump(const fs::path& path) {
  std::string text = read_file(path);
  for (const std::string_view token : {": NaN", ": Infinity", ": -Infinity"}) {
    for (std::size_t at = text.find(token); at != std::string::npos; at = text.find(token, at))
      text.replace(at, token.size(), ": null");
  }
  return nlohmann::json::parse(text);
}

using Names = std::map<std::string, bool>;

// Whether each call of a recording is suspicious; calls whose direction was not checked are left out.
Names suspicious_calls(const fs::path& folder, const fs::path& out, const char* direction) {
  const Finished run = msrun({"-api_info", folder / "dump.json", "--backend", "recorded", "--recorded-on", "cpu", "-n",
                              "2", "-o", out, "--message-format", "json"},
                             out.parent_path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  Names names;
  std::istringstream events(run.out);
  for (std::string line; std::getline(events, line);) {
    const auto event = nlohmann::json::parse(line);
    if (event.at("type") != "api_result" || event.at(direction).is_null() || event.at(direction) == "SKIP") continue;
    names[event.at("name")] = event.at("suspicious").get<bool>();
  }
  return names;
}

// Files that are not written to again: links to them do, where the file system has both.
void copy_or_link(const fs::path& from, const fs::path& to) {
  std::error_code refused;
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::create_hard_links, refused);
  if (refused) fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::skip_existing);
}

struct Tally {
  std::size_t planted = 0;
  std::vector<std::string> missed;
};

// Plants one fault in every call of a recording, the kind by the number of the call, and counts what is found.
void plant_and_count(const fs::path& recording, const fs::path& scratch, Direction direction, std::size_t rotation,
                     std::map<Fault, Tally>& tallies) {
  const bool forward = direction == Direction::outputs;
  const Names clean = suspicious_calls(recording, scratch / "clean", forward ? "forward" : "backward");
  copy_or_link(recording, scratch / "recording");
  const nlohmann::json dump = read_dump(recording / "dump.json");
  std::map<std::string, Fault> planted;
  std::size_t number = rotation;
  for (const auto& [key, entry] : dump.at("data").items()) {
    const std::string_view suffix = forward ? ".forward" : ".backward";
    if (!key.ends_with(suffix)) continue;
    const auto fault = static_cast<Fault>(number++ % fault_count);
    if (plant(entry.at("output"), scratch / "recording" / "dump_tensor_data", fault))
      planted[key.substr(0, key.size() - suffix.size())] = fault;
  }
  for (const auto& [name, is_suspicious] :
       suspicious_calls(scratch / "recording", scratch / "out", forward ? "forward" : "backward")) {
    const auto found = planted.find(name);
    const auto before = clean.find(name);
    if (found == planted.end() || before == clean.end() || before->second) continue;
    Tally& tally = tallies[found->second];
    ++tally.planted;
    if (!is_suspicious) tally.missed.push_back(name);
  }
  fs::remove_all(scratch / "clean");
  fs::remove_all(scratch / "recording");
  fs::remove_all(scratch / "out");
}

void expect_found(Direction direction, double least_share) {
  const fs::path root = fs::path(test_data()) / "oracle";
  ASSERT_TRUE(fs::exists(root));
  const char* wanted = std::getenv("MSRUN_ORACLE_FAULTS");
  const std::size_t rotations = wanted != nullptr && std::string_view(wanted) == "all" ? fault_count : 1;
  std::map<Fault, Tally> tallies;
  for (std::size_t rotation = 0; rotation < rotations; ++rotation) {
    for (const auto& entry : fs::directory_iterator(root)) {
      const TemporaryDirectory scratch;
      plant_and_count(entry.path(), scratch.path(), direction, rotation, tallies);
    }
  }
  for (const auto& [fault, tally] : tallies) {
    std::string names;
    for (const std::string& name : tally.missed) names += " " + name;
    const std::size_t found = tally.planted - tally.missed.size();
    std::cout << fault_names.at(static_cast<std::size_t>(fault)) << ": " << found << " of " << tally.planted
              << " found; missed:" << names << "\n";
    EXPECT_GE(static_cast<double>(found), least_share * static_cast<double>(tally.planted));
  }
}

TEST(OracleFaults, InOutputsAreFound) { expect_found(Direction::outputs, 0.98); }

TEST(OracleFaults, InGradientsAreFound) { expect_found(Direction::gradients, 0.98); }

}  // namespace
}  // namespace msrun::testing
