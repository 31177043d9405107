// The sample dumps for which there are msProbe's own files.
#pragma once

#include <string>
#include <vector>

namespace msrun::testing {

// Names of the sample dumps that golden() has a result file of, in alphabetical order.
std::vector<std::string> golden_dumps();

}  // namespace msrun::testing
