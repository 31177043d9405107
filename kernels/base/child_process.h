// Programs that are started and waited for, and that end with whoever started them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace msrun {

// Where the standard streams of a program lead.
enum class Streams : std::uint8_t { inherited, nowhere };

// Starts a program, words[0], by its path. The kernel kills it when the thread that has started it ends. Its process,
// or -1 where none could be started; one that cannot become the program ends with 127.
pid_t start_child(std::vector<std::string> words, Streams streams);

}  // namespace msrun
