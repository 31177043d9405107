// The commands of msrun that are programs of their own, each beside msrun: "msrun tensor_compare ..." becomes that
// program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace msrun {

struct ToolCommand {
  const char* word;             // as the user writes it
  const char* executable;       // name of the program in the directory of msrun
  const char* help;             // what it does, for the help of msrun
  const char* mode = "";        // the value of --mode with which this program is meant by the word
  bool told_framework = false;  // a leading "-f FRAMEWORK" reaches it as --framework
  const char* alias = "";       // another word for it; empty: none
};

std::span<const ToolCommand> tool_commands();

// nullptr for another word. arguments: the words behind it, whose --mode may choose between two programs.
const ToolCommand* find_tool(std::string_view word, std::span<const std::string> arguments);

// A tool that was asked for, with the words behind its name.
struct ToolRequest {
  const ToolCommand* tool = nullptr;
  std::vector<std::string> arguments;
};

// Replaces this process by the tool. Throws UserError if its program is not there.
[[noreturn]] void run_tool(const ToolRequest& request);

}  // namespace msrun
