// What a call that looks wrong may owe to its files of tensors: they may have changed since they were recorded.
#pragma once

#include "kernels/api/api_call.h"
#include "kernels/compare/details.h"
#include "kernels/evaluate/materialise.h"

namespace msrun {

// Adds a line to the Message of the row for every file of the call whose bytes do not agree with its checksum. A file
// that may not be read is not looked at.
void note_damaged_files(const ApiCall& call, const MaterialiseOptions& options, DetailsRow& row);

}  // namespace msrun
