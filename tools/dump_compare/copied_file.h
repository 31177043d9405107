// What writers that need a path have left there, as a file that gets its name later.
#pragma once

#include <string>

#include "tools/dump_compare/result_files.h"

namespace msrun::dump_compare {

// Copies the file of that path. Throws UserError.
NamelessFile copied_file(const ResultPlace& place, const std::string& path, const std::string& ending);

}  // namespace msrun::dump_compare
