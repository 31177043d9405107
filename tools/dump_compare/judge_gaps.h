// What the rows of a call show by the gaps between them (recordings/gap.h), which see a sign that was lost, a single
// wrong element and statistics without a norm. Rows are judged by the limits of the search for the first divergence,
// the coarser ones wherever half types may have left their noise.
#pragma once

#include <span>

#include "tools/dump_compare/judge.h"

namespace msrun::dump_compare {

// rows: those of one target call, after all other rules. few: its inputs are buffers, of which nothing is said.
void judge_gaps(const Sides& sides, Mode mode, bool few, std::span<ComparedRow> rows);

}  // namespace msrun::dump_compare
