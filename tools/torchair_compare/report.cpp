#include "tools/torchair_compare/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <tuple>

#include "kernels/base/clock.h"
#include "kernels/base/time_text.h"
#include "kernels/base/write_all.h"
#include "kernels/io/files/paths.h"
#include "tools/common/report_file.h"

namespace msrun::torchair {
namespace {

constexpr std::size_t flush_bytes = std::size_t{1} << 20;

constexpr const char* report_kind = "msprobe_cmp_report_";

[[noreturn]] void fail(const std::string& directory, const char* action, int error) {
  throw WriteError("A temporary file in " + directory + " cannot be " + action + ": " +
                   std::generic_category().message(error) + ".");
}

}  // namespace

RenderedRow render(const Row& row, std::uint64_t timestamp) {
  RenderedRow rendered;
  rendered.text = row.verdict == Verdict::dropped ? skipped_text(row) : row_text(row);
  rendered.token = row.token;
  rendered.timestamp = timestamp;
  rendered.place = row.place;
  rendered.verdict = row.verdict;
  rendered.unchecked = row.unchecked;
  rendered.unread = row.unread;
  rendered.of_both = row.verdict != Verdict::dropped && !row.unread && !row.empty && !row.itself;
  return rendered;
}

Report::Report(const std::string& directory) : directory_(directory) {
  descriptor_.reset(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (descriptor_) return;
  // Not every file system has files without a name.
  std::string name = join_path(directory, ".msprobe_cmp_rows_XXXXXX");
  descriptor_.reset(mkostemp(name.data(), O_CLOEXEC));
  if (!descriptor_) fail(directory, "created", errno);
  ::unlink(name.c_str());
}

void Report::add(std::uint64_t unused_ids, const std::vector<RenderedRow>& rows) {
  next_id_ += unused_ids;
  for (const RenderedRow& row : rows) {
    RowEntry entry;
    entry.timestamp = row.timestamp;
    entry.place = row.place;
    entry.token = row.token;
    entry.graph = graph_;
    entry.verdict = row.verdict;
    entry.unread = row.unread;
    entry.offset = flushed_ + pending_.size();
    entry.documented_bytes = static_cast<std::uint32_t>(row.text.documented.size());
    pending_ += row.text.documented;
    pending_ += row.text.before;
    pending_ += std::to_string(next_id_++);
    pending_ += row.text.behind;
    entry.bytes = static_cast<std::uint32_t>(flushed_ + pending_.size() - entry.offset);
    entries_.push_back(entry);
    if (row.verdict == Verdict::dropped) {
      ++totals_.skipped;
    } else if (row.unread) {
      ++totals_.unread;
    } else {
      ++totals_.compared;
      ++(row.verdict == Verdict::pass ? totals_.passed : totals_.failed);
      if (row.unchecked) ++totals_.unchecked;
      if (row.of_both) ++totals_.of_both;
    }
  }
  if (pending_.size() >= flush_bytes) flush();
}

void Report::flush() {
  if (!write_all(descriptor_.get(), pending_)) fail(directory_, "written", errno);
  flushed_ += pending_.size();
  pending_.clear();
}

void Report::sort() {
  flush();
  std::stable_sort(entries_.begin(), entries_.end(), [](const RowEntry& a, const RowEntry& b) {
    return std::tie(a.graph, a.timestamp, a.place) < std::tie(b.graph, b.timestamp, b.place);
  });
}

std::string Report::text(const RowEntry& entry) const {
  std::string line(entry.bytes, '\0');
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t count =
        ::pread(descriptor_.get(), line.data() + done, line.size() - done, static_cast<off_t>(entry.offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(directory_, "read", count < 0 ? errno : EIO);
    done += static_cast<std::size_t>(count);
  }
  return line;
}

std::string Report::write(const std::string& rank_part, Columns columns) const {
  ReportFile report(directory_, report_kind);
  report.write(report_header(columns));
  for (const RowEntry& entry : entries_) {
    if (entry.verdict == Verdict::dropped) continue;
    const std::string line = text(entry);
    report.write(columns == Columns::all ? std::string_view(line)
                                         : std::string_view(line).substr(entry.documented_bytes));
  }
  std::optional<ReportFile> skipped;
  if (totals_.skipped > 0) {
    skipped.emplace(directory_, report_kind);
    skipped->write(skipped_header());
    for (const RowEntry& entry : entries_) {
      if (entry.verdict == Verdict::dropped) skipped->write(text(entry));
    }
  }
  const std::string first = report_kind + rank_part + utc_time_text(unix_seconds(), stamp_time);
  std::string stem = first;
  for (int i = 1; !report.appear(stem + ".csv"); ++i) stem = first + "_" + std::to_string(i);
  if (!skipped) return join_path(directory_, stem);
  // Whoever has the name of a report has those that begin like it.
  std::string problem = "somebody else has just done so";
  try {
    if (skipped->appear(stem + "_skipped.csv")) return join_path(directory_, stem);
  } catch (const WriteError& error) {
    problem = error.what();
  }
  report.disappear(stem + ".csv");
  throw WriteError("The file " + join_path(directory_, stem) + "_skipped.csv cannot be created: " + problem);
}

}  // namespace msrun::torchair
