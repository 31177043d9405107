#include "orchestrator/view/output_stream.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "kernels/base/clock.h"

namespace msrun {

OutputStream::OutputStream(int descriptor, std::string name, GapLine gap_line, std::size_t capacity)
    : std::ostream(nullptr), buffer_(descriptor, std::move(name), std::move(gap_line), capacity) {
  rdbuf(&buffer_);
}

OutputStream::~OutputStream() {
  flush();
  finish(1);
}

OutputStream::Buffer::Buffer(int descriptor, std::string name, GapLine gap_line, std::size_t capacity)
    : output_(descriptor), name_(std::move(name)), gap_line_(std::move(gap_line)), capacity_(capacity) {}

OutputStream::Buffer::int_type OutputStream::Buffer::overflow(int_type c) {
  const char character = traits_type::to_char_type(c);
  if (c != traits_type::eof()) xsputn(&character, 1);
  return traits_type::not_eof(c);
}

std::streamsize OutputStream::Buffer::xsputn(const char* text, std::streamsize count) {
  try {
    unit_.append(text, static_cast<std::size_t>(count));
  } catch (const std::bad_alloc&) {
    unit_is_whole_ = false;
  }
  return count;
}

int OutputStream::Buffer::sync() {
  drain();
  if (unit_is_whole_ && keep_unit()) {
    drain();
  } else {
    const auto lines = static_cast<std::uint64_t>(std::count(unit_.begin(), unit_.end(), '\n'));
    gap_ += std::max<std::uint64_t>(lines, unit_is_whole_ ? 0 : 1);
    lost_lines_ += std::max<std::uint64_t>(lines, unit_is_whole_ ? 0 : 1);
  }
  unit_.clear();
  unit_is_whole_ = true;
  return 0;
}

bool OutputStream::Buffer::keep_unit() {
  const std::size_t room = capacity_ - std::min(capacity_, waiting_.size() - sent_);
  // After a gap the reader first has to catch up, so that there are few long gaps rather than many short ones.
  if (unit_.size() > room || (gap_ > 0 && room < capacity_ / 2)) return false;
  try {
    const std::string gap = gap_ > 0 ? gap_line_(gap_) : "";
    waiting_.reserve(waiting_.size() + gap.size() + unit_.size());
    waiting_ += gap;
    waiting_ += unit_;
    gap_ = 0;
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void OutputStream::Buffer::drain() {
  if (!is_behind()) return;
  const UnblockedOutput::Outcome outcome = output_.write(std::string_view(waiting_).substr(sent_));
  sent_ += outcome.bytes;
  if (outcome.error == EPIPE) reader_gone_ = true;
  if (outcome.error != 0) {
    if (error_ == 0 && !reader_gone_) error_ = outcome.error;
    give_up();
  }
  // What is written is removed now and then: removing it each time would move all that waits each time.
  if (sent_ == waiting_.size() || sent_ > capacity_ / 2) {
    waiting_.erase(0, sent_);
    sent_ = 0;
  }
}

// A later line may be printed again: the disk may have room by then.
void OutputStream::Buffer::give_up() {
  lose(std::string_view(waiting_).substr(sent_));
  waiting_.clear();
  sent_ = 0;
}

void OutputStream::Buffer::lose(std::string_view text) {
  if (!reader_gone_) lost_lines_ += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

void OutputStream::Buffer::finish(double patience, int stop) {
  double deadline = steady_seconds() + patience;
  drain();
  while (is_behind() && !waits_in_vain(deadline - steady_seconds(), stop)) {
    const std::size_t before = waiting_.size() - sent_;
    drain();
    if (waiting_.size() - sent_ < before) {
      deadline = steady_seconds() + patience;
    } else if (is_behind()) {
      // A terminal may say that it has room when it has too little for one character.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  // Nothing may be said about a gap at the very end: nothing comes behind it.
  give_up();
}

bool OutputStream::Buffer::waits_in_vain(double seconds, int stop) const {
  if (seconds <= 0) return true;
  std::array<pollfd, 2> states{{{output_.descriptor(), POLLOUT, 0}, {stop, POLLIN, 0}}};
  const int ready = poll(states.data(), states.size(), static_cast<int>(std::ceil(seconds * 1000)));
  return (ready < 0 && errno != EINTR) || (ready > 0 && (states[1].revents & POLLIN) != 0);
}

std::string OutputStream::Buffer::problem() const {
  if (lost_lines_ == 0) return {};
  const std::string why = error_ != 0 ? std::generic_category().message(error_) : "nobody read them in time";
  return name_ + ": " + std::to_string(lost_lines_) + (lost_lines_ == 1 ? " line" : " lines") +
         " could not be written (" + why + ").";
}

}  // namespace msrun
