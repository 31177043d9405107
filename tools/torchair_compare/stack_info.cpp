#include "tools/torchair_compare/stack_info.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "kernels/io/files/paths.h"

namespace msrun::torchair {
namespace {

// Texts of graphs have some megabytes, and one line may be all of a file.
constexpr std::uintmax_t max_text_bytes = std::uintmax_t{256} << 20;

}  // namespace

std::unordered_map<std::string, std::string> read_stack_info(const GraphFile& graph, Messages& messages) {
  std::unordered_map<std::string, std::string> stacks;
  const std::string directory = std::filesystem::path(graph.path).parent_path().string();
  std::string prefix = "dynamo_original_graph_" + std::to_string(graph.graph) + "_";
  if (graph.rank) prefix += "rank_" + std::to_string(*graph.rank) + "_";
  std::string name;
  for (const std::string& file : list_directory(directory, messages).files) {
    if (file.starts_with(prefix) && file.ends_with(".py")) name = file;  // the newest comes last
  }
  if (name.empty()) return stacks;
  const std::string path = join_path(directory, name);
  std::error_code unknown;
  if (std::filesystem::file_size(path, unknown) > max_text_bytes && !unknown) {
    messages.warning("The graph's Python text " + path + " is too large to be read.");
    return stacks;
  }
  std::ifstream text(path);
  if (!text) messages.warning("The graph's Python text " + path + " cannot be read.");
  constexpr std::string_view call = "node_name=\"";
  std::string line;
  std::string stack;
  while (std::getline(text, line)) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    const std::string_view content = std::string_view(line).substr(begin);
    if (content.starts_with("# File ")) {
      stack = content.substr(2);
      continue;
    }
    const std::size_t at = content.find(call);
    if (at == std::string_view::npos) continue;
    const std::string_view op = content.substr(at + call.size());
    const std::size_t end = op.find('"');
    if (end != std::string_view::npos && !stack.empty()) stacks.emplace(op.substr(0, end), stack);
  }
  return stacks;
}

}  // namespace msrun::torchair
