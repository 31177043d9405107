#include "tools/shrink/trial.h"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "journal/error.h"
#include "journal/file.h"
#include "kernels/base/error.h"
#include "kernels/base/json_text.h"
#include "kernels/base/own_programs.h"
#include "kernels/base/text.h"
#include "kernels/base/unique_fd.h"
#include "kernels/base/write_all.h"
#include "kernels/io/files/entries.h"
#include "kernels/io/files/paths.h"
#include "runner/results/journal_records.h"

namespace msrun::shrink {
namespace {

namespace fs = std::filesystem;

// Bytes: more than what is said of an error.
constexpr std::size_t room_to_speak = 8192;

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

TrialResult read_result(const std::string& folder, const std::string& name) {
  TrialResult found;
  std::error_code error;
  const std::vector<fs::directory_entry> entries = entries_of(folder, error);
  // A run that could not begin has made no folder.
  if (error && error != std::errc::no_such_file_or_directory) {
    throw UserError("The directory " + sanitised(folder) + " cannot be read: " + error.message() + ".");
  }
  for (const fs::directory_entry& entry : entries) {
    if (entry.path().extension() != ".journal") continue;
    try {
      const std::unique_ptr<journal::Source> source = journal::open_source(entry.path());
      const auto metadata = parsed_json<nlohmann::json>(journal::read_header(*source).metadata);
      const auto backend = metadata.is_object() ? metadata.value("backend", nlohmann::json()) : nlohmann::json();
      if (backend.is_string()) found.backend = backend.get<std::string>();
      read_records(*source, {.result =
                                 [&](ApiResult&& result) {
                                   if (result.name == name) found.result = std::move(result);
                                 },
                             .attempt = {},
                             .time = {},
                             .unreadable = [](const std::string&) {}});
    } catch (const journal::Error&) {
      // A run that did not end well has no result.
    }
  }
  return found;
}

// Why a run has left no result: what it says last, or that the disk takes nothing more of what it says.
std::string complaint_of(const std::string& log) {
  const std::string last = last_complaint(log);
  const UniqueFd file(open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file || write_all(file.get(), std::string(room_to_speak, '\n'))) return last;
  const int code = errno;
  return log + " cannot be written: " + std::system_category().message(code) + (last.empty() ? "" : "; " + last);
}

}  // namespace

Trial::Trial(std::vector<std::string> options, std::string folder)
    : options_(std::move(options)), folder_(std::move(folder)) {}

TrialResult Trial::run(const std::vector<std::string>& input, const std::string& name, Deadline deadline) const {
  std::error_code error;
  fs::remove_all(folder_, error);
  if (!error) fs::create_directory(folder_, error);
  if (error) {
    throw WriteError("The folder " + sanitised(folder_) + " cannot be made anew: " + error.message() + ".",
                     error.value());
  }
  const std::string log = folder_ + "/log";
  const std::string out = folder_ + "/out";
  std::vector<std::string> words{own_program("msrun")};
  words.insert(words.end(), input.begin(), input.end());
  // What fails once has failed.
  words.insert(words.end(), {"--only", name, "-n", "1", "-o", out, "--no-summary", "--no-report", "--color", "never",
                             "--retries", "0"});
  words.insert(words.end(), options_.begin(), options_.end());
  Handed workers;
  if (workers_) workers = {workers_->descriptor(), workers_->variable()};
  run_program(words, log, deadline, workers);
  // A run whose files are gone says nothing about the call.
  if (!fs::exists(folder_, error)) {
    throw WriteError("The folder " + sanitised(folder_) + " was removed while it was in use.", ENOENT);
  }
  TrialResult found = read_result(out, name);
  if (!found.result) found.complaint = complaint_of(log);
  return found;
}

void Trial::share_workers(const std::string& backend) {
  const std::size_t colon = backend.find(':');
  if (backend.substr(0, colon) != torch_framework.name || colon == std::string::npos) return;
  WorkerOptions worker;
  worker.kind = backend.substr(colon + 1);
  std::string python;
  for (std::size_t i = 0; i + 1 < options_.size(); ++i) {
    if (options_[i] == "--python") python = options_[i + 1];
  }
  try {
    worker.python = find_python(python, *worker.framework);
    // What it prints is of no run.
    const UniqueFd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (nowhere) workers_ = SharedForks::start(worker, nowhere.get());
  } catch (const std::exception&) {
    // A run that has to import the framework itself says what is missing.
    workers_.reset();
  }
}

std::string Trial::command(const std::string& dump) const {
  std::string line = "msrun -api_info " + shell_quoted(dump);
  for (const std::string& word : options_) line += " " + shell_quoted(word);
  return line;
}

}  // namespace msrun::shrink
