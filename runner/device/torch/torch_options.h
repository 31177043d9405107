// What a command line says about the torch backend.
#pragma once

#include <cstddef>
#include <string>

namespace msrun {

struct TorchOptions {
  std::string kind;         // "cpu", "cuda" or "npu"
  std::string python;       // path of the interpreter
  std::size_t lanes = 2;    // calls that one worker runs at a time; more only wait for each other in Python
  std::size_t workers = 1;  // processes per device
  bool jit_compile = false;
};

}  // namespace msrun
