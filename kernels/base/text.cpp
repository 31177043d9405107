#include "kernels/base/text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kernels/base/digits.h"

namespace msrun {

namespace {

bool is_escape(std::string_view text) {
  constexpr std::array<std::string_view, 6> escapes{"%08", "%0a", "%0b", "%0c", "%0d", "%7f"};
  return std::find(escapes.begin(), escapes.end(), text.substr(0, 3)) != escapes.end();
}

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
};

// Bytes that are not well-formed UTF-8 count as one character each.
CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(at);
  std::size_t length = 1;
  std::uint32_t value = lead;
  if (lead >= 0xF0 && lead < 0xF8) {
    length = 4;
    value = lead & 0x07U;
  } else if (lead >= 0xE0 && lead < 0xF0) {
    length = 3;
    value = lead & 0x0FU;
  } else if (lead >= 0xC0 && lead < 0xE0) {
    length = 2;
    value = lead & 0x1FU;
  }
  if (at + length > text.size()) return {lead, 1};
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return {lead, 1};
    value = (value << 6) | (byte(at + i) & 0x3FU);
  }
  return {value, length};
}

bool is_wide(std::uint32_t value) {
  return (value >= 0x1100 && value <= 0x115F) || (value >= 0x2E80 && value <= 0xA4CF) ||
         (value >= 0xAC00 && value <= 0xD7A3) || (value >= 0xF900 && value <= 0xFAFF) ||
         (value >= 0xFE30 && value <= 0xFE6F) || (value >= 0xFF00 && value <= 0xFF60) ||
         (value >= 0xFFE0 && value <= 0xFFE6) || (value >= 0x1F300 && value <= 0x1FAFF) ||
         (value >= 0x20000 && value <= 0x3FFFD);
}

struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

// Unicode's controls beyond ASCII, its format characters and what its DerivedCoreProperties call Default_Ignorable:
// they take no place of their own, or break a line, or set the direction of others.
constexpr std::array<Range, 18> invisible_ranges{{{0x0080, 0x009F},
                                                  {0x00AD, 0x00AD},
                                                  {0x034F, 0x034F},
                                                  {0x061C, 0x061C},
                                                  {0x115F, 0x1160},
                                                  {0x17B4, 0x17B5},
                                                  {0x180B, 0x180F},
                                                  {0x200B, 0x200F},
                                                  {0x2028, 0x202E},
                                                  {0x2060, 0x206F},
                                                  {0x3164, 0x3164},
                                                  {0xFE00, 0xFE0F},
                                                  {0xFEFF, 0xFEFF},
                                                  {0xFFA0, 0xFFA0},
                                                  {0xFFF0, 0xFFFB},
                                                  {0x1BCA0, 0x1BCA3},
                                                  {0x1D173, 0x1D17A},
                                                  {0xE0000, 0xE0FFF}}};

bool is_invisible(std::uint32_t value) {
  return value >= 0x80 && std::ranges::any_of(invisible_ranges, [value](const Range& range) {
           return value >= range.first && value <= range.last;
         });
}

}  // namespace

std::string without_controls(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7F) {
      clean += '_';
    } else if (byte == '%' && is_escape(text.substr(i))) {
      clean += '_';
      i += 2;
    } else {
      clean += text[i];
    }
  }
  return clean;
}

std::string visible(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(text, is_ascii)) return std::string(text);
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text.substr(i)), 1);
    const std::uint32_t value = length > 1 ? code_point_at(text, i).value : 0;
    if (is_invisible(value)) {
      std::array<char, 24> name;
      std::snprintf(name.data(), name.size(), "\u27E8U+%04" PRIX32 "\u27E9", value);
      result += name.data();
    } else {
      result += text.substr(i, length);
    }
    i += length;
  }
  return result;
}

std::string sanitised(std::string_view text) { return visible(without_controls(text)); }

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  const unsigned second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
  return length;
}

std::string readable(std::string text) {
  const auto is_plain = [](char c) { return (c >= 0x20 && c < 0x7F) || c == '\n'; };
  if (std::ranges::all_of(text, is_plain)) return text;
  std::string result;
  result.reserve(text.size());
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    result += length == 0 ? "\xEF\xBF\xBD" : length == 1 && !is_plain(rest[0]) ? "_" : rest.substr(0, length);
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::string bounded(std::string text) {
  if (text.size() <= longest_foreign_text) return text;
  const std::string note = "... (" + std::to_string(text.size()) + " bytes)";
  std::size_t end = longest_foreign_text - note.size();
  const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; };
  // Bytes that are no UTF-8 may go on for ever.
  for (int i = 0; i < 3 && continues(end); ++i) --end;
  text.resize(end);
  text.shrink_to_fit();
  return text + note;
}

namespace {

// "%0a" and its like are escaped as well, because a log line would show '_' in their place.
std::string escaped_for_shell(std::string_view word) {
  std::string quoted = "$'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F && std::string_view("'\\%").find(c) == std::string_view::npos) {
      quoted += c;
      continue;
    }
    std::array<char, 8> escape;
    std::snprintf(escape.data(), escape.size(), "\\%03o", byte);
    quoted += escape.data();
  }
  return quoted + "'";
}

}  // namespace

std::string shell_quoted(std::string_view word) {
  const auto harmless = [](char c) {
    return is_alphanumeric(c) || std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
  };
  if (sanitised(word) != word) return escaped_for_shell(word);
  if (!word.empty() && std::all_of(word.begin(), word.end(), harmless)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    width += is_wide(point.value) ? 2 : 1;
    i += point.bytes;
  }
  return width;
}

std::string cut_to_width(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  const std::string_view mark = std::string_view("...").substr(0, width);
  std::size_t columns = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    const CodePoint point = code_point_at(text, end);
    columns += is_wide(point.value) ? 2 : 1;
    if (columns + mark.size() > width) break;
    end += point.bytes;
  }
  return std::string(text.substr(0, end)) + std::string(mark);
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  const long total = std::lround(seconds);
  std::array<char, 32> buffer;
  if (total < 3600) {
    std::snprintf(buffer.data(), buffer.size(), "%ld:%02ld", total / 60, total % 60);
  } else {
    std::snprintf(buffer.data(), buffer.size(), "%ld:%02ld:%02ld", total / 3600, total / 60 % 60, total % 60);
  }
  return buffer.data();
}

int edit_distance(std::string_view from, std::string_view to) {
  std::vector<int> before(to.size() + 1);
  std::vector<int> last(to.size() + 1);
  std::vector<int> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const int replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[to.size()];
}

std::string boxed_table(const std::vector<std::pair<std::string, std::string>>& columns) {
  std::string rule = "+";
  std::string titles = "|";
  std::string values = "|";
  for (const auto& [title, value] : columns) {
    const std::size_t width = std::max(title.size(), value.size());
    rule += std::string(width + 2, '-') + "+";
    titles += " " + title + std::string(width - title.size(), ' ') + " |";
    values += " " + std::string(width - value.size(), ' ') + value + " |";
  }
  return rule + "\n" + titles + "\n" + rule + "\n" + values + "\n" + rule + "\n";
}

std::string errno_text() { return std::system_category().message(errno); }

std::string short_number(double value) {
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.4g", value);
  return buffer.data();
}

std::string hexadecimal(std::uint64_t value) {
  std::array<char, 17> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%016" PRIx64, value);
  return buffer.data();
}

}  // namespace msrun
