// The flags of msrun as data: every accepted spelling, the help text made from it, and the first step of parsing, after
// which each flag has one name. What the values mean is in command_line.cpp.
#pragma once

#include <boost/program_options/variables_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/command/command_line.h"

namespace msrun {

enum class Takes : std::uint8_t { nothing, one_value, values, one_value_each_time };

// One flag. The first spelling is the canonical name, under which Boost stores it. A spelling of one letter takes one
// dash, a longer one takes one or two, and '-' and '_' inside it are the same.
struct Flag {
  std::vector<std::string> spellings;
  Takes takes;
  const char* shown;  // left column of the help
  const char* help;
  const char* group;
};

const std::vector<Flag>& flags();

// The text of -h.
std::string help_text();

// The way the flag with this canonical name is written in messages: "-api_info", "-n", "--only".
std::string display_name(std::string_view canonical);

// The words after the sub-command, stored under the canonical names. Throws UserError on unknown, repeated and
// incomplete flags.
boost::program_options::variables_map parse_flags(const std::vector<std::string>& words, Command command);

}  // namespace msrun
