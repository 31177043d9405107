// `msrun --list-standards`: by which standard every API is judged, and the limits, from the tables that the comparison
// itself uses (kernels/compare/metrics/standards.h).
#pragma once

#include <string>

namespace msrun {

// For a reader: standards with their APIs and columns, selection order of both policies, constants, levels. Entries of
// the lists that name no known operator are marked.
std::string list_standards_text();

// The standards, their limits and their operators as one JSON object.
std::string list_standards_json();

}  // namespace msrun
