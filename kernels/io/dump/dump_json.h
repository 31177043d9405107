// Reads dump.json, the record of a step's API calls (acc_check_pytorch.md 2), entry by entry in the order of the file,
// in memory that depends on the largest entry only. What is wrong with one argument or one entry is kept as the reason
// of a later SKIP; only what makes the whole file unreadable is an error.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kernels/io/dump/dump_dialect.h"
#include "kernels/io/dump/dump_entry.h"
#include "kernels/io/json/json_reader.h"

namespace msrun {

class DumpReader {
 public:
  using OnEntry = std::function<void(std::string_view name, DumpEntry&& entry)>;
  using ChooseDialect = std::function<const DumpDialect&(std::string_view framework)>;

  // Throws UserError if path cannot be read or is empty.
  explicit DumpReader(const std::string& path);
  // Reads from source, chunk bytes at a time; name stands in messages.
  DumpReader(const std::string& name, JsonReader::Source source, std::size_t chunk = JsonReader::default_chunk);

  // Fills DumpEntry::outputs. By default they are passed over: most readers have no use for half of the file.
  void keep_outputs() { keep_outputs_ = true; }

  // Fills DumpEntry::signature.
  void keep_signatures() { keep_signatures_ = true; }

  // Asked where the entries begin; framework, in lower case, is what the file has said until then, empty if it has not.
  // By default entries are read as PyTorch's recorder writes them.
  void choose_dialect(ChooseDialect choose) { choose_dialect_ = std::move(choose); }

  // Call once. Hands every entry of `data` to on_entry but those that the dialect leaves out; name is valid during
  // that call. An entry name may come again: the later entry replaces the earlier, at the place of the earlier. The
  // header may stand behind the entries in the file, so it is returned when all are read. Throws UserError for a syntax
  // error, and for a file without data.
  DumpHeader read(const OnEntry& on_entry);

 private:
  // Returns the framework that the values of the entries tell; empty if none does.
  std::string_view read_data(const OnEntry& on_entry, DumpHeader& header);

  std::string name_;
  JsonReader reader_;
  ChooseDialect choose_dialect_;
  bool keep_outputs_ = false;
  bool keep_signatures_ = false;
};

// The two files of the older tool (acc_check_pytorch.md 3.1), all forward entries first, as if they were one dump.json:
// "Functional*relu*0" and "Functional_relu_0_forward" become "Functional.relu.0.forward". backward_path may be empty.
// keep_signatures: fills DumpEntry::signature. The header says real data if any tensor has a datapath. Throws UserError
// as DumpReader does.
DumpHeader read_att_pair(const std::string& forward_path, const std::string& backward_path,
                         const DumpReader::OnEntry& on_entry, bool keep_signatures = false);

}  // namespace msrun
