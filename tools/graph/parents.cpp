// Repairs of the parents that recordings give to backward nodes (graph_visualization.md 4.4).
#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "tools/graph/tree.h"

namespace msrun::graph {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t dot = text.find('.');
    parts.push_back(text.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    text.remove_prefix(dot + 1);
  }
}

// Without its last segments; empty if it has no more than that.
std::string_view without_last(std::string_view text, int segments) {
  for (int i = 0; i < segments; ++i) {
    const std::size_t dot = text.rfind('.');
    if (dot == std::string_view::npos) return {};
    text = text.substr(0, dot);
  }
  return text;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// ".forward.3" at the end becomes ".backward.3", or the other way round.
std::string turned(std::string_view name, std::string_view to) {
  const std::size_t number = name.rfind('.');
  const std::string_view base = without_last(name, 2);
  return std::string(base) + "." + std::string(to) + std::string(name.substr(number));
}

class Repair {
 public:
  Repair(const Side& side, bool compat) : side_(side), compat_(compat) {
    parents_.reserve(side.lines.size());
    for (const Line& line : side.lines) parents_.push_back(line.parent);
    for (std::size_t i = 0; i < side.lines.size(); ++i) {
      line_of_.emplace(side.text(side.lines[i].name), static_cast<std::uint32_t>(i));
    }
  }

  std::vector<TextId> run() {
    for (std::size_t i = 0; i < side_.lines.size(); ++i) {
      const std::string_view name = side_.text(side_.lines[i].name);
      const bool module = is_module_direction(name, "backward");
      if (side_.lines[i].parent == 0) {
        if (module) parents_[i] = missing_of_module(name);
        if (!compat_ && name.ends_with(".backward")) parents_[i] = missing_of_api(name);
      } else if (module && !compat_) {
        parents_[i] = in_place(name, side_.lines[i].parent);
      }
    }
    if (!compat_) move_recomputed();
    return std::move(parents_);
  }

 private:
  std::optional<std::uint32_t> line(std::string_view name) const {
    const auto found = line_of_.find(name);
    if (found == line_of_.end()) return std::nullopt;
    return found->second;
  }

  // The name if the file has a line for it, else 0.
  TextId known(std::string_view name) const {
    const auto found = line(name);
    return found ? side_.lines[*found].name : 0;
  }

  TextId missing_of_module(std::string_view name) const {
    const auto forward = line(turned(name, "forward"));
    if (!forward || side_.lines[*forward].parent == 0) return 0;
    const std::string_view parent = side_.text(side_.lines[*forward].parent);
    return is_module_direction(parent, "forward") ? known(turned(parent, "backward")) : 0;
  }

  TextId missing_of_api(std::string_view name) const {
    const auto forward = line(replaced(std::string(name), "backward", "forward"));
    if (!forward || side_.lines[*forward].parent == 0) return 0;
    return known(replaced(std::string(side_.text(side_.lines[*forward].parent)), "forward", "backward"));
  }

  TextId in_place(std::string_view name, TextId parent) const {
    const std::string_view above = side_.text(parent);
    if (std::ranges::count(name, '.') < 4 || std::ranges::count(above, '.') < 3) return parent;
    if (without_last(name, 4) == without_last(above, 3)) return parent;
    const auto forward = line(turned(name, "forward"));
    if (!forward) return parent;
    if (side_.lines[*forward].parent == 0) return 0;
    const std::string_view other = side_.text(side_.lines[*forward].parent);
    const TextId twin = is_module_direction(other, "forward") ? known(turned(other, "backward")) : 0;
    return twin != 0 ? twin : parent;
  }

  // "File <path>, line <n>, in <function>, \n <code>".
  static std::string_view path_of(std::string_view frame) {
    if (frame.starts_with("File ")) frame.remove_prefix(5);
    return frame.substr(0, frame.find(", line "));
  }
  static std::string_view function_of(std::string_view frame) {
    const std::size_t at = frame.find(", in ");
    if (at == std::string_view::npos) return {};
    frame.remove_prefix(at + 5);
    return frame.substr(0, frame.find(','));
  }

  bool shows_recomputation(TextId name) const {
    if (side_.framework == "mindspore") return true;
    const auto found = side_.stack_of.find(name);
    if (found == side_.stack_of.end()) return false;
    const Stack& stack = side_.stacks[found->second];
    const auto frame = [&](std::uint32_t i) { return side_.text(side_.frames[stack.first + i]); };
    for (std::uint32_t i = 0; i < stack.count; ++i) {
      const std::string_view path = path_of(frame(i));
      const std::string_view function = function_of(frame(i));
      if (function == "recompute_fn" && path.ends_with("torch/utils/checkpoint.py")) return true;
      const bool megatron =
          function == "checkpoint_function_backward" && path.find("megatron") != std::string_view::npos;
      if (function != "backward" && !megatron) continue;
      for (std::uint32_t k = i + 1; k < std::min(i + 3, stack.count); ++k) {
        if (path_of(frame(k)).ends_with("torch/autograd/function.py")) return true;
      }
    }
    return false;
  }

  // Whether no module of the first level can have such a name.
  static bool is_deep(std::string_view name) {
    const std::vector<std::string_view> parts = split(name);
    if (parts.size() > 7) return true;
    if (parts.size() == 7) return !is_digits(parts[1]) || !is_digits(parts[3]);
    return parts.size() == 6 && !is_digits(parts[1]);
  }

  void move_recomputed() {
    std::map<std::string_view, std::vector<std::uint32_t>> ordinary;
    std::map<std::string_view, std::vector<std::uint32_t>> again;
    for (std::uint32_t i = 0; i < side_.lines.size(); ++i) {
      const std::string_view name = side_.text(side_.lines[i].name);
      if (!is_module_direction(name, "forward") || !is_deep(name)) continue;
      if (parents_[i] != 0) {
        ordinary[without_last(name, 2)].push_back(i);
        continue;
      }
      const auto backward = line(turned(name, "backward"));
      if (!backward || parents_[*backward] != 0 || !shows_recomputation(side_.lines[i].name)) continue;
      again[without_last(name, 2)].push_back(i);
    }
    for (const auto& [prefix, lines] : again) {
      const auto originals = ordinary.find(prefix);
      if (originals == ordinary.end()) continue;
      for (std::size_t k = 0; k < std::min(lines.size(), originals->second.size()); ++k) {
        const std::string_view above = side_.text(side_.lines[originals->second[k]].parent);
        if (!is_module_direction(above, "forward")) continue;
        const TextId twin = known(turned(above, "backward"));
        if (twin == 0) continue;
        parents_[lines[k]] = twin;
        parents_[*line(turned(side_.text(side_.lines[lines[k]].name), "backward"))] = twin;
      }
    }
  }

  const Side& side_;
  const bool compat_;
  std::vector<TextId> parents_;
  std::unordered_map<std::string_view, std::uint32_t> line_of_;
};

}  // namespace

bool is_module_direction(std::string_view name, std::string_view direction) {
  const std::size_t number = name.rfind('.');
  if (number == std::string_view::npos || !is_digits(name.substr(number + 1))) return false;
  const std::string_view before = name.substr(0, number);
  return before.size() > direction.size() && before.ends_with(direction) &&
         before[before.size() - direction.size() - 1] == '.';
}

std::vector<TextId> repaired_parents(const Side& side, bool compat) { return Repair(side, compat).run(); }

}  // namespace msrun::graph
