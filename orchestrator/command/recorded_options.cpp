#include "orchestrator/command/recorded_options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "journal/error.h"
#include "journal/file.h"
#include "journal/reader.h"
#include "journal/run_files.h"
#include "kernels/base/json_text.h"
#include "kernels/base/text.h"
#include "orchestrator/command/option_values.h"
#include "runner/device/sim/sim.h"
#include "runner/results/recorded_option.h"
#include "runner/results/run_header.h"
#include "runner/results/run_of_rank.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

using Flags = std::vector<std::string_view>;

// An option of the line that says otherwise what others said: they are not taken over.
struct Replacement {
  std::string_view given;
  Flags replaced;
};
const std::array<Replacement, 8> replacements{
    Replacement{"-api_info", {"-forward", "-backward", "-real_data_path"}},
    Replacement{"-forward", {"-api_info"}},
    Replacement{"-backward", {"-api_info"}},
    Replacement{"-real_data_path", {"-api_info"}},
    Replacement{"--shard", {"--steal", "--leases", "--lease-timeout"}},
    Replacement{"--steal", {"--shard"}},
    Replacement{"--report", {"--no-report"}},
    Replacement{"--no-report", {"--report"}},
};
// What was said of one backend is not said of another.
const Flags of_backend{"--backend", "--recorded-on", "--sim-fault",   "--require-device",
                       "-j",        "--python",      "--torch-lanes", "--torch-workers"};

bool has(const Flags& flags, std::string_view flag) { return std::ranges::find(flags, flag) != flags.end(); }

bool is_given(const Arguments& given, std::string_view flag) {
  return given.given(flag.substr(flag.find_first_not_of('-')));
}

std::optional<Json> metadata_of(const std::string& journal) {
  try {
    Json metadata = parsed_json<Json>(journal::read_header(*journal::open_source(journal)).metadata);
    if (metadata.is_object()) return metadata;
  } catch (const journal::Error&) {
    // Whoever opens the journal to continue it tells what is wrong with it.
  }
  return std::nullopt;
}

// What the headers of journals tell that were begun before they held all options.
std::vector<OptionWords> told_apart(const Json& metadata) {
  std::vector<OptionWords> options;
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) options.push_back({flag, value});
  };
  add("-api_info", text_in(metadata, "api_info"));
  add("-forward", text_in(metadata, "forward"));
  add("-backward", text_in(metadata, "backward"));
  add("--backend", text_in(metadata, "backend"));
  const Json print = metadata.value("fingerprint", Json::object());
  if (print.is_object()) {
    const auto seed = print.find("seed");
    if (seed != print.end() && seed->is_number_unsigned()) add("--seed", seed->dump());
    add("--seed-mode", text_in(print, "seed_mode"));
    add("--standard", text_in(print, "standard"));
    if (text_in(print, "compat") == "msprobe") add("--compat", "msprobe");
  }
  const Json faults = metadata.value("sim_faults", Json::array());
  for (const Json& fault : faults) {
    if (fault.is_string()) add("--sim-fault", fault.get<std::string>());
  }
  OptionWords devices{"-d"};
  for (const Json& device : metadata.value("devices", Json::array())) devices.push_back(device.dump());
  const Json threads = metadata.value("threads", Json());
  if (devices.size() > 1 && threads.is_number_unsigned()) {
    options.push_back({"-n", threads.dump()});
    options.push_back(std::move(devices));
  }
  return options;
}

std::vector<OptionWords> options_of(const Json& metadata, const std::string& journal) {
  auto options = checked_options(metadata, journal);
  return options ? *std::move(options) : told_apart(metadata);
}

bool stops_processes(const std::string& fault) {
  try {
    const SimFault::Kind kind = parse_sim_fault(fault).kind;
    return kind == SimFault::Kind::hang || kind == SimFault::Kind::crash || kind == SimFault::Kind::out_of_memory;
  } catch (const UserError&) {
    return true;  // of another version
  }
}

void add_pattern(const std::string& fault, std::vector<std::string>& patterns) {
  try {
    patterns.push_back(parse_sim_fault(fault).pattern);
  } catch (const UserError&) {
    // The fault is one of another version.
  }
}

// The header is JSON and holds text alone: of bytes that are none U+FFFD is left.
void require_whole_path(const OptionWords& option) {
  std::error_code ignored;
  if (option[1].find("\xEF\xBF\xBD") == std::string::npos || fs::exists(option[1], ignored)) return;
  throw UserError("-csv_path: the journal does not hold the path of " + option[0] +
                  " as it was given, because it has bytes that are no UTF-8 (" + sanitised(option[1]) +
                  "); give it with " + option[0]);
}

std::string_view without_kind(std::string_view backend) { return backend.substr(0, backend.find(':')); }

// The line goes on with another backend than the run was begun with. Faults alone mean the simulated device.
bool has_other_backend(const Arguments& given, const Json& metadata) {
  const bool names_one = is_given(given, "--backend");
  if (!names_one && !is_given(given, "--sim-fault")) return false;
  const std::string now = names_one ? given.text("backend") : "sim";
  const std::string then = text_in(metadata, "backend");
  return without_kind(now) != without_kind(then);
}

std::size_t devices_given(const Arguments& given) {
  try {
    return is_given(given, "-d") ? parse_devices(given, ReportLayout::current).size() : 0;
  } catch (const UserError&) {
    return 0;  // whoever reads the line tells what is wrong
  }
}

// More devices than the run had threads are given: each of them needs one.
bool has_too_few_threads(const Arguments& given, const OptionWords& option) {
  if (option[0] != "-n" || option.size() != 2) return false;
  const auto threads = parse_number<std::size_t>(option[1]);
  return threads && *threads < devices_given(given);
}

bool is_decided(const Arguments& given, const Json& metadata, const OptionWords& option) {
  const std::string_view flag = option[0];
  try {
    if (is_given(given, flag) || has_too_few_threads(given, option)) return true;
    if (has(of_backend, flag) && has_other_backend(given, metadata)) return true;
    return std::ranges::any_of(replacements, [&](const Replacement& replacement) {
      return has(replacement.replaced, flag) && is_given(given, replacement.given);
    });
  } catch (const std::logic_error&) {
    return true;  // an option of a later version
  }
}

}  // namespace

std::span<const std::string_view> selecting_options() {
  static constexpr auto options =
      std::to_array<std::string_view>({"--only", "--except", "-f", "--filter-compat", "-config", "--across-ranks"});
  return options;
}

std::vector<std::string> TakenOver::words() const {
  std::vector<std::string> words;
  for (const OptionWords& option : options) append_words(option, words);
  return words;
}

void require_readable_journal(const RunFiles& files) {
  std::error_code ignored;
  if (!fs::exists(files.journal, ignored)) return;
  std::string problem;
  try {
    const std::string metadata = journal::read_header(*journal::open_source(files.journal)).metadata;
    if (parsed_json<Json>(metadata).is_object()) return;
    problem = files.journal + ": its header does not say which run it belongs to";
  } catch (const journal::Error& error) {
    problem = error.what();
  }
  if (problem.ends_with('.')) problem.pop_back();
  const bool has_csvs = fs::exists(files.result, ignored) && fs::exists(files.details, ignored);
  throw UserError("-csv_path: " + problem +
                  (has_csvs ? "; move " + files.journal + " away, and -csv_path with -api_info continues from what " +
                                  files.result + " and the details file beside it hold"
                            : "; nothing can be continued without it"));
}

TakenOver take_over(const Arguments& given) {
  TakenOver taken;
  const std::optional<RunFiles> files = files_with_journal(given.text("csv_path"));
  const std::optional<Json> metadata = files ? metadata_of(files->journal) : std::nullopt;
  if (!metadata) return taken;
  taken.has_journal = true;
  std::vector<OptionWords> given_again;
  for (OptionWords& option : options_of(*metadata, files->journal)) {
    if (option[0] == "--sim-fault" && option.size() == 2) add_pattern(option[1], taken.apart);
    if (is_decided(given, *metadata, option)) continue;
    if (is_given_again(option)) {
      given_again.push_back(std::move(option));
      continue;
    }
    if (option[0] == "--sim-fault" && option.size() == 2 && stops_processes(option[1])) {
      taken.notices.push_back("--sim-fault " + option[1] +
                              " of the earlier run is not taken over from the journal: it would stop this one, too.");
      continue;
    }
    if (option.size() == 2 && is_input_path(option[0])) {
      option[1] = found_again(option[1], *metadata);
      require_whole_path(option);
    }
    taken.options.push_back(std::move(option));
  }
  require_given_again(given_again, "-csv_path");
  return taken;
}

}  // namespace msrun
