// Reads dump.json into a Recording (dump_compare.md 2 and 3).
#pragma once

#include <string>

#include "kernels/io/json/json_reader.h"
#include "tools/recordings/recording.h"

namespace msrun::recordings {

// The file streams by once; memory grows with what is kept of it. A call name that comes again replaces the earlier
// call, at the earlier's place. Throws UserError for a file that cannot be read, that is no JSON, whose `data` is
// missing or no object, and for a shape that is no list or a requires_grad that is no boolean; side ("npu", "bench")
// stands in messages.
Recording read_recording(const std::string& path, const std::string& side);

// name stands in messages; debug: the file is a debug.json.
Recording read_recording(const std::string& name, JsonReader::Source source, const std::string& side, bool debug);

}  // namespace msrun::recordings
