// The mapping files of a comparison (dump_compare.md 5): what the name of a target row becomes on the golden side.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/dump_compare/comparison.h"

namespace msrun::dump_compare {

// Nothing if no mapping was asked for. Throws UserError for a file that cannot be used; warn is told of entries that
// cannot, and with their lines of those that name nothing in the recordings. The result must not outlive pair.
std::optional<NameMap> name_map(const Pair& pair, const MappingFiles& mapping, bool compat,
                                const std::function<void(const std::string&)>& warn);

// A name of the target side, what it becomes, and the line of the file that says so.
struct NamePair {
  std::string from;
  std::string to;
  std::size_t line = 0;
};

// From the text of a file: 5.1, 5.2 and the entries of 5.3, in its order. name stands in messages. Throw UserError,
// also for a key that is there twice; with compat its last value counts, as for msProbe.
std::vector<NamePair> parse_name_pairs(const std::string& name, std::string_view text, bool compat);

struct ApiMapping {
  struct Part {
    std::string target;                                       // ".input.", ".output.": of the names of rows
    std::vector<std::pair<std::string, std::string>> places;  // "0", "1.0", "weight"
  };
  std::string target_api;  // "Mint.relu"
  std::string golden_api;
  std::size_t line = 0;  // of the file
  std::vector<Part> parts;
};
std::vector<ApiMapping> parse_api_mapping(const std::string& name, std::string_view text, bool compat,
                                          const std::function<void(const std::string&)>& warn);

}  // namespace msrun::dump_compare
