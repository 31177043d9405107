// The dumped operators of one token of one graph: on the graph engine's side a file for each operator (torchair.md 2.1
// to 2.3), on the FX side a file for each tensor (torchair.md 3.1).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/torchair_compare/dump_tree.h"
#include "tools/torchair_compare/messages.h"

namespace msrun::torchair {

// Whose name leaves no doubt that it is no dump.
bool is_foreign_name(std::string_view name);

struct GeOpFile {
  std::string op_type;
  std::string op_name;
  std::uint64_t timestamp = 0;
  std::string path;
  bool converted = false;  // holds the smallest and largest element of each tensor only
};

struct GeToken {
  std::vector<GeOpFile> ops;  // in path order, each op name once
  std::unordered_map<std::string_view, std::size_t> by_name;

  GeToken() = default;
  GeToken(const GeToken&) = delete;  // by_name points into ops
  GeToken& operator=(const GeToken&) = delete;
  const GeOpFile* find(std::string_view op_name) const;
};
void read_ge_token(const TokenDirectories& directories, Messages& messages, GeToken& token);

struct FxTensorFile {
  std::string path;
  bool converted = false;
  std::uint64_t number = 0;  // of the argument or result, of which a list has several files
};

struct FxNode {
  std::vector<FxTensorFile> inputs;  // by position of the input, however many digits those have
  std::vector<FxTensorFile> outputs;
};

using FxToken = std::unordered_map<std::string, FxNode>;
FxToken read_fx_token(const TokenDirectories& directories, Messages& messages);

}  // namespace msrun::torchair
