// The records of one API, taken out of a dump into a JSON file of their own (op_generate_and_code_mapping.md A.3).
#pragma once

#include <functional>
#include <string>

#include "tools/op_generate/configuration.h"

namespace msrun::op_generate {

// Writes the extraction, whose folder is made if it is missing, and tells log that it has. allow_outside: tensor files
// may be named outside of the dump's folder of data. Throws UserError if the dump cannot be read, has no such API, or
// the file cannot be written; an old extraction is then of no use, either.
void extract(const Configuration& configuration, bool allow_outside,
             const std::function<void(const char* level, const std::string& text)>& log);

}  // namespace msrun::op_generate
