// What a plugin says of itself before a run begins.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runner/device/device.h"

namespace msrun {

struct PluginDevice {
  std::int32_t id = 0;
  std::uint64_t memory = 0;  // bytes; 0: unknown
  std::string name;
};

struct PluginDescription {
  std::string name;
  std::string version;
  bool is_accelerator = false;
  std::vector<PluginDevice> devices;
  std::vector<std::pair<std::string, std::string>> settings;
  // What the plugin says of it stands among the settings as well, but for what it leaves at 0.
  DeviceArithmetic arithmetic;
};

// Asks the plugin in a process of its own, which it may take down; this process never loads it. To be called while this
// process has one thread. Waits at most `patience` seconds. Throws UserError, one line that names the file, where the
// plugin cannot be had or its answer is none, std::system_error.
PluginDescription describe_plugin(const std::string& path, double patience = 60);

// Throws UserError if a device of that id is not there.
void require_devices(const PluginDescription& description, const std::vector<int>& ids);

}  // namespace msrun
