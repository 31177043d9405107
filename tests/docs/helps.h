// What the helps of the programs say.
#pragma once

#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/msrun_process.h"
#include "tests/support/temporary_directory.h"

namespace msrun::testing {

using Options = std::set<std::string>;

inline Options every_option(const std::string& text) {
  static const std::regex option(R"((^|[\s,`(\[|])(--?[A-Za-z][\w-]*))");
  Options options;
  for (std::sregex_iterator at(text.begin(), text.end(), option), end; at != end; ++at) options.insert((*at)[2]);
  return options;
}

// What a help lists: the spellings at the beginning of its lines.
inline Options listed(const std::string& help) {
  Options options;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    const std::string spellings = line.substr(0, line.find("  ", 3));
    options.merge(every_option(spellings));
  }
  for (const char* everywhere : {"-h", "--help", "--version"}) options.erase(everywhere);
  return options;
}

inline std::string help_of(const std::string& program, const std::vector<std::string>& arguments = {"--help"}) {
  const TemporaryDirectory scratch;
  return Process(arguments, scratch.path(), {}, program).wait().out;
}

inline const std::vector<std::string>& tools() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    std::istringstream rest(TOOL_NAMES);
    for (std::string name; std::getline(rest, name, ',');) list.push_back(name);
    return list;
  }();
  return names;
}

}  // namespace msrun::testing
