#include "tools/torchair_convert/names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include "kernels/io/graph_engine/ge_dump.h"

namespace msrun::convert {
namespace {

constexpr std::size_t longest_name = 255;
constexpr std::string_view temporary_suffix = ".swp";
constexpr std::string_view aside_suffix = ".aside";

constexpr std::array<std::string_view, 9> other_suffixes{".txt", ".swp", ".csv", ".json", ".log",
                                                         ".tmp", ".npz", ".py",  ".pbtxt"};

}  // namespace

SourceKind kind_of(std::string_view name) {
  if (name.starts_with('.') || name.ends_with(converted_npy_suffix)) return SourceKind::other;
  if (name.ends_with(".npy")) return SourceKind::fx;
  const bool other = std::any_of(other_suffixes.begin(), other_suffixes.end(),
                                 [&](std::string_view suffix) { return name.ends_with(suffix); });
  if (other) return SourceKind::other;
  return std::count(name.begin(), name.end(), '.') >= 4 ? SourceKind::ge : SourceKind::hashed;
}

std::optional<std::string> target_name(SourceKind kind, std::string_view source) {
  std::string target(source);
  if (kind == SourceKind::fx) {
    target.resize(target.size() - std::string_view(".npy").size());
    target += converted_npy_suffix;
  } else {
    target += converted_npz_suffix;
  }
  if (target.size() > longest_name) return std::nullopt;
  return target;
}

bool is_target_name(std::string_view name) {
  return name.ends_with(converted_npy_suffix) || name.ends_with(converted_npz_suffix);
}

std::string temporary_name(std::string_view target, int pid) {
  const std::string tail = "." + std::to_string(pid) + std::string(temporary_suffix);
  std::string name = "." + std::string(target) + tail;
  if (name.size() <= longest_name) return name;
  // The end of the name stays, by which it is known as ours.
  const std::string hash = std::to_string(std::hash<std::string_view>{}(target));
  const std::string_view suffix = target.substr(target.size() - converted_npz_suffix.size());
  const std::size_t kept = longest_name - 1 - hash.size() - suffix.size() - tail.size();
  return "." + std::string(target.substr(0, kept)) + hash + std::string(suffix) + tail;
}

std::optional<int> maker_of_temporary(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(temporary_suffix)) return std::nullopt;
  name.remove_suffix(temporary_suffix.size());
  const std::size_t dot = name.rfind('.');
  const std::string_view digits = name.substr(dot + 1);
  const std::string_view target = name.substr(0, dot);
  if (!is_target_name(target)) return std::nullopt;
  int pid = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), pid);
  if (error != std::errc{} || end != digits.data() + digits.size() || pid <= 0) return std::nullopt;
  return pid;
}

std::string aside_name(std::string_view source) { return "." + std::string(source) + std::string(aside_suffix); }

std::optional<std::string> source_of_aside(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(aside_suffix)) return std::nullopt;
  name.remove_prefix(1);
  if (name.size() <= aside_suffix.size()) return std::nullopt;
  name.remove_suffix(aside_suffix.size());
  if (kind_of(name) == SourceKind::other) return std::nullopt;
  return std::string(name);
}

}  // namespace msrun::convert
