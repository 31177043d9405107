// Which calls repeat an earlier one: -f checks those once.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "kernels/api/api_call.h"

namespace msrun {

class DuplicateFilter {
 public:
  // The number of the first equal call of the API that was given; number itself if this is the first. Everything must
  // be equal but the statistics of the tensors among arguments and gradients (DEV-7).
  std::uint32_t first_equal(const ApiCall& call, std::uint32_t number);
  // By msProbe's rule, which is about what was recorded (DumpEntry::signature). name is that of the call, with its
  // index.
  std::uint32_t first_equal(const std::string& name, const std::string& signature, std::uint32_t number);

 private:
  // API without call index -> signature -> number of its first call
  std::unordered_map<std::string, std::unordered_map<std::string, std::uint32_t>> seen_;
};

}  // namespace msrun
