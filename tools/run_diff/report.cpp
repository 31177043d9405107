#include "tools/run_diff/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/base/text.h"
#include "kernels/base/time_text.h"
#include "kernels/io/files/csv.h"
#include "tools/run_diff/standing.h"

namespace msrun::run_diff {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_named = 20;  // calls of one change in the text

std::string member(const runs::Run& run, const char* key) {
  const Json value = run.metadata.is_object() ? run.metadata.value(key, Json()) : Json();
  return value.is_string() ? value.get<std::string>() : "";
}

std::string change_title(Change change) {
  std::string title(change_text(change));
  title.front() = static_cast<char>(title.front() - 'a' + 'A');
  return title;
}

// At most three lines of 120 columns, indented.
std::string wrapped(std::string_view text) {
  constexpr std::size_t width = 114;
  constexpr int most_lines = 3;
  std::string lines;
  for (int line = 1; !text.empty(); ++line) {
    std::size_t end = text.size();
    if (display_width(text) > width) {
      if (line == most_lines) return lines + "      " + cut_to_width(text, width) + "\n";
      const std::size_t most = cut_to_width(text, width + 3).size() - 3;
      const std::size_t blank = text.rfind(' ', most);
      end = blank == std::string_view::npos || blank == 0 ? most : blank;
    }
    lines += "      " + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ', end)));
  }
  return lines;
}

void add_calls(std::string& text, const Comparison& comparison, Change change, bool all) {
  if (comparison.count(change) == 0) return;
  text += "\n" + change_title(change) + "\n";
  std::size_t width = 0;
  for (const CallChange& call : comparison.calls) {
    if (call.change == change) width = std::max(width, display_width(sanitised(call.name)));
  }
  width = std::min<std::size_t>(width, 48);
  std::size_t named = 0;
  for (const CallChange& call : comparison.calls) {
    if (call.change != change) continue;
    if (!all && named == most_named) break;
    ++named;
    const std::string name = sanitised(call.name);
    const std::size_t columns = display_width(name);
    text += "  " + name + std::string(columns < width ? width - columns : 0, ' ') + "  " + shown(call.before) + " -> " +
            shown(call.after) + "\n";
    text += wrapped(sanitised(call.reason));
  }
  if (named < comparison.count(change)) {
    text += "  ... and " + std::to_string(comparison.count(change) - named) + " more (--all names them)\n";
  }
}

Json standing_json(const Standing& standing) {
  if (standing.state == State::absent) return nullptr;
  return {{"state", state_text(standing.state)},
          {"forward", standing.forward},
          {"backward", standing.backward.empty() ? Json(nullptr) : Json(standing.backward)}};
}

Json output_json(const OutputChange& output) {
  const auto standing = [](const Standing& s) {
    return s.state == State::absent ? Json(nullptr) : Json{{"state", state_text(s.state)}, {"status", s.forward}};
  };
  Json metrics = Json::array();
  for (const MetricChange& metric : output.metrics) {
    metrics.push_back({{"metric", metric.metric}, {"before", metric.before}, {"after", metric.after}});
  }
  return {{"output", output.output},           {"change", change_text(output.change)},
          {"before", standing(output.before)}, {"after", standing(output.after)},
          {"metrics", std::move(metrics)},     {"other_bits", output.other_bits}};
}

Json run_json(const runs::Run& run) {
  const auto text = [&](const char* key) {
    const std::string value = member(run, key);
    return value.empty() ? Json(nullptr) : Json(value);
  };
  return {{"path", run.path},
          {"version", text("version")},
          {"backend", text("backend")},
          {"api_info", text("api_info")},
          {"journal", run.has_journal},
          {"complete", run.is_complete()},
          {"calls", run.results.count()}};
}

// One row of the CSV.
void add_row(std::string& text, const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) text += ',';
    append_csv_text(text, readable(cells[i]));
  }
  text += csv_row_end;
}

std::string metrics_text(const std::vector<MetricChange>& metrics) {
  std::string text;
  for (const MetricChange& metric : metrics) {
    text += (text.empty() ? "" : "; ") + metric.metric + ": " + metric.before + " -> " + metric.after;
  }
  return text;
}

std::string statuses(const Standing& standing) {
  return standing.forward + (standing.backward.empty() ? "" : " / " + standing.backward);
}

}  // namespace

std::string shown(const Standing& standing) {
  std::string text(state_text(standing.state));
  const bool is_plain = standing.state == State::pass || standing.state == State::absent ||
                        standing.state == State::skipped_by_rule || standing.state == State::not_checkable ||
                        standing.state == State::failed_to_run;
  if (is_plain) return text;
  return text + " (" + standing.forward + (standing.backward.empty() ? "" : ", backward " + standing.backward) + ")";
}

std::string conclusion(const Comparison& comparison) {
  std::string text;
  for (std::size_t i = 0; i < change_count; ++i) {
    const auto change = static_cast<Change>(i);
    if (comparison.counts[i] == 0 && change != Change::appeared) continue;
    if (!text.empty()) text += ", ";
    text += comparison.counts[i] == 0 ? "nothing" : std::to_string(comparison.counts[i]);
    text += " " + std::string(change == Change::same ? "the same" : change_text(change));
  }
  text.front() = text.front() == 'n' ? 'N' : text.front();
  return text + ".";
}

std::string reservations(const runs::Run& b, const Comparison& comparison) {
  std::string text;
  if (comparison.compared == 0) text += "Nothing was compared: no call was checked in both runs in a comparable way.\n";
  if (!b.is_complete()) text += "B is not complete: what it has not checked may be new as well.\n";
  return text;
}

std::string description_of(const runs::Run& run) {
  std::string text = sanitised(run.path) + " (" + std::to_string(run.results.count()) + " calls";
  if (!run.has_journal) {
    text += ", from its CSVs";
  } else {
    text += ", msrun " + sanitised(member(run, "version")) + ", " + sanitised(member(run, "backend"));
    if (run.started) text += ", " + local_time_text(*run.started);
  }
  if (!run.is_complete()) text += ", not complete";
  return text + ")";
}

std::string text_of(const runs::Run& a, const runs::Run& b, const Comparison& comparison, bool all) {
  std::string text = "A: " + description_of(a) + "\nB: " + description_of(b) + "\n";
  for (const runs::Run* run : {&a, &b}) {
    for (const std::string& note : run->notes) text += note + "\n";
  }
  const RunsFacts& facts = comparison.facts;
  if (facts.by_status) text += "Compared by status and columns: a run without a journal tells no more.\n";
  for (const std::string& option : facts.other_options) text += "Other: " + option + "\n";
  if (facts.judged_otherwise) text += "Results are judged by other options: they are not comparable.\n";
  text += conclusion(comparison) + "\n" + reservations(b, comparison);
  for (std::size_t i = 0; i < change_count; ++i) {
    const auto change = static_cast<Change>(i);
    if (change != Change::same || all) add_calls(text, comparison, change, all);
  }
  return text;
}

std::string json_of(const runs::Run& a, const runs::Run& b, const Comparison& comparison, bool all) {
  Json json{{"a", run_json(a)}, {"b", run_json(b)}};
  json["other_options"] = comparison.facts.other_options;
  json["by_status"] = comparison.facts.by_status;
  json["compared"] = comparison.compared;
  Json counts = Json::object();
  for (std::size_t i = 0; i < change_count; ++i) {
    counts[std::string(change_text(static_cast<Change>(i)))] = comparison.counts[i];
  }
  json["counts"] = std::move(counts);
  json["calls"] = Json::array();
  for (const CallChange& call : comparison.calls) {
    if (call.change == Change::same && !all) continue;
    Json entry{{"name", call.name},
               {"change", change_text(call.change)},
               {"before", standing_json(call.before)},
               {"after", standing_json(call.after)},
               {"reason", call.reason.empty() ? Json(nullptr) : Json(call.reason)},
               {"other_bits", call.other_bits},
               {"outputs", Json::array()}};
    for (const OutputChange& output : call.outputs) entry["outputs"].push_back(output_json(output));
    json["calls"].push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string csv_of(const Comparison& comparison, bool all) {
  std::string text(byte_order_mark);
  add_row(text, {"API Name", "Output", "Change", "Before", "After", "Status before", "Status after", "Metrics",
                 "Other bits", "Reason"});
  for (const CallChange& call : comparison.calls) {
    if (call.change == Change::same && !all) continue;
    add_row(text, {call.name, "", std::string(change_text(call.change)), std::string(state_text(call.before.state)),
                   std::string(state_text(call.after.state)), statuses(call.before), statuses(call.after), "",
                   call.other_bits ? "yes" : "no", call.reason});
    for (const OutputChange& output : call.outputs) {
      add_row(text, {call.name, output.output, std::string(change_text(output.change)),
                     std::string(state_text(output.before.state)), std::string(state_text(output.after.state)),
                     output.before.forward, output.after.forward, metrics_text(output.metrics),
                     output.other_bits ? "yes" : "no", ""});
    }
  }
  return text;
}

}  // namespace msrun::run_diff
