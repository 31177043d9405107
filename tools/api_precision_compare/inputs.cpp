#include "tools/api_precision_compare/inputs.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "journal/error.h"
#include "journal/file.h"
#include "journal/reader.h"
#include "journal/run_files.h"
#include "kernels/text.h"

namespace msrun::api_precision_compare {

namespace {

using nlohmann::json;

// The fingerprint of the run that wrote the CSV; null if it is not known.
json fingerprint(const std::string& csv) {
  const std::optional<RunFiles> files = files_of_csv(csv);
  std::error_code error;
  if (!files || !std::filesystem::exists(files->journal, error)) return {};
  try {
    const json metadata =
        json::parse(journal::read_header(*journal::open_source(files->journal)).metadata, nullptr, false);
    if (!metadata.is_object() || !metadata.contains("fingerprint")) return {};
    return metadata["fingerprint"].is_object() ? metadata["fingerprint"] : json();
  } catch (const journal::Error&) {
    return {};
  }
}

std::string text(const json& value) { return sanitised(value.is_string() ? value.get<std::string>() : value.dump()); }

}  // namespace

std::string input_differences(const std::string& npu_csv, const std::string& gpu_csv) {
  const json npu = fingerprint(npu_csv);
  const json gpu = fingerprint(gpu_csv);
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

}  // namespace msrun::api_precision_compare
