#include "tools/dump_compare/call_operator.h"

#include <string>

#include "kernels/base/digits.h"
#include "kernels/base/text.h"

namespace msrun::dump_compare {
namespace {

using recordings::Call;
using recordings::Leaf;
using recordings::Recording;
using recordings::State;
using recordings::Value;

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

// "layer_norm" of "LayerNorm", "batch_norm" of "BatchNorm2d", "gelu" of "GELU".
std::string function_of(std::string_view layer) {
  if (layer.size() > 2 && layer.ends_with('d') && is_digit(layer[layer.size() - 2])) layer.remove_suffix(2);
  std::string name;
  for (std::size_t i = 0; i < layer.size(); ++i) {
    if (!is_capital(layer[i])) {
      name += layer[i];
      continue;
    }
    if (i > 0 && !is_capital(layer[i - 1])) name += '_';
    name += static_cast<char>(layer[i] - 'A' + 'a');
  }
  return name;
}

}  // namespace

const Operator* operator_of(const Recording& side, const Call& call) {
  const std::string_view name = side.name(call);
  if (!call.module) return find_operator(name.substr(0, name.find('.')), recordings::api_of(name, call));
  const std::string_view base = side.text(call.base);
  return find_in_any_namespace(function_of(base.substr(base.rfind('.') + 1)));
}

std::optional<double> Scalars::number(std::string_view name) const {
  for (std::uint32_t i = call_.leaves; i < call_.leaf_end; ++i) {
    const Leaf& leaf = side_.leaves[i];
    if (leaf.tensor || leaf.state != State::input || name_of(leaf) != name) continue;
    const Value& value = leaf.statistics[recordings::max_value];
    if (value.kind == recordings::Kind::boolean) return static_cast<double>(value.integer);
    if (value.is_number()) return value.number();
  }
  return std::nullopt;
}

std::string_view Scalars::name_of(const Leaf& leaf) const {
  constexpr std::string_view begin = ".input.";
  std::string_view name = side_.text(leaf.suffix);
  if (!name.starts_with(begin)) return {};
  name.remove_prefix(begin.size());
  const std::optional<std::size_t> place = parse_number<std::size_t>(name);
  if (!place) return name;
  if (op_ == nullptr || op_->overloads().empty()) return {};
  const auto& parameters = op_->overloads().front().signature.parameters();
  return *place < parameters.size() ? std::string_view(parameters[*place].name) : std::string_view();
}

}  // namespace msrun::dump_compare
