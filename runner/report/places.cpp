#include "runner/report/places.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <unordered_set>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/dump/companions.h"
#include "runner/report/command_lines.h"
#include "runner/report/facts.h"
#include "runner/report/shortened.h"
#include "runner/report/unread_modules.h"
#include "runner/results/rank_calls.h"

namespace msrun::report {
namespace {

namespace fs = std::filesystem;

// What the modules of all calls may take together, and likewise their lines.
constexpr std::size_t most_bytes = 150'000;
constexpr std::size_t longest_line = 240;
constexpr std::uintmax_t largest_file = std::uintmax_t{1} << 29U;
constexpr std::uintmax_t largest_dump = std::uintmax_t{1} << 27U;
// How far the one recording below a folder is searched for.
constexpr int most_levels = 8;
constexpr std::size_t most_entries = 100'000;

// Folders of the framework and of other libraries: a line of the user's says more.
constexpr auto libraries =
    std::to_array<std::string_view>({"/site-packages/", "/dist-packages/", "/lib/python", "<frozen "});

// "/a/net.py:12 in forward: y = f(x)" of "File /a/net.py, line 12, in forward, \n y = f(x)".
std::string line_text(const std::string& frame) {
  constexpr std::string_view file = "File ";
  constexpr std::string_view line = ", line ";
  const std::size_t number = frame.rfind(line, frame.find('\n'));
  if (!frame.starts_with(file) || number == std::string::npos) return sanitised(frame);
  std::string_view rest = std::string_view(frame).substr(number + line.size());
  std::string text = frame.substr(file.size(), number - file.size()) + ":";
  const std::size_t digits = std::min(rest.find(','), rest.size());
  text += rest.substr(0, digits);
  rest.remove_prefix(digits);
  const std::size_t code = rest.find('\n');
  std::string_view function = rest.substr(0, code);
  function.remove_prefix(std::min(function.find_first_not_of(", "), function.size()));
  while (function.ends_with(' ') || function.ends_with(',')) function.remove_suffix(1);
  if (!function.empty()) text += " " + std::string(function);
  if (code != std::string_view::npos) {
    const std::string_view statement = rest.substr(code + 1);
    text += ": " + std::string(statement.substr(std::min(statement.find_first_not_of(' '), statement.size())));
  }
  return sanitised(text);
}

bool is_in_library(std::string_view frame) {
  const std::string_view head = frame.substr(0, frame.find('\n'));
  return std::ranges::any_of(libraries, [&](std::string_view part) { return head.find(part) != head.npos; });
}

// The innermost line that is the user's, else the innermost one.
std::string user_line(const std::vector<std::string>& frames) {
  if (frames.empty()) return {};
  const auto own = std::ranges::find_if_not(frames, is_in_library);
  return shortened(line_text(own == frames.end() ? frames.front() : *own), longest_line);
}

bool is_readable(const fs::path& file, std::uintmax_t largest = largest_file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return !error && size <= largest;
}

// The folder of the recording that the run was given, or of the only one below the folder that it was given.
std::string recording_folder(const std::string& given) {
  std::error_code error;
  if (!fs::is_directory(given, error)) return fs::path(given).parent_path().string();
  std::optional<fs::path> found;
  std::size_t entries = 0;
  fs::recursive_directory_iterator entry(given, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (++entries > most_entries) return {};
    const std::string name = entry->path().filename().string();
    if (entry.depth() >= most_levels || name == "dump_tensor_data") entry.disable_recursion_pending();
    if (name != "dump.json") continue;
    if (found) return {};
    found = entry->path().parent_path();
  }
  return found ? found->string() : std::string();
}

}  // namespace

std::uint32_t Places::Table::number_of(const std::string& text) {
  if (text.empty()) return 0;
  const auto found = numbers.find(text);
  if (found != numbers.end()) return found->second;
  if (bytes + text.size() > most_bytes) return 0;
  bytes += text.size();
  texts.push_back(text);
  return numbers[text] = static_cast<std::uint32_t>(texts.size() - 1);
}

Places::Places(const RunRecords& records) : module_(records.results.tasks(), 0), line_(records.results.tasks(), 0) {
  const std::string given = absolute_path(recording_of(records.metadata), records.metadata);
  if (given.empty()) return;
  std::map<std::string, std::vector<Call>> calls_of_ranks;
  records.results.visit_outlines([&](const ApiResult& result) {
    calls_of_ranks[std::string(rank_in(result.name))].push_back(
        {result.task, std::string(without_rank(result.name)) + ".forward", result.outcome == Outcome::skipped_by_rule});
  });
  for (const auto& [rank, calls] : calls_of_ranks) {
    const std::string folder = rank.empty() ? recording_folder(given) : (fs::path(given) / rank).string();
    read(folder, calls);
  }
}

void Places::note(const std::string& problem) {
  if (problem_.empty()) problem_ = problem;
}

void Places::read(const std::string& folder, const std::vector<Call>& calls) {
  std::error_code error;
  if (folder.empty() || !fs::is_directory(folder, error)) {
    note("the folder of the recording is not there");
    return;
  }
  try {
    read_modules(folder, calls);
    read_lines(folder, calls);
  } catch (const UserError& problem) {
    note(sanitised(problem.what()));
  }
}

void Places::read_modules(const std::string& folder, const std::vector<Call>& calls) {
  if (!is_readable(fs::path(folder) / "construct.json")) return note("there is no construct.json beside the recording");
  const auto construct = recordings::read_construct_of(folder);
  if (!construct) return;
  for (const Call& call : calls) {
    module_[call.task] = modules_.number_of(module_of(construct->parent(call.name)));
  }
  std::unordered_set<std::string_view> left_out;
  for (const Call& call : calls) {
    if (call.is_left_out) left_out.insert(call.name);
  }
  std::unordered_set<std::string> with_calls;
  construct->for_each([&](const std::string& name, const std::string& parent) {
    if (!parent.empty() && !left_out.contains(name)) with_calls.insert(parent);
    saw_modules_ = saw_modules_ || !module_of(name).empty();
  });
  std::map<std::string, std::uint64_t> uses;
  construct->for_each([&](const std::string& name, const std::string& /*parent*/) {
    if (with_calls.contains(name)) return;
    if (const std::string module = module_of(name); !module.empty()) ++uses[module];
  });
  for (const auto& [module, count] : uses) add_unrecorded(module, count, false);
  // To read all of a large recording again takes longer than the report is worth.
  const fs::path dump = fs::path(folder) / "dump.json";
  if (!saw_modules_ || !is_readable(dump, largest_dump)) return;
  for (const auto& [module, count] : unread_modules(dump.string(), *construct)) add_unrecorded(module, count, true);
}

void Places::add_unrecorded(const std::string& module, std::uint64_t uses, bool has_calls) {
  const auto [place, is_new] = unrecorded_places_.emplace(module, unrecorded_.size());
  if (is_new) unrecorded_.push_back({module, 0, has_calls});
  std::uint64_t& most = unrecorded_[place->second].uses;
  most = std::max(most, uses);
}

void Places::read_lines(const std::string& folder, const std::vector<Call>& calls) {
  if (!is_readable(fs::path(folder) / "stack.json")) return note("there is no stack.json beside the recording");
  const auto stacks = recordings::read_stacks_of(folder);
  if (!stacks) return;
  std::unordered_map<const std::vector<std::string>*, std::uint32_t> known;
  for (const Call& call : calls) {
    const std::vector<std::string>* frames = stacks->lines(call.name);
    if (frames == nullptr) continue;
    const auto [found, is_new] = known.emplace(frames, 0);
    if (is_new) found->second = lines_.number_of(user_line(*frames));
    line_[call.task] = found->second;
  }
}

nlohmann::json Places::unrecorded() const {
  nlohmann::json modules = nlohmann::json::array();
  std::size_t bytes = 0;
  for (const auto& [module, uses, has_calls] : unrecorded_) {
    bytes += module.size() + 16;
    if (bytes > most_bytes / 2) break;
    modules.push_back({module, uses, has_calls ? 1 : 0});
  }
  return modules;
}

}  // namespace msrun::report
