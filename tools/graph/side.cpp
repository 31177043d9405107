#include "tools/graph/side.h"

namespace msrun::graph {

Value Side::role(const Parameter& parameter, Role role) const {
  const Form& shape = form(parameter);
  const int at = shape.field_of[static_cast<std::size_t>(role)];
  return at < 0 ? Value{} : field(parameter, shape.fields[static_cast<std::size_t>(at)]);
}

Value Side::role(const Parameter& parameter, Role wanted, Dialect dialect) const {
  const Form& shape = form(parameter);
  if (dialect == Dialect::vis || (!shape.named_rank && !shape.ellipsis)) return role(parameter, wanted);
  if (wanted == Role::dtype) return role(parameter, Role::type);
  if (!shape.named_rank || wanted != Role::md5) return role(parameter, wanted);
  const Value ranks = role(parameter, Role::group_ranks);
  return ranks.kind == Kind::none ? role(parameter, Role::value) : ranks;
}

void Side::append_name(std::string& out, const Entry& entry, const Parameter& parameter) const {
  if (!parameter.whole) out += text(entry.name);
  out += text(parameter.name);
}

std::string Side::name_of(const Entry& entry, const Parameter& parameter) const {
  std::string name;
  append_name(name, entry, parameter);
  return name;
}

}  // namespace msrun::graph
