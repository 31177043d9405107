#include "kernels/api/operators.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "kernels/error.h"

namespace msrun {
namespace {

struct Table {
  std::map<std::string, Operator, std::less<>> operators;
  std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>>
      names;  // type -> api -> canonical

  Operator& get(const std::string& name) { return operators.try_emplace(name, name).first->second; }
};

// Filled while the library is loaded, constant afterwards.
Table& table() {
  static Table instance;
  return instance;
}

bool is_space(char c) { return c == ' ' || c == '\n'; }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool end = i == text.size() || text[i] == separator || (separator == ' ' && is_space(text[i]));
    if (!end) continue;
    if (i > start) parts.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  return parts;
}

}  // namespace

OperatorRegistration::OperatorRegistration(const char* signature, OperatorFunction function) {
  Signature parsed(signature);
  table().get(parsed.name()).overloads.push_back({parsed, function});
}

NamesRegistration::NamesRegistration(const char* canonical, const char* names) {
  for (const std::string_view group : split(names, ';')) {
    const std::size_t colon = group.find(':');
    if (colon == std::string_view::npos) throw std::logic_error("NAMES needs 'Type: name ...': " + std::string(group));
    const std::vector<std::string_view> type = split(group.substr(0, colon), ' ');
    for (const std::string_view api : split(group.substr(colon + 1), ' ')) {
      const auto [position, fresh] = table().names[std::string(type.at(0))].emplace(api, canonical);
      if (!fresh) throw std::logic_error("API name registered twice: " + std::string(type[0]) + "." + std::string(api));
    }
  }
}

Value Operator::call(const List& args, const Dict& kwargs, Tape& tape) const {
  std::string first_problem;
  for (const Overload& overload : overloads) {
    std::string problem;
    std::optional<std::vector<Value>> values = overload.signature.bind(args, kwargs, problem);
    if (values) return overload.function(Bound(overload.signature, std::move(*values), tape));
    if (first_problem.empty()) first_problem = problem;
  }
  throw SkipError(first_problem);
}

const Operator* find_canonical(std::string_view name) {
  const auto found = table().operators.find(name);
  return found == table().operators.end() ? nullptr : &found->second;
}

const Operator* find_operator(std::string_view type, std::string_view api) {
  const auto names = table().names.find(type);
  if (names == table().names.end()) return nullptr;
  const auto found = names->second.find(api);
  return found == names->second.end() ? nullptr : find_canonical(found->second);
}

std::vector<ApiListing> list_apis() {
  std::vector<ApiListing> result;
  for (const auto& [type, names] : table().names) {
    for (const auto& [api, canonical] : names) result.push_back({type, api, canonical});
  }
  return result;
}

bool is_known_api(std::string_view api) {
  return std::any_of(table().names.begin(), table().names.end(),
                     [&](const auto& type) { return type.second.find(api) != type.second.end(); });
}

}  // namespace msrun
