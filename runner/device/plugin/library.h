// The shared library of a plugin in this process.
#pragma once

#include <string>

#include "runner/device/plugin/msrun_plugin.h"

namespace msrun {

class PluginLibrary {
 public:
  // Loads the library, which stays loaded until the process ends: what it has handed out stays valid. Throws UserError,
  // one line that names the file, where it cannot be loaded, is no plugin, or is one for another msrun.
  explicit PluginLibrary(const std::string& path);

  const msrun_plugin& functions() const { return *functions_; }

 private:
  const msrun_plugin* functions_ = nullptr;
};

// A function's buffer for one line of text.
class PluginError {
 public:
  char* buffer() { return text_; }
  static constexpr std::size_t size() { return sizeof(text_); }
  // What was written, made fit to be shown; "no reason is given" if that is nothing.
  std::string text() const;

 private:
  char text_[512] = {};
};

}  // namespace msrun
