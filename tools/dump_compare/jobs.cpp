#include "tools/dump_compare/jobs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "kernels/io/files/entries.h"
#include "kernels/io/files/paths.h"
#include "tools/recordings/folders.h"

namespace msrun::dump_compare {
namespace {

namespace fs = std::filesystem;
using Warn = std::function<void(const std::string&)>;
using Folders = std::map<std::uint64_t, std::string>;

bool is_dump_name(const std::string& path) {
  const std::string_view name = base_name(path);
  return name == "dump.json" || name == "debug.json";
}

std::string base_of(const std::string& path) {
  std::string_view rest = path;
  while (rest.size() > 1 && rest.ends_with('/')) rest.remove_suffix(1);
  return std::string(base_name(rest));
}

std::string dump_of(const std::string& folder) {
  std::string path = recordings::dump_file(folder);
  if (path.empty()) throw UserError("There is neither dump.json nor debug.json in " + folder + ".");
  return path;
}

Job job_of(std::uint64_t rank, const std::string& target, const std::string& golden) {
  Job job{rank, base_of(target), {}, {}, {}};
  try {
    job.target = dump_of(target);
    job.golden = dump_of(golden);
  } catch (const UserError& error) {
    job.problem = error.what();
  }
  return job;
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// A loop of links leads to nothing.
void check_exists(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error)) return;
  const std::string reason = error ? ": " + error.message() : "";
  throw UserError("path does not exist, please check! (" + path + reason + ")");
}

std::set<std::string> folders_in(const std::string& folder) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : entries_of(folder)) {
    if (is_folder(entry.path().string())) names.insert(entry.path().filename().string());
  }
  return names;
}

void keep(Folders& folders, const std::optional<std::set<std::uint64_t>>& wanted) {
  if (wanted) std::erase_if(folders, [&](const auto& entry) { return !wanted->contains(entry.first); });
}

class Finder {
 public:
  Finder(const Options& options, const Warn& warn) : options_(options), warn_(warn) {}

  Jobs find() {
    const std::string& target = options_.target_path;
    const std::string& golden = options_.golden_path;
    for (const std::string* path : {&target, &golden}) check_exists(*path);
    const bool folder = is_folder(target);
    if (folder != is_folder(golden)) {
      const auto what = [](const std::string& path, bool of_folder) {
        return path + (of_folder ? " is a folder" : " is a file");
      };
      throw UserError("The target_path and golden_path need to be of the same type: " + what(target, folder) + ", " +
                      what(golden, !folder) + ".");
    }
    if (!folder) {
      if (options_.ranks) throw UserError("--rank applies to folders of ranks, not to a single file");
      if (options_.steps) throw UserError("--step applies to folders of steps, not to a single file");
      if (!is_dump_name(target) || base_name(target) != base_name(golden)) {
        throw UserError("npu_path and bench_path must both end with dump.json or debug.json. npu_path: " + target +
                        ", bench_path: " + golden);
      }
      groups_.push_back({std::nullopt, "", options_.output_path, {{0, "", target, golden, ""}}});
      return {std::move(groups_), 0};
    }
    find_in(target, golden, options_.output_path);
    if (groups_.empty()) {
      // The numbers that were asked for are the likeliest reason.
      if (has_ranks_) require_seen("--rank", "rank", options_.ranks, seen_ranks_);
      if (has_steps_) require_seen("--step", "step", options_.steps, seen_steps_);
      throw UserError("No pair of dumps is left to compare.");
    }
    const auto has_rank = [](const Job& job) { return !job.rank_name.empty(); };
    if (options_.ranks && std::ranges::none_of(groups_, [&](const JobGroup& group) {
          return std::ranges::any_of(group.jobs, has_rank);
        })) {
      throw UserError("--rank does not apply: there are no folders of ranks in " + target);
    }
    if (options_.steps && std::ranges::none_of(groups_, [](const JobGroup& group) { return group.step.has_value(); })) {
      throw UserError("--step does not apply: there are no folders of steps in " + target);
    }
    require_seen("--rank", "rank", options_.ranks, seen_ranks_);
    require_seen("--step", "step", options_.steps, seen_steps_);
    return {std::move(groups_), left_out_};
  }

 private:
  // A number that neither side has is a slip; one that a single side has is told like any other.
  void require_seen(const char* option, const char* what, const std::optional<std::set<std::uint64_t>>& wanted,
                    const std::set<std::uint64_t>& seen) const {
    if (!wanted) return;
    const auto missing = std::ranges::find_if(*wanted, [&](std::uint64_t number) { return !seen.contains(number); });
    if (missing == wanted->end()) return;
    throw UserError(std::string(option) + ": there is no " + what + std::to_string(*missing) + " in " +
                    options_.target_path + " or " + options_.golden_path);
  }

  void leave_out(const std::string& text) {
    ++left_out_;
    warn_(text);
  }

  // What nobody would miss in the results: of a folder with ranks only these are compared.
  void warn_of_what_is_left_out(const std::string& folder) {
    for (const std::string& unused : recordings::unused_ranks(folder)) leave_out(unused);
    for (const auto& [step, path] : recordings::step_folders(folder)) {
      leave_out(path + " takes no part: there are folders of ranks beside it.");
    }
  }

  void find_in(const std::string& target, const std::string& golden, const std::string& output) {
    if (add_ranks(target, golden, output, std::nullopt)) return;
    if (add_steps(target, golden, output)) return;
    const std::string mine = recordings::dump_file(target);
    const std::string theirs = recordings::dump_file(golden);
    if (!mine.empty() && !theirs.empty()) {
      groups_.push_back({std::nullopt, "", output, {{0, "", mine, theirs, ""}}});
      return;
    }
    if (add_graph_modes(target, golden, output)) return;
    const std::string inner_target = recordings::recording_folder(target);
    const std::string inner_golden = recordings::recording_folder(golden);
    if (inner_target != target || inner_golden != golden) return find_in(inner_target, inner_golden, output);
    const auto of = [&](const std::string& path) {
      const std::optional<std::string> process = recordings::process_folder(path);
      if (!process) {
        throw UserError("No or multiple proc directories were found in the " + path + ". Expected exactly one.");
      }
      return dump_of(*process);
    };
    groups_.push_back({std::nullopt, "", output, {{0, "", of(target), of(golden), ""}}});
  }

  bool add_ranks(const std::string& target, const std::string& golden, const std::string& output,
                 std::optional<std::uint64_t> step) {
    Folders mine = recordings::rank_folders(target);
    Folders theirs = recordings::rank_folders(golden);
    if (mine.empty() && theirs.empty()) return false;
    has_ranks_ = true;
    for (const std::string* side : {&target, &golden}) warn_of_what_is_left_out(*side);
    keep(mine, options_.ranks);
    keep(theirs, options_.ranks);
    for (const Folders* side : {&mine, &theirs}) {
      for (const auto& [rank, path] : *side) seen_ranks_.insert(rank);
    }
    if (options_.pair_by_order && mine.size() != theirs.size()) {
      throw UserError(
          "The number of ranks in the two runs are different. Unable to match the ranks. Please use another folder to "
          "compare or use compare() api and manually match the ranks.");
    }
    JobGroup group{step, "", output, {}};
    auto next = theirs.begin();
    for (const auto& [rank, path] : mine) {
      std::string other;
      if (options_.pair_by_order) {
        other = (next++)->second;
      } else if (const auto found = theirs.find(rank); found != theirs.end()) {
        other = found->second;
      } else {
        leave_out("rank " + std::to_string(rank) + " is missing in " + golden + "; it takes no part.");
        continue;
      }
      group.jobs.push_back(job_of(rank, path, other));
    }
    for (const auto& [rank, path] : theirs) {
      if (options_.pair_by_order || mine.contains(rank)) continue;
      leave_out("rank " + std::to_string(rank) + " is missing in " + target + "; it takes no part.");
    }
    if (!group.jobs.empty()) groups_.push_back(std::move(group));
    return true;
  }

  bool add_steps(const std::string& target, const std::string& golden, const std::string& output) {
    Folders mine = recordings::step_folders(target);
    Folders theirs = recordings::step_folders(golden);
    if (mine.empty() || theirs.empty()) return false;
    has_steps_ = true;
    keep(mine, options_.steps);
    keep(theirs, options_.steps);
    for (const Folders* side : {&mine, &theirs}) {
      for (const auto& [step, path] : *side) seen_steps_.insert(step);
    }
    for (const auto& [step, path] : mine) {
      const auto found = theirs.find(step);
      if (found == theirs.end()) {
        leave_out("step " + std::to_string(step) + " is missing in " + golden + "; it takes no part.");
        continue;
      }
      const std::string below = join_path(output, "step" + std::to_string(step));
      const std::size_t before = groups_.size();
      try {
        if (!add_ranks(path, found->second, below, step)) find_in(path, found->second, below);
      } catch (const UserError& error) {
        groups_.push_back({step, "", below, {{0, "", "", "", error.what()}}});
      }
      for (std::size_t i = before; i < groups_.size(); ++i) groups_[i].step = step;
      name_groups(before, "step" + std::to_string(step));
    }
    for (const auto& [step, path] : theirs) {
      if (!mine.contains(step))
        leave_out("step " + std::to_string(step) + " is missing in " + target + "; it takes no part.");
    }
    return true;
  }

  // Of the groups from that place on.
  void name_groups(std::size_t first, const std::string& name) {
    for (std::size_t i = first; i < groups_.size(); ++i) {
      groups_[i].name = groups_[i].name.empty() ? name : name + " " + groups_[i].name;
    }
  }

  // Folders of MindSpore's graph and pynative modes, each with folders of its own.
  bool add_graph_modes(const std::string& target, const std::string& golden, const std::string& output) {
    bool any = false;
    std::string missing;
    for (const char* mode : {"graph", "pynative"}) {
      const std::string mine = join_path(target, mode);
      const std::string theirs = join_path(golden, mode);
      if (!is_folder(mine) || !is_folder(theirs)) {
        if (is_folder(mine) || is_folder(theirs))
          missing = std::string(mode) + " is missing in " + (is_folder(mine) ? golden : target);
        continue;
      }
      any = true;
      std::set<std::string> names = folders_in(mine);
      names.merge(folders_in(theirs));
      for (const std::string& name : names) {
        const std::string one = join_path(mine, name);
        const std::string other = join_path(theirs, name);
        if (!is_folder(one) || !is_folder(other)) {
          leave_out(name + " is missing in " + (is_folder(one) ? theirs : mine) + "; it takes no part.");
          continue;
        }
        const std::string below = join_path(join_path(output, mode), name);
        const std::size_t before = groups_.size();
        try {
          find_in(one, other, below);
        } catch (const UserError& error) {
          groups_.push_back({std::nullopt, "", below, {{0, "", "", "", error.what()}}});
        }
        name_groups(before, join_path(mode, name));
      }
    }
    if (any && !missing.empty()) leave_out(missing + "; it takes no part.");
    return any;
  }

  const Options& options_;
  const Warn& warn_;
  std::vector<JobGroup> groups_;
  std::size_t left_out_ = 0;
  bool has_ranks_ = false;  // folders of ranks were met
  bool has_steps_ = false;
  std::set<std::uint64_t> seen_ranks_;  // on either side, of those that are wanted
  std::set<std::uint64_t> seen_steps_;
};

}  // namespace

Jobs find_jobs(const Options& options, const Warn& warn) { return Finder(options, warn).find(); }

}  // namespace msrun::dump_compare
