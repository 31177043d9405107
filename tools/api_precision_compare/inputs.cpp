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
#include "kernels/base/json_text.h"
#include "kernels/base/text.h"
#include "kernels/io/files/paths.h"
#include "runner/results/journal_records.h"
#include "runner/results/run_of_rank.h"
#include "runner/results/simulated_message.h"
#include "tools/common/whole_file.h"

namespace msrun::api_precision_compare {

namespace {

using nlohmann::json;

using Checksums = std::unordered_map<std::string, std::uint64_t>;

// What the journal of a CSV says of the run that wrote both. Of the CSV of one of several ranks, whose journal is
// further up, it is what is said of that rank, and calls have the names that the rank has for them.
struct JournalSays {    // NOLINT(bugprone-exception-escape): moving JSON asserts, and throws nothing
  json fingerprint;     // null if that is not known
  Checksums checksums;  // of the calls' inputs, by name
  bool simulated = false;
  std::string kind;  // of the device: "npu", "gpu"; empty if that is not known
};

// "torch:npu" and "torch:cuda" are what torch calls them.
std::string kind_in(const json& metadata) {
  const json devices = metadata.value("torch_device", json());
  const std::string text = devices.dump();
  const bool npu = text.find("npu") != std::string::npos;
  const bool gpu = text.find("cuda") != std::string::npos;
  return npu == gpu ? "" : npu ? "npu" : "gpu";
}

class Reading {
 public:
  explicit Reading(std::string rank) : rank_(std::move(rank)) {}

  JournalSays read(const journal::Source& source) {
    RunHeader metadata = parsed_json<RunHeader>(journal::read_header(source).metadata);
    if (metadata.is_object() && !rank_.empty()) metadata = header_of_rank(std::move(metadata), rank_);
    if (metadata.is_object()) says_.kind = kind_in(metadata);
    if (metadata.is_object() && metadata.contains("fingerprint") && metadata["fingerprint"].is_object()) {
      says_.fingerprint = metadata["fingerprint"];
    }
    RecordHandlers handlers;
    handlers.rank = [this](RankCalls&& calls) {
      if (calls.rank == rank_) calls_ = std::move(calls);
    };
    handlers.result = [this](ApiResult&& result) { see(std::move(result)); };
    read_records(source, handlers);
    if (calls_) take_names_of_rank();
    return std::move(says_);
  }

 private:
  void see(ApiResult&& result) {
    if (!rank_.empty() && (!calls_ || !calls_->has(result.task))) return;
    says_.simulated = says_.simulated || result.tested_on == TestedOn::simulated;
    if (result.inputs == 0) return;
    if (rank_.empty()) {
      says_.checksums[std::move(result.name)] = result.inputs;
    } else {
      by_task_[result.task] = {std::move(result.name), result.inputs};
    }
  }

  void take_names_of_rank() {
    calls_->for_each([&](std::uint32_t task, const std::string* name) {
      const auto found = by_task_.find(task);
      if (found == by_task_.end()) return;
      const auto& [title, checksum] = found->second;
      says_.checksums[name != nullptr ? *name : std::string(without_rank(title))] = checksum;
    });
  }

  std::string rank_;
  JournalSays says_;
  std::optional<RankCalls> calls_;  // of the rank; they stand in front of the results
  std::unordered_map<std::uint32_t, std::pair<std::string, std::uint64_t>> by_task_;
};

JournalSays read_journal_of(const std::string& csv) {
  const std::optional<RunOfRank> of_rank = run_of_rank_csv(csv);
  const std::optional<RunFiles> files = of_rank ? of_rank->whole : files_of_run_file(csv);
  std::error_code error;
  if (!files || !std::filesystem::exists(files->journal, error)) return {};
  try {
    return Reading(of_rank ? of_rank->rank : std::string()).read(*journal::open_source(files->journal));
  } catch (const std::runtime_error&) {
    // No journal, or one of another version.
    return {};
  }
}

std::string text(const json& value) { return sanitised(value.is_string() ? value.get<std::string>() : value.dump()); }

// What decides the inputs and differs between the runs.
std::string different_settings(const json& npu, const json& gpu) {
  if (npu.is_null() || gpu.is_null()) return {};
  std::string differences;
  for (const auto& [key, words] : {std::pair{"dump", "the recorded calls"},
                                   {"recording", "the recorded calls of the rank"},
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
  const JournalSays npu = read_journal_of(npu_csv);
  const JournalSays gpu = read_journal_of(gpu_csv);
  std::size_t common = 0;
  std::vector<std::string> different;
  for (const auto& [name, checksum] : npu.checksums) {
    const auto other = gpu.checksums.find(name);
    if (other == gpu.checksums.end()) continue;
    ++common;
    if (other->second != checksum) different.push_back(name);
  }
  if (common > 0 && different.empty()) return {};
  std::string differences = different_settings(npu.fingerprint, gpu.fingerprint);
  if (common == 0) return differences;
  std::ranges::sort(different);
  const std::string calls = std::to_string(different.size()) + " of " + std::to_string(common) +
                            " calls, the first by name is " + sanitised(different.front());
  return differences.empty() ? calls : calls + "; " + differences;
}

std::string device_kind(const std::string& csv) { return read_journal_of(csv).kind; }

bool was_simulated(const std::string& csv) {
  if (read_journal_of(csv).simulated) return true;
  const std::optional<RunFiles> files = files_with_journal(csv);
  std::error_code ignored;
  // Without the result file nobody knows.
  if (!files || path_exists(files->journal) || !std::filesystem::is_regular_file(files->result, ignored)) return false;
  return says_simulated(read_whole_file(files->result, max_csv_bytes));
}

}  // namespace msrun::api_precision_compare
