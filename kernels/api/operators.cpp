#include "kernels/api/operators.h"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "kernels/base/error.h"

namespace msrun {
namespace {

// In the order of registration.
template <class Line>
struct Chain {
  const Line* first = nullptr;
  const Line* last = nullptr;

  void append(const Line* line) {
    (last == nullptr ? first : last->next) = line;
    last = line;
  }
};

// Constant-initialised, so that they are there before the first line of any file.
constinit Chain<OperatorRegistration> operator_lines;
constinit Chain<NamesRegistration> names_lines;
constinit Chain<TraitsRegistration> traits_lines;

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

struct OperatorTable {
  using Names = std::unordered_map<std::string_view, const Operator*>;

  OperatorTable() {
    for (const OperatorRegistration* line = operator_lines.first; line != nullptr; line = line->next) {
      const std::string_view text = line->signature;
      const std::string_view name = text.substr(0, text.find('('));
      operators.try_emplace(name, std::string(name)).first->second.registrations_.push_back(line);
    }
    for (const NamesRegistration* line = names_lines.first; line != nullptr; line = line->next) add_names(*line);
    for (const TraitsRegistration* line = traits_lines.first; line != nullptr; line = line->next) add_traits(*line);
  }

  void add_names(const NamesRegistration& line) {
    const auto named = operators.find(line.canonical);
    if (named == operators.end()) throw std::logic_error("NAMES without OP: " + std::string(line.canonical));
    for (const std::string_view group : split(line.names, ';')) {
      const std::size_t colon = group.find(':');
      const std::vector<std::string_view> type = split(group.substr(0, colon), ' ');
      if (colon == std::string_view::npos || type.size() != 1) {
        throw std::logic_error("NAMES needs 'Type: name ...': " + std::string(group));
      }
      Names& of_type = names[type.front()];
      for (const std::string_view api : split(group.substr(colon + 1), ' ')) {
        if (!of_type.emplace(api, &named->second).second) {
          throw std::logic_error("API name registered twice: " + std::string(type.front()) + "." + std::string(api));
        }
      }
    }
  }

  void add_traits(const TraitsRegistration& line) {
    const auto named = operators.find(line.canonical);
    if (named == operators.end()) throw std::logic_error("TRAITS without OP: " + std::string(line.canonical));
    const OperatorTraits*& traits = named->second.traits_;
    if (traits != &ordinary_traits) throw std::logic_error("TRAITS given twice: " + std::string(line.canonical));
    traits = &line.traits;
  }

  std::unordered_map<std::string_view, Operator> operators;  // by canonical name
  std::map<std::string_view, Names> names;                   // by type
};

namespace {

// Namespaces of MindSpore whose functions have the names of torch's, and which these are. Where MindSpore has more, it
// is in the table itself.
constexpr std::array followers{std::pair<std::string_view, std::string_view>{"Mint", "Torch"},
                               std::pair<std::string_view, std::string_view>{"MintFunctional", "Functional"}};

// Lives until the process ends: taking it apart would be time lost at every exit.
const OperatorTable& table() {
  static const OperatorTable& instance = *new OperatorTable;
  return instance;
}

}  // namespace

OperatorRegistration::OperatorRegistration(const char* signature_text, OperatorFunction operator_function)
    : signature(signature_text), function(operator_function) {
  operator_lines.append(this);
}

NamesRegistration::NamesRegistration(const char* canonical_name, const char* all_names)
    : canonical(canonical_name), names(all_names) {
  names_lines.append(this);
}

TraitsRegistration::TraitsRegistration(const char* canonical_name, const OperatorTraits& operator_traits)
    : canonical(canonical_name), traits(operator_traits) {
  traits_lines.append(this);
}

const std::vector<Overload>& Operator::overloads() const {
  std::call_once(parsed_, [&] {
    for (const OperatorRegistration* line : registrations_) {
      overloads_.push_back({Signature(line->signature), line->function});
    }
  });
  return overloads_;
}

std::optional<BoundOverload> Operator::bind(const List& args, const Dict& kwargs, std::string& problem) const {
  for (const Overload& overload : overloads()) {
    std::string of_overload;
    std::optional<std::vector<Value>> values = overload.signature.bind(args, kwargs, of_overload);
    if (values) return BoundOverload{&overload, std::move(*values)};
    if (problem.empty()) problem = of_overload;
  }
  for (const Overload& overload : overloads()) {
    std::string of_overload;
    std::optional<std::vector<Value>> values = overload.signature.bind_numbers(args, kwargs, of_overload);
    if (values) return BoundOverload{&overload, std::move(*values)};
  }
  return std::nullopt;
}

Value Operator::call(const List& args, const Dict& kwargs, Tape& tape) const {
  std::string problem;
  std::optional<BoundOverload> bound = bind(args, kwargs, problem);
  if (!bound) throw SkipError(problem);
  const Overload& overload = *bound->overload;
  return overload.function(Bound(overload.signature, std::move(bound->values), tape));
}

const Operator* find_canonical(std::string_view name) {
  const auto found = table().operators.find(name);
  return found == table().operators.end() ? nullptr : &found->second;
}

const Operator* find_operator(std::string_view type, std::string_view api) {
  const auto names = table().names.find(type);
  if (names != table().names.end()) {
    const auto found = names->second.find(api);
    if (found != names->second.end()) return found->second;
  }
  const auto* follower = std::ranges::find(followers, type, &decltype(followers)::value_type::first);
  if (follower != followers.end()) return find_operator(follower->second, api);
  // Functions of torch.special are those of torch under their own names.
  constexpr std::string_view special = "special.";
  return type == "Torch" && api.starts_with(special) ? find_operator(type, api.substr(special.size())) : nullptr;
}

const OperatorTraits& traits_of(const ApiName& name) {
  const Operator* op = find_operator(name.type, name.api);
  return op == nullptr ? ordinary_traits : op->traits();
}

const Operator* find_in_any_namespace(std::string_view api) {
  for (const auto& [type, names] : table().names) {
    if (const auto found = names.find(api); found != names.end()) return found->second;
  }
  return nullptr;
}

std::vector<ApiListing> list_apis() {
  std::vector<ApiListing> result;
  for (const auto& [type, names] : table().names) {
    for (const auto& [api, found] : names) result.push_back({std::string(type), std::string(api), found->name});
  }
  std::ranges::sort(result, {}, [](const ApiListing& entry) { return std::tie(entry.type, entry.api); });
  return result;
}

bool is_known_api(std::string_view api) { return find_in_any_namespace(api) != nullptr; }

}  // namespace msrun
