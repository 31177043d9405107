// msrun --list-devices: what the torch backend finds on this host.
#pragma once

#include <string>

namespace msrun {

// Asks the interpreter (as --python names it; may be empty) for the devices of every kind. What cannot be used is
// listed with the reason. Throws UserError if there is no interpreter.
std::string list_devices_text(const std::string& python);
std::string list_devices_json(const std::string& python);

}  // namespace msrun
