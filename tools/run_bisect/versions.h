// Which versions there are between a good and a bad end.
#pragma once

#include <string>
#include <vector>

namespace msrun::run_bisect {

// The versions of a file, one a line, or of a list with commas. Throws UserError if there is none, or one twice.
std::vector<std::string> listed_versions(const std::string& file_or_list);

// The versions behind good up to bad, which is the last, of whole numbers or of the commits of the git repository in
// the working directory. Throws UserError if they are neither.
std::vector<std::string> versions_between(const std::string& good, const std::string& bad);

// Those of a list behind good and up to bad. An end that is not in the list (a run, for example) is beside it.
std::vector<std::string> versions_within(const std::vector<std::string>& listed, const std::string& good,
                                         const std::string& bad);

}  // namespace msrun::run_bisect
