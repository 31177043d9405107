// The records of one API, taken out of a dump into a JSON file of their own (op_generate_and_code_mapping.md A.3).
#pragma once

#include <functional>
#include <string>

#include "tools/op_generate/configuration.h"

namespace msrun::op_generate {

// The text of the extraction, which is not written yet. allow_outside: tensor files may be named outside of the dump's
// folder of data. Throws UserError if the dump cannot be read or has no such API; an old extraction is then of no use,
// either. warn is told of entries of the API whose names come again, of which the last counts.
std::string extraction_of(const Configuration& configuration, bool allow_outside,
                          const std::function<void(const std::string&)>& warn);

}  // namespace msrun::op_generate
