// Any bytes as config.json: a configuration that keeps its own rules, or one UserError.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "orchestrator/command/config.h"

namespace {

// Stands for the table of operators.
bool is_supported(std::string_view name) { return name == "relu" || name == "conv2d" || name == "linalg.norm"; }

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace msrun;
  try {
    const Config config = parse_config("fuzz", {reinterpret_cast<const char*>(data), size}, is_supported);
    require(config.precision >= 0 && config.precision <= 20);
    for (const std::string& name : config.black_list) {
      require(is_supported(name));
      require(config.list_verdict(name) == ListVerdict::in_black_list);
    }
    for (const std::string& name : config.white_list) {
      require(is_supported(name));
      require(config.black_list.contains(name) || config.list_verdict(name) == ListVerdict::run);
    }
    if (!config.white_list.empty()) require(config.list_verdict("other") == ListVerdict::not_in_white_list);
  } catch (const UserError&) {
  }
  return 0;
}
