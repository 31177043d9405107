#include "runner/device/plugin/library.h"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <system_error>

#include "kernels/base/error.h"
#include "kernels/base/text.h"

namespace msrun {
namespace {

using Entry = const msrun_plugin* (*)(std::uint32_t);

}  // namespace

PluginLibrary::PluginLibrary(const std::string& path) {
  const auto refusal = [&](const std::string& what) { return UserError("--backend plugin:" + sanitised(path) + what); };
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) throw refusal(": this is a directory, not the file of a plugin");
  if (status.type() == std::filesystem::file_type::not_found) throw refusal(": there is no such file");
  if (error) throw refusal(" cannot be read: " + error.message());
  if (!std::filesystem::is_regular_file(status)) throw refusal(": this is no regular file");
  // A name without a slash would be looked for among the libraries of the system.
  const std::string file = std::filesystem::absolute(path).string();
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    throw refusal(" cannot be loaded: " + readable(bounded(reason == nullptr ? "" : reason)));
  }
  void* symbol = dlsym(library, "msrun_plugin_entry");
  if (symbol == nullptr) throw refusal(" is no plugin: it exports no function msrun_plugin_entry");
  Entry entry = nullptr;
  std::memcpy(&entry, &symbol, sizeof(entry));
  functions_ = entry(MSRUN_PLUGIN_ABI);
  const std::string ours = "version " + std::to_string(MSRUN_PLUGIN_ABI) + " of the plugin interface";
  if (functions_ == nullptr) throw refusal(" does not speak " + ours + ", which is this msrun's");
  if (functions_->abi != MSRUN_PLUGIN_ABI) {
    throw refusal(" speaks version " + std::to_string(functions_->abi) + " of the plugin interface, msrun " + ours);
  }
  if (functions_->describe == nullptr || functions_->open == nullptr || functions_->run == nullptr) {
    throw refusal(" lacks one of the functions describe, open and run");
  }
}

std::string PluginError::text() const {
  const std::string written(text_, strnlen(text_, sizeof(text_)));
  return written.empty() ? "no reason is given" : readable(bounded(written));
}

}  // namespace msrun
