// The Python with torch that tests of the torch backend run (python3-torch, installed by ./bootstrap test).
#pragma once

#include <string>

namespace msrun::testing {

// MSRUN_TEST_PYTHON, else /usr/bin/python3.
std::string torch_python();

// Whether it has torch. Tests that need it are skipped without.
bool has_torch();

// Whether torch rounds every partial sum of a product of bfloat16 on this processor, as it does on those that have no
// instructions for that.
bool torch_rounds_partial_sums();

// Whether it is of the version, 1.13, that msProbe had when it wrote the golden files.
bool torch_is_of_golden_files();

}  // namespace msrun::testing
