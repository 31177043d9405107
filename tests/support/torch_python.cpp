#include "tests/support/torch_python.h"

#include <cstdlib>

namespace msrun::testing {

std::string torch_python() {
  const char* other = std::getenv("MSRUN_TEST_PYTHON");
  return other == nullptr ? "/usr/bin/python3" : other;
}

namespace {

// Whether a program in that Python, in double quotes inside, ends with 0.
bool succeeds(const std::string& program) {
  return std::system((torch_python() + " -c '" + program + "' >/dev/null 2>&1").c_str()) == 0;
}

}  // namespace

bool has_torch() {
  static const bool found = succeeds("import importlib.util as u, sys; sys.exit(not u.find_spec(\"torch\"))");
  return found;
}

bool torch_rounds_partial_sums() {
  static const bool rounds = succeeds(
      "import torch, sys; torch.manual_seed(0); x = torch.rand(64, 64).bfloat16(); "
      "exact = x.float() @ x.float(); "
      "sys.exit(bool(((x @ x).float() - exact).abs().max() < exact.abs().max() / 64))");
  return rounds;
}

bool torch_is_of_golden_files() {
  static const bool is = succeeds("import torch, sys; sys.exit(not torch.__version__.startswith(\"1.13.\"))");
  return is;
}

}  // namespace msrun::testing
