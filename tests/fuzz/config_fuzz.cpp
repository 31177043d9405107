// Any bytes as config.json and as config.yaml: a configuration that keeps its own rules, or one UserError.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "orchestrator/command/config.h"
#include "tests/fuzz/target.h"

namespace {

// Stands for the table of operators.
bool is_supported(std::string_view name) { return name == "relu" || name == "conv2d" || name == "linalg.norm"; }

void check(const char* name, std::string_view text) {
  using namespace msrun;
  try {
    const Config config = parse_config(name, text, is_supported);
    fuzz_require(config.precision >= 0 && config.precision <= 20);
    for (const std::string& api : config.black_list) {
      fuzz_require(is_supported(api));
      fuzz_require(config.list_verdict(api) == ListVerdict::in_black_list);
    }
    for (const std::string& api : config.white_list) {
      fuzz_require(is_supported(api));
      fuzz_require(config.black_list.contains(api) || config.list_verdict(api) == ListVerdict::run);
    }
    if (!config.white_list.empty()) fuzz_require(config.list_verdict("other") == ListVerdict::not_in_white_list);
  } catch (const UserError&) {
  }
}

}  // namespace

FUZZ_TARGET(config_fuzz) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check("fuzz.json", text);
  check("fuzz.yaml", text);
  return 0;
}
