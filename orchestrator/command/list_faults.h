// `msrun --list-faults`: the faults of the simulated device that --sim-fault knows, from the table that makes them
// (runner/device/sim/faults.h).
#pragma once

#include <string>

namespace msrun {

// For a reader: name, parameter and effect of each.
std::string list_faults_text();

// Name, parameter and effect of each as one JSON object.
std::string list_faults_json();

}  // namespace msrun
