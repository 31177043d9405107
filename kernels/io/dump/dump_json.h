// Reads dump.json, the record of a step's API calls (acc_check_pytorch.md 2), entry by entry in the order of the file,
// in memory that depends on the largest entry only. What is wrong with one argument or one entry is kept as the reason
// of a later SKIP; only what makes the whole file unreadable is an error.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/api/value.h"
#include "kernels/io/json/json_reader.h"

namespace msrun {

struct DumpHeader {
  // Lower case; "pytorch" or, if any value has a MindSpore type, "mindspore" where the file does not say (DEV-2).
  std::string framework;
  std::string task;
  std::string level;
  std::string dump_data_dir;  // as recorded; empty unless it is a string
  bool has_data = false;      // there is at least one entry, Module entries included
  bool real_data = false;     // dump_data_dir is neither null nor empty: tensors are in files
};

struct DumpEntry {
  List args;                 // input_args
  Dict kwargs;               // input_kwargs
  std::string output_dtype;  // dtype of the first element of output; empty if that is no tensor
  // Dimensions of that element.
  std::optional<std::size_t> output_rank;
  List grad_inputs;       // input, of a backward entry
  List outputs;           // output: results of a forward, gradients of a backward entry; only if asked for
  bool has_args = false;  // the entry has the key with a usable value
  bool has_kwargs = false;
  bool has_grad_inputs = false;
  // Not empty: the entry itself is malformed, in this way. One sentence that names the key.
  std::string problem;
};

class DumpReader {
 public:
  using OnEntry = std::function<void(std::string_view name, DumpEntry&& entry)>;

  // Throws UserError if path cannot be read or is empty.
  explicit DumpReader(const std::string& path);
  // Reads from source, chunk bytes at a time; name stands in messages.
  DumpReader(const std::string& name, JsonReader::Source source, std::size_t chunk = JsonReader::default_chunk);

  // Fills DumpEntry::outputs. By default they are passed over: most readers have no use for half of the file.
  void keep_outputs() { keep_outputs_ = true; }

  // Call once. Hands every entry of `data` to on_entry but those whose name contains "Module"; name is valid during
  // that call. An entry name may come again: the later entry replaces the earlier, at the place of the earlier. The
  // header may stand behind the entries in the file, so it is returned when all are read. Throws UserError for a syntax
  // error, and for a file without data.
  DumpHeader read(const OnEntry& on_entry);

 private:
  void read_data(const OnEntry& on_entry, DumpHeader& header);

  std::string name_;
  JsonReader reader_;
  bool saw_mindspore_ = false;
  bool keep_outputs_ = false;
};

// The two files of the older tool (acc_check_pytorch.md 3.1), all forward entries first, as if they were one dump.json:
// "Functional*relu*0" and "Functional_relu_0_forward" become "Functional.relu.0.forward". backward_path may be empty.
// The header says real data if any tensor has a datapath. Throws UserError as DumpReader does.
DumpHeader read_att_pair(const std::string& forward_path, const std::string& backward_path,
                         const DumpReader::OnEntry& on_entry);

}  // namespace msrun
