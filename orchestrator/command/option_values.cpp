#include "orchestrator/command/option_values.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "runner/device/backends/backends.h"

namespace msrun {
namespace {

// Multiply-adds from which sampling a product pays: some milliseconds of its benchmark.
constexpr double usual_sampled_work = 0x1p28;

}  // namespace

std::vector<int> parse_devices(const Arguments& arguments, ReportLayout layout) {
  if (!arguments.given("device")) return {0};
  std::vector<int> devices;
  for (const std::string& word : arguments.texts("device")) {
    for (std::size_t begin = 0; begin <= word.size();) {  // "0,1,2" is accepted as well
      const std::size_t end = std::min(word.size(), word.find(',', begin));
      const std::string text = word.substr(begin, end - begin);
      begin = end + 1;
      const auto id = parse_number<int>(text);
      if (!id && layout != ReportLayout::current) {
        throw UserError("error: argument -d/--device: invalid int value: '" + sanitised(text) + "'");
      }
      if (!id) throw arguments.wrong("device", text, "takes device ids");
      if (*id < 0) throw UserError("-d: device id must be greater than or equal to 0, not " + text);
      if (std::find(devices.begin(), devices.end(), *id) != devices.end()) {
        throw UserError("-d: device id must be unique, " + text + " is given more than once");
      }
      devices.push_back(*id);
    }
  }
  return devices;
}

std::optional<double> parse_timeout(const Arguments& arguments) {
  if (!arguments.given("task_timeout")) return std::nullopt;
  const std::string text = arguments.text("task_timeout");
  std::string_view number = text;
  double unit = 1;
  if (!number.empty()) {
    switch (number.back()) {
      case 's':
        unit = 1;
        break;
      case 'm':
        unit = 60;
        break;
      case 'h':
        unit = 3600;
        break;
      default:
        unit = 0;
    }
    if (unit > 0) number.remove_suffix(1);
  }
  const auto seconds = parse_number<double>(number);
  if (!seconds || !(*seconds >= 0) || *seconds > 1e8) {
    throw arguments.wrong("task_timeout", text, "must be a time such as 90, 90s, 5m or 1h, or 0 for none");
  }
  return *seconds * (unit > 0 ? unit : 1);
}

MemoryLimit parse_memory(const Arguments& arguments) {
  if (!arguments.given("memory")) return {};
  const std::string text = arguments.text("memory");
  const auto wrong = [&] {
    return arguments.wrong("memory", text, "must be a size such as 2G or 512M, or a share of free memory such as 50%");
  };
  std::string_view number = text;
  if (number.ends_with('%')) {
    number.remove_suffix(1);
    const auto percent = parse_number<double>(number);
    if (!percent || !(*percent > 0) || *percent > 100) throw wrong();
    return {0, *percent / 100};
  }
  if (number.ends_with("iB")) {
    number.remove_suffix(2);
  } else if (number.ends_with('B')) {
    number.remove_suffix(1);
  }
  double unit = 1;
  constexpr std::string_view letters = "KMGT";
  const std::size_t power = number.empty() ? std::string_view::npos : letters.find(number.back());
  if (power != std::string_view::npos) {
    unit = std::pow(1024.0, static_cast<double>(power + 1));
    number.remove_suffix(1);
  }
  const auto size = parse_number<double>(number);
  if (!size || !(*size * unit >= 1) || *size * unit > 1e18) throw wrong();
  return {static_cast<std::uint64_t>(*size * unit), 0.8};
}

double parse_max_abs_error(const Arguments& arguments) {
  if (!arguments.given("max_abs_err")) return Options().max_abs_error;
  const std::string text = arguments.text("max_abs_err");
  const auto limit = parse_number<double>(text);
  if (!limit || !(*limit > 0) || !std::isfinite(*limit)) {
    throw arguments.wrong("max_abs_err", text, "must be a number above 0, such as 0.001");
  }
  return *limit;
}

std::optional<double> parse_benchmark(const Arguments& arguments, const Options& options) {
  const std::string text = arguments.text("benchmark", "full");
  if (text == "full") return std::nullopt;
  constexpr std::string_view with_size = "sampled=";
  std::optional<double> work;
  if (text == "sampled") work = usual_sampled_work;
  if (text.starts_with(with_size)) work = parse_number<double>(std::string_view(text).substr(with_size.size()));
  if (!work || !(*work >= 0) || !std::isfinite(*work)) {
    throw arguments.wrong("benchmark", text, "must be one of full, sampled, sampled=N (multiply-adds of a call)");
  }
  if (options.compat_msprobe) throw UserError("--benchmark sampled does not go with --compat msprobe");
  if (options.layout != ReportLayout::current) throw UserError("--benchmark sampled does not go with --layout att");
  return work;
}

void parse_backend(const Arguments& arguments, Options& options) {
  const std::string text = arguments.text("backend", "auto");
  std::vector<std::string> known{"auto"};
  for (const Backend& backend : backends()) {
    const std::string file = std::string(backend.name) + ":";
    if (backend.takes_file) {
      known.push_back(file + "FILE");
      if (!text.starts_with(file) || text == file) continue;
      options.backend = backend.name;
      std::error_code ignored;
      options.backend_kind = std::filesystem::absolute(text.substr(file.size()), ignored).lexically_normal().string();
      return;
    }
    known.emplace_back(backend.name);
    for (const std::string_view kind : backend.kinds)
      known.push_back(std::string(backend.name) + ":" + std::string(kind));
  }
  if (std::find(known.begin(), known.end(), text) == known.end()) {
    std::string list;
    for (const std::string& word : known) list += (list.empty() ? "" : ", ") + word;
    throw arguments.wrong("backend", text, "must be one of " + list);
  }
  const std::size_t colon = text.find(':');
  options.backend = text.substr(0, colon);
  if (colon != std::string::npos) options.backend_kind = text.substr(colon + 1);
}

std::string benchmark_text(const std::optional<double>& sampled_work) {
  if (!sampled_work) return "full";
  std::string text = "sampled";
  if (*sampled_work == usual_sampled_work) return text;
  append_python_number(text += '=', *sampled_work);
  return text;
}

}  // namespace msrun
