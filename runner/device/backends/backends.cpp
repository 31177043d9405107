#include "runner/device/backends/backends.h"

#include <algorithm>
#include <array>

#include "kernels/base/error.h"
#include "runner/device/plugin/description.h"
#include "runner/device/plugin/plugin.h"
#include "runner/device/python/python_device.h"
#include "runner/device/recorded/recorded.h"
#include "runner/device/sim/sim.h"
#include "runner/workers/probe.h"

namespace msrun {
namespace {

constexpr std::array<std::string_view, 3> worker_kinds{"cpu", "cuda", "npu"};

std::string worker_kind(const BackendRequest& request) {
  if (!request.kind.empty()) return request.kind;
  const std::string_view accelerator = accelerator_of_host(request.device_files);
  return std::string(accelerator.empty() ? "cpu" : accelerator);
}

// What a journal keeps of the host's framework. With another one a run is another run.
void add_settings(const Hello& hello, std::string_view framework, ChosenBackend& chosen) {
  const std::string name_of_framework(framework);
  chosen.settings.push_back({name_of_framework + "_device", {chosen.name}, true});
  for (const auto& [name, value] : hello.versions) chosen.settings.push_back({name, {value}, true});
  for (const auto& [name, value] : hello.settings) {
    chosen.settings.push_back({name_of_framework + "." + name, {value}, true});
  }
  chosen.settings.push_back({"python", {hello.python}});
}

void prepare_worker(const WorkerFramework& framework, const BackendRequest& request, ChosenBackend& chosen) {
  const WorkerOptions options{&framework,          worker_kind(request),  find_python(request.python, framework),
                              request.torch_lanes, request.torch_workers, request.jit_compile};
  chosen.name = options.backend();
  chosen.is_accelerator = options.kind != "cpu";
  if (options.jit_compile && chosen.row->compiles && options.kind != "npu") {
    chosen.notices.push_back("-j does nothing: the backend " + chosen.name + " compiles no operators.");
  }
  // While the framework is imported there, the recording is read here.
  const int first = request.devices.empty() ? 0 : request.devices.front();
  const auto probe = std::make_shared<WorkerProbe>(options, first);
  chosen.make_device = [options, probe](const DeviceSeat& seat) {
    return make_python_device(options, seat, probe->forks());
  };
  chosen.complete = [probe, devices = request.devices](ChosenBackend& completed) {
    const Hello hello = probe->wait();
    require_devices(hello, probe->options(), devices);
    add_settings(hello, probe->options().framework->name, completed);
  };
}

// Only where a driver is there a Python is asked, so that a host without accelerators loses no time.
bool suits_auto(const WorkerFramework& framework, const BackendRequest& request) {
  if (!request.framework.empty() && request.framework != framework.name) return false;
  const std::string_view kind = request.no_accelerator ? std::string_view() : accelerator_of_host(request.device_files);
  if (kind.empty()) return false;
  try {
    return finds_packages(find_python(request.python, framework), framework, kind);
  } catch (const UserError&) {
    return false;
  }
}

void prepare_plugin(const BackendRequest& request, ChosenBackend& chosen) {
  if (request.kind.empty()) throw UserError("--backend plugin:FILE needs the file of a plugin");
  const PluginDescription description = describe_plugin(request.kind);
  require_devices(description, request.devices);
  chosen.name = "plugin:" + description.name;
  chosen.is_accelerator = description.is_accelerator;
  // The file may lie elsewhere when the run is continued.
  chosen.settings.push_back({"plugin_file", {request.kind}});
  chosen.settings.push_back({"plugin", {description.name, description.version}, true});
  chosen.settings.push_back({"plugin.jit_compile", {request.jit_compile ? "true" : "false"}, true});
  for (const auto& [name, value] : description.settings) chosen.settings.push_back({"plugin." + name, {value}, true});
  chosen.make_device = [file = request.kind, name = chosen.name, jit = request.jit_compile,
                        arithmetic = description.arithmetic](const DeviceSeat& seat) {
    return make_plugin_device(file, name, jit, arithmetic, seat);
  };
}

void heed_origin(const RecordingOrigin& origin, ChosenBackend& chosen) {
  chosen.make_device = [origin](const DeviceSeat&) { return make_recorded_device(origin); };
  chosen.settings.push_back({"recorded_on", {origin.device.empty() ? "an accelerator" : origin.device}, true});
  for (const auto& [name, value] : origin.settings) chosen.settings.push_back({"recorded." + name, {value}, true});
}

constexpr std::array table{
    Backend{
        .name = "torch",
        .help = "the functions that were recorded, run by your torch on cpu, cuda or npu",
        .is_real = true,
        .needs_process = true,
        .compiles = true,
        .kinds = worker_kinds,
        .framework = torch_framework.name,
        .prepare = [](const BackendRequest& request,
                      ChosenBackend& chosen) { prepare_worker(torch_framework, request, chosen); },
        .suits_auto = [](const BackendRequest& request) { return suits_auto(torch_framework, request); },
    },
    Backend{
        .name = "mindspore",
        .help = "the functions that were recorded, run by your MindSpore on cpu, cuda or npu",
        .is_real = true,
        .needs_process = true,
        .kinds = worker_kinds,
        .framework = mindspore_framework.name,
        .prepare = [](const BackendRequest& request,
                      ChosenBackend& chosen) { prepare_worker(mindspore_framework, request, chosen); },
        .suits_auto = [](const BackendRequest& request) { return suits_auto(mindspore_framework, request); },
    },
    Backend{
        .name = "plugin",
        .help = "plugin:FILE, a shared library of yours that runs the calls (docs/devices.md)",
        .is_real = true,
        .compiles = true,
        .takes_file = true,
        .prepare = prepare_plugin,
    },
    Backend{
        .name = "recorded",
        .help = "the results that a dump with tensors recorded; needs no device",
        .needs_results = true,
        .prepare =
            [](const BackendRequest&, ChosenBackend& chosen) {
              chosen.make_device = [](const DeviceSeat&) { return make_recorded_device({}); };
            },
        .heed_origin = heed_origin,
        .suits_auto = [](const BackendRequest& request) { return request.holds_results; },
    },
    Backend{
        .name = "sim",
        .help = "a simulated NPU: the device's arithmetic on the CPU, with --sim-fault faults",
        .prepare =
            [](const BackendRequest& request, ChosenBackend& chosen) {
              std::vector<SimFault> faults;
              for (const std::string& text : request.sim_faults) faults.push_back(parse_sim_fault(text));
              chosen.make_device = [faults, seed = request.seed](const DeviceSeat& seat) {
                return make_sim_device(faults, seat.device_id, seed);
              };
              chosen.settings = {{"sim_faults", request.sim_faults}};
            },
        .suits_auto = [](const BackendRequest&) { return true; },
    },
};

std::string quoted_names() {
  std::vector<std::string> names;
  for (const Backend& backend : table) names.push_back("'" + std::string(backend.name) + "'");
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text;
}

const Backend& row_of(const BackendRequest& request) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Backend& backend) {
    return request.name == "auto" ? backend.suits_auto != nullptr && backend.suits_auto(request)
                                  : backend.name == request.name;
  });
  const auto has_kind = [&](const Backend& row) {
    return request.kind.empty() || row.takes_file || std::ranges::find(row.kinds, request.kind) != row.kinds.end();
  };
  if (found != table.end() && has_kind(*found)) return *found;
  throw UserError("--backend " + request.name + (request.kind.empty() ? "" : ":" + request.kind) +
                  " is not part of this build; there are " + quoted_names() + ".");
}

}  // namespace

std::span<const Backend> backends() { return table; }

ChosenBackend choose_backend(const BackendRequest& request) {
  const Backend& row = row_of(request);
  ChosenBackend chosen;
  chosen.row = &row;
  chosen.name = row.name;
  row.prepare(request, chosen);
  const std::string backend = "the backend " + std::string(row.name);
  if (request.jit_compile && !row.compiles) {
    chosen.notices.push_back("-j does nothing: " + backend + " compiles no operators.");
  }
  const BackendRequest usual;
  const auto note_unused = [&](const char* option, bool is_given) {
    if (is_given && !row.needs_process) {
      chosen.notices.push_back(std::string(option) + " does nothing: " + backend + " runs no Python.");
    }
  };
  note_unused("--python", !request.python.empty());
  note_unused("--torch-lanes", request.torch_lanes != usual.torch_lanes);
  note_unused("--torch-workers", request.torch_workers != usual.torch_workers);
  return chosen;
}

}  // namespace msrun
