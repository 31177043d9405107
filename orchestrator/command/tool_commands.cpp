#include "orchestrator/command/tool_commands.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "kernels/base/error.h"
#include "kernels/base/own_programs.h"
#include "kernels/base/processes.h"
#include "kernels/base/text.h"

namespace msrun {

namespace {

// A new tool is one line here.
constexpr auto tools = std::to_array<ToolCommand>({
    {"api_precision_compare", "api_precision_compare",
     "compares the details files of two acc_check runs, NPU and GPU, by each API's standard"},
    {"bisect", "run_bisect", "finds the version that made a call wrong, with few runs"},
    {"code_mapping", "code_mapping", "names the source lines behind the operators that a static graph's dump recorded"},
    {"compare", "dump_compare", "compares two recordings, tensor by tensor, and says where they part first"},
    {"compare", "torchair_compare",
     "compares the dump of a compiled graph with an eager or unfused one: --mode torchair", "torchair"},
    {"convert", "torchair_convert",
     "shrinks the dump of a compiled graph to least and largest values while it is written"},
    {"diff", "run_diff", "says what has changed between two runs over one recording"},
    {"graph", "graph",
     "builds the tree of a recorded model, or compares two of them, for the graph viewers; also graph_visualize", "",
     true, "graph_visualize"},
    {"op_generate", "op_generate", "writes a Python script that runs one recorded call on a device and compares it"},
    {"overflow_check", "overflow_check",
     "names the call that brought the first NaN or infinity into a run of many ranks"},
    {"parse", "parse", "turns dump files of the graph engine, .pt and .npz into .npy, and shows what is in them"},
    {"report", "run_report",
     "writes the HTML report of a run, also one to be shared: without paths, host names and values"},
    {"shrink", "shrink", "makes of a suspicious call the smallest recording that fails for the same cause"},
    {"tensor_compare", "tensor_compare", "compares two tensor files, or pairs of a JSON file: metrics and verdict"},
});

// The value of --mode, in any of its spellings; empty if it is not given.
std::string_view mode_of(std::span<const std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--") break;
    const std::size_t begin = word.find_first_not_of('-');
    if (begin == 0 || begin == std::string_view::npos) continue;
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(begin, equals == std::string_view::npos ? equals : equals - begin);
    if (name != "m" && name != "mode") continue;
    if (equals != std::string_view::npos) return word.substr(equals + 1);
    return i + 1 < arguments.size() ? std::string_view(arguments[i + 1]) : std::string_view();
  }
  return {};
}

}  // namespace

std::span<const ToolCommand> tool_commands() { return tools; }

const ToolCommand* find_tool(std::string_view word, std::span<const std::string> arguments) {
  const ToolCommand* found = nullptr;
  const std::string_view mode = mode_of(arguments);
  for (const ToolCommand& tool : tools) {
    if (word != tool.word && (word.empty() || word != tool.alias)) continue;
    if (*tool.mode == '\0' ? found == nullptr : mode == tool.mode) found = &tool;
  }
  return found;
}

void run_tool(const ToolRequest& request) {
  std::string program = own_program(request.tool->executable);
  std::vector<std::string> words{program};
  words.insert(words.end(), request.arguments.begin(), request.arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  unsettle_signals();
  execv(program.c_str(), argv.data());
  const bool is_missing = errno == ENOENT;
  const std::string reason = errno_text() + (is_missing ? "; ./bootstrap build builds it beside msrun" : "");
  throw UserError(std::string(request.tool->word) + ": the program " + program + " cannot be started: " + reason);
}

}  // namespace msrun
