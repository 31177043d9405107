// What the user sees: a line per converted file on standard output; warnings, a progress line if it is a terminal, and
// the closing summary on standard error.
#pragma once

#include <cstdint>
#include <string>

#include "tools/common/warning_limit.h"
#include "tools/torchair_convert/looks.h"

namespace msrun::convert {

struct Totals {
  std::uint64_t files = 0;
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;
  std::uint64_t left = 0;    // nothing to convert in them
  std::uint64_t failed = 0;  // damaged, unfinished, or refused by the system
};

class Report {
 public:
  // verbose: every warning is printed, however many are alike.
  Report(bool quiet, bool verbose);

  void converted(const std::string& source, const std::string& target);
  void warning(const std::string& message);
  // One of many: WarningLimit says which are printed.
  void warning(const char* kind, const std::string& message);
  // A pass is over and there is nothing to do for now. Said once until something else happens.
  void waiting();
  // Redraws the progress line if it is time for that, and warns if the dump grows faster than it is converted.
  void progress(const Totals& totals, const Looks::Backlog& backlog);
  // Whether progress() would do anything.
  bool progress_is_due() const;
  void finished(const Totals& totals);
  void flush();

 private:
  void clear_line();
  void watch_backlog(const Totals& totals, const Looks::Backlog& backlog, double now);

  bool quiet_;
  WarningLimit limit_;
  bool terminal_;
  double began_;
  double drawn_ = 0;
  bool line_shown_ = false;
  bool waiting_said_ = false;
  double backlog_seen_ = 0;
  std::uint64_t backlog_bytes_ = 0;
  std::uint64_t converted_bytes_ = 0;
  int growing_ = 0;  // looks in a row at which the backlog had grown
  double backlog_said_ = 0;
};

// "1.23 GB", "4 KB": decimal units.
std::string bytes_text(double bytes);

}  // namespace msrun::convert
