// Lines on a terminal or in a pipe, in colour where that is wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

namespace msrun {

enum class ColourMode : std::uint8_t { automatic, always, never };

// Whether what is printed to a descriptor is coloured. automatic: on a terminal, unless TERM is dumb or unset or
// NO_COLOR is set to anything but an empty text (no-color.org).
bool wants_colour(ColourMode mode, int descriptor);

// Whether the terminal behind a descriptor can redraw its last line: it is one, and not a dumb one.
bool can_redraw(int descriptor);

enum class Style : std::uint8_t { plain, good, caution, alarm };

// Text in the colour of a style, or as it is without colours.
class Paint {
 public:
  explicit Paint(bool coloured = false) : coloured_(coloured) {}
  std::string operator()(Style style, std::string_view text) const;

 private:
  bool coloured_;
};

// Lines above one line that is redrawn in place. Without set_status it only prints lines. Not for several threads at
// once.
class Console {
 public:
  // is_behind: whether the reader has not yet taken what was printed; then the status line waits until it has. out
  // outlives the console.
  explicit Console(std::ostream& out, Paint paint = Paint(), std::function<bool()> is_behind = {})
      : out_(out), paint_(paint), is_behind_(std::move(is_behind)) {}

  void print_line(std::string_view line);
  // Whole lines with their line feeds.
  void print(std::string_view text);
  // Shows line below all others; empty: removes it.
  void set_status(std::string line);

  const Paint& paint() const { return paint_; }

 private:
  std::ostream& out_;
  Paint paint_;
  std::function<bool()> is_behind_;
  std::string status_;
  bool shown_ = false;  // some status is on the screen
};

}  // namespace msrun
