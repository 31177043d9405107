// Reads dump.json, stack.json and construct.json of one rank.
#pragma once

#include <string>
#include <vector>

#include "kernels/io/json/json_reader.h"
#include "tools/graph/side.h"

namespace msrun::graph {

// overflow: by which rules the level of every call is found as well. Throws UserError for files that are missing,
// unreadable, of 1 GiB or more, or no such JSON, and for a construct.json without nodes.
Side read_side(const std::string& folder, OverflowRules overflow);

// What there is to be warned of where names occur again in a file, one sentence for each file.
std::vector<std::string> repeated_names(const Side& side);

// The parts, from any source; name stands in messages. read_construct also refuses what has no nodes.
void read_dump(const std::string& name, JsonReader::Source source, OverflowRules overflow, Side& side);
void read_stacks(const std::string& name, JsonReader::Source source, Side& side);
void read_construct(const std::string& name, JsonReader::Source source, Side& side);

}  // namespace msrun::graph
