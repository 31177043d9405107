#include "runner/device/backends/backends.h"

#include <algorithm>
#include <array>

#include "kernels/base/error.h"
#include "runner/device/recorded/recorded.h"
#include "runner/device/sim/sim.h"

namespace msrun {
namespace {

constexpr std::array table{
    Backend{
        .name = "recorded",
        .help = "the results that a dump with tensors recorded; needs no device",
        .needs_results = true,
        .prepare = [](const BackendRequest&) -> MakeDevice { return [] { return make_recorded_device(); }; },
        .suits_auto = [](const BackendRequest& request) { return request.holds_results; },
    },
    Backend{
        .name = "sim",
        .help = "a simulated NPU: the device's arithmetic on the CPU, with --sim-fault faults",
        .prepare = [](const BackendRequest& request) -> MakeDevice {
          std::vector<SimFault> faults;
          for (const std::string& text : request.sim_faults) faults.push_back(parse_sim_fault(text));
          return [faults] { return make_sim_device(faults); };
        },
        .settings = [](const BackendRequest& request) -> std::vector<BackendSetting> {
          return {{"sim_faults", request.sim_faults}};
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
  if (found != table.end()) return *found;
  throw UserError("--backend " + request.name + (request.kind.empty() ? "" : ":" + request.kind) +
                  " is not part of this build; there are " + quoted_names() + ".");
}

}  // namespace

std::span<const Backend> backends() { return table; }

ChosenBackend choose_backend(const BackendRequest& request) {
  const Backend& row = row_of(request);
  ChosenBackend chosen{&row, row.prepare(request), {}, {}};
  if (row.settings != nullptr) chosen.settings = row.settings(request);
  if (request.jit_compile && !row.compiles) {
    chosen.notices.push_back("-j does nothing: the backend " + std::string(row.name) + " compiles no operators.");
  }
  return chosen;
}

}  // namespace msrun
