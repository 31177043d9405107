// Which pairs of files two paths name: dump.json itself, folders of ranks, folders of steps (dump_compare.md 11).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/dump_compare/options.h"

namespace msrun::dump_compare {

struct Job {
  std::uint64_t rank = 0;
  std::string rank_name;  // of the folder; empty without ranks
  std::string target;     // dump.json
  std::string golden;
  std::string problem;  // why there is no pair; empty: there is one
};

// Pairs whose ranks belong together: one step, or what has no steps.
struct JobGroup {
  std::optional<std::uint64_t> step;
  std::string name;    // "step0", "graph/0": what tells it from others; may be empty
  std::string output;  // folder of its results
  std::vector<Job> jobs;
};

struct Jobs {
  std::vector<JobGroup> groups;
  std::size_t left_out = 0;  // folders of ranks, steps and the like that take no part
};

// Throws UserError if the paths do not fit each other; warn is told what takes no part, and why.
Jobs find_jobs(const Options& options, const std::function<void(const std::string&)>& warn);

}  // namespace msrun::dump_compare
