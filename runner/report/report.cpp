#include "runner/report/report.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "journal/run_files.h"
#include "kernels/base/error.h"
#include "kernels/base/host_name.h"
#include "kernels/base/shell_words.h"
#include "kernels/base/text.h"
#include "kernels/io/html/text.h"
#include "runner/report/call_details.h"
#include "runner/report/call_rows.h"
#include "runner/report/command_lines.h"
#include "runner/report/conclusion.h"
#include "runner/report/facts.h"
#include "runner/report/page_parts.h"
#include "runner/report/places.h"
#include "runner/report/standing.h"
#include "runner/report/timeline.h"
#include "runner/results/api_name.h"
#include "runner/results/not_counted.h"
#include "runner/results/rank_calls.h"
#include "runner/results/reason.h"
#include "runner/results/run_header.h"

namespace msrun::report {
namespace {

using Json = nlohmann::json;

// What the details of all calls may take together; those of the calls to look at first come first.
constexpr std::size_t most_detail_bytes = 1'300'000;

// In the order of their first calls.
std::vector<std::string> ranks_of(const RunRecords& records) {
  std::vector<std::string> ranks;
  const auto add = [&](const std::string& rank) {
    if (!rank.empty() && std::ranges::find(ranks, rank) == ranks.end()) ranks.push_back(rank);
  };
  add(records.rank);
  for (std::uint32_t task = 0; task < records.results.tasks(); ++task) {
    if (!records.results.has(task)) continue;
    records.results.visit(task, [&](const ApiResult& result) { add(std::string(rank_in(result.name))); });
  }
  return ranks;
}

Redaction redaction_for(const RunRecords& records, const ReportStyle& style) {
  if (!style.share) return {false, {}};
  std::vector<std::string> known = private_texts(records.metadata);
  if (std::string host = system_host_name(); host.size() > 2) known.push_back(std::move(host));
  std::map<std::string, std::string> ranks = shared_rank_names(ranks_of(records));
  for (const auto& [rank, name] : ranks) {
    if (rank != name && rank.size() > 2) known.push_back(rank);
  }
  return {true, std::move(known), std::move(ranks)};
}

std::optional<double> max_abs_error(const nlohmann::ordered_json& metadata) {
  const auto print = metadata.find("fingerprint");
  if (print == metadata.end() || !print->is_object()) return std::nullopt;
  const nlohmann::ordered_json limit = print->value("max_abs_err", nlohmann::ordered_json());
  return limit.is_number() ? std::optional(limit.get<double>()) : std::nullopt;
}

// A suspicious call, or one that failed to run, and where it stands among the others.
struct Notable {
  std::uint32_t task = 0;
  int severity = 0;  // of suspicious calls: 3 error, 2 warning, 1 pass, 0 inconsistent alone; -1: it failed to run
};

int severity(Standing standing, Status status) {
  if (standing == Standing::failed_to_run) return -1;
  if (standing == Standing::inconsistent) return 0;
  return status == Status::error ? 3 : status == Status::warning ? 2 : 1;
}

// The calls of one API that are suspicious, the worst first.
using Group = std::vector<Notable>;

class PageData {
 public:
  PageData(const RunRecords& records, const Redaction& redaction, const Places& places)
      : records_(records),
        redaction_(redaction),
        places_(places),
        rows_(redaction),
        row_of_(records.results.tasks(), -1) {
    add_rows();
    sort_groups();
  }

  Foremost foremost() const {
    Foremost first;
    first.apis = groups_.size();
    if (groups_.empty()) return first;
    records_.results.visit(groups_.front().front().task, [&](const ApiResult& result) {
      first.name = sanitised(redaction_.name(result.name));
      const Reason reason = reason_of(result);
      if (reason.lines.size() > 1) first.cause = redaction_.line(reason.row, reason.lines[1]);
    });
    return first;
  }

  std::string rows_text() const { return rows_.json(); }

  // All but the rows.
  Json json() const {
    Json data{{"timeline", timeline_json(records_, row_of_, redaction_)}};
    data["groups"] = groups_json();
    data["blames"] = blames_json();
    data["details"] = details_json();
    return data;
  }

 private:
  void add_rows() {
    std::map<std::string, Group> groups;
    for (std::uint32_t task = 0; task < records_.results.tasks(); ++task) {
      if (!records_.results.has(task)) continue;
      row_of_[task] = static_cast<std::int64_t>(rows_.size());
      records_.results.visit(task, [&](const ApiResult& result) {
        const Standing standing = standing_of(result);
        rows_.add(result, standing, places_.module(task), places_.line(task));
        add_blames(result);
        if (standing > Standing::failed_to_run) {
          if (standing <= Standing::pass) others_[static_cast<std::size_t>(standing)].push_back({task, 0});
          return;
        }
        const Notable notable{task, severity(standing, overall_status(result))};
        (notable.severity < 0 ? failed_ : groups[std::string(api_of(without_rank(result.name)))]).push_back(notable);
      });
    }
    for (auto& [api, group] : groups) groups_.push_back(std::move(group));
  }

  void add_blames(const ApiResult& result) {
    if (!result.agreement) return;
    for (const DeviceAnswer& answer : result.agreement->answers) {
      if (!answer.blamed) continue;
      auto& [calls, first] = blames_.try_emplace(answer.device, 0, row_of_[result.task]).first->second;
      ++calls;
    }
  }

  Json blames_json() const {
    Json blames = Json::object();
    for (const auto& [device, blame] : blames_) blames[std::to_string(device)] = {blame.first, blame.second};
    return blames;
  }

  void sort_groups() {
    const auto is_before = [](const Notable& a, const Notable& b) {
      return std::pair(-a.severity, a.task) < std::pair(-b.severity, b.task);
    };
    for (Group& group : groups_) std::ranges::sort(group, is_before);
    std::ranges::sort(groups_, [&](const Group& a, const Group& b) { return is_before(a.front(), b.front()); });
  }

  Json groups_json() const {
    Json groups = Json::array();
    for (const Group& group : groups_) {
      Json rows = Json::array();
      for (const Notable& notable : group) rows.push_back(row_of_[notable.task]);
      groups.push_back(std::move(rows));
    }
    return groups;
  }

  // First the worst call of each API, then the second of each, and so on, as long as there is room.
  Json details_json() const {
    Json details = Json::object();
    const std::optional<double> limit = max_abs_error(records_.metadata);
    std::size_t bytes = 0;
    const auto add = [&](const Notable& notable) {
      Json of_call;
      records_.results.visit(notable.task,
                             [&](const ApiResult& result) { of_call = call_details(result, limit, redaction_); });
      bytes += of_call.dump(-1, ' ', false, Json::error_handler_t::replace).size();
      if (bytes < most_detail_bytes) details[std::to_string(row_of_[notable.task])] = std::move(of_call);
      return bytes < most_detail_bytes;
    };
    for (std::size_t place = 0, left = 1; left > 0; ++place) {
      left = 0;
      for (const Group& group : groups_) {
        if (place >= group.size()) continue;
        if (!add(group[place])) return details;
        left += group.size() - place - 1;
      }
    }
    for (const Group* calls : {&failed_, &of(Standing::rounding), &of(Standing::weak), &of(Standing::pass)}) {
      for (const Notable& notable : *calls) {
        if (!add(notable)) return details;
      }
    }
    return details;
  }

  const Group& of(Standing standing) const { return others_[static_cast<std::size_t>(standing)]; }

  const RunRecords& records_;
  const Redaction& redaction_;
  const Places& places_;
  CallRows rows_;
  std::vector<std::int64_t> row_of_;  // by task
  std::vector<Group> groups_;         // by API, the one to look at first in front
  Group failed_;
  std::array<Group, static_cast<std::size_t>(Standing::pass) + 1> others_;  // by standing: nothing speaks against them
  std::map<std::int32_t, std::pair<std::size_t, std::int64_t>> blames_;  // by device: its calls, the row of the first
};

// How a script gets the inputs that were checked: those of a recording with tensors, wherever they may lie.
std::string script_options(const nlohmann::ordered_json& metadata) {
  std::string options;
  const auto real_data = metadata.find("real_data");
  if (real_data != metadata.end() && *real_data == true) options += " --data_mode real_data";
  const nlohmann::ordered_json print = metadata.value("fingerprint", nlohmann::ordered_json::object());
  if (print.is_object() && text_in(print, "outside_data") == "allowed") options += " --allow-outside-data";
  return options;
}

// What completes a command line for one call.
Json commands_json(const RunRecords& records, const std::string& stamp, const Redaction& redaction) {
  if (!records.sources.files.empty()) {
    return {{"program", ""},        {"run", ""},        {"rank", ""},   {"recording", ""},
            {"script_options", ""}, {"is_dump", false}, {"journal", ""}};
  }
  // For a rank they are those of the whole run, with the rank in front of the call.
  // The lines are run where the page is: what it was given is named absolutely, the journal lies beside it.
  const std::string given = records.rank.empty() ? recording_of(records.metadata) : records.checked_folder;
  const std::string recording = absolute_path(given, records.metadata);
  const std::string line = text_in(records.metadata, "command");
  std::string journal = run_files("", stamp).journal.substr(2);
  if (!records.rank.empty()) {
    // Further up by as many folders as the name of the rank has.
    for (const char c : records.rank + "/") journal.insert(0, c == '/' ? "../" : "");
  }
  const std::string run =
      redaction.command(sanitised(redaction.on() ? line : absolute_command(line, records.metadata)));
  const std::vector<std::string> words = shell_words(run);
  std::string rank = records.rank.empty() ? "" : sanitised(records.rank) + ":";
  if (redaction.on() && !rank.empty()) rank = redaction.name(rank);
  return {{"rank", std::move(rank)},
          {"program", words.empty() ? "msrun" : words.front()},
          {"run", run},
          {"recording", redaction.on() ? "FILE" : shell_quoted(sanitised(recording))},
          {"script_options", script_options(records.metadata)},
          {"is_dump", !text_in(records.metadata, "api_info").empty()},
          {"journal", redaction.on() ? "FILE" : shell_quoted(journal)}};
}

// How often calls ran, where it was more than once.
std::string again_text(const nlohmann::ordered_json& metadata) {
  const nlohmann::ordered_json print = metadata.value("fingerprint", nlohmann::ordered_json::object());
  if (!print.is_object()) return {};
  std::string text;
  const nlohmann::ordered_json repeat = print.value("repeat", nlohmann::ordered_json());
  if (repeat.is_number_unsigned() && repeat.get<std::uint64_t>() > 1) {
    text = "Every call ran " + std::to_string(repeat.get<std::uint64_t>()) + " times on its device.";
  }
  const nlohmann::ordered_json devices = print.value("same_on_all", nlohmann::ordered_json());
  if (devices.is_array() && devices.size() > 1) {
    text += (text.empty() ? "" : " ") + std::string("Every call ran on each of ") + std::to_string(devices.size()) +
            " devices.";
  }
  return text;
}

Json counts_json(const VerdictCounts& counts) {
  return {{"checked", counts.total()},     {"calls", counts.total() + counts.skip},
          {"pass", counts.pass},           {"warning", counts.warning},
          {"error", counts.error},         {"skip", counts.skip},
          {"rate", counts.passing_rate()}, {"varying", counts.varying}};
}

std::string head(const std::string& title) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
         "script-src 'unsafe-inline'\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
         html::escaped(title) + "</title>\n<style>\n" + std::string(style_sheet) + "</style>\n</head>\n";
}

std::string facts_markup(const Facts& facts) {
  std::string text = "<dl class=\"facts\">\n";
  for (const auto& [name, value] : facts) {
    text += "<dt>" + html::escaped(name) + "</dt><dd>" + html::escaped(value) + "</dd>\n";
  }
  return text + "</dl>\n";
}

// What the reader has to know before anything else.
std::string notice_of(const RunRecords& records, const Redaction& redaction) {
  std::string text;
  const auto add = [&](const std::string& notice) {
    text += "<p class=\"notice\" role=\"note\">" + html::escaped(notice) + "</p>\n";
  };
  if (records.counts.simulated > 0) add("This run was made on a " + std::string(simulated_notice) + ".");
  if (const std::string others = not_counted_text(records.kept); !others.empty()) add(others);
  if (records.sources.files.empty()) return text;
  std::string missing =
      "This run is known by its CSVs alone: it has no journal. Only a journal tells which recording was checked, on "
      "what "
      "device, with which options and when; what the calls were given; where outputs are wrong, and by how much "
      "element "
      "by element; how to reproduce a call; and how small a fault would have shown.";
  if (!records.sources.judges_rounding) {
    missing +=
        " Nor do these files say what rounding explains: every warning and every error by the documented limits is "
        "shown "
        "as suspicious.";
  }
  for (const std::string& note : records.sources.notes) missing += " " + redaction.text(note);
  add(missing);
  return text;
}

std::string title_of(const RunRecords& records, const Redaction& redaction) {
  if (!records.sources.files.empty() && !redaction.on()) {
    return "Accuracy check in " + sanitised(records.sources.files.front());
  }
  const std::string recording = sanitised(recording_of(records.metadata));
  if (redaction.on() || recording.empty()) return "Accuracy check";
  // The folder tells more than "dump.json".
  const std::size_t last = recording.rfind('/');
  const std::size_t before = last == std::string::npos || last == 0 ? last : recording.rfind('/', last - 1);
  return "Accuracy check of " + (before == std::string::npos ? recording : recording.substr(before + 1));
}

// How much is known of where in the model calls are; empty where nobody asks.
std::string places_text(const RunRecords& records, const Places& places, const Redaction& redaction) {
  if (redaction.on() || recording_of(records.metadata).empty()) return {};
  if (!places.problem().empty()) return "not known for all calls: " + places.problem();
  std::string text = "from construct.json and stack.json beside the recording";
  if (!places.has_recorded_modules()) text += "; the recording has no modules, which level mix would record";
  return text;
}

std::string script() {
  std::string text;
  for (const std::string_view part :
       {page_calls, page_call_card, page_table, page_sections, page_timeline, page_start}) {
    text += part;
  }
  return text;
}

}  // namespace

std::string report_page(const journal::Source& source, const std::string& stamp, const ReportStyle& style,
                        const std::string& rank) {
  const RunRecords records = read_run_records(source, rank);
  if (records.metadata.empty()) throw UserError(source.name() + " is not the journal of a run of msrun.");
  return report_page(records, stamp, style);
}

std::string report_page(const RunRecords& records, const std::string& stamp, const ReportStyle& style) {
  const Redaction redaction = redaction_for(records, style);
  // Lines name files, and modules are the model's own.
  const Places places = style.share ? Places() : Places(records);
  PageData data(records, redaction, places);
  const Conclusion conclusion = conclusion_of(records, data.foremost());
  const std::string title = title_of(records, redaction);
  Json json = data.json();
  json["counts"] = counts_json(records.counts);
  json["commands"] = commands_json(records, stamp, redaction);
  json["again"] = again_text(records.metadata);
  json["share"] = style.share;
  json["journal"] = records.sources.files.empty();
  json["judged"] = records.sources.judges_rounding;
  json["unrecorded"] = places.unrecorded();
  Facts facts = run_facts(records, stamp, redaction);
  if (const std::string known = places_text(records, places, redaction); !known.empty()) {
    facts.emplace_back("Modules and lines", known);
  }
  return head(title) + "<body>\n<header>\n<h1>" + html::escaped(title) + "</h1>\n<p id=\"conclusion\" class=\"" +
         conclusion.tone + "\">" + html::escaped(conclusion.sentence) + "</p>\n" + notice_of(records, redaction) +
         std::string(body_markup) + facts_markup(facts) + std::string(end_markup) +
         "<script type=\"application/json\" id=\"data\">" + "{\"rows\":" + data.rows_text() + "," +
         html::script_json(json).substr(1) + "</script>\n<script>\n" + script() + "</script>\n</body>\n</html>\n";
}

}  // namespace msrun::report
