// Whether two runs can be compared at all, by the options that their journals were written with.
#pragma once

#include "tools/run_diff/compare.h"

namespace msrun::run_diff {

RunsFacts facts_of(const runs::Run& a, const runs::Run& b);

}  // namespace msrun::run_diff
