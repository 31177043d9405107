// Reads dump.json into a Recording (dump_compare.md 2 and 3).
#pragma once

#include <cstdint>
#include <string>

#include "kernels/io/json/json_reader.h"
#include "tools/recordings/recording.h"

namespace msrun::recordings {

// What becomes of a call whose name comes again: as with msProbe the later one takes the place of the earlier, or both
// are kept, each at its place, for who must not miss what one of them holds.
enum class Repeated : std::uint8_t { replaces, is_kept };

// The file streams by once; memory grows with what is kept of it. Throws UserError for a file that cannot be read, that
// is no JSON, whose `data` is missing, no object or there twice, and for a shape that is no list or a requires_grad
// that is no boolean; side ("npu", "bench") stands in messages.
Recording read_recording(const std::string& path, const std::string& side, Repeated repeated = Repeated::replaces);

// name stands in messages; debug: the file is a debug.json.
Recording read_recording(const std::string& name, JsonReader::Source source, const std::string& side, bool debug,
                         Repeated repeated = Repeated::replaces);

// What there is to be warned of where names come again in a file, as the pre-check says it, so many of them; empty if
// none does.
std::string repeated_entries(const std::string& path, std::uint64_t count, std::string_view first, Repeated repeated);
std::string repeated_calls(const Recording& recording, Repeated repeated);

}  // namespace msrun::recordings
