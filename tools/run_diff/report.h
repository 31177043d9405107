// A comparison of two runs for people and programs.
#pragma once

#include <string>

#include "tools/run_diff/compare.h"

namespace msrun::run_diff {

// The text on a terminal: conclusion, what was not comparable for which reason, then the calls, worst first.
std::string text_of(const runs::Run& a, const runs::Run& b, const Comparison& comparison, bool all);

// One object, with a line end (docs/diff.md).
std::string json_of(const runs::Run& a, const runs::Run& b, const Comparison& comparison, bool all);

// A title row and one row for each output that has changed, or for the call if no output has.
std::string csv_of(const Comparison& comparison, bool all);

// Throws WriteError.
void write_html(const std::string& path, const runs::Run& a, const runs::Run& b, const Comparison& comparison,
                bool all);

// "suspicious (error, backward pass)", "pass", "not there".
std::string shown(const Standing& standing);

// "2 new, 1 still, 30 the same."
std::string conclusion(const Comparison& comparison);

// Why it proves little that nothing is new, a line with its end for each reason; empty if it does prove something.
std::string reservations(const runs::Run& b, const Comparison& comparison);

// What a run was, in one line.
std::string description_of(const runs::Run& run);

}  // namespace msrun::run_diff
