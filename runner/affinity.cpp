#include "runner/affinity.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "kernels/base/text.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

// Classes and vendors of the PCI specification, without the programming interface.
constexpr std::uint32_t accelerators = 0x1200;
constexpr std::uint32_t displays = 0x0300;
constexpr std::uint32_t renderers = 0x0302;
constexpr std::uint32_t vendor_of_gpus = 0x10DE;

std::string first_line_of(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::uint32_t hexadecimal_in(const fs::path& file) {
  return static_cast<std::uint32_t>(std::strtoul(first_line_of(file).c_str(), nullptr, 16));
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    paths.push_back(at->path());
  }
  std::ranges::sort(paths);
  return paths;
}

// "0-3,8": processors or nodes, as the kernel lists them; nothing for anything else.
std::optional<std::vector<int>> numbers_in(const std::string& list) {
  constexpr int most = 1 << 16;
  std::vector<int> numbers;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string_view range = std::string_view(list).substr(at, end - at);
    const std::size_t dash = range.find('-');
    const auto first = parse_number<int>(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number<int>(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > most) return std::nullopt;
    for (int number = *first; number <= *last; ++number) numbers.push_back(number);
    at = end + 1;
  }
  return numbers;
}

// Those that a driver numbers, by address.
std::vector<fs::path> devices_below(const fs::path& sysfs) {
  std::vector<fs::path> npus;
  std::vector<fs::path> gpus;
  for (const fs::path& device : entries(sysfs / "bus/pci/devices")) {
    const std::uint32_t kind = hexadecimal_in(device / "class") >> 8U;
    if (kind == accelerators) npus.push_back(device);
    if ((kind == displays || kind == renderers) && hexadecimal_in(device / "vendor") == vendor_of_gpus) {
      gpus.push_back(device);
    }
  }
  return npus.empty() ? gpus : npus;
}

}  // namespace

std::optional<std::vector<int>> processors_near(const fs::path& sysfs, int device, const std::vector<int>& visible) {
  const auto nodes = numbers_in(first_line_of(sysfs / "devices/system/node/online"));
  if (!nodes || nodes->size() < 2) return std::nullopt;
  const auto id = static_cast<std::size_t>(device);
  if (!visible.empty() && id >= visible.size()) return std::nullopt;
  const std::size_t place = visible.empty() ? id : static_cast<std::size_t>(visible[id]);
  const std::vector<fs::path> devices = devices_below(sysfs);
  if (place >= devices.size()) return std::nullopt;
  const auto node = parse_number<int>(first_line_of(devices[place] / "numa_node"));
  if (!node || *node < 0) return std::nullopt;
  auto processors =
      numbers_in(first_line_of(sysfs / "devices/system/node" / ("node" + std::to_string(*node)) / "cpulist"));
  return processors && !processors->empty() ? processors : std::nullopt;
}

std::optional<std::vector<int>> visible_devices() {
  for (const char* name : {"ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    auto numbers = numbers_in(value);
    return numbers && !numbers->empty() ? numbers : std::nullopt;
  }
  return std::vector<int>();
}

void stay_on(const std::vector<int>& processors) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t near;
  CPU_ZERO(&near);
  for (const int processor : processors) {
    if (processor < CPU_SETSIZE && CPU_ISSET(processor, &allowed)) CPU_SET(processor, &near);
  }
  // That it is refused makes the run slower at worst.
  if (CPU_COUNT(&near) > 0) sched_setaffinity(0, sizeof(near), &near);
}

}  // namespace msrun
