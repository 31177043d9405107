// What a command line says about a backend that runs the calls in Python, and which frameworks there are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace msrun {

// A framework whose functions a worker calls; its files are lib/msrun/msrun_<name>_worker.
struct WorkerFramework {
  std::string_view name;                   // of the package that is imported, of the backend, and in the worker's hello
  std::string_view npu_package = {};       // what is imported beside it for an NPU; empty: nothing
  std::string_view npu_package_hint = {};  // how that is installed
  // A process that has imported it, and touched no device, may be forked; with npu_package it may not.
  bool forks = false;
};

inline constexpr WorkerFramework torch_framework{
    .name = "torch",
    .npu_package = "torch_npu",
    .npu_package_hint = "pip install torch_npu, of the version of its torch, after sourcing CANN's set_env.sh",
    .forks = true,
};
inline constexpr WorkerFramework mindspore_framework{.name = "mindspore"};

struct WorkerOptions {
  const WorkerFramework* framework = &torch_framework;
  std::string kind;         // "cpu", "cuda" or "npu"
  std::string python;       // path of the interpreter
  std::size_t lanes = 2;    // calls that one worker runs at a time; more only wait for each other in Python
  std::size_t workers = 1;  // processes per device
  bool jit_compile = false;

  // The name of the backend: "torch:npu".
  std::string backend() const { return std::string(framework->name) + ":" + kind; }
};

}  // namespace msrun
