// The table of backends: everything that tells one kind of device from another, as far as a run is concerned. A new
// kind is a new row.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/io/dump/recording_origin.h"
#include "runner/device/device.h"

namespace msrun {

// What a command line says about the device, before it is known which backend reads it.
struct BackendRequest {
  std::string name = "auto";
  std::string kind;                     // behind the colon: "npu" of "torch:npu", a file; may be empty
  std::vector<std::string> sim_faults;  // as written: PATTERN=FAULT
  bool jit_compile = false;             // the device may compile operators
  bool holds_results = false;           // so does the recording, in files
  std::vector<int> devices = {0};       // ids that calls will run on
  std::string python = {};              // as written; empty: not given
  std::size_t torch_lanes = 2;
  std::size_t torch_workers = 1;
  std::uint64_t seed = 1234;    // of the run
  bool no_accelerator = false;  // "auto" is not to take an NPU or GPU
  // Whose functions the recording names, which is all that "auto" takes: "torch"; empty: not known yet.
  std::string framework = {};
  std::string device_files = "/dev";  // folder of the files that drivers make
};

// Makes the device of one runner, in the runner's process and before its threads.
using MakeDevice = std::function<std::unique_ptr<Device>(const DeviceSeat& seat)>;

// What a journal's header says about a backend beside its name.
struct BackendSetting {
  std::string name;
  std::vector<std::string> values;
  // A run is continued only with the same values.
  bool is_fingerprint = false;
};

struct ChosenBackend;

struct Backend {
  std::string_view name;
  std::string_view help;  // one line of at most 80 columns
  // A device of this host is tested, not a model of one and not a recording.
  bool is_real = false;
  // Takes the outputs and gradients of the recording for the device's: the plan has to keep them.
  bool needs_results = false;
  // Works in a process beside the runner, with memory of its own, whose death counts as the runner's.
  bool needs_process = false;
  // Heeds BackendRequest::jit_compile.
  bool compiles = false;
  // What may stand behind the name and a colon: "cpu", "cuda".
  std::span<const std::string_view> kinds = {};
  // The name of the one framework whose functions it calls: recordings of others it cannot run. Empty: of any.
  std::string_view framework = {};
  // The path of a file has to stand there.
  bool takes_file = false;
  // Reads what concerns it in the request, whose name is that of this row or "auto", and says how the device is made.
  // Throws UserError for what it does not understand.
  void (*prepare)(const BackendRequest& request, ChosenBackend& chosen) = nullptr;
  // Takes in on which device the results were recorded; null: it makes its own results.
  void (*heed_origin)(const RecordingOrigin& origin, ChosenBackend& chosen) = nullptr;
  // Whether "auto" takes this backend on this host, for this recording; null: never, it has to be asked for.
  bool (*suits_auto)(const BackendRequest& request) = nullptr;
};

// In the order in which "auto" prefers them.
std::span<const Backend> backends();

// A row of the table, and what the request says to it.
struct ChosenBackend {
  const Backend* row = nullptr;
  std::string name;             // with the kind: "torch:cpu"
  bool is_accelerator = false;  // an NPU or a GPU is tested
  MakeDevice make_device;
  // Waits for what was begun to be found out about the host when the backend was chosen, and adds settings and notices.
  // Throws UserError where the devices of the request are not there. Null: there is nothing to wait for.
  std::function<void(ChosenBackend& chosen)> complete;
  std::vector<BackendSetting> settings;
  // What the request asks for and the backend cannot heed; one sentence each.
  std::vector<std::string> notices;
};

// Throws UserError for a name that is not in the table, with the names that are, and for what the backend refuses.
ChosenBackend choose_backend(const BackendRequest& request);

}  // namespace msrun
