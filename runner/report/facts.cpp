#include "runner/report/facts.h"

#include <algorithm>
#include <array>

#include "journal/run_files.h"
#include "kernels/base/counted.h"
#include "kernels/base/text.h"
#include "kernels/base/time_text.h"
#include "runner/results/reason.h"
#include "runner/results/run_header.h"

namespace msrun::report {
namespace {

using Metadata = nlohmann::ordered_json;

// What the page says in other places, or in a line of its own.
constexpr std::array<std::string_view, 16> told{
    "program", "version",  "started", "command",   "threads",   "devices",           "fingerprint", "api_info",
    "forward", "backward", "backend", "tested_on", "arguments", "working_directory", "represented", "error_data"};
constexpr std::array<std::string_view, 4> private_keys{"host", "hostname", "node", "user"};
// The page is read in other time zones than the run's.
constexpr const char* utc_form = "%Y-%m-%d %H:%M:%S UTC";

// "sim faults" of "sim_faults".
std::string words_of(const std::string& key) {
  std::string words = sanitised(key);
  std::ranges::replace(words, '_', ' ');
  return words;
}

// A number, a text, or several of them; of an object its names with their values.
std::string plain(const Metadata& value) {
  if (value.is_string()) return sanitised(value.get<std::string>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_object()) {
    std::string text;
    for (const auto& [key, entry] : value.items()) {
      const std::string of_entry = plain(entry);
      if (!of_entry.empty()) text += (text.empty() ? "" : ", ") + words_of(key) + " " + of_entry;
    }
    return text;
  }
  if (value.is_array()) {
    std::string text;
    for (const Metadata& entry : value) text += (text.empty() ? "" : entry.is_object() ? "; " : ", ") + plain(entry);
    return text;
  }
  return value.is_null() ? "" : sanitised(value.dump(-1, ' ', false, Metadata::error_handler_t::replace));
}

std::string plain(const Metadata& object, const char* key) { return plain(object.value(key, Metadata())); }

// "Sim faults" of "sim_faults".
std::string title_of(const std::string& key) {
  if (key == "csv") return "CSV";
  std::string title = words_of(key);
  if (!title.empty() && title.front() >= 'a' && title.front() <= 'z') title.front() += 'A' - 'a';
  return title;
}

std::string tested_text(const VerdictCounts& counts, const std::string& kind) {
  if (counts.simulated > 0 || (counts.not_simulated == 0 && kind == "simulated")) {
    std::string text(simulated_notice);
    if (counts.not_simulated > 0) {
      text += " for " + with_commas(counts.simulated) + " of " +
              counted_with_commas(counts.simulated + counts.not_simulated, "call");
    }
    return text;
  }
  if (kind == "recorded") return "the results in the recording";
  return "";
}

std::string arguments_text(const Metadata& metadata, const Redaction& redaction) {
  std::string text = "msrun";
  for (const OptionWords& option : options_in(metadata).value_or(std::vector<OptionWords>())) {
    for (const std::string& word : option) text += " " + shell_quoted(sanitised(word));
  }
  return redaction.command(text);
}

std::string settings_text(const Metadata& print) {
  std::string text;
  for (const char* key :
       {"standard", "limits", "benchmark", "compat", "layout", "seed", "seed_mode", "repeat", "same_on_all"}) {
    const std::string value = plain(print, key);
    if (value.empty()) continue;
    text += (text.empty() ? "" : ", ") + std::string(key) + " " + value;
  }
  return text;
}

}  // namespace

std::string recording_of(const Metadata& metadata) {
  const std::string recording = text_in(metadata, "api_info");
  return recording.empty() ? text_in(metadata, "forward") : recording;
}

std::vector<std::string> private_texts(const Metadata& metadata) {
  std::vector<std::string> texts;
  const auto add = [&](std::string text) {
    if (text.size() > 2) texts.push_back(std::move(text));
  };
  for (const char* key : {"api_info", "forward", "backward", "working_directory"}) add(text_in(metadata, key));
  for (const std::string_view key : private_keys) add(text_in(metadata, std::string(key).c_str()));
  // The longest first: one may be the beginning of another.
  std::ranges::stable_sort(texts, std::ranges::greater{}, &std::string::size);
  return texts;
}

Facts run_facts(const RunRecords& records, const std::string& stamp, const Redaction& redaction) {
  const Metadata& data = records.metadata;
  Facts facts;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.emplace_back(name, value);
  };
  const Metadata print = data.value("fingerprint", Metadata::object());
  const Metadata& known = print.is_object() ? print : data;
  if (!redaction.on()) {
    add("Recording", sanitised(recording_of(data)));
    add("Backward recording", sanitised(text_in(data, "backward")));
  }
  add("Calls", with_commas(records.finished) + " of " + with_commas(records.planned) + " have a result" +
                   (records.part.name.empty() ? "" : "; only " + sanitised(records.part.name) + " was to be checked"));
  add("Fingerprint", plain(known, "dump"));
  const std::string tested = tested_text(records.counts, text_in(data, "tested_on"));
  const std::string backend = redaction.text(plain(data, "backend"));
  add("Device under test", tested.empty() ? backend : backend.empty() ? tested : backend + " (" + tested + ")");
  add("Device ids", plain(data, "devices"));
  add("Threads", plain(data, "threads"));
  for (const auto& [key, value] : data.items()) {
    const bool is_private = std::ranges::find(private_keys, std::string_view(key)) != private_keys.end();
    if (std::ranges::find(told, std::string_view(key)) != told.end() || (is_private && redaction.on())) continue;
    add(title_of(key).c_str(), redaction.text(plain(value)));
  }
  if (data.contains("arguments")) add("Options", arguments_text(data, redaction));
  add("Settings", settings_text(known));
  add("msrun", plain(data, "version"));
  if (const auto started = started_at(data)) add("Begun", utc_time_text(*started, utc_form));
  if (records.last_result) add("Last result", utc_time_text(*records.last_result, utc_form));
  if (records.sessions > 1) add("Sessions", "continued " + counted_with_commas(records.sessions - 1, "time"));
  if (!records.sources.files.empty()) {
    if (!redaction.on()) add("Files", plain(Metadata(records.sources.files)));
  } else if (!redaction.on()) {
    const RunFiles files = run_files("", stamp);
    add("Files", files.result.substr(2) + ", " + files.details.substr(2) + ", " + files.journal.substr(2));
  }
  if (!records.losses.empty()) add("Damage", "of the journal " + records.losses);
  return facts;
}

}  // namespace msrun::report
