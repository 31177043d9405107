// Which calls repeat an earlier one: -f checks those once.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "kernels/api/api_call.h"

namespace msrun {

class DuplicateFilter {
 public:
  // By default everything must be equal but the statistics of the tensors among arguments and gradients (DEV-7); with
  // compat msProbe's rule counts, which compares top-level positional arguments without Max and Min and does not look
  // at gradients (acc_check_pytorch.md 5.5).
  explicit DuplicateFilter(bool compat) : compat_(compat) {}

  // The number of the first equal call of the API that was given; number itself if this is the first.
  std::uint32_t first_equal(const ApiCall& call, std::uint32_t number);

 private:
  bool compat_;
  // API without call index -> signature -> number of its first call
  std::unordered_map<std::string, std::unordered_map<std::string, std::uint32_t>> seen_;
};

}  // namespace msrun
