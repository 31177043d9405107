// What dump.json holds: its header, and its entries one by one.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "kernels/api/value.h"
#include "kernels/io/dump/recording_origin.h"

namespace msrun {

struct DumpHeader {
  // Lower case; "pytorch" or, if any value has a MindSpore type, "mindspore" where the file does not say (DEV-2).
  std::string framework;
  bool names_framework = false;  // the file itself says it
  std::string task;
  bool task_is_no_text = false;
  std::string level;
  std::string dump_data_dir;    // as recorded; empty unless it is a string
  bool real_data = false;       // dump_data_dir is neither null nor empty: tensors are in files
  bool empty_data_dir = false;  // it is there and empty: tensors are in no files
  RecordingOrigin origin;
  std::size_t entries = 0;   // those left out included
  std::size_t left_out = 0;  // entries that the dialect leaves out
  // How many entries are left out, by the first segments of their names; a few dozen of them at most.
  std::map<std::string, std::size_t, std::less<>> left_out_by_type;
  // Tensors were read, and of none there is more than a checksum: neither extrema nor a file.
  bool only_checksums = false;
};

struct DumpEntry {
  List args;                 // input_args
  Dict kwargs;               // input_kwargs
  std::string output_dtype;  // dtype of the first element of output; empty if that is no tensor
  // Dimensions of that element.
  std::optional<std::size_t> output_rank;
  // The leaves of output, in order: tensors with dtype and shape alone, and None for whatever else there is.
  List output_forms;
  List grad_inputs;       // input, of a backward entry
  List outputs;           // output: results of a forward, gradients of a backward entry; only if asked for
  bool has_args = false;  // the entry has the key with a usable value
  bool has_kwargs = false;
  bool has_grad_inputs = false;
  // The name of the entry in its file, where that is another than the one it is handed out with.
  std::string recorded_name;
  // What msProbe compares of a forward entry with another (recorded_signature.h); only if asked for.
  std::string signature;
  // Not empty: the entry itself is malformed, in this way. One sentence that names the key.
  std::string problem;
};

}  // namespace msrun
