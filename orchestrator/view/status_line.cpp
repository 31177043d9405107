#include "orchestrator/view/status_line.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "kernels/base/text.h"

namespace msrun {
namespace {

constexpr const char* between = " | ";
// Columns of a name that is cut and can still be told from others.
constexpr std::size_t least_name = 12;

std::string rate_text(double rate) {
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), rate < 9.95 ? "%.1f" : "%.0f", rate);
  return std::string(buffer.data()) + " calls/s";
}

// Rounded down, so that 100% means all.
std::string percent_text(const ProgressState& state) {
  return std::to_string(state.total == 0 ? 100 : state.done * 100 / state.total) + "%";
}

std::string left_text(const ProgressState& state) {
  const double left = seconds_left(state);
  return (left < 0 ? "?" : duration_text(left)) + " left";
}

const DeviceActivity::Call* longest_call(const DeviceActivity& device) {
  const auto longest = std::max_element(device.calls.begin(), device.calls.end(),
                                        [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  return longest == device.calls.end() ? nullptr : &*longest;
}

std::string seconds_text(double seconds) { return std::to_string(std::lround(std::max(0.0, seconds))) + "s"; }

// "3: Functional.conv2d.3 12s +1": the call that a device is on for the longest time stands for all.
std::string activity_text(const DeviceActivity& device) {
  const std::string text = std::to_string(device.device) + ": ";
  const DeviceActivity::Call* longest = longest_call(device);
  if (longest == nullptr) return text + "idle";
  const std::string others = device.calls.size() > 1 ? " +" + std::to_string(device.calls.size() - 1) : "";
  return text + sanitised(longest->name) + " " + seconds_text(longest->seconds) + others;
}

// A name in at most width columns: without its prefix, else without its middle, so that operator and number stay.
std::string short_name(const std::string& name, std::size_t width) {
  if (display_width(name) <= width) return name;
  const std::string rest = name.substr(name.find('.') + 1);
  if (display_width(rest) <= width) return rest;
  constexpr std::string_view gap = "..";
  const std::size_t tail = std::min(rest.size(), width / 3);
  const bool is_plain = std::all_of(rest.begin(), rest.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (!is_plain || width < gap.size() + tail) return cut_to_width(rest, width);
  return rest.substr(0, width - gap.size() - tail) + std::string(gap) + rest.substr(rest.size() - tail);
}

// The call that runs for the longest time on any device, in at most width columns; empty if they do not do.
std::string running_text(const ProgressState& state, std::size_t width) {
  const DeviceActivity::Call* longest = nullptr;
  std::size_t calls = 0;
  for (const DeviceActivity& device : state.devices) {
    const DeviceActivity::Call* candidate = longest_call(device);
    calls += device.calls.size();
    if (candidate != nullptr && (longest == nullptr || candidate->seconds > longest->seconds)) longest = candidate;
  }
  if (longest == nullptr) return state.devices.empty() ? "" : "idle";
  const std::string rest = " " + seconds_text(longest->seconds) + (calls > 1 ? " +" + std::to_string(calls - 1) : "");
  if (width < rest.size() + least_name) return {};
  return short_name(sanitised(longest->name), width - rest.size()) + rest;
}

// A line of at most so many columns to which pieces are added as long as they fit.
class FittedLine {
 public:
  explicit FittedLine(std::size_t width) : width_(width) {}

  std::size_t room() const { return width_ - std::min(width_, used_); }
  void add(const std::string& piece, const std::string& painted) {
    const std::size_t columns = display_width(piece);
    if (piece.empty() || columns > room()) return;
    text_ += painted;
    used_ += columns;
  }
  void add(const std::string& piece) { add(piece, piece); }
  const std::string& text() const { return text_; }

 private:
  std::size_t width_;
  std::size_t used_ = 0;
  std::string text_;
};

}  // namespace

double calls_per_second(const ProgressState& state) {
  if (!(state.elapsed > 0) || state.done < state.resumed) return 0;
  return static_cast<double>(state.done - state.resumed) / state.elapsed;
}

double seconds_left(const ProgressState& state) {
  if (state.done >= state.total) return 0;
  if (state.with_others || std::isinf(state.left)) return -1;
  // Before anything is finished, that nothing is left cannot be: a device may not even be open.
  if (state.done <= state.resumed && state.left < 1) return -1;
  if (state.left >= 0) return state.left;
  const double rate = calls_per_second(state);
  return rate > 0 ? static_cast<double>(state.total - state.done) / rate : -1;
}

std::string counts_text(const VerdictCounts& counts, const char* separator) {
  std::string text = "pass " + std::to_string(counts.pass) + separator + "warning " + std::to_string(counts.warning) +
                     separator + "error " + std::to_string(counts.error) + separator + "SKIP " +
                     std::to_string(counts.skip);
  if (counts.warning + counts.error + counts.suspicious() > 0)
    text += std::string(separator) + "suspicious " + std::to_string(counts.suspicious());
  if (counts.failed_to_run > 0)
    text += std::string(separator) + "failed to run " + std::to_string(counts.failed_to_run);
  return text;
}

std::string terminal_line(const ProgressState& state, std::size_t width, const Paint& paint) {
  const std::string head = std::to_string(state.done) + "/" + std::to_string(state.total) + " " + percent_text(state) +
                           " " + left_text(state);
  if (display_width(head) > width) return cut_to_width(head, width);
  FittedLine line(width);
  line.add(head);
  const std::string suspicious = "suspicious " + std::to_string(state.counts.suspicious());
  line.add(between + suspicious,
           between + paint(state.counts.suspicious() > 0 ? Style::alarm : Style::plain, suspicious));
  const std::string failed = " failed " + std::to_string(state.counts.failed_to_run);
  if (state.counts.failed_to_run > 0) line.add(failed, paint(Style::alarm, failed));
  const std::size_t separator = std::string_view(between).size();
  const std::string running = running_text(state, line.room() - std::min(line.room(), separator));
  if (!running.empty()) line.add(between + running);
  const VerdictCounts& counts = state.counts;
  line.add(between + std::string("pass ") + std::to_string(counts.pass) + " warning " + std::to_string(counts.warning) +
           " error " + std::to_string(counts.error) + " SKIP " + std::to_string(counts.skip));
  line.add(between + rate_text(calls_per_second(state)));
  if (state.devices.size() > 1) {
    for (const DeviceActivity& device : state.devices) line.add(between + activity_text(device));
  }
  return line.text();
}

std::string plain_line(const ProgressState& state) {
  return "progress " + std::to_string(state.done) + "/" + std::to_string(state.total) + " (" + percent_text(state) +
         "), " + rate_text(calls_per_second(state)) + ", " + left_text(state) + ", " + counts_text(state.counts, ", ");
}

}  // namespace msrun
