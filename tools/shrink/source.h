// Where the call comes from: the recording itself, or a run that found it, whose journal says which recording and which
// options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/api/api_call.h"
#include "kernels/evaluate/materialise.h"
#include "kernels/io/dump/recording_origin.h"
#include "tools/shrink/options.h"

namespace msrun::shrink {

struct Source {
  // dump.json; or the pair of the older recorder, whose second file may be missing.
  std::string api_info;
  std::string forward;
  std::string backward;
  std::string real_data_path;
  // Options of the pre-check, those of the command line in place of the journal's.
  std::vector<OptionWords> options;
  std::optional<int> device;            // that the call ran on
  std::optional<std::uint64_t> inputs;  // checksum of its inputs in the run
};

// Throws UserError for a path that is neither, and for a journal that does not have the call. Of several ranks the
// source is that of the rank in front of the name; options.api is then the name that the call has in that recording.
Source find_source(Options& options);

// "-api_info", "dump.json", as msrun takes them.
std::vector<std::string> input_words(const Source& source);

struct CallOfRecording {
  ApiCall call;
  RecordingOrigin origin;
};

// The call of that name with its recorded results. Throws UserError if the recording does not have it.
CallOfRecording read_call(const Source& source, const std::string& name);

// How its tensors are made or read.
MaterialiseOptions data_of(const Source& source);

}  // namespace msrun::shrink
