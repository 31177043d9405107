// What the comparison tells the user while it works: warnings, details, and one progress line that is redrawn on a
// terminal. Safe to use from several threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace msrun::torchair {

class Messages {
 public:
  // terminal: whether a progress line can be redrawn; else it is printed now and then. write gets text for stderr.
  Messages(bool terminal, bool details, std::function<void(const std::string&)> write);

  void warning(const std::string& text);
  // Shown only if the user asked for details.
  void detail(const std::string& text);
  // What the work has come to. Called often; most calls change nothing.
  void progress(const std::function<std::string()>& text);
  // Takes the progress line off the terminal.
  void clear_progress();

  std::uint64_t warnings() const { return warnings_; }

 private:
  void line(const std::string& text);

  const bool terminal_;
  const bool details_;
  const std::function<void(const std::string&)> write_;
  std::mutex mutex_;
  bool line_shown_ = false;
  std::uint64_t warnings_ = 0;
  std::chrono::steady_clock::time_point next_progress_;
};

}  // namespace msrun::torchair
