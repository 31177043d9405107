#include "tools/torchair_compare/messages.h"

#include "kernels/base/clock.h"
#include "kernels/base/text.h"

namespace msrun::torchair {
namespace {

constexpr double between_redraws = 0.2;  // seconds
constexpr double between_lines = 10;
constexpr const char* erase_line = "\r\x1b[K";

}  // namespace

Messages::Messages(bool terminal, bool details, std::function<void(const std::string&)> write)
    : terminal_(terminal),
      details_(details),
      write_(std::move(write)),
      limit_(details),
      next_progress_(steady_seconds() + (terminal ? between_redraws : between_lines)) {}

void Messages::line(const std::string& text) {
  write_((line_shown_ ? erase_line : "") + ("torchair_compare: " + sanitised(text) + "\n"));
  line_shown_ = false;
}

void Messages::warning(const std::string& text) {
  const std::lock_guard lock(mutex_);
  line("warning: " + text);
}

void Messages::warning(const char* kind, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (limit_.admits(kind, text)) line("warning: " + text);
}

void Messages::unread_directory(const std::string& path, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!unread_.insert(path).second) return;
  }
  warning("directories that cannot be read", "The directory " + path + " cannot be read: " + reason + ".");
}

std::size_t Messages::unread_directories() const {
  const std::lock_guard lock(mutex_);
  return unread_.size();
}

void Messages::count_further_warnings() {
  const std::lock_guard lock(mutex_);
  for (const std::string& sentence : limit_.held_back()) line("warning: " + sentence);
}

void Messages::note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  line(text);
}

void Messages::detail(const std::string& text) {
  if (!details_) return;
  const std::lock_guard lock(mutex_);
  line(text);
}

void Messages::progress(const std::function<std::string()>& text) {
  const double now = steady_seconds();
  const std::lock_guard lock(mutex_);
  if (now < next_progress_) return;
  if (terminal_) {
    next_progress_ = now + between_redraws;
    write_(erase_line + cut_to_width(sanitised(text()), 100));
    line_shown_ = true;
  } else {
    next_progress_ = now + between_lines;
    line(text());
  }
}

void Messages::clear_progress() {
  const std::lock_guard lock(mutex_);
  if (line_shown_) write_(erase_line);
  line_shown_ = false;
}

}  // namespace msrun::torchair
