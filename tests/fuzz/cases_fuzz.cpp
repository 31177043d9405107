// Any bytes as a file of comparison cases: cases that can be compared, or one UserError.
#include <cstdint>
#include <string_view>

#include "kernels/base/error.h"
#include "tests/fuzz/target.h"
#include "tools/tensor_compare/cases.h"

FUZZ_TARGET(cases_fuzz) {
  using namespace msrun;
  try {
    for (const ComparisonCase& test : parse_cases("fuzz", {reinterpret_cast<const char*>(data), size})) {
      for (const bool compat : {false, true}) {
        CompareOptions options;
        options.compat_msprobe = compat;
        compare_case(test, options);
      }
    }
  } catch (const UserError&) {
  }
  return 0;
}
