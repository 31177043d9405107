#include "orchestrator/command/sharing_options.h"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "journal/run_files.h"
#include "kernels/base/host_name.h"
#include "kernels/base/text.h"

namespace msrun {
namespace {

// More than any cluster has processes.
constexpr std::uint32_t most_parts = 1'000'000;
constexpr double least_lease_timeout = 0.5;  // seconds
constexpr double most_lease_timeout = 86400;

// How a launcher tells its processes which of how many they are, counted from 0.
struct Launcher {
  const char* number;
  const char* count;
};
// A launcher inside the allocation of another comes first: mpirun in a batch script of Slurm.
constexpr std::array launchers{Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                               Launcher{"SLURM_PROCID", "SLURM_NTASKS"}, Launcher{"RANK", "WORLD_SIZE"}};

std::string text_of(const Launcher& launcher, const Environment& environment) {
  return std::string(launcher.number) + "=" + sanitised(environment(launcher.number)) + ", " + launcher.count + "=" +
         sanitised(environment(launcher.count));
}

// Nothing if the variables do not say it.
std::optional<Shard> shard_of(const Launcher& launcher, const Environment& environment) {
  const auto number = parse_number<std::uint32_t>(environment(launcher.number));
  const auto count = parse_number<std::uint32_t>(environment(launcher.count));
  if (!number || !count || *count == 0 || *count > most_parts || *number >= *count) return std::nullopt;
  return Shard{*number + 1, *count};
}

UserError does_not_say(const Launcher& launcher, const Environment& environment) {
  return UserError("--shard env: " + text_of(launcher, environment) +
                   " does not say which part of how many this process is to check");
}

Shard shard_of_environment(const Environment& environment, std::vector<std::string>& notices) {
  const Launcher* chosen = nullptr;
  const Launcher* half = nullptr;
  Shard shard;
  for (const Launcher& launcher : launchers) {
    const bool has_number = !environment(launcher.number).empty();
    const bool has_count = !environment(launcher.count).empty();
    // The count alone is in the environment of a whole allocation, too.
    if (!has_count || !has_number) {
      if ((has_number || has_count) && half == nullptr) half = &launcher;
      continue;
    }
    const std::optional<Shard> told = shard_of(launcher, environment);
    if (chosen == nullptr && told) {
      chosen = &launcher;
      shard = *told;
      notices.push_back("--shard env: " + text_of(launcher, environment) + " makes this part " +
                        std::to_string(shard.number) + " of " + std::to_string(shard.of) + ".");
    } else if (chosen == nullptr) {
      // The next launcher's variables are no way out: this one has started the process.
      throw does_not_say(launcher, environment);
    } else if (told != shard) {
      notices.push_back("--shard env: " + text_of(launcher, environment) + " says otherwise; " +
                        std::string(chosen->number) + " counts.");
    }
  }
  if (chosen != nullptr) return shard;
  if (half != nullptr) throw does_not_say(*half, environment);
  std::string names;
  for (const Launcher& launcher : launchers) {
    names += (names.empty() ? "" : ", or ") + std::string(launcher.number) + " and " + launcher.count;
  }
  throw UserError("--shard env: the environment has neither " + names +
                  "; start it with srun or mpirun, or give --shard K/N");
}

std::uint32_t random_bits() {
  std::uint32_t bits = 0;
  if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) == static_cast<ssize_t>(sizeof(bits))) return bits;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint32_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint32_t>(now.tv_nsec);
}

double parse_lease_timeout(const Arguments& arguments) {
  const std::string text = arguments.text("lease_timeout");
  std::string_view number = text;
  if (number.ends_with('s')) number.remove_suffix(1);
  const auto seconds = parse_number<double>(number);
  if (!seconds || !(*seconds >= least_lease_timeout) || *seconds > most_lease_timeout) {
    throw arguments.wrong("lease_timeout", text, "must be seconds, 0.5 to 86400, such as 60");
  }
  return *seconds;
}

}  // namespace

std::string environment_of_process(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string host_name() {
  if (std::string node = environment_of_process("SLURMD_NODENAME"); !node.empty()) return node;
  const std::string name = system_host_name();
  return name.empty() ? "unknown" : name;
}

std::string unique_node_name() {
  // Processes in containers may have the name of their host and the number of the process in common.
  return host_name() + "-" + std::to_string(getpid()) + "-" + hexadecimal(random_bits()).substr(8);
}

Shard parse_shard(const std::string& text, const Environment& environment, std::vector<std::string>& notices) {
  if (text == "env") return shard_of_environment(environment, notices);
  const std::size_t slash = text.find('/');
  const auto number = parse_number<std::uint32_t>(std::string_view(text).substr(0, slash));
  const auto of =
      slash == std::string::npos ? std::nullopt : parse_number<std::uint32_t>(std::string_view(text).substr(slash + 1));
  if (!number || !of || *number < 1 || *of > most_parts || *number > *of) {
    throw UserError("--shard " + shell_quoted(sanitised(text)) +
                    ": must be K/N, part K of N counted from 1, such as 2/8, or env");
  }
  return {*number, *of};
}

void set_sharing(const Arguments& arguments, const Environment& environment, Options& options) {
  if (arguments.given("shard")) {
    options.shard = parse_shard(arguments.text("shard"), environment, options.notices);
  }
  options.steal = arguments.given("steal");
  if (options.steal && options.shard) throw UserError("--shard and --steal exclude each other");
  for (const char* name : {"leases", "lease_timeout"}) {
    if (arguments.given(name) && !options.steal) throw UserError(arguments.shown(name) + " needs --steal");
  }
  if (options.steal && options.retry_skip) {
    throw UserError(
        "--retry-skip does not go with --steal, which checks nothing of leases that are done; make one run of all "
        "parts "
        "with msrun merge, and continue that with --retry-skip");
  }
  options.leases = arguments.number<std::uint32_t>("leases", 0, 1, most_leases, "a whole number");
  if (arguments.given("lease_timeout")) options.lease_timeout = parse_lease_timeout(arguments);
  if (!options.shard && !options.steal) return;
  if (options.layout != ReportLayout::current) {
    throw UserError(std::string(options.steal ? "--steal" : "--shard") +
                    " does not go with --layout att, whose files have the same names for every part");
  }
  if (options.steal) options.node = unique_node_name();
}

std::string part_label(const Options& options) {
  if (options.shard) return shard_label(options.shard->number, options.shard->of);
  return options.steal ? node_label(options.node) : std::string();
}

std::string part_text(const Options& options) {
  if (options.steal) return "what it took of the leases";
  if (!options.shard) return "all";
  return "part " + std::to_string(options.shard->number) + " of " + std::to_string(options.shard->of);
}

}  // namespace msrun
