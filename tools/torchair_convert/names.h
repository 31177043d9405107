// What the name of a file in a dump tree says about converting it (torchair.md 10.1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace msrun::convert {

enum class SourceKind : std::uint8_t {
  other,   // left alone
  fx,      // .npy
  ge,      // a dump of the graph engine
  hashed,  // one only if mapping.csv lists the name
};

SourceKind kind_of(std::string_view name);

// Nothing if the name would be too long.
std::optional<std::string> target_name(SourceKind kind, std::string_view source);

// Whether the name is one that a source gets when it is converted.
bool is_target_name(std::string_view name);

// Hidden, and of the same directory. No other live process makes the same one.
std::string temporary_name(std::string_view target, int pid);
// The process that made a temporary file; nothing for all other names.
std::optional<int> maker_of_temporary(std::string_view name);

// What a source is called between being taken out of the dump and being deleted: hidden, of the same directory, and
// never too long where the source has a target.
std::string aside_name(std::string_view source);
// The source of such a name; nothing for all other names.
std::optional<std::string> source_of_aside(std::string_view name);

}  // namespace msrun::convert
