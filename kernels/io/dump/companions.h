// The files beside dump.json: stack.json says where in the source each call came from, construct.json which module it
// belongs to (dump_compare.md 2). Both are optional for whoever compares.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/io/json/json_reader.h"
#include "kernels/io/json/json_tree.h"

namespace msrun::recordings {

class Stacks {
 public:
  // The lines of a call, nullptr if the file has none.
  const std::vector<std::string>* lines(std::string_view call) const;
  bool empty() const { return places_.empty(); }
  bool grouped = false;  // calls of one stack are listed together

  void add(const std::vector<std::string>& calls, std::vector<std::string> lines);

 private:
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::vector<std::string>> lists_;
};

// name -> enclosing module; a call without one has the empty text.
class Construct {
 public:
  void add(std::string call, std::string parent) { parents_[std::move(call)] = std::move(parent); }
  bool empty() const { return parents_.empty(); }
  // Hands all calls to take, each with its module, in no order.
  template <class Take>
  void for_each(const Take& take) const {
    for (const auto& [call, parent] : parents_) take(call, parent);
  }
  // Empty if it has none.
  std::string parent(std::string_view call) const;
  // From the outermost module to the call itself. A circle ends the search.
  std::vector<std::string> chain(std::string_view call) const;

 private:
  std::unordered_map<std::string, std::string> parents_;
};

// Hands every entry of the one object that a file holds to take, in order; a value that is nested too deep or too large
// is null. Throws UserError for what is no JSON object; exceptions of take pass through.
void scan_entries(const std::string& name, JsonReader::Source source,
                  const std::function<void(const std::string& key, const JsonNode& value)>& take);

// Hands every stack of a stack.json of either form to take: the calls that share it, and the list of its lines. Entries
// of another form are passed over. Returns whether calls of one stack are listed together.
bool scan_stacks(const std::string& name, JsonReader::Source source,
                 const std::function<void(const std::vector<std::string>& calls, const JsonNode& lines)>& take);

// Throw UserError for what is no JSON object. Entries of another form than the documented ones are passed over.
Stacks read_stacks(const std::string& name, JsonReader::Source source);
Construct read_construct(const std::string& name, JsonReader::Source source);

// A file whatever its name is. Throws UserError, also if there is none.
Stacks read_stacks_file(const std::string& path);

// The file of that name in a folder; nothing if it is not there. Throws UserError if it cannot be read.
std::optional<Stacks> read_stacks_of(const std::string& folder);
std::optional<Construct> read_construct_of(const std::string& folder);

}  // namespace msrun::recordings
