#include "runner/results/newest_run.h"

#include <ctime>
#include <filesystem>
#include <string_view>
#include <tuple>
#include <utility>

#include "journal/error.h"
#include "journal/file.h"
#include "journal/reader.h"
#include "kernels/base/json_text.h"
#include "kernels/base/time_text.h"
#include "kernels/io/files/entries.h"
#include "runner/results/run_header.h"
#include "runner/results/run_of_rank.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

constexpr char before_part = '_';  // in a stamp

std::string_view time_of(const RunFiles& files) {
  return std::string_view(files.stamp).substr(0, files.stamp.find(before_part));
}

fs::file_time_type last_write(const RunFiles& files) {
  std::error_code error;
  const fs::file_time_type time = fs::last_write_time(files.journal, error);
  return error ? fs::last_write_time(files.result, error) : time;
}

// Seconds since 1970 of a local time as the names of files have it; 0 of what is no time.
double seconds_of(const std::string& stamp) {
  std::tm local{};
  local.tm_isdst = -1;
  if (strptime(stamp.c_str(), stamp_time, &local) == nullptr) return 0;
  return static_cast<double>(std::mktime(&local));
}

double begin_of(const RunFiles& files) {
  const std::optional<RunOfRank> of_rank = run_of_rank_csv(files.result);
  try {
    const auto source = journal::open_source(of_rank ? of_rank->whole.journal : files.journal);
    const std::string header = journal::read_header(*source).metadata;
    if (const auto begin = begun_at(parsed_json<RunHeader>(header))) return *begin;
  } catch (const journal::Error&) {
    // There is no journal, or it does not tell.
  }
  return seconds_of(std::string(time_of(files)));
}

struct Candidate {
  explicit Candidate(RunFiles&& found) : files(std::move(found)), begin(begin_of(files)), written(last_write(files)) {}

  // Where nothing else differs the whole run goes before its parts, so that the order in which a folder lists its files
  // never decides.
  bool is_newer(const Candidate& other) const {
    const auto age = [](const Candidate& run) { return std::tuple(run.begin, time_of(run.files), run.written); };
    return age(*this) != age(other) ? age(*this) > age(other) : files.stamp < other.files.stamp;
  }

  RunFiles files;
  double begin;
  fs::file_time_type written;
};

}  // namespace

std::optional<RunFiles> newest_run(const std::string& folder, const RunOfFile& run_of, std::error_code& error) {
  std::optional<Candidate> newest;
  for (const fs::directory_entry& entry : entries_of(folder, error)) {
    std::optional<RunFiles> files = run_of(entry.path().string());
    if (!files || (newest && files->stamp == newest->files.stamp)) continue;
    Candidate run(*std::move(files));
    if (!newest || run.is_newer(*newest)) newest = std::move(run);
  }
  return newest ? std::optional(std::move(newest->files)) : std::nullopt;
}

bool is_of_part(const RunFiles& files) { return files.stamp.find(before_part) != std::string::npos; }

}  // namespace msrun
