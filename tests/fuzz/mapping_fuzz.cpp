// Any bytes as the mapping files of a comparison: names, or one UserError.
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/base/error.h"
#include "tests/fuzz/target.h"
#include "tools/dump_compare/mapping.h"
#include "tools/recordings/layer_mapping.h"

FUZZ_TARGET(mapping_fuzz) {
  using namespace msrun;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ignore = [](const std::string&) {};
  try {
    static_cast<void>(dump_compare::parse_name_pairs("fuzz.yaml", text, false));
  } catch (const UserError&) {
  }
  try {
    static_cast<void>(dump_compare::parse_api_mapping("fuzz.yaml", text, false, ignore));
  } catch (const UserError&) {
  }
  try {
    static_cast<void>(recordings::parse_layer_rules("fuzz.yaml", text, recordings::RepeatedKeys::last_counts));
  } catch (const UserError&) {
  }
  return 0;
}
