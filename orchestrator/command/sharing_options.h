// Options by which several processes, as a rule on several hosts, share the calls of one recording.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "kernels/base/command_line/arguments.h"
#include "orchestrator/command/command_line.h"

namespace msrun {

// The most leases that --leases takes, and so that a folder of them may hold.
inline constexpr std::uint32_t most_leases = 9999;

// Value of an environment variable; empty where it is not set.
using Environment = std::function<std::string(const char* name)>;

// The part that --shard names, "2/8", or with "env" the environment of a launcher: mpirun, srun, or whoever sets RANK
// and WORLD_SIZE, in this order. Appends to notices, loudly, what was taken from where. Throws UserError.
Shard parse_shard(const std::string& text, const Environment& environment, std::vector<std::string>& notices);

// Sets --shard, --steal and what belongs to them. Throws UserError.
void set_sharing(const Arguments& arguments, const Environment& environment, Options& options);

// The variables of this process.
std::string environment_of_process(const char* name);

// What this host is called: by Slurm, which may run several nodes on one, else by itself.
std::string host_name();

// A name that no other process has, on whatever host.
std::string unique_node_name();

// What the names of the files say of the part; empty for a run that checks all.
std::string part_label(const Options& options);

// "part 2 of 8", "what it took of the leases".
std::string part_text(const Options& options);

}  // namespace msrun
