#include "runner/results/run_header.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "journal/reader.h"
#include "kernels/base/json_text.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> input_paths{"-api_info", "-forward", "-backward", "-real_data_path",
                                                      "-config"};

std::optional<std::uint64_t> count_in(const RunHeader& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  const auto count = found->get<std::uint64_t>();
  return count <= max_calls ? std::optional(count) : std::nullopt;
}

std::optional<double> seconds_in(const RunHeader& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

}  // namespace

std::optional<RunHeader> parse_run_header(const std::string& text) {
  RunHeader header = parsed_json<RunHeader>(text);
  if (!header.is_object() || text_in(header, "program") != "msrun") return std::nullopt;
  return header;
}

std::optional<RunHeader> read_run_header(const journal::Source& source) {
  return parse_run_header(journal::read_header(source).metadata);
}

void append_words(const OptionWords& option, std::vector<std::string>& line) {
  if (option.size() == 2 && option[1].starts_with('-')) {
    line.push_back(option[0] + "=" + option[1]);
  } else {
    line.insert(line.end(), option.begin(), option.end());
  }
}

std::optional<std::vector<OptionWords>> options_in(const RunHeader& header) {
  const auto arguments = header.find("arguments");
  if (arguments == header.end() || !arguments->is_array()) return std::nullopt;
  std::vector<OptionWords> options;
  for (const RunHeader& group : *arguments) {
    const bool is_option = group.is_array() && !group.empty() &&
                           std::ranges::all_of(group, [](const RunHeader& word) { return word.is_string(); });
    if (is_option) options.push_back(group.get<OptionWords>());
  }
  return options;
}

std::string text_in(const RunHeader& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::uint64_t> planned_calls(const RunHeader& header) {
  const auto fingerprint = header.find("fingerprint");
  return fingerprint == header.end() ? std::nullopt : count_in(*fingerprint, "calls");
}

std::optional<std::uint64_t> kept_results(const RunHeader& header) { return count_in(header, "kept"); }

PartOfRun part_of_run(const RunHeader& header) {
  const auto fingerprint = header.find("fingerprint");
  const std::string shard =
      fingerprint != header.end() && fingerprint->is_object() ? text_in(*fingerprint, "shard") : std::string();
  if (shard == "stolen") return {"what one process took of the leases", std::nullopt};
  if (shard.find('/') != std::string::npos) return {"part " + shard, count_in(header, "shard_calls")};
  return {};
}

std::optional<double> started_at(const RunHeader& header) { return seconds_in(header, "started"); }

std::optional<double> begun_at(const RunHeader& header) {
  std::optional<double> begin = started_at(header);
  const auto parts = header.find("merged");
  if (parts == header.end() || !parts->is_array()) return begin;
  for (const RunHeader& part : *parts) begin = std::max(begin, seconds_in(part, "started"));
  return begin;
}

bool is_input_path(std::string_view option) { return std::ranges::find(input_paths, option) != input_paths.end(); }

std::vector<std::string> files_read(const RunHeader& header) {
  std::vector<std::string> paths;
  const auto add = [&](const std::string& path) {
    if (!path.empty()) paths.push_back(found_again(path, header));
  };
  for (const char* key : {"api_info", "forward", "backward"}) add(text_in(header, key));
  const auto recordings = header.find("recordings");
  if (recordings != header.end() && recordings->is_array()) {
    for (const RunHeader& recording : *recordings) {
      if (recording.is_object()) add(text_in(recording, "api_info"));
    }
  }
  for (const OptionWords& words : options_in(header).value_or(std::vector<OptionWords>())) {
    if (words.size() == 2 && is_input_path(words[0])) add(words[1]);
  }
  return paths;
}

std::string found_again(const std::string& path, const RunHeader& header) {
  const std::string folder = text_in(header, "working_directory");
  std::error_code error;
  if (path.empty() || folder.empty() || fs::path(path).is_absolute()) return path;
  if (folder == fs::current_path(error).string()) return path;
  const fs::path there = fs::path(folder) / path;
  return fs::exists(there, error) ? there.string() : path;
}

}  // namespace msrun
