// Which calls repeat an earlier one: -f checks those once.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "kernels/api/api_call.h"

namespace msrun {

class DuplicateFilter {
 public:
  // By default everything must be equal but the statistics of the arguments' tensors; with compat msProbe's rule
  // counts, which compares top-level positional arguments without Max and Min (acc_check_pytorch.md 5.5).
  explicit DuplicateFilter(bool compat) : compat_(compat) {}

  // Whether an equal call of the API was given before. Otherwise the call is remembered.
  bool is_repeated(const ApiCall& call);

 private:
  bool compat_;
  std::unordered_map<std::string, std::unordered_set<std::string>> seen_;  // API without call index -> signatures
};

}  // namespace msrun
