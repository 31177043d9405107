#include "runner/results/recorded_option.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/base/error.h"
#include "kernels/base/text.h"

namespace msrun {
namespace {

enum class Values : std::uint8_t { none, one, several };

struct RecordedOption {
  std::string_view flag;
  Values values = Values::one;
  bool decides = false;
  bool given_again = false;
};

constexpr auto recorded = std::to_array<RecordedOption>({
    {.flag = "-api_info"},
    {.flag = "-forward"},
    {.flag = "-backward"},
    {.flag = "-real_data_path"},
    {.flag = "--allow-outside-data", .values = Values::none, .decides = true},
    {.flag = "--backend", .decides = true},
    {.flag = "--recorded-on", .decides = true},
    {.flag = "--python", .decides = true, .given_again = true},
    {.flag = "--torch-lanes", .decides = true},
    {.flag = "--torch-workers", .decides = true},
    {.flag = "--sim-fault", .decides = true},
    {.flag = "--require-device", .values = Values::none},
    {.flag = "-j", .values = Values::none, .decides = true},
    {.flag = "--repeat"},
    {.flag = "--seed", .decides = true},
    {.flag = "--seed-mode", .decides = true},
    {.flag = "--standard", .decides = true},
    {.flag = "--max-abs-err", .decides = true},
    {.flag = "--benchmark", .decides = true},
    {.flag = "--limits", .decides = true},
    {.flag = "--compat", .decides = true},
    {.flag = "--layout", .decides = true},
    {.flag = "-config", .decides = true, .given_again = true},
    {.flag = "--only"},
    {.flag = "--except"},
    {.flag = "-f", .values = Values::none},
    {.flag = "--filter-compat", .values = Values::none},
    {.flag = "--across-ranks"},
    {.flag = "--shard"},
    {.flag = "--steal", .values = Values::none},
    {.flag = "--leases"},
    {.flag = "--lease-timeout"},
    {.flag = "-save_error_data", .values = Values::none},
    {.flag = "--titles"},
    {.flag = "--report", .values = Values::none},
    {.flag = "--no-report", .values = Values::none},
    {.flag = "--fail-on"},
    {.flag = "-n"},
    {.flag = "-d", .values = Values::several},
    {.flag = "--same-on-all", .values = Values::none},
    {.flag = "--task-timeout", .decides = true},
    {.flag = "--retries"},
    {.flag = "--max-device-failures"},
    {.flag = "--max-failures"},
    {.flag = "--memory", .decides = true},
    {.flag = "--core-dumps", .values = Values::none},
    {.flag = "--affinity"},
    {.flag = "--durability"},
});

const RecordedOption* find(std::string_view flag) {
  const auto* const found = std::ranges::find(recorded, flag, &RecordedOption::flag);
  return found == recorded.end() ? nullptr : &*found;
}

bool takes(const RecordedOption& option, const OptionWords& words) {
  const std::size_t values = words.size() - 1;
  if (option.values == Values::none) return values == 0;
  if (option.values == Values::one) return values == 1;
  // More values than one are words of their own on the line, and a word with a dash would be another option.
  return values > 0 &&
         std::none_of(words.begin() + 1, words.end(), [](const std::string& word) { return word.starts_with('-'); });
}

}  // namespace

bool decides_results(std::string_view flag) {
  const RecordedOption* option = find(flag);
  return option != nullptr && option->decides;
}

bool is_given_again(const OptionWords& option) {
  // A plugin is a library; the other backends are parts of msrun, or what the reader's own environment has.
  if (option.front() == "--backend" && option.size() == 2) return option[1].starts_with("plugin");
  const RecordedOption* known = find(option.front());
  return known != nullptr && known->given_again;
}

std::optional<std::vector<OptionWords>> checked_options(const RunHeader& header, const std::string& journal) {
  std::optional<std::vector<OptionWords>> options = options_in(header);
  if (!options) return options;
  if (options->size() != header.at("arguments").size()) {
    throw UserError(sanitised(journal) +
                    ": its header holds options that are no lists of words; it is damaged or forged");
  }
  for (const OptionWords& words : *options) {
    const RecordedOption* known = find(words.front());
    if (known != nullptr && takes(*known, words)) continue;
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + sanitised(word);
    throw UserError(sanitised(journal) + ": its header holds " + shell_quoted(line) +
                    (known == nullptr ? ", which is no option that a run notes there"
                                      : ", which is not how a run notes that option") +
                    "; it is damaged, forged, or of a later version of msrun");
  }
  return options;
}

std::vector<std::string> flags_given_again(const std::vector<OptionWords>& options) {
  std::vector<std::string> flags;
  for (const OptionWords& option : options) {
    if (is_given_again(option)) flags.push_back(option.front());
  }
  return flags;
}

std::string flags_text(const std::vector<std::string>& flags) {
  std::string text;
  for (const std::string& flag : flags) text += (text.empty() ? "" : " and ") + flag;
  return text;
}

void require_given_again(const std::vector<OptionWords>& missing, const std::string& by) {
  const std::vector<std::string> flags = flags_given_again(missing);
  if (flags.empty()) return;
  std::string line;
  for (const OptionWords& option : missing) {
    if (!is_given_again(option)) continue;
    line += " " + option.front() + (option.size() > 1 ? " " + shell_quoted(sanitised(option[1])) : "");
  }
  throw UserError(by + ": give " + flags_text(flags) + " again; the run was begun with" + line +
                  ", and a journal does not choose programs, libraries or configurations");
}

}  // namespace msrun
