// msrun --list-devices: what the torch and mindspore backends, or a plugin, find on this host.
#pragma once

#include <string>

namespace msrun {

// Asks the interpreter (as --python names it; may be empty) for the devices of every kind, or the plugin in that file,
// unless it is empty, for its own. What cannot be used is listed with the reason. Throws UserError if there is no
// interpreter, and for a file that is no plugin.
std::string list_devices_text(const std::string& python, const std::string& plugin);
std::string list_devices_json(const std::string& python, const std::string& plugin);

}  // namespace msrun
