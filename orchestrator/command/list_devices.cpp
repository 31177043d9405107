#include "orchestrator/command/list_devices.h"

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "runner/device/plugin/description.h"
#include "runner/workers/probe.h"

namespace msrun {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> kinds{"npu", "cuda", "cpu"};

struct Listing {
  std::string backend;  // "torch:npu"
  Hello hello;
  std::string problem;  // why there is none; empty: there are
};

Listing ask_plugin(const std::string& file) {
  const PluginDescription description = describe_plugin(file);
  Listing listing{"plugin:" + description.name, {}, {}};
  listing.hello.versions.emplace_back(description.name, description.version);
  listing.hello.settings = description.settings;
  for (const PluginDevice& device : description.devices) {
    ListedDevice listed{device.id, device.name, {}, {}};
    if (device.memory > 0) listed.memory = device.memory;
    listing.hello.devices.push_back(std::move(listed));
  }
  return listing;
}

std::vector<Listing> ask(const std::string& python, const std::string& plugin) {
  if (!plugin.empty()) return {ask_plugin(plugin)};
  // All import their framework at the same time.
  std::vector<std::unique_ptr<WorkerProbe>> probes;
  for (const WorkerFramework* framework : {&torch_framework, &mindspore_framework}) {
    const std::string program = find_python(python, *framework);
    for (const std::string_view kind : kinds) {
      WorkerOptions options;
      options.framework = framework;
      options.kind = kind;
      options.python = program;
      probes.push_back(std::make_unique<WorkerProbe>(options, 0));
    }
  }
  std::vector<Listing> listings;
  for (const auto& probe : probes) {
    Listing listing{probe->options().backend(), {}, {}};
    try {
      listing.hello = probe->wait();
    } catch (const UserError& error) {
      const std::string option = "--backend " + listing.backend + ": ";
      const std::string_view reason = error.what();
      listing.problem = reason.substr(reason.starts_with(option) ? option.size() : 0);
    }
    listings.push_back(std::move(listing));
  }
  return listings;
}

std::string gibibytes(std::uint64_t bytes) {
  return short_number(static_cast<double>(bytes) / static_cast<double>(std::uint64_t{1} << 30)) + " GiB";
}

std::string device_line(const ListedDevice& device) {
  std::string line = "  " + std::to_string(device.id) + "  " + device.name;
  if (device.memory) line += ", " + gibibytes(*device.memory);
  if (device.free) line += ", " + gibibytes(*device.free) + " free";
  return line + "\n";
}

}  // namespace

std::string list_devices_text(const std::string& python, const std::string& plugin) {
  std::string text;
  for (const Listing& listing : ask(python, plugin)) {
    text += listing.backend + ":";
    if (!listing.problem.empty()) {
      text += " none; " + listing.problem + "\n";
      continue;
    }
    for (const auto& [name, version] : listing.hello.versions) text += " " + name + " " + version;
    text += (listing.hello.python.empty() ? "" : ", Python " + listing.hello.python) + "\n";
    for (const ListedDevice& device : listing.hello.devices) text += device_line(device);
  }
  return text;
}

std::string list_devices_json(const std::string& python, const std::string& plugin) {
  Json result = Json::array();
  for (const Listing& listing : ask(python, plugin)) {
    Json entry{{"backend", listing.backend}};
    if (!listing.problem.empty()) {
      entry["problem"] = listing.problem;
      entry["devices"] = Json::array();
      result.push_back(std::move(entry));
      continue;
    }
    for (const auto& [name, version] : listing.hello.versions) entry["versions"][name] = version;
    if (!listing.hello.python.empty()) entry["versions"]["python"] = listing.hello.python;
    for (const auto& [name, value] : listing.hello.settings) entry["settings"][name] = value;
    entry["devices"] = Json::array();
    for (const ListedDevice& device : listing.hello.devices) {
      Json one{{"id", device.id}, {"name", device.name}};
      if (device.memory) one["memory"] = *device.memory;
      if (device.free) one["free"] = *device.free;
      entry["devices"].push_back(std::move(one));
    }
    result.push_back(std::move(entry));
  }
  return Json{{"backends", std::move(result)}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace msrun
