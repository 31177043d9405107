// Patterns of --only that mean certain calls and no others, for a run that is asked for calls one by one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace msrun {

// A pattern that means this name alone.
std::string pattern_of(const std::string& name);

// Patterns for these names, each of which is there once: one for each, or where they would take more bytes than usual,
// fewer that stand for names which differ in the number of the call alone, "Torch.mul.1[0-9]", as far as that makes
// them few enough to be looked through for every call.
std::vector<std::string> patterns_of(const std::vector<std::string>& names, std::size_t usual = std::size_t{4} << 20);

}  // namespace msrun
