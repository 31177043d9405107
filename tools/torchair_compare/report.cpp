#include "tools/torchair_compare/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <tuple>

#include "kernels/io/files/paths.h"
#include "tools/common/file_name.h"

namespace msrun::torchair {
namespace {

constexpr std::size_t flush_bytes = std::size_t{1} << 20;

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
  return rendered;
}

Report::Report(const std::string& directory) : directory_(directory) {
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
    } else {
      ++totals_.rows;
      ++(row.verdict == Verdict::pass ? totals_.passed : totals_.failed);
    }
  }
  if (pending_.size() >= flush_bytes) flush();
}

void Report::flush() {
  std::size_t done = 0;
  while (done < pending_.size()) {
    const ssize_t count = ::write(descriptor_.get(), pending_.data() + done, pending_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(directory_, "written", errno);
    done += static_cast<std::size_t>(count);
  }
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

void Report::write(const std::string& path, const std::string& skipped_path, Columns columns) const {
  try {
    write_both(path, skipped_path, columns);
  } catch (...) {
    ::unlink(path.c_str());
    ::unlink(skipped_path.c_str());
    throw;
  }
}

void Report::write_both(const std::string& path, const std::string& skipped_path, Columns columns) const {
  AtomicFile report(path);
  report.write(report_header(columns));
  for (const RowEntry& entry : entries_) {
    if (entry.verdict == Verdict::dropped) continue;
    const std::string line = text(entry);
    report.write(columns == Columns::all ? std::string_view(line)
                                         : std::string_view(line).substr(entry.documented_bytes));
  }
  if (totals_.skipped > 0) {
    AtomicFile skipped(skipped_path);
    skipped.write(skipped_header());
    for (const RowEntry& entry : entries_) {
      if (entry.verdict == Verdict::dropped) skipped.write(text(entry));
    }
    skipped.commit();
  }
  report.commit();
}

std::string take_report_stem(const std::string& directory, const std::string& rank_part) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> stamp{};
  const std::size_t size = std::strftime(stamp.data(), stamp.size(), "%Y%m%d%H%M%S", &parts);
  const std::string first = join_path(directory, "msprobe_cmp_report_" + rank_part + std::string(stamp.data(), size));
  for (int i = 0;; ++i) {
    const std::string stem = i == 0 ? first : first + "_" + std::to_string(i);
    if (take_file_name(stem + ".csv")) return stem;
  }
}

}  // namespace msrun::torchair
