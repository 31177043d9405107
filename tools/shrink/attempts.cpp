#include "tools/shrink/attempts.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/hash.h"
#include "kernels/base/text.h"
#include "kernels/io/files/paths.h"

namespace msrun::shrink {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::uint64_t hash_of(const Recording& recording) {
  std::uint64_t hash = fnv1a(dump_text(recording));
  for (const auto& [file, tensor] : recording.data) {
    const Tensor plain = tensor.contiguous();
    hash = fnv1a(file, hash);
    hash = fnv1a({reinterpret_cast<const char*>(plain.raw()), plain.bytes()}, hash);
  }
  return hash;
}

void remove(const std::string& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) throw WriteError(folder + " cannot be removed: " + error.message());
}

}  // namespace

Attempts::Attempts(const Trial& trial, const Cause& cause, AttemptOptions options)
    : trial_(trial), cause_(cause), options_(std::move(options)), on_terminal_(isatty(STDERR_FILENO) == 1) {}

bool Attempts::fails(const ApiResult& result) const {
  return options_.anywhere ? shows_anywhere(result, cause_) : shows(result, cause_);
}

void Attempts::check_time() const {
  if (Interrupts::came() || Clock::now() >= options_.deadline) throw SearchEnds();
}

bool Attempts::accept(const Recording& candidate, const std::string& name) {
  check_time();
  const std::uint64_t hash = hash_of(candidate);
  if (refused_.contains(hash)) return false;
  const std::string folder = join_path(options_.work, "candidate");
  remove(folder);
  write(candidate, folder);
  show_progress(candidate);
  for (int i = 0; i < options_.times; ++i) {
    ++runs_;
    TrialResult found =
        trial_.run({"-api_info", join_path(folder, "dump.json")}, candidate.call.name, options_.deadline);
    if (!found.result || !fails(*found.result)) {
      refused_.insert(hash);
      return false;
    }
    last_ = std::move(*found.result);
  }
  put_in_place(name);
  return true;
}

Attempts::Failures Attempts::count_failures(const std::string& name, const std::string& api, int times,
                                            Clock::time_point until) {
  const std::string dump = join_path(join_path(options_.output, name), "dump.json");
  Failures failures;
  try {
    for (bool failed = true; failed && failures.runs < times;) {
      TrialResult found = trial_.run({"-api_info", dump}, api, until);
      ++runs_;
      ++failures.runs;
      failed = found.result && fails(*found.result);
      failures.failed += failed ? 1 : 0;
      if (found.result) last_ = std::move(*found.result);
    }
  } catch (const SearchEnds&) {
    // Interrupted, or the time is up: what was counted so far.
  }
  return failures;
}

void Attempts::publish(const Recording& recording, const std::string& name) {
  const std::string folder = join_path(options_.work, "candidate");
  remove(folder);
  write(recording, folder);
  put_in_place(name);
}

// In one step, so that whoever is killed leaves one recording or the other.
void Attempts::put_in_place(const std::string& name) const {
  const std::string candidate = join_path(options_.work, "candidate");
  const std::string target = join_path(options_.output, name);
  if (renameat2(AT_FDCWD, candidate.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) return;
  std::error_code error;
  if (errno != ENOENT) {
    // A file system that cannot exchange.
    const std::string old = join_path(options_.work, "old");
    remove(old);
    fs::rename(target, old, error);
  }
  fs::rename(candidate, target, error);
  if (error) throw WriteError(target + " cannot be written: " + error.message());
}

void Attempts::end_progress() const {
  if (on_terminal_) std::cerr << "\r\x1b[K" << std::flush;
}

void Attempts::show_progress(const Recording& candidate) const {
  if (!on_terminal_) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  const double left = std::chrono::duration<double>(options_.deadline - Clock::now()).count();
  std::cerr << "\r" << duration_text(seconds) << ", at most " << duration_text(left) << " left: " << runs_
            << " runs, trying " << size_of(candidate).elements << " elements \x1b[K" << std::flush;
}

}  // namespace msrun::shrink
