#include "tools/api_precision_compare/inputs.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "journal/file.h"
#include "journal/reader.h"
#include "kernels/base/text.h"
#include "runner/results/journal_records.h"
#include "runner/results/run_of_rank.h"

namespace msrun::api_precision_compare {

namespace {

using nlohmann::json;

using Checksums = std::unordered_map<std::string, std::uint64_t>;

// What the journal of the CSV, for one of several ranks further up, says of the run that wrote both: its fingerprint,
// null if that is not known, and the checksums of its calls' inputs by name.
void read_inputs(const std::string& csv, json& fingerprint, Checksums& checksums) {
  const std::optional<RunFiles> files = files_with_journal(csv);
  std::error_code error;
  if (!files || !std::filesystem::exists(files->journal, error)) return;
  try {
    const auto source = journal::open_source(files->journal);
    const json metadata = json::parse(journal::read_header(*source).metadata, nullptr, false);
    if (metadata.is_object() && metadata.contains("fingerprint") && metadata["fingerprint"].is_object()) {
      fingerprint = metadata["fingerprint"];
    }
    RecordHandlers handlers;
    handlers.result = [&](ApiResult&& result) {
      if (result.inputs != 0) checksums[std::move(result.name)] = result.inputs;
    };
    read_records(*source, handlers);
  } catch (const std::runtime_error&) {
    // No journal, or one of another version.
    fingerprint = {};
    checksums.clear();
  }
}

std::string text(const json& value) { return sanitised(value.is_string() ? value.get<std::string>() : value.dump()); }

// What decides the inputs and differs between the runs.
std::string different_settings(const json& npu, const json& gpu) {
  if (npu.is_null() || gpu.is_null()) return {};
  std::string differences;
  for (const auto& [key, words] : {std::pair{"dump", "the recorded calls"},
                                   {"calls", "the number of calls"},
                                   {"seed", "the seed"},
                                   {"seed_mode", "the seed mode"}}) {
    if (!npu.contains(key) || !gpu.contains(key) || npu[key] == gpu[key]) continue;
    differences += (differences.empty() ? "" : ", ") + std::string(words) + " (" + text(npu[key]) + " on the NPU, " +
                   text(gpu[key]) + " on the GPU)";
  }
  return differences;
}

}  // namespace

std::string input_differences(const std::string& npu_csv, const std::string& gpu_csv) {
  json npu_run;
  json gpu_run;
  Checksums npu_calls;
  Checksums gpu_calls;
  read_inputs(npu_csv, npu_run, npu_calls);
  read_inputs(gpu_csv, gpu_run, gpu_calls);
  std::size_t common = 0;
  std::vector<std::string> different;
  for (const auto& [name, checksum] : npu_calls) {
    const auto other = gpu_calls.find(name);
    if (other == gpu_calls.end()) continue;
    ++common;
    if (other->second != checksum) different.push_back(name);
  }
  if (common > 0 && different.empty()) return {};
  std::string differences = different_settings(npu_run, gpu_run);
  if (common == 0) return differences;
  std::ranges::sort(different);
  const std::string calls = std::to_string(different.size()) + " of " + std::to_string(common) +
                            " calls, the first by name is " + sanitised(different.front());
  return differences.empty() ? calls : calls + "; " + differences;
}

bool was_simulated(const std::string& csv) {
  const std::optional<RunFiles> files = files_with_journal(csv);
  std::error_code error;
  if (!files || !std::filesystem::exists(files->journal, error)) return false;
  bool simulated = false;
  try {
    const auto source = journal::open_source(files->journal);
    RecordHandlers handlers;
    handlers.result = [&](ApiResult&& result) { simulated = simulated || result.tested_on == TestedOn::simulated; };
    read_records(*source, handlers);
  } catch (const std::runtime_error&) {
    // No journal, or one of another version.
  }
  return simulated;
}

}  // namespace msrun::api_precision_compare
