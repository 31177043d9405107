// Operators that msrun knows by name but never evaluates: nothing they give could be compared. A call of one is a SKIP
// that says why. docs/operators.md explains the reasons to the user.
#pragma once

#include <string_view>

namespace msrun {

// Whether the operator of this canonical name only ever refuses.
bool is_uncheckable(std::string_view canonical);

}  // namespace msrun
