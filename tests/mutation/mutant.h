// Which of the mutants that are compiled into this program is on. Included by the copies of sources that mutate.py
// makes, and by nothing else.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace msrun {

// MSRUN_MUTANT is the number of the mutant that is on; without it all are off. MSRUN_MUTANTS_REACHED names a file with
// a byte for every number, in which those whose places were executed are set to 1: it is shared memory, so that
// processes that were forked, or end without a word, are seen as well.
struct Mutants {
  int chosen = 0;
  volatile unsigned char* reached = nullptr;
  long count = 0;

  Mutants() {
    if (const char* number = std::getenv("MSRUN_MUTANT")) chosen = std::atoi(number);
    const char* path = std::getenv("MSRUN_MUTANTS_REACHED");
    if (path == nullptr) return;
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    count = lseek(file, 0, SEEK_END);
    void* bytes = mmap(nullptr, static_cast<size_t>(count), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (bytes != MAP_FAILED) reached = static_cast<volatile unsigned char*>(bytes);
  }
};

inline bool mutant(int number) {
  static const Mutants mutants;
  if (mutants.reached != nullptr && number < mutants.count && mutants.reached[number] == 0) {
    mutants.reached[number] = 1;
  }
  return mutants.chosen == number;
}

}  // namespace msrun
