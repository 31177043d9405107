#include "runner/device/plugin/description.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>

#include "kernels/base/clock.h"
#include "kernels/base/digits.h"
#include "kernels/base/error.h"
#include "kernels/base/process_end.h"
#include "kernels/base/processes.h"
#include "kernels/base/text.h"
#include "kernels/base/unique_fd.h"
#include "kernels/base/write_all.h"
#include "runner/device/plugin/library.h"

namespace msrun {
namespace {

// More than any plugin says.
constexpr std::size_t longest_answer = std::size_t{1} << 20;
constexpr std::uint64_t most_described = 4096;

// Texts in a row, each closed by a zero byte. The first says whether what follows is a description or a refusal.
class Texts {
 public:
  void add(std::string_view text) {
    bytes_ += text.substr(0, text.find('\0'));
    bytes_ += '\0';
  }
  void add(std::uint64_t number) { add(std::to_string(number)); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class TextReader {
 public:
  explicit TextReader(std::string_view bytes) : left_(bytes) {}
  std::optional<std::string> next() {
    const std::size_t end = left_.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(left_.substr(0, end));
    left_.remove_prefix(end + 1);
    return text;
  }
  std::optional<std::uint64_t> number() {
    const std::optional<std::string> text = next();
    return text ? parse_number<std::uint64_t>(*text) : std::nullopt;
  }

 private:
  std::string_view left_;
};

std::string_view text_or_nothing(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

bool is_name(std::string_view name) {
  constexpr std::string_view others = "._-";
  const auto fits = [&](char c) { return is_alphanumeric(c) || others.find(c) != others.npos; };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, fits);
}

// What is wrong with the ids of the devices, by which -d names them; empty if nothing is.
std::string problem_of_ids(const msrun_description& description) {
  std::set<std::int32_t> ids;
  for (std::uint64_t i = 0; i < description.device_count; ++i) {
    const std::int32_t id = description.devices[i].id;
    if (id < 0) return " describes a device with the id " + std::to_string(id) + "; ids are numbers from 0 on";
    if (!ids.insert(id).second) return " describes two devices with the id " + std::to_string(id);
  }
  return "";
}

// The numbers that a plugin says of its arithmetic, in the order of the header.
constexpr std::size_t arithmetic_numbers = 6;

std::array<std::int32_t, arithmetic_numbers> arithmetic_of(const msrun_description& description) {
  return {description.half_rounding,       description.product_operands,     description.convolution_operands,
          description.recurrence_operands, description.stores_float16_parts, description.stores_bfloat16_parts};
}

// What is wrong with them; empty if nothing is.
std::string problem_of_arithmetic(const msrun_description& description) {
  constexpr std::array<std::int32_t, arithmetic_numbers> most{
      MSRUN_ROUNDS_EVERY_STEP, MSRUN_OPERANDS_HF32, MSRUN_OPERANDS_HF32, MSRUN_OPERANDS_HF32, 1, 1};
  const auto numbers = arithmetic_of(description);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0 || numbers[i] > most[i]) return " describes an arithmetic that there is not";
  }
  return "";
}

std::string refused(const std::string& reason) {
  Texts texts;
  texts.add("refusal");
  texts.add(reason);
  return texts.bytes();
}

// In the process that has loaded the plugin.
std::string answer_of(const std::string& path) try {
  const PluginLibrary library(path);
  const std::string plugin = "--backend plugin:" + sanitised(path);
  msrun_description description{};
  description.size = sizeof(description);
  PluginError error;
  if (library.functions().describe(&description, error.buffer(), PluginError::size()) != MSRUN_OK) {
    return refused(plugin + ": " + error.text());
  }
  if (!is_name(text_or_nothing(description.name))) {
    return refused(plugin + " does not say its name, of letters, digits, '.', '_' and '-'");
  }
  if (description.device_count > most_described || description.setting_count > most_described ||
      (description.device_count > 0 && description.devices == nullptr) ||
      (description.setting_count > 0 && description.settings == nullptr)) {
    return refused(plugin + " describes devices or settings that are not there");
  }
  for (const std::string& problem : {problem_of_ids(description), problem_of_arithmetic(description)}) {
    if (!problem.empty()) return refused(plugin + problem);
  }
  Texts texts;
  texts.add("description");
  texts.add(text_or_nothing(description.name));
  texts.add(text_or_nothing(description.version));
  texts.add(description.is_accelerator != 0 ? 1U : 0U);
  texts.add(description.device_count);
  for (std::uint64_t i = 0; i < description.device_count; ++i) {
    const msrun_device_info& device = description.devices[i];
    texts.add(static_cast<std::uint64_t>(device.id));
    texts.add(device.memory);
    texts.add(text_or_nothing(device.name));
  }
  texts.add(description.setting_count);
  for (std::uint64_t i = 0; i < description.setting_count; ++i) {
    texts.add(text_or_nothing(description.settings[i].name));
    texts.add(text_or_nothing(description.settings[i].value));
  }
  for (const std::int32_t number : arithmetic_of(description)) texts.add(static_cast<std::uint64_t>(number));
  return texts.bytes();
} catch (const std::exception& error) {
  return refused(error.what());
}

[[noreturn]] void answer_and_end(const std::string& path, int answer) {
  // Its own crash is told by whoever asked.
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGINT}) std::signal(number, SIG_DFL);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  // Whoever asked sees an answer that is cut off.
  std::ignore = write_all(answer, answer_of(path));
  // Without the ends of libraries, at which those of devices are known to wait.
  _exit(0);
}

// Everything up to the end of the stream; nothing if that takes too long or is too much.
std::optional<std::string> read_all(int descriptor, double patience) {
  const double deadline = steady_seconds() + patience;
  std::string text;
  std::array<char, 4096> bytes{};
  while (true) {
    const double left = deadline - steady_seconds();
    pollfd ready{descriptor, POLLIN, 0};
    const int result = left <= 0 ? 0 : poll(&ready, 1, static_cast<int>(left * 1000) + 1);
    if (result < 0 && errno == EINTR) continue;
    if (result <= 0) return std::nullopt;
    const ssize_t count = read(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(count));
    if (text.size() > longest_answer) return std::nullopt;
  }
}

OperandRounding operand_rounding(std::uint64_t number) {
  if (number == MSRUN_OPERANDS_HF32) return OperandRounding::hf32;
  // The wider of the two that TF32 may be.
  return number == MSRUN_OPERANDS_TF32 ? OperandRounding::truncated_tf32 : OperandRounding::none;
}

bool parse_arithmetic(TextReader& texts, PluginDescription& description) {
  constexpr std::array<std::string_view, arithmetic_numbers> names{"half_rounding",        "product_operands",
                                                                   "convolution_operands", "recurrence_operands",
                                                                   "stores_float16_parts", "stores_bfloat16_parts"};
  std::array<std::uint64_t, arithmetic_numbers> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = texts.number();
    if (!number) return false;
    numbers[i] = *number;
    if (*number != 0) description.settings.emplace_back(names[i], std::to_string(*number));
  }
  const auto [half, products, convolutions, recurrences, float16, bfloat16] = numbers;
  description.arithmetic = {.half_rounding = half == MSRUN_ROUNDS_EVERY_STEP        ? HalfRounding::every_step
                                             : half == MSRUN_ROUNDS_BETWEEN_KERNELS ? HalfRounding::between_kernels
                                                                                    : HalfRounding::nothing,
                            .operands = {.products = operand_rounding(products),
                                         .convolutions = operand_rounding(convolutions),
                                         .recurrences = operand_rounding(recurrences)},
                            .stored_parts = {.float16 = float16 != 0, .bfloat16 = bfloat16 != 0}};
  return true;
}

std::optional<PluginDescription> parse(TextReader& texts) {
  PluginDescription description;
  const auto name = texts.next();
  const auto version = texts.next();
  const auto is_accelerator = texts.number();
  const auto devices = texts.number();
  if (!name || !version || !is_accelerator || !devices) return std::nullopt;
  description.name = *name;
  description.version = sanitised(*version);
  description.is_accelerator = *is_accelerator != 0;
  for (std::uint64_t i = 0; i < *devices; ++i) {
    const auto id = texts.number();
    const auto memory = texts.number();
    const auto model = texts.next();
    if (!id || !memory || !model) return std::nullopt;
    description.devices.push_back({static_cast<std::int32_t>(*id), *memory, readable(*model)});
  }
  const auto settings = texts.number();
  if (!settings) return std::nullopt;
  for (std::uint64_t i = 0; i < *settings; ++i) {
    const auto key = texts.next();
    const auto value = texts.next();
    if (!key || !value) return std::nullopt;
    description.settings.emplace_back(readable(*key), readable(*value));
  }
  if (!parse_arithmetic(texts, description)) return std::nullopt;
  return description;
}

}  // namespace

PluginDescription describe_plugin(const std::string& path, double patience) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("pipe");
  const UniqueFd answer(ends[0]);
  UniqueFd other(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw_errno("fork");
  if (pid == 0) {
    end_with_parent(parent, SIGKILL);
    answer_and_end(path, other.get());
  }
  other.reset();
  const std::optional<std::string> text = read_all(answer.get(), patience);
  if (!text) kill(pid, SIGKILL);
  const int status = await_end(pid);
  const std::string plugin = "--backend plugin:" + sanitised(path);
  if (!text) throw UserError(plugin + " does not say what it is within " + short_number(patience) + " s");
  TextReader texts(*text);
  const auto kind = texts.next();
  if (kind == "refusal") throw UserError(texts.next().value_or(plugin + " cannot be loaded"));
  if (kind == "description") {
    if (auto description = parse(texts)) return *description;
  }
  throw UserError(plugin + " " + end_text(status) + " when it was asked what it is");
}

void require_devices(const PluginDescription& description, const std::vector<int>& ids) {
  std::string there;
  for (const PluginDevice& device : description.devices) {
    there += (there.empty() ? "" : ", ") + std::to_string(device.id);
  }
  for (const int id : ids) {
    if (std::ranges::find(description.devices, id, &PluginDevice::id) != description.devices.end()) continue;
    throw UserError("-d: there is no device " + std::to_string(id) + " of plugin:" + description.name + "; " +
                    (there.empty() ? "there is none at all" : "its ids are " + there));
  }
}

}  // namespace msrun
