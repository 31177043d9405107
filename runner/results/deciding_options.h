// Options of msrun that decide about the result of a call; the others are about which calls run, how many at a time,
// and what is shown of them. Whoever runs one call of a run again, here or elsewhere, has to keep them.
#pragma once

#include <array>
#include <string_view>

namespace msrun {

inline constexpr auto deciding_options = std::to_array<std::string_view>(
    {"--backend", "--recorded-on", "--python", "--torch-lanes", "--torch-workers", "--sim-fault", "-j", "--seed",
     "--seed-mode", "--limits", "--standard", "--max-abs-err", "--benchmark", "--compat", "--layout", "-config",
     "--task-timeout", "--allow-outside-data", "--memory"});

}  // namespace msrun
