// What rows of the two CSV files of a run say, for all who read them back: the run that continues from them and the
// tools that compare and show runs. Which files they accept, and what they do with damaged ones, is theirs to say.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "kernels/compare/details.h"

namespace msrun {

// Columns in front of the metrics of the details file: name, dtypes and shape. Behind them are status and message.
inline constexpr std::size_t first_metric_column = 4;
inline constexpr std::size_t columns_behind_metrics = 2;

// The first column of the details file, in parts: "Functional.relu.0", forward and "1" of
// "Functional.relu.0.forward.output.1".
struct RowName {
  std::string_view api;
  bool forward = true;
  std::string_view index;
};

// Nothing if text is no name of an output. The API's own name may hold the words of such a name, too; the index is any
// text without a dot.
std::optional<RowName> parse_row_name(std::string_view text);

std::optional<Status> parse_status(std::string_view text);

// Sets what the check has found out about a row beside its status from what it has written into the row's message
// (runner/judge/sentences.h): whether rounding explains it, and whether it proves little.
void read_verdict(DetailsRow& row);

}  // namespace msrun
