// Who writes a journal: the process that a refused second writer is told about.
//
// The lock that keeps a second writer out (flock(2)) does not tell who has it, so a writer also takes a record lock
// (fcntl(2)) on the file. Nobody is kept out by that one; the kernel knows its owner and drops it with the process, so
// that a dead writer is never named.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace msrun::journal {

struct Holder {
  int pid = 0;          // 0: a process that cannot be seen from here, as in another container
  std::string command;  // its command line on one line, cut short; empty if it cannot be read
};

// The process that has this file open for writing; nothing if there is none, or no such file. Takes no lock.
// A process must not ask about a file that it writes itself: it would drop its own record lock.
std::optional<Holder> find_holder(const std::filesystem::path& path);

// The process that has the file behind the descriptor open for writing; nothing if there is none. Takes no lock.
std::optional<Holder> find_holder(int descriptor);

// Makes this process the holder. Where there are no such locks nothing happens.
void become_holder(int descriptor);

// "process 1234 (msrun -api_info dump.json)".
std::string holder_text(const Holder& holder);

}  // namespace msrun::journal
