#include "tools/dump_compare/tensor_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/dump/tensor_folder.h"
#include "kernels/io/files/file.h"
#include "kernels/io/files/paths.h"
#include "kernels/io/yaml/yaml.h"
#include "tools/dump_compare/tensor_metrics.h"

namespace msrun::dump_compare {
namespace {

using recordings::Call;
using recordings::Leaf;
using recordings::Recording;
using recordings::State;

constexpr std::uint64_t max_file_bytes = std::uint64_t{16} << 20;
constexpr std::size_t most_told = 10;

// Grouped calls whose outputs have room for more rows than are computed: the argument that holds the rows of each
// group.
constexpr auto group_arguments = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"npu_grouped_matmul", ".input.group_list"}, {"npu_dequant_swiglu_quant", ".input.group_index"}});

TensorFile recorded_file(const Recording& side, const Leaf& leaf) {
  TensorFile file;
  file.path = tensor_path(side, leaf);
  file.recording = join_path(side.folder, "dump.json");
  file.recorded_elements = recordings::elements_of(side.text(leaf.shape));
  return file;
}

std::optional<std::int64_t> valid_rows(const Recording& side, const Call& call, const Leaf& leaf) {
  if (leaf.state != State::output) return std::nullopt;
  const auto grouped = std::ranges::find(group_arguments, recordings::api_of(side.name(call), call),
                                         &std::pair<std::string_view, std::string_view>::first);
  if (grouped == group_arguments.end()) return std::nullopt;
  for (std::uint32_t i = call.leaves; i < call.leaf_end; ++i) {
    const Leaf& argument = side.leaves[i];
    if (argument.state != State::input || side.text(argument.suffix) != grouped->second) continue;
    const TensorFile file = recorded_file(side, argument);
    return file.path.empty() ? std::nullopt : sum_of_tensor_file(file);
  }
  return std::nullopt;
}

std::string factor_of(const std::unordered_map<std::string, std::string>& factors, const Recording& side,
                      const Leaf& leaf) {
  if (factors.empty()) return {};
  const auto found = factors.find(std::string(side.text(leaf.data_name)));
  return found == factors.end() ? std::string() : found->second;
}

}  // namespace

RightFactors parse_right_factors(const std::string& name, std::string_view text) {
  std::vector<std::string> repeated;
  const YamlNode document = parse_yaml_in_order(name, text, repeated);
  if (!document.is_object()) throw UserError("The file " + name + " is no object of tensor maps.");
  const std::size_t slash = name.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : name.substr(0, slash);
  RightFactors factors;
  for (const auto& [key, map] : document.members) {
    const std::string place = "The file " + name + ", line " + std::to_string(map.line) + ": ";
    if (key == "mode") {
      if (map.value != "right_matmul") throw UserError(place + "the mode is not right_matmul.");
      continue;
    }
    if (key != "target_tensor_map" && key != "golden_tensor_map") {
      throw UserError(place + bounded(key) + " is neither target_tensor_map nor golden_tensor_map.");
    }
    if (!map.is_object()) throw UserError(place + key + " is no object of lists.");
    auto& into = key == "target_tensor_map" ? factors.target : factors.golden;
    for (const auto& [matrix, names] : map.members) {
      if (!names.is_list()) {
        throw UserError("The file " + name + ", line " + std::to_string(names.line) + ": the tensors of " +
                        bounded(matrix) + " are no list.");
      }
      for (const YamlNode& tensor : names.items) {
        if (!tensor.value.is_string()) {
          throw UserError("The file " + name + ", line " + std::to_string(tensor.line) + ": a tensor of " +
                          bounded(matrix) + " is no name.");
        }
        into[tensor.value.get<std::string>()] = matrix.starts_with('/') ? matrix : join_path(folder, matrix);
      }
    }
  }
  return factors;
}

RightFactors read_right_factors(const std::string& path) {
  try {
    InputFile file(path, max_file_bytes);
    std::string text(file.size(), '\0');
    file.read_at(0, std::as_writable_bytes(std::span(text)));
    return parse_right_factors(path, text);
  } catch (const FileError& error) {
    throw UserError(error.what());
  }
}

void warn_of_unknown_tensors(const std::unordered_map<std::string, std::string>& factors, const Recording& side,
                             const std::string& file, const std::function<void(const std::string&)>& warn) {
  std::set<std::string> unknown;
  for (const auto& [name, matrix] : factors) unknown.insert(name);
  for (const Leaf& leaf : side.leaves) {
    if (unknown.empty()) return;
    if (leaf.data_name != 0) unknown.erase(std::string(side.text(leaf.data_name)));
  }
  std::size_t told = 0;
  for (const std::string& name : unknown) {
    if (told++ == most_told) {
      warn(file + ": " + std::to_string(unknown.size() - most_told) + " more tensors are not in " + side.path + ".");
      return;
    }
    warn(file + ": " + bounded(name) + " is no tensor of " + side.path + "; the entry matches nothing.");
  }
}

std::string tensor_path(const Recording& side, const Leaf& leaf) {
  const std::string_view name = side.text(leaf.data_name);
  if (name.empty()) return {};
  const std::filesystem::path folder = std::filesystem::path(side.folder) / tensor_folder_name;
  return (folder / name).string();
}

TensorFile target_file(const Recording& side, const Call& call, const Leaf& leaf, const RightFactors& factors) {
  TensorFile file = recorded_file(side, leaf);
  file.valid_rows = valid_rows(side, call, leaf);
  file.factor = factor_of(factors.target, side, leaf);
  return file;
}

TensorFile golden_file(const Recording& side, const Leaf& leaf, const RightFactors& factors) {
  TensorFile file = recorded_file(side, leaf);
  file.factor = factor_of(factors.golden, side, leaf);
  return file;
}

}  // namespace msrun::dump_compare
