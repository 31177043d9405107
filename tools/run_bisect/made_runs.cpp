#include "tools/run_bisect/made_runs.h"

#include <csignal>
#include <filesystem>
#include <system_error>
#include <utility>

#include "kernels/base/digits.h"
#include "kernels/base/error.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/hash.h"
#include "kernels/base/json_text.h"
#include "kernels/base/text.h"
#include "kernels/io/files/paths.h"
#include "tools/common/whole_file.h"
#include "tools/shrink/process.h"

namespace msrun::run_bisect {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* notes_name = "bisect.json";
constexpr const char* log_ending = ".log";
constexpr int cannot_be_tried = 125;  // as for git bisect run

// Of the command's shell, or of the program that it ran last, for which the shell speaks.
bool is_by_signal(int exit_code) {
  constexpr int signal_of_program = 128;  // and the signal's number
  return exit_code < 0 || (exit_code > signal_of_program && exit_code <= signal_of_program + SIGRTMAX);
}

// A file name that tells the version; those that hold other characters, or are those of other files of a search, get a
// number in addition, of their bytes.
std::string name_of(const std::string& version) {
  std::string name;
  bool changed = version.size() > 100 || version.ends_with(log_ending) || version == notes_name;
  for (const char c : version) {
    const bool plain = is_alphanumeric(c) || c == '-' || c == '_' || (c == '.' && !name.empty());
    changed = changed || !plain;
    if (name.size() < 100) name += plain ? c : '_';
  }
  return changed ? name + "-" + hexadecimal(fnv1a(version)) : name;
}

void replace_all(std::string& text, std::string_view what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

MadeRuns::MadeRuns(std::string folder, std::string command) : folder_(std::move(folder)), command_(std::move(command)) {
  prepare_output_directory(folder_);
  const std::string path = join_path(folder_, notes_name);
  notes_ = Json::object();
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
  notes_ = parsed_json<Json>(read_whole_file(path, max_json_bytes));
  if (!notes_.is_object()) throw UserError(sanitised(path) + " is no file of a search; give another folder with -o");
}

std::string MadeRuns::folder_of(const std::string& version) const { return join_path(folder_, name_of(version)); }

std::string MadeRuns::log_of(const std::string& version) const { return folder_of(version) + log_ending; }

// The placeholder of the folder first: a version may look like one.
std::string MadeRuns::line_for(const std::string& version) const {
  std::string line;
  std::string rest = command_;
  for (std::size_t at = rest.find("{version}"); at != std::string::npos; at = rest.find("{version}")) {
    std::string before = rest.substr(0, at);
    replace_all(before, "{out}", shell_quoted(fs::absolute(folder_of(version)).string()));
    line += before + shell_quoted(version);
    rest.erase(0, at + 9);
  }
  replace_all(rest, "{out}", shell_quoted(fs::absolute(folder_of(version)).string()));
  return line + rest;
}

void MadeRuns::note(const std::string& version, const Json& what) {
  notes_[version] = what;
  AtomicFile file(OwnName{join_path(folder_, notes_name)});
  file.write(notes_.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  file.commit();
}

MadeRun MadeRuns::run_of(const std::string& version) {
  const auto noted = notes_.find(version);
  const bool is_known = noted != notes_.end() && noted->is_object();
  // Earlier versions of msrun have noted signals as well.
  if (is_known && noted->value("command", Json()) == command_ &&
      noted->value("exit_code", Json()).is_number_integer() && !is_by_signal((*noted)["exit_code"].get<int>())) {
    MadeRun made = judged(folder_of(version), (*noted)["exit_code"].get<int>());
    made.was_there = true;
    return made;
  }
  std::error_code error;
  const std::string folder = folder_of(version);
  if (!is_known && fs::exists(fs::symlink_status(folder, error))) {
    throw UserError(sanitised(folder) + " is there and not of this search: give another folder with -o");
  }
  // What an interrupted run, or another command, has left; in whose files the new run would be lost.
  fs::remove_all(folder, error);
  if (error) {
    throw UserError("The folder " + sanitised(folder) + " of an earlier run cannot be removed: " + error.message());
  }
  return make(version);
}

MadeRun MadeRuns::make(const std::string& version) {
  const std::string folder = folder_of(version);
  // Noted before anything is made, so that nothing is ever removed that a search has not made.
  note(version, {{"command", command_}, {"exit_code", nullptr}});
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) throw UserError("The folder " + sanitised(folder) + " cannot be made: " + error.message());
  ++started_;
  const int code = shrink::run_program({"/bin/sh", "-c", line_for(version)}, log_of(version), std::nullopt);
  // A signal comes from outside, or for want of memory: it says nothing about the version, and another time there may
  // be none.
  if (!is_by_signal(code)) note(version, {{"command", command_}, {"exit_code", code}});
  return judged(folder, code);
}

// What a command of a version has left: a complete run, if its exit code is one that msrun has for such.
MadeRun MadeRuns::judged(const std::string& folder, int exit_code) {
  MadeRun made;
  if (exit_code == cannot_be_tried) {
    made.problem = "the command says so (exit code 125)";
  } else if (exit_code != exit_completed && exit_code != exit_fail_on) {
    made.problem = is_by_signal(exit_code) ? "the command was ended by a signal; the next search tries it again"
                                           : "the command failed with exit code " + std::to_string(exit_code);
  } else {
    try {
      runs::Run run = runs::read_run(folder);
      if (run.is_complete()) {
        made.run = std::move(run);
      } else {
        made.problem = "its run is not complete";
      }
    } catch (const UserError& error) {
      made.problem = error.what();
    }
  }
  return made;
}

}  // namespace msrun::run_bisect
