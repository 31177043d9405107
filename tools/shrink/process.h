// Other programs of ours, run in processes of their own that end with this one.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace msrun::shrink {

// The search has come to its end before it was done: the time is up, or a signal came.
struct SearchEnds {};

// From its construction on, interrupts and terminations are noted and end waiting, not the process.
class Interrupts {
 public:
  Interrupts();
  static bool came();
};

// What a program is given beside its words: an open descriptor, which keeps its number, and a "NAME=value" that stands
// in its environment in place of the one of that name.
struct Handed {
  int descriptor = -1;
  std::string variable;
};

// Runs the program words.front() with the other words; what it prints goes into the file log. Returns its exit code,
// -1 if a signal ended it or nobody knows. Throws SearchEnds where an interrupt comes, or the deadline, before the
// program has ended, which is then killed with all of its process group; UserError if it cannot be started. Where this
// process is killed, the group is terminated, and what is left of it after ten seconds killed.
int run_program(std::vector<std::string> words, const std::string& log,
                std::optional<std::chrono::steady_clock::time_point> deadline, Handed handed = {});

// The last line in the file that is not empty, fit for a message.
std::string last_line(const std::string& path);

// The last line in the log of an msrun that tells of an error, the last one if none does.
std::string last_complaint(const std::string& path);

}  // namespace msrun::shrink
