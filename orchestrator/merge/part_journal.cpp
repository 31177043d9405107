#include "orchestrator/merge/part_journal.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "journal/error.h"
#include "journal/run_files.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "runner/results/recorded_option.h"
#include "runner/results/run_header.h"

namespace msrun {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> sharing_options{"--shard", "--steal", "--leases", "--lease-timeout"};

Json value_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? Json() : *found;
}

// Those of a part were checked as it was opened.
std::vector<OptionWords> options_of(const Json& metadata) {
  return options_in(metadata).value_or(std::vector<OptionWords>());
}

const Json& print_of(const PartJournal& part) { return part.metadata.at("fingerprint"); }

std::string device_text(const Json& metadata) {
  std::string text = text_in(metadata, "backend");
  for (const Json& device : value_of(metadata, "devices")) text += " " + device.dump();
  return sanitised(text);
}

PartJournal open_part(const std::string& path) {
  PartJournal part;
  part.path = path;
  std::optional<RunHeader> header = read_run_header(*journal::open_source(path));
  if (!header || !value_of(*header, "fingerprint").is_object()) {
    throw UserError(path + ": its header does not say which run it belongs to.");
  }
  part.metadata = *std::move(header);
  checked_options(part.metadata, path);
  const Json& print = print_of(part);
  if (const std::string layout = text_in(print, "layout"); !layout.empty() && layout != "current") {
    throw UserError(path + " is of a run with --layout att, which has no parts.");
  }
  if (!value_of(part.metadata, "csv").is_object()) {
    throw UserError(path + " was begun by an earlier version, which did not note how its CSVs are written.");
  }
  if (part.metadata.contains("kept")) {
    throw UserError(path + " continues CSVs that had no journal, with rows of calls that it does not plan.");
  }
  part.part = text_in(print, "shard").empty() ? "all" : sanitised(text_in(print, "shard"));
  part.host = sanitised(text_in(part.metadata, "host"));
  part.node = sanitised(text_in(part.metadata, "node"));
  part.backend = device_text(part.metadata);
  part.version = sanitised(text_in(part.metadata, "version"));
  if (const Json calls = value_of(part.metadata, "shard_calls"); calls.is_number_unsigned()) {
    part.shard_calls = calls.get<std::uint64_t>();
  }
  if (!planned_calls(part.metadata)) {
    throw UserError(path + ": its header does not say of how many calls the recording is.");
  }
  return part;
}

// "seed (1234 there, 7 here)". Settings of a backend concern those who have it.
std::string differences(const PartJournal& there, const PartJournal& here) {
  const bool same_backend = text_in(there.metadata, "backend") == text_in(here.metadata, "backend");
  std::set<std::string> keys;
  for (const auto* part : {&there, &here}) {
    for (const auto& [key, value] : print_of(*part).items()) keys.insert(key);
  }
  keys.erase("shard");
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  for (const std::string& key : keys) {
    const Json then = value_of(print_of(there), key.c_str());
    const Json now = value_of(print_of(here), key.c_str());
    if (then == now || (!same_backend && (then.is_null() || now.is_null()))) continue;
    if (key == quantization_key && (then.is_null() || now.is_null())) continue;
    add(key == "dump" ? "the recording, or what --only, --except, -f and -config leave of it"
                      : sanitised(key) + " (" + sanitised(then.dump()) + " there, " + sanitised(now.dump()) + " here)");
  }
  if (value_of(there.metadata, "csv") != value_of(here.metadata, "csv"))
    add("how the CSVs are written (--titles, --compat, precision of -config)");
  return text;
}

// Behind what is wrong with one of several journals.
std::string how_to_leave_out(const std::vector<std::string>& paths) {
  return paths.size() < 2 ? "" : "; to leave it out, name the other journals in place of their folder";
}

}  // namespace

std::uint64_t calls_of(const PartJournal& part) { return print_of(part).at("calls").get<std::uint64_t>(); }

std::vector<PartJournal> open_parts(std::vector<std::string> paths, LeftOut& left_out) {
  std::ranges::sort(paths);
  std::vector<PartJournal> parts;
  for (const std::string& path : paths) {
    try {
      parts.push_back(open_part(path));
    } catch (const journal::EmptyFile&) {
      left_out.empty.push_back(path);
      continue;
    } catch (const journal::DamagedHeader& error) {
      left_out.damaged.emplace_back(error.what());
      continue;
    } catch (const journal::NotAJournal& error) {
      // Under the name of a journal, it is one whose first bytes are lost.
      std::error_code ignored;
      const std::optional<RunFiles> files = files_of_run_file(path);
      const bool is_named_so =
          files && std::filesystem::path(files->journal).filename() == std::filesystem::path(path).filename();
      if (!is_named_so || !std::filesystem::is_regular_file(std::filesystem::symlink_status(path, ignored))) {
        throw UserError(error.what() + how_to_leave_out(paths));
      }
      left_out.damaged.emplace_back(error.what());
      continue;
    }
    const std::string different = differences(parts.front(), parts.back());
    if (different.empty()) continue;
    throw UserError(path + " is no part of the run of " + parts.front().path + "; different are " + different +
                    how_to_leave_out(paths));
  }
  if (parts.empty() && !left_out.damaged.empty()) {
    throw UserError("There is nothing to merge: " + left_out.damaged.front());
  }
  if (parts.empty())
    throw UserError("There is nothing to merge: " + left_out.empty.front() + " is empty, no journal was begun in it.");
  return parts;
}

CsvStyle csv_style_of(const PartJournal& part) {
  const Json& csv = part.metadata.at("csv");
  CsvStyle style;
  style.dialect = find_dialect(text_in(csv, "framework"));
  const Json precision = value_of(csv, "precision");
  const Json english = value_of(csv, "english_titles");
  const Json reasons = value_of(csv, "with_reasons");
  if (style.dialect == nullptr || !precision.is_number_unsigned() || precision.get<std::uint64_t>() > 20 ||
      !english.is_boolean() || !reasons.is_boolean()) {
    throw UserError(part.path + ": its header does not say how its CSVs are written.");
  }
  style.precision = precision.get<int>();
  style.english_titles = english.get<bool>();
  style.with_reasons = reasons.get<bool>();
  return style;
}

Json merged_metadata(const std::vector<PartJournal>& parts) {
  Json metadata = parts.front().metadata;
  metadata["fingerprint"]["shard"] = "all";
  for (const char* key : {"shard_calls", "node", "host"}) metadata.erase(key);
  Json arguments = Json::array();
  for (const OptionWords& option : options_of(metadata)) {
    if (std::ranges::find(sharing_options, option.front()) == sharing_options.end()) arguments.push_back(option);
  }
  metadata["arguments"] = std::move(arguments);
  Json merged = Json::array();
  for (const PartJournal& part : parts) {
    merged.push_back({{"journal", part.path},
                      {"part", part.part},
                      {"host", part.host},
                      {"node", part.node},
                      {"device", part.backend},
                      {"started", value_of(part.metadata, "started")}});
    const auto started = started_at(part.metadata);
    const auto earliest = started_at(metadata);
    if (started && earliest && *started < *earliest) metadata["started"] = part.metadata["started"];
  }
  metadata["merged"] = std::move(merged);
  return metadata;
}

AbsentShards absent_shards(const std::vector<PartJournal>& parts) {
  std::set<std::uint32_t> present;
  AbsentShards absent;
  for (const PartJournal& part : parts) {
    const std::size_t slash = part.part.find('/');
    if (slash == std::string::npos) return {};
    const auto number = parse_number<std::uint32_t>(std::string_view(part.part).substr(0, slash));
    const auto of = parse_number<std::uint32_t>(std::string_view(part.part).substr(slash + 1));
    if (!number || !of || (absent.of != 0 && absent.of != *of)) return {};
    absent.of = *of;
    present.insert(*number);
  }
  for (std::uint32_t number = 1; number <= absent.of && absent.numbers.size() < max_calls; ++number) {
    if (!present.contains(number)) absent.numbers.push_back(number);
  }
  return absent;
}

std::string command_like(const PartJournal& like, const std::string& program, bool whole) {
  std::string line = shell_quoted(program);
  for (OptionWords& option : options_of(like.metadata)) {
    if (option.front() == "--shard" || is_given_again(option)) continue;
    if (!whole && !is_input_path(option.front()) && !decides_results(option.front())) continue;
    if (option.size() == 2 && is_input_path(option.front())) option[1] = found_again(option[1], like.metadata);
    std::vector<std::string> words;
    append_words(option, words);
    for (const std::string& word : words) line += " " + shell_quoted(sanitised(word));
  }
  return line;
}

std::string shard_command(const PartJournal& like, const std::string& program, std::uint32_t number, std::uint32_t of) {
  std::string folder = std::filesystem::path(like.path).parent_path().string();
  if (folder.empty()) folder = ".";
  return command_like(like, program, true) + " --shard " + std::to_string(number) + "/" + std::to_string(of) + " -o " +
         shell_quoted(folder);
}

std::vector<std::string> given_again(const PartJournal& part) { return flags_given_again(options_of(part.metadata)); }

}  // namespace msrun
