// The rule of the old pre-check, api_accuracy_checker of October 2023 (att_layout.md 7, 8): six measures of every
// output, one limit for all dtypes, one verdict over all outputs of a direction, which a small absolute error rescues.
//
// Its known errors are mended by default; raw restores the old tool cell by cell: a cosine that is 1 for whatever is
// finite and not zero, NaN and infinity that equal nothing, int8 and int16 that cannot be compared, and bfloat16 that
// is held to a ten thousandth.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/api/value.h"
#include "kernels/compare/compare.h"

namespace msrun {

struct AttOptions {
  bool raw = false;
  // The call drops elements at random: only the shares of zeros are compared, and there are no rows.
  bool drops_at_random = false;
};

// Compares the outputs of one call, leaf by leaf. The rows have the columns of att_columns(); the status of a row is
// that of its own measures, pass or error, and SKIP where both sides are None. The first line of a row's message is
// what the file says beside its cells. Throws SkipError for what cannot be compared: raw, also where the old tool
// failed.
Comparison compare_att_outputs(const Value& bench, const Value& device, const AttOptions& options);

// Compares gradients, in argument order, as outputs are compared; nothing if either side has none.
std::optional<Comparison> compare_att_gradients(const std::vector<Value>& bench, const std::vector<Value>& device,
                                                const AttOptions& options);

// Appends the cells of a row behind its name: dtypes, shape, six pairs of value and message, the verdict of its
// direction, and the end of the row.
void append_att_cells(std::string& out, const DetailsRow& row, bool passes, bool raw, int precision);

// Whether the reason of a SKIP is one by which the old tool failed while it compared, so that it counted the call
// among those that it had compared.
bool is_att_failure_to_compare(const std::string& reason);

}  // namespace msrun
