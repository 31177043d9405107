#include "kernels/api/signature.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

#include "kernels/base/error.h"

namespace msrun {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at commas outside brackets and quotes.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\'') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      parts.push_back(trim(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  const std::string_view last = trim(text.substr(start));
  if (!last.empty()) parts.push_back(last);
  return parts;
}

Value parse_default(std::string_view text) {
  if (text == "None") return None{};
  if (text == "True") return true;
  if (text == "False") return false;
  if (text.size() >= 2 && text.front() == '\'') return std::string(text.substr(1, text.size() - 2));
  if (text.front() == '[' || text.front() == '(') {
    List list;
    for (const std::string_view part : split_list(text.substr(1, text.size() - 2))) list.push_back(parse_default(part));
    return list;
  }
  std::int64_t integer = 0;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, integer).ptr == end) return integer;
  double real = 0;
  if (std::from_chars(text.data(), end, real).ptr == end) return real;
  throw std::logic_error("default value not understood: " + std::string(text));
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

Parameter::Kind parse_kind(std::string_view text) {
  using Kind = Parameter::Kind;
  struct Entry {
    std::string_view text;
    Kind kind;
  };
  static constexpr std::array entries{
      Entry{"Tensor", Kind::tensor}, Entry{"Operand", Kind::operand}, Entry{"Scalar", Kind::scalar},
      Entry{"int", Kind::integer},   Entry{"float", Kind::real},      Entry{"bool", Kind::boolean},
      Entry{"str", Kind::text},      Entry{"dtype", Kind::dtype},     Entry{"any", Kind::any},
  };
  for (const Entry& entry : entries) {
    if (entry.text == text) return entry.kind;
  }
  throw std::logic_error("unknown type in a signature: " + std::string(text));
}

Parameter parse_parameter(std::string_view text) {
  Parameter parameter;
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos) {
    parameter.has_default = true;
    parameter.default_value = parse_default(trim(text.substr(equals + 1)));
    text = trim(text.substr(0, equals));
  }
  const std::size_t space = text.rfind(' ');
  if (space == std::string_view::npos)
    throw std::logic_error("a parameter needs a type and a name: " + std::string(text));
  parameter.name = text.substr(space + 1);
  std::string_view type = trim(text.substr(0, space));
  parameter.rest = take_suffix(type, "...");
  parameter.nullable = take_suffix(type, "?");
  parameter.list = take_suffix(type, "[]");
  parameter.nullable = take_suffix(type, "?") || parameter.nullable;
  parameter.kind = parse_kind(type);
  return parameter;
}

bool is_number(const Value& value) { return value.is<bool>() || value.is<std::int64_t>() || value.is<double>(); }

// A materialised one-element integer tensor may stand for an int, as Python's __index__ allows.
bool is_index_tensor(const Value& value) {
  const Var* var = value.get<Var>();
  return var != nullptr && var->numel() == 1 && !is_floating(var->dtype()) && !is_complex(var->dtype());
}

bool element_fits(Parameter::Kind kind, const Value& value) {
  switch (kind) {
    case Parameter::Kind::tensor:
      return is_tensor(value);
    case Parameter::Kind::operand:
      return is_tensor(value) || is_number(value);
    case Parameter::Kind::scalar:
      return is_number(value);
    case Parameter::Kind::integer:
      return value.is<std::int64_t>() || value.is<bool>() || is_index_tensor(value);
    case Parameter::Kind::real:
      return is_number(value);
    case Parameter::Kind::boolean:
      return value.is<bool>() || value.is<std::int64_t>();
    case Parameter::Kind::text:
      return value.is<std::string>();
    case Parameter::Kind::dtype:
      return value.is<DType>();
    case Parameter::Kind::any:
      break;
  }
  return true;
}

bool fits(const Parameter& parameter, const Value& value) {
  if (value.is_none()) return parameter.nullable || parameter.kind == Parameter::Kind::any;
  if (!parameter.list) return element_fits(parameter.kind, value);
  const List* list = value.get<List>();
  if (list == nullptr) return parameter.kind != Parameter::Kind::tensor && element_fits(parameter.kind, value);
  return std::all_of(list->begin(), list->end(), [&](const Value& item) {
    return element_fits(parameter.kind, item) || (item.is_none() && parameter.nullable);
  });
}

// Names that torch gives the first tensor of a function, whatever its documentation calls it: its own, that of some
// functions in Python, and NumPy's.
bool is_first_name(std::string_view name) {
  return name == "self" || name == "input" || name == "tensor" || name == "x" || name == "a" || name == "x1";
}

bool is_neutral_keyword(std::string_view name) {
  static constexpr std::array<std::string_view, 9> names{"device",        "layout",       "pin_memory",
                                                         "requires_grad", "non_blocking", "memory_format",
                                                         "out",           "generator",    "inplace"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Signature::Signature(std::string_view text) : text_(text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || text.back() != ')') {
    throw std::logic_error("not a signature: " + std::string(text));
  }
  name_ = text.substr(0, open);
  bool keyword_only = false;
  for (const std::string_view part : split_list(text.substr(open + 1, text.size() - open - 2))) {
    if (part == "*") {
      keyword_only = true;
      continue;
    }
    parameters_.push_back(parse_parameter(part));
    parameters_.back().keyword_only = keyword_only;
  }
}

bool Signature::names_first(std::string_view keyword) const {
  const auto at = std::ranges::find(parameters_, keyword, &Parameter::name);
  return at == parameters_.end() ? is_first_name(keyword) && !parameters_.empty() : at == parameters_.begin();
}

std::optional<std::vector<Value>> Signature::bind(const List& args, const Dict& kwargs, std::string& problem) const {
  std::vector<Value> values(parameters_.size());
  if (!parameters_.empty() && parameters_.back().keyword_only && parameters_.back().rest) return values;
  std::vector<bool> set(parameters_.size(), false);
  std::size_t next = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (next == parameters_.size() || parameters_[next].keyword_only) {
      problem = name_ + "() takes fewer positional arguments (" + std::to_string(args.size()) + " were given).";
      return std::nullopt;
    }
    const Parameter& parameter = parameters_[next];
    if (parameter.rest && !args[i].is<List>() && !args[i].is_none()) {
      values[next] = List(args.begin() + static_cast<std::ptrdiff_t>(i), args.end());
      set[next++] = true;
      break;
    }
    values[next] = args[i];
    set[next++] = true;
  }
  for (const auto& [key, value] : kwargs) {
    std::string_view wanted = key;
    if (wanted == "axis") wanted = "dim";
    if (wanted == "keepdims") wanted = "keepdim";
    if (wanted == "x2") wanted = "other";
    std::size_t at = 0;
    while (at < parameters_.size() && parameters_[at].name != wanted && parameters_[at].name != key) ++at;
    if (at == parameters_.size() && is_first_name(key) && !parameters_.empty()) at = 0;
    if (at == parameters_.size()) {
      if (is_neutral_keyword(key)) continue;
      problem = name_ + "() got an unexpected keyword argument '" + key + "'.";
      return std::nullopt;
    }
    if (set[at]) {
      problem = name_ + "() got multiple values for argument '" + parameters_[at].name + "'.";
      return std::nullopt;
    }
    values[at] = value;
    set[at] = true;
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    if (!set[i]) {
      if (!parameter.has_default && !parameter.rest) {
        problem = name_ + "() is missing the argument '" + parameter.name + "'.";
        return std::nullopt;
      }
      values[i] = parameter.rest && !parameter.has_default ? Value(List{}) : parameter.default_value;
      continue;
    }
    if (const Unsupported* unsupported = values[i].get<Unsupported>()) throw SkipError(unsupported->reason);
    if (!fits(parameter, values[i])) {
      problem =
          name_ + "(): argument '" + parameter.name + "' does not take a value of type " + python_type(values[i]) + ".";
      return std::nullopt;
    }
  }
  return values;
}

namespace {

bool takes_number(const Parameter& parameter) {
  const bool is_number_kind = parameter.kind == Parameter::Kind::scalar || parameter.kind == Parameter::Kind::real;
  return is_number_kind && !parameter.list;
}

// The number that a 0-d tensor holds; other values as they are.
Value as_number(const Value& value) {
  const Var* var = value.get<Var>();
  if (var == nullptr || var->is_number() || var->rank() != 0 || is_complex(var->dtype())) return value;
  const Tensor& tensor = var->tensor();
  if (is_floating(tensor.dtype())) return tensor.item();
  return tensor.dtype() == DType::boolean ? Value(tensor.item() != 0) : Value(tensor.int_item());
}

}  // namespace

std::optional<std::vector<Value>> Signature::bind_numbers(List args, Dict kwargs, std::string& problem) const {
  for (std::size_t i = 0; i < args.size() && i < parameters_.size() && !parameters_[i].rest; ++i) {
    if (takes_number(parameters_[i])) args[i] = as_number(args[i]);
  }
  for (Dict::value_type& argument : kwargs) {
    const auto parameter = std::ranges::find(parameters_, argument.first, &Parameter::name);
    if (parameter != parameters_.end() && takes_number(*parameter)) argument.second = as_number(argument.second);
  }
  return bind(args, kwargs, problem);
}

const Value& Bound::value(std::string_view name) const {
  const auto& parameters = signature_.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == name) return values_[i];
  }
  throw std::logic_error(signature_.text() + " has no parameter " + std::string(name));
}

void Bound::wrong(std::string_view name, std::string_view expected) const {
  throw SkipError(signature_.name() + "(): argument '" + std::string(name) + "' must be " + std::string(expected) +
                  ", not " + python_type(value(name)) + ".");
}

namespace {

std::optional<Var> as_var(const Value& value, Tape& tape) {
  if (const Var* var = value.get<Var>()) return *var;
  if (const Tensor* tensor = value.get<Tensor>()) return tape.constant(*tensor);
  if (const bool* flag = value.get<bool>()) return tape.number(*flag);
  if (const auto* integer = value.get<std::int64_t>()) return tape.number(*integer);
  if (const double* real = value.get<double>()) return tape.number(*real);
  return std::nullopt;
}

std::optional<std::int64_t> as_integer(const Value& value) {
  if (const auto* integer = value.get<std::int64_t>()) return *integer;
  if (const bool* flag = value.get<bool>()) return *flag ? 1 : 0;
  if (is_index_tensor(value)) return value.get<Var>()->tensor().int_item();
  return std::nullopt;
}

std::optional<double> as_real(const Value& value) {
  if (const double* real = value.get<double>()) return *real;
  if (const auto integer = as_integer(value)) return static_cast<double>(*integer);
  return std::nullopt;
}

}  // namespace

Var Bound::var(std::string_view name) const {
  std::optional<Var> var = as_var(value(name), tape_);
  if (!var) wrong(name, "a tensor or a number");
  return *var;
}

std::optional<Var> Bound::optional_var(std::string_view name) const {
  if (!given(name)) return std::nullopt;
  return var(name);
}

std::vector<Var> Bound::vars(std::string_view name) const {
  const List* list = value(name).get<List>();
  if (list == nullptr) return {var(name)};
  std::vector<Var> result;
  for (const Value& item : *list) {
    std::optional<Var> element = as_var(item, tape_);
    if (!element) wrong(name, "a list of tensors");
    result.push_back(*element);
  }
  return result;
}

std::int64_t Bound::integer(std::string_view name) const {
  const auto result = as_integer(value(name));
  if (!result) wrong(name, "an integer");
  return *result;
}

double Bound::real(std::string_view name) const {
  const auto result = as_real(value(name));
  if (!result) wrong(name, "a number");
  return *result;
}

bool Bound::flag(std::string_view name) const { return integer(name) != 0; }

const std::string& Bound::text(std::string_view name) const {
  const std::string* result = value(name).get<std::string>();
  if (result == nullptr) wrong(name, "a string");
  return *result;
}

Dims Bound::ints(std::string_view name) const {
  const Value& given_value = value(name);
  if (given_value.is_none()) return {};
  Dims result;
  if (const List* list = given_value.get<List>()) {
    for (const Value& item : *list) {
      const auto element = as_integer(item);
      if (!element) wrong(name, "a list of integers");
      result.push_back(*element);
    }
    return result;
  }
  result.push_back(integer(name));
  return result;
}

std::vector<double> Bound::reals(std::string_view name) const {
  const Value& given_value = value(name);
  if (given_value.is_none()) return {};
  const List* list = given_value.get<List>();
  if (list == nullptr) return {real(name)};
  std::vector<double> result;
  for (const Value& item : *list) {
    const auto element = as_real(item);
    if (!element) wrong(name, "a list of numbers");
    result.push_back(*element);
  }
  return result;
}

std::optional<std::int64_t> Bound::optional_integer(std::string_view name) const {
  if (!given(name)) return std::nullopt;
  return integer(name);
}

std::optional<double> Bound::optional_real(std::string_view name) const {
  if (!given(name)) return std::nullopt;
  return real(name);
}

std::optional<DType> Bound::optional_dtype(std::string_view name) const {
  if (!given(name)) return std::nullopt;
  const DType* dtype = value(name).get<DType>();
  if (dtype == nullptr) wrong(name, "a dtype");
  return *dtype;
}

}  // namespace msrun
