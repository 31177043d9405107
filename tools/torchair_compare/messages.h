// What the comparison tells the user while it works: warnings, details, and one progress line that is redrawn on a
// terminal. Safe to use from several threads.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "tools/common/warning_limit.h"

namespace msrun::torchair {

class Messages {
 public:
  // terminal: whether a progress line can be redrawn; else it is printed now and then. write gets text for stderr.
  Messages(bool terminal, bool details, std::function<void(const std::string&)> write);

  void warning(const std::string& text);
  // One of many: WarningLimit says which are printed, all of them if the user asked for details.
  void warning(const char* kind, const std::string& text);
  // A directory that cannot be read: what lies in it is not compared. Each is counted once.
  void unread_directory(const std::string& path, const std::string& reason);
  std::size_t unread_directories() const;
  // How many warnings were not printed.
  void count_further_warnings();
  // What the program has decided where the user left it open.
  void note(const std::string& text);
  // Shown only if the user asked for details.
  void detail(const std::string& text);
  // What the work has come to. Called often; most calls change nothing.
  void progress(const std::function<std::string()>& text);
  // Takes the progress line off the terminal.
  void clear_progress();

 private:
  void line(const std::string& text);

  const bool terminal_;
  const bool details_;
  const std::function<void(const std::string&)> write_;
  mutable std::mutex mutex_;
  std::set<std::string> unread_;
  WarningLimit limit_;
  bool line_shown_ = false;
  double next_progress_;  // seconds of the steady clock
};

}  // namespace msrun::torchair
