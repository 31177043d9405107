// What a program writes must not replace what it reads, nor another of its outputs, however the paths are spelled.
#pragma once

#include <initializer_list>
#include <string>

namespace msrun {

// Whether both paths lead to one file, through links as well, or would if it were there.
bool is_same_file(const std::string& one, const std::string& other);

struct KeptFile {
  const char* what;  // "the recording"
  std::string path;  // empty: there is none
};

// Refuses an output that would replace one of these: "--csv a.csv would overwrite the recording b.csv." An empty path
// is none. Throws UserError.
void check_apart(const std::string& option, const std::string& written, std::initializer_list<KeptFile> kept);

}  // namespace msrun
