// Which module a value comes from that no recorded call has handed on.
#pragma once

#include "kernels/io/dump/companions.h"
#include "tools/overflow_check/search.h"

namespace msrun::overflow_check {

// Names the innermost module around the call whose arguments are clean and whose results are not, instead of the call:
// the value is in a parameter of that module, or arises in it outside of the recorded calls. Leaves an anomaly as it is
// where there is no such module. construct may be nullptr: the first module that is recorded behind the call then
// counts as around it, because modules are recorded when they have ended.
void name_module(const recordings::Recording& recording, const recordings::Construct* construct, Anomaly& anomaly);

}  // namespace msrun::overflow_check
