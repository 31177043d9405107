#include "kernels/io/dump/recording_origin.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace msrun {
namespace {

constexpr std::array<std::string_view, 3> known_devices{"npu", "cuda", "cpu"};

std::string text_of(const JsonNode& value) {
  if (value.is_boolean()) return value.boolean() ? "true" : "false";
  if (value.is_integer()) return std::to_string(value.integer());
  return value.is_string() ? std::string(value.text()) : std::string();
}

}  // namespace

RecordingOrigin read_origin(const JsonNode& node) {
  RecordingOrigin origin;
  if (const std::optional<JsonNode> device = find_member(node, "device"); device && device->is_string()) {
    const std::string_view kind = device->text().substr(0, device->text().find(':'));
    if (std::ranges::find(known_devices, kind) != known_devices.end()) origin.device = kind;
  }
  const std::optional<JsonNode> settings = find_member(node, "settings");
  if (origin.device.empty() || !settings || !settings->is_object()) return origin;
  for (const JsonNode setting : *settings) origin.settings.emplace_back(setting.key(), text_of(setting));
  return origin;
}

}  // namespace msrun
