// The commands of a page of the documentation. A page shows a command in a fenced block of the kind "console":
//
//     ```console
//     $ msrun journal out/accuracy_checking_20261121124715.journal
//     84 of 84 calls are finished
//     ...
//     ```
//
// What stands behind "$ " runs, with what a line that ends in a backslash continues; the lines below it are what it
// prints. A line "..." stands for any number of lines, "…" within a line for any text. Comments of the page, which a
// reader does not see, say what else there is to know:
//
//     <!-- not run: REASON -->   the next block cannot be run in a test
//     <!-- run: COMMAND -->      runs before what follows, such as the making of the files that an example is about
//     <!-- exit code: N -->      of the last command of the next block; 0 if there is none
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace msrun::testing {

struct ShownCommand {
  std::string text;                 // for the shell
  std::size_t first_line = 0;       // of the page, from 0: the command, then what it prints
  std::size_t output_line = 0;      // first line of what it prints
  std::vector<std::string> output;  // as the page shows it
  bool is_hidden = false;           // of a comment; nothing is said about what it prints
  int exit_code = 0;
};

struct UnrunBlock {
  std::size_t line = 0;
  std::string reason;
};

struct Page {
  std::vector<std::string> lines;
  std::vector<ShownCommand> commands;  // in their order
  std::vector<UnrunBlock> unrun;
  // What is wrong with the page itself: a command outside of console blocks, a marker without a block.
  std::vector<std::string> problems;
};

Page parse_page(const std::string& text);

// What differs from run to run, such as times, durations and numbers of processes, replaced by words.
std::string masked(const std::string& line);

// Whether output is what a page shows of it.
bool is_shown(const std::vector<std::string>& shown, const std::vector<std::string>& output);

// What the page is to show in place of that: the output itself, shortened at the places where it was. Nothing if the
// places cannot be told.
std::vector<std::string> shortened_like(const std::vector<std::string>& shown, const std::vector<std::string>& output);

}  // namespace msrun::testing
