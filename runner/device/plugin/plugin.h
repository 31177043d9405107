// Devices without Python: a shared library of the user's runs the calls, in the runner's process.
//
// In this folder: the C interface that such a library implements (msrun_plugin.h), what is asked of it before a run
// (description), loading it, and calls and results in its terms. Not here: which backend a command line means
// (runner/device/backends).
#pragma once

#include <memory>
#include <string>

#include "runner/device/device.h"

namespace msrun {

// Loads the library and opens the device. To be called by the main thread of the runner, before there are others that
// use the device; from then on standard output of the process leads to standard error. Throws UserError where the
// library cannot be had or does not open the device. name: how messages call it, "plugin:example"; arithmetic: what it
// has said of it.
//
// What crashes or hangs in the library does so in the thread of the call that it was asked to run.
std::unique_ptr<Device> make_plugin_device(const std::string& path, const std::string& name, bool jit_compile,
                                           const DeviceArithmetic& arithmetic, const DeviceSeat& seat);

}  // namespace msrun
