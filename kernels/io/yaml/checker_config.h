// config.yaml of the accuracy check, which nobody names on the command line: it lies beside config.json, or where
// msProbe is installed. docs/configuration.md tells the user where.
#pragma once

#include <optional>
#include <string>

namespace msrun {

inline constexpr int most_decimals = 20;

// The config.yaml of an installed msProbe: of the virtual environment, of PYTHONPATH, or of the python3 that PATH
// finds. Empty if there is none.
std::string installed_config_yaml();

// The config.yaml that completes a config.json: the one beside it, else that of an installed msProbe; empty if there
// is neither.
std::string config_yaml_for(const std::string& config_json);

// The decimals that a config.yaml asks for; nothing if it does not, or not with a whole number up to most_decimals.
// Throws UserError for a file that cannot be read.
std::optional<int> decimals_of(const std::string& config_yaml);

}  // namespace msrun
