#include "orchestrator/view/console.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace msrun {
namespace {

constexpr const char* to_start_and_erase = "\r\x1b[K";
constexpr const char* usual_colour = "\x1b[0m";

}  // namespace

bool can_redraw(int descriptor) {
  const char* terminal = std::getenv("TERM");
  return isatty(descriptor) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb" && *terminal != '\0';
}

bool wants_colour(ColourMode mode, int descriptor) {
  if (mode != ColourMode::automatic) return mode == ColourMode::always;
  const char* refused = std::getenv("NO_COLOR");
  return (refused == nullptr || *refused == '\0') && can_redraw(descriptor);
}

std::string Paint::operator()(Style style, std::string_view text) const {
  if (!coloured_ || style == Style::plain) return std::string(text);
  constexpr std::array<const char*, 4> colours{usual_colour, "\x1b[32m", "\x1b[33m", "\x1b[31m"};
  return colours[static_cast<std::size_t>(style)] + std::string(text) + usual_colour;
}

void Console::print_line(std::string_view line) { print(std::string(line) + '\n'); }

void Console::print(std::string_view text) {
  if (shown_) out_ << to_start_and_erase;
  out_ << text << status_ << std::flush;
  shown_ = !status_.empty();
}

void Console::set_status(std::string line) {
  if (line.empty() && !shown_) {
    status_.clear();
    return;
  }
  status_ = std::move(line);
  if (!status_.empty() && is_behind_ && is_behind_()) return;
  out_ << to_start_and_erase << status_ << std::flush;
  shown_ = !status_.empty();
}

}  // namespace msrun
