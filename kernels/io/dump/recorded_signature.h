// What msProbe compares of two entries of an API to find that one repeats the other (acc_check_pytorch.md 5.5): JSON as
// it was recorded, whatever becomes of it here.
#pragma once

#include <string>

#include "kernels/io/json/json_tree.h"

namespace msrun {

// Of input_args: the objects that are elements of it themselves, without their extrema. Lists, plain values and null
// among them are no objects.
std::string signature_of_args(const JsonNode& args);
// Of input_kwargs: all of it.
std::string signature_of_kwargs(const JsonNode& kwargs);

}  // namespace msrun
