#include "tools/torchair_convert/report.h"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "kernels/base/clock.h"
#include "kernels/base/text.h"

namespace msrun::convert {
namespace {

constexpr double redraw_after = 0.2;  // seconds
constexpr double look_at_backlog_after = 2;
constexpr double repeat_warning_after = 60;
constexpr int growing_looks = 3;
constexpr std::uint64_t small_backlog = std::uint64_t{256} << 20;  // bytes

std::string text(const char* format, double value, const char* unit) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, value, unit);
  return buffer.data();
}

}  // namespace

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 5> units{"bytes", "KB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < units.size()) {
    bytes /= 1000;
    ++unit;
  }
  return text(unit == 0 || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

Report::Report(bool quiet, bool verbose)
    : quiet_(quiet), limit_(verbose), terminal_(::isatty(STDERR_FILENO) != 0), began_(steady_seconds()) {}

void Report::clear_line() {
  if (!line_shown_) return;
  std::fputs("\r\033[K", stderr);
  line_shown_ = false;
}

void Report::converted(const std::string& source, const std::string& target) {
  waiting_said_ = false;
  if (quiet_) return;
  clear_line();
  const std::string line = "Converted: " + sanitised(source) + " -> " + sanitised(target) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
}

void Report::warning(const std::string& message) {
  clear_line();
  std::fflush(stdout);
  std::fprintf(stderr, "torchair_convert: %s\n", sanitised(message).c_str());
}

void Report::warning(const char* kind, const std::string& message) {
  if (limit_.admits(kind, message)) warning(message);
}

void Report::waiting() {
  if (waiting_said_) return;
  waiting_said_ = true;
  clear_line();
  std::fputs("Waiting...\n", stdout);
}

bool Report::progress_is_due() const {
  const double now = steady_seconds();
  return now - backlog_seen_ >= look_at_backlog_after || (terminal_ && now - drawn_ >= redraw_after);
}

void Report::progress(const Totals& totals, const Looks::Backlog& backlog) {
  const double now = steady_seconds();
  if (now - backlog_seen_ >= look_at_backlog_after) watch_backlog(totals, backlog, now);
  if (!terminal_ || now - drawn_ < redraw_after) return;
  drawn_ = now;
  std::fflush(stdout);
  std::fprintf(stderr, "\r\033[K%llu files converted, %s to %s; %llu files, %s to do",
               static_cast<unsigned long long>(totals.files),
               bytes_text(static_cast<double>(totals.bytes_before)).c_str(),
               bytes_text(static_cast<double>(totals.bytes_after)).c_str(),
               static_cast<unsigned long long>(backlog.files), bytes_text(static_cast<double>(backlog.bytes)).c_str());
  line_shown_ = true;
}

void Report::watch_backlog(const Totals& totals, const Looks::Backlog& backlog, double now) {
  const double seconds = backlog_seen_ == 0 ? 0 : now - backlog_seen_;
  growing_ = seconds > 0 && backlog.bytes > backlog_bytes_ && backlog.bytes > small_backlog ? growing_ + 1 : 0;
  if (growing_ >= growing_looks && now - backlog_said_ >= repeat_warning_after) {
    backlog_said_ = now;
    const auto converted = static_cast<double>(totals.bytes_before - converted_bytes_);
    const auto grown = static_cast<double>(backlog.bytes - backlog_bytes_);
    warning("The dump grows faster than it is converted: " + bytes_text((converted + grown) / seconds) +
            " are written and " + bytes_text(converted / seconds) + " converted per second; " +
            bytes_text(static_cast<double>(backlog.bytes)) + " in " + std::to_string(backlog.files) +
            " files are still to do.");
  }
  backlog_seen_ = now;
  backlog_bytes_ = backlog.bytes;
  converted_bytes_ = totals.bytes_before;
}

void Report::finished(const Totals& totals) {
  for (const std::string& sentence : limit_.held_back()) warning(sentence);
  clear_line();
  std::fflush(stdout);
  const double seconds = steady_seconds() - began_;
  const auto before = static_cast<double>(totals.bytes_before);
  std::fprintf(stderr, "Converted %llu files, %s to %s, in %.2f s (%s and %.0f files per second).",
               static_cast<unsigned long long>(totals.files), bytes_text(before).c_str(),
               bytes_text(static_cast<double>(totals.bytes_after)).c_str(), seconds,
               bytes_text(before / seconds).c_str(), static_cast<double>(totals.files) / seconds);
  if (totals.left != 0) {
    std::fprintf(stderr, " %llu have nothing to convert.", static_cast<unsigned long long>(totals.left));
  }
  if (totals.failed != 0) {
    std::fprintf(stderr, " %llu could not be converted.", static_cast<unsigned long long>(totals.failed));
  }
  std::fputc('\n', stderr);
}

void Report::flush() { std::fflush(stdout); }

}  // namespace msrun::convert
