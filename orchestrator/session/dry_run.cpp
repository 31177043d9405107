#include "orchestrator/session/dry_run.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "kernels/base/counted.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/text.h"
#include "kernels/tensor/random.h"
#include "orchestrator/command/option_values.h"
#include "orchestrator/plan/forecast.h"
#include "orchestrator/session/host_slowness.h"
#include "orchestrator/session/limits.h"
#include "runner/process_memory.h"
#include "runner/results/api_name.h"

namespace msrun {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_named_groups = 30;  // groups in the text

struct Group {
  std::uint64_t calls = 0;
  double seconds = 0;        // of one processor
  std::uint64_t memory = 0;  // bytes, of the largest call
};

struct Skipped {
  std::uint64_t calls = 0;
  std::string first;  // name of the first call
  bool by_rule = false;
};

using GroupName = std::pair<std::string, std::string>;  // API, dtype

struct WouldRun {
  std::map<GroupName, Group> groups;
  std::map<std::string, Skipped> skipped;  // by reason
  Group all;
  double longest = 0;           // seconds of the longest call
  std::uint64_t in_flight = 0;  // bytes of the largest calls, as many as run at a time
  std::uint64_t threads = 0;
  std::uint64_t processors = 0;  // that can be used
  double seconds = 0;            // of the whole run
};

// The dtype of the first tensor among the arguments; "none" without one.
std::string dtype_of(const ApiCall& call) {
  std::string dtype;
  const auto look = [&](const Value& leaf) {
    const auto* spec = leaf.get<std::shared_ptr<const TensorSpec>>();
    if (spec != nullptr && dtype.empty()) dtype = (*spec)->dtype;
  };
  for (const Value& argument : call.args) for_each_leaf(argument, look);
  for (const auto& [key, value] : call.kwargs) for_each_leaf(value, look);
  return dtype.empty() ? "none" : dtype;
}

// The directory in which the tensors of the recordings lie, if no such directory is there; else empty. Of several ranks
// that of the first, if none is there.
std::string missing_data_root(const SupervisorOptions& supervision) {
  std::vector<std::filesystem::path> roots;
  if (!supervision.check.materialise.data_root.empty()) roots.push_back(supervision.check.materialise.data_root);
  for (const RankPlace& rank : supervision.ranks) {
    if (!rank.data_root.empty()) roots.push_back(rank.data_root);
  }
  const auto is_there = [](const std::filesystem::path& root) {
    std::error_code ignored;
    return std::filesystem::is_directory(root, ignored);
  };
  return roots.empty() || std::ranges::any_of(roots, is_there) ? "" : roots.front().string();
}

// Why the arguments of a call cannot be made, as far as the plan tells: what is in files is not read. Empty if they
// may. missing_root: missing_data_root().
std::string refusal_of(const ApiCall& call, const std::string& missing_root) {
  std::string reason;
  const auto look = [&](const Value& leaf) {
    if (!reason.empty()) return;
    if (const auto* unsupported = leaf.get<Unsupported>()) reason = unsupported->reason;
    const auto* spec = leaf.get<std::shared_ptr<const TensorSpec>>();
    if (spec == nullptr) return;
    const TensorSpec& tensor = **spec;
    if (!tensor.file().empty()) {
      const bool is_below = !std::filesystem::path(tensor.file()).is_absolute();
      if (is_below && !missing_root.empty()) reason = "There is no directory " + missing_root + " with its tensors.";
      return;
    }
    const std::optional<DType> dtype = parse_dtype(tensor.dtype);
    const bool is_ranged = (tensor.min || tensor.min_finite) && (tensor.max || tensor.max_finite);
    if (!dtype) {
      reason = "Dtype is not supported: " + tensor.dtype;
    } else if (is_complex(*dtype)) {
      reason = complex_refusal(*dtype);
    } else if (!is_ranged && *dtype != DType::boolean && std::ranges::find(tensor.shape, 0) == tensor.shape.end()) {
      reason = "The minimum and the maximum of a tensor are not recorded, from which its data are made.";
    }
  };
  for (const Value& argument : call.args) for_each_leaf(argument, look);
  for (const auto& [key, value] : call.kwargs) for_each_leaf(value, look);
  return reason;
}

WouldRun what_would_run(const SessionState& session) {
  WouldRun would;
  const SupervisorOptions supervision = supervisor_options(session);
  for (const std::size_t threads : supervision.threads) would.threads += threads;
  would.processors = std::min<std::uint64_t>(would.threads, supervision.processors);
  const PlanView& plan = session.plan.view();
  const auto devices = static_cast<double>(session.options.devices.size());
  // As in a runner. Nothing else happens in this process from here on.
  keep_freed_memory(supervision.memory_budget, static_cast<std::uint32_t>(would.processors));
  const std::string missing_root = missing_data_root(supervision);
  const Forecast forecast(measured_slowness(would.processors));
  std::vector<std::uint64_t> memory;
  for (std::uint32_t task = 0; task < session.plan.size(); ++task) {
    // Only the calls of the part that --shard names would run; what --steal will get nobody knows.
    if (!session.share.empty() && !session.share[task]) continue;
    const PlanRecord& record = plan.tasks[task];
    const std::string name(plan.name(task));
    const ApiCall call = record.skip_size > 0 ? ApiCall() : planned_call(plan, task);
    const std::string skip =
        record.skip_size > 0 ? std::string(plan.skip_reason(task)) : refusal_of(call, missing_root);
    if (!skip.empty()) {
      Skipped& skipped = would.skipped[skip];
      if (skipped.calls++ == 0) skipped.first = plan.title(task);
      skipped.by_rule = record.skip_size > 0 && record.skip_by_rule;
      continue;
    }
    const double seconds = forecast.seconds(call, session.options.repeat) * (session.options.same_on_all ? devices : 1);
    for (Group* group : {&would.groups[{std::string(api_of(name)), dtype_of(call)}], &would.all}) {
      ++group->calls;
      group->seconds += seconds;
      group->memory = std::max(group->memory, record.memory);
    }
    would.longest = std::max(would.longest, seconds);
    memory.push_back(record.memory);
  }
  const auto most = std::min<std::size_t>(memory.size(), would.processors);
  std::ranges::partial_sort(memory, memory.begin() + static_cast<std::ptrdiff_t>(most), std::greater{});
  for (std::size_t i = 0; i < most; ++i) would.in_flight += memory[i];
  would.in_flight = std::max(std::min(would.in_flight, supervision.memory_budget), would.all.memory);
  const double shared = would.all.seconds / static_cast<double>(std::max<std::uint64_t>(would.processors, 1));
  would.seconds = std::max(shared, would.longest) + forecast.serial_seconds(static_cast<double>(would.all.calls)) +
                  session.plan_seconds;
  return would;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < units.size()) {
    size /= 1024;
    ++unit;
  }
  std::array<char, 48> text{};
  const int length = std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", size, units[unit]);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string seconds_text(double seconds) {
  std::array<char, 48> text{};
  const int length = std::snprintf(text.data(), text.size(),
                                   seconds < 1    ? "%.3f s"
                                   : seconds < 10 ? "%.2f s"
                                                  : "%.0f s",
                                   seconds);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t columns = display_width(text);
  const std::string blanks(columns < width ? width - columns : 0, ' ');
  return right ? blanks + text : text + blanks;
}

std::string row(const std::string& api, const std::string& dtype, const std::string& calls, const std::string& seconds,
                const std::string& memory) {
  return "  " + padded(api, 40, false) + "  " + padded(dtype, 15, false) + padded(calls, 9, true) +
         padded(seconds, 12, true) + padded(memory, 12, true) + "\n";
}

std::string text_of(const WouldRun& would, const Options& options) {
  std::vector<std::pair<GroupName, Group>> groups(would.groups.begin(), would.groups.end());
  std::ranges::stable_sort(groups, std::greater{}, [](const auto& group) { return group.second.seconds; });
  std::string text =
      "Would run " + counted(would.all.calls, "call") + ":\n" + row("API", "dtype", "calls", "time", "memory");
  const auto add = [&](const std::string& api, const std::string& dtype, const Group& group) {
    text += row(cut_to_width(sanitised(api), 40), cut_to_width(sanitised(dtype), 15), std::to_string(group.calls),
                seconds_text(group.seconds), bytes_text(group.memory));
  };
  Group rest;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto& [name, group] = groups[i];
    if (i < most_named_groups) {
      add(name.first, name.second, group);
      continue;
    }
    rest.calls += group.calls;
    rest.seconds += group.seconds;
    rest.memory = std::max(rest.memory, group.memory);
  }
  if (rest.calls > 0) add(std::to_string(groups.size() - most_named_groups) + " more", "", rest);
  for (const auto& [reason, skipped] : would.skipped) {
    text += std::string(skipped.by_rule ? "Left out by rule: " : "Cannot be checked: ") +
            counted(skipped.calls, "call") + ", the first is " + sanitised(skipped.first) + ": " +
            cut_to_width(sanitised(reason), 200) + "\n";
  }
  text += "Forecast: " + seconds_text(would.seconds) + " with " + counted(would.threads, "thread") + " on " +
          counted(would.processors, "processor") + " (" + seconds_text(would.all.seconds) + " of one), at most " +
          bytes_text(would.in_flight) + " for the calls in flight.\n";
  if (options.sampled_work) {
    text += "The benchmark of products is sampled (--benchmark " + benchmark_text(options.sampled_work) +
            "), which the forecast does not count.\n";
  }
  return text + "Nothing was run or written.\n";
}

std::string event_of(const WouldRun& would, const Options& options) {
  Json event{{"type", "dry_run"}, {"calls", would.all.calls}, {"groups", Json::array()}, {"skipped", Json::array()}};
  for (const auto& [name, group] : would.groups) {
    event["groups"].push_back({{"api", name.first},
                               {"dtype", name.second},
                               {"calls", group.calls},
                               {"seconds", group.seconds},
                               {"memory_bytes", group.memory}});
  }
  for (const auto& [reason, skipped] : would.skipped) {
    event["skipped"].push_back(
        {{"reason", reason}, {"by_rule", skipped.by_rule}, {"calls", skipped.calls}, {"first", skipped.first}});
  }
  event["benchmark"] = benchmark_text(options.sampled_work);
  event["threads"] = would.threads;
  event["processors"] = would.processors;
  event["processor_seconds"] = would.all.seconds;
  event["seconds"] = would.seconds;
  event["memory_bytes"] = would.in_flight;
  return event.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

int say_what_would_run(const SessionState& session, std::ostream& out) {
  const WouldRun would = what_would_run(session);
  out << (session.options.message_format == MessageFormat::json ? event_of(would, session.options)
                                                                : text_of(would, session.options))
      << std::flush;
  return would.all.calls > 0 ? exit_completed : exit_fail_on;
}

}  // namespace msrun
