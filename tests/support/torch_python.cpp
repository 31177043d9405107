#include "tests/support/torch_python.h"

#include <cstdlib>

namespace msrun::testing {

std::string torch_python() {
  const char* other = std::getenv("MSRUN_TEST_PYTHON");
  return other == nullptr ? "/usr/bin/python3" : other;
}

bool has_torch() {
  static const bool found =
      std::system((torch_python() + " -c 'import importlib.util as u, sys; sys.exit(not u.find_spec(\"torch\"))' "
                                    ">/dev/null 2>&1")
                      .c_str()) == 0;
  return found;
}

bool torch_rounds_partial_sums() {
  static const bool rounds =
      std::system((torch_python() + " -c 'import torch, sys; torch.manual_seed(0); x = torch.rand(64, 64).bfloat16(); "
                                    "exact = x.float() @ x.float(); "
                                    "sys.exit(bool(((x @ x).float() - exact).abs().max() < exact.abs().max() / 64))' "
                                    ">/dev/null 2>&1")
                      .c_str()) == 0;
  return rounds;
}

bool torch_is_of_golden_files() {
  static const bool is =
      std::system((torch_python() + " -c 'import torch, sys; sys.exit(not torch.__version__.startswith(\"1.13.\"))' "
                                    ">/dev/null 2>&1")
                      .c_str()) == 0;
  return is;
}

}  // namespace msrun::testing
