// Modules whose computation was not recorded although calls in them were: they have parameters that no call reads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "kernels/io/dump/companions.h"

namespace msrun::report {

// "encoder.0.Linear" of "Module.encoder.0.Linear.forward.2"; empty for the name of a call that is no forward of a
// module.
std::string module_of(std::string_view name);

// By module, how often it was used. path is that of a dump.json with modules, whose entries list their parameters;
// construct says which calls are in which module. A parameter counts as read by any call that was given a tensor with
// its statistics, and by a call in its module that was given one of its shape: some modules change it before. Throws
// UserError for what is no JSON object or cannot be read.
std::map<std::string, std::uint64_t> unread_modules(const std::string& path, const recordings::Construct& construct);

}  // namespace msrun::report
