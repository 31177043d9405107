// Signature text and the binding of recorded arguments to it.
//
//   gelu(Tensor input, *, str approximate='none')
//   max(Tensor input, int dim, bool keepdim=False)
//   permute(Tensor input, int[]... dims)
//
// Types: Tensor; Operand (a tensor or a number); Scalar, int, float, bool, str; dtype; any. "[]" a list of it (a single
// value is accepted as a list of one), "?" may be None, "..." takes the remaining positional arguments, given one by
// one or as one list. Parameters after "*" are keyword-only; one with "..." there means that any arguments at all are
// accepted, and bound to nothing. Defaults: None, True, False, numbers, 'text', [] and (n, n).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/value.h"

namespace msrun {

struct Parameter {
  enum class Kind : std::uint8_t { tensor, operand, scalar, integer, real, boolean, text, dtype, any };
  std::string name;
  Kind kind = Kind::any;
  bool list = false;
  bool nullable = false;
  bool rest = false;
  bool keyword_only = false;
  bool has_default = false;
  Value default_value;
};

class Signature {
 public:
  // Throws std::logic_error on text that is not a signature: it is ours, not the user's.
  explicit Signature(std::string_view text);

  const std::string& name() const { return name_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::string& text() const { return text_; }

  // bind() with 0-d tensors in place of numbers, which torch takes as the numbers that they hold.
  std::optional<std::vector<Value>> bind_numbers(List args, Dict kwargs, std::string& problem) const;

  // One value per parameter. Unknown keywords, missing or surplus arguments and values of the wrong kind give nothing
  // and set problem to a sentence. `self` and `input`, and NumPy's names, are accepted for the first parameter, `axis`,
  // `keepdims` and `x2` for `dim`, `keepdim` and `other`; the keywords that do not change a value (`device`, `layout`,
  // `pin_memory`, `requires_grad`, `non_blocking`, `memory_format`, `out`, `generator`, `inplace`) are ignored where
  // the signature does not name them.
  std::optional<std::vector<Value>> bind(const List& args, const Dict& kwargs, std::string& problem) const;

  // Whether bind() takes a keyword for the first parameter.
  bool names_first(std::string_view keyword) const;

 private:
  std::string text_;
  std::string name_;
  std::vector<Parameter> parameters_;
};

// The arguments of one call as an operator sees them: by parameter name. Asking for a name that the signature does not
// have is a std::logic_error.
class Bound {
 public:
  Bound(const Signature& signature, std::vector<Value> values, Tape& tape)
      : signature_(signature), values_(std::move(values)), tape_(tape) {}

  Tape& tape() const { return tape_; }
  const Value& value(std::string_view name) const;
  // Not None.
  bool given(std::string_view name) const { return !value(name).is_none(); }

  // A tensor, or a number as Var::is_number.
  Var var(std::string_view name) const;
  std::optional<Var> optional_var(std::string_view name) const;
  std::vector<Var> vars(std::string_view name) const;

  std::int64_t integer(std::string_view name) const;  // a bool counts as 0 or 1
  double real(std::string_view name) const;
  bool flag(std::string_view name) const;  // an integer counts as true if not 0
  const std::string& text(std::string_view name) const;
  Dims ints(std::string_view name) const;  // None gives an empty list
  std::vector<double> reals(std::string_view name) const;
  std::optional<std::int64_t> optional_integer(std::string_view name) const;
  std::optional<double> optional_real(std::string_view name) const;
  std::optional<DType> optional_dtype(std::string_view name) const;

 private:
  [[noreturn]] void wrong(std::string_view name, std::string_view expected) const;
  const Signature& signature_;
  std::vector<Value> values_;
  Tape& tape_;
};

}  // namespace msrun
