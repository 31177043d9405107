// The table of operators: what msrun can execute, by the names under which the dumper records it.
//
// Operators register themselves from the files in kernels/ops and kernels/fused:
//
//   OP("exp(Tensor input)", [](const Bound& args) -> Value { return exp(args.var("input")); });
//   NAMES("exp", "Torch: exp exp_; Tensor: exp exp_; Aten: exp exp_; Mint: exp");
//   TRAITS("exp", .autocast = AutocastPolicy::float32, .complex = true);
//
// Several OPs with one name are overloads, tried in the order of registration. In-place forms are names of the
// functional operator: it returns what the first argument becomes. TRAITS says what else is known about the operator
// (operator_traits.h), at most one line for each; an operator that has nothing special needs none.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/api_call.h"
#include "kernels/api/operator_traits.h"
#include "kernels/api/signature.h"
#include "kernels/api/value.h"

namespace msrun {

using OperatorFunction = Value (*)(const Bound& args);

struct Overload {
  Signature signature;
  OperatorFunction function;
};

// An overload that the arguments of a call fit, and what each of its parameters is given.
struct BoundOverload {
  const Overload* overload;
  std::vector<Value> values;
};

struct OperatorRegistration;

// Safe to use from several threads.
class Operator {
 public:
  explicit Operator(std::string operator_name) : name(std::move(operator_name)) {}

  // The first overload that the arguments fit, Vars among them: as they are, or else with 0-d tensors as numbers.
  // Nothing, and why the first overload is none, if there is none.
  std::optional<BoundOverload> bind(const List& args, const Dict& kwargs, std::string& problem) const;

  // Evaluates that overload. Tensor leaves are Vars of tape. Throws SkipError if none fits, or from the operator.
  // Outputs: Var, number, None, List.
  Value call(const List& args, const Dict& kwargs, Tape& tape) const;

  const std::vector<Overload>& overloads() const;

  const OperatorTraits& traits() const { return *traits_; }

  const std::string name;  // canonical: "relu"

 private:
  friend struct OperatorTable;

  // A run uses few of the operators: signatures are parsed when they are first asked for.
  std::vector<const OperatorRegistration*> registrations_;
  const OperatorTraits* traits_ = &ordinary_traits;
  mutable std::once_flag parsed_;
  mutable std::vector<Overload> overloads_;
};

// The operator that the dumper calls `api` in namespace `type` ("Functional", "Tensor", "Torch", "NPU", "Aten", "Mint",
// "MintFunctional"); nullptr if there is none.
const Operator* find_operator(std::string_view type, std::string_view api);

// What is known about the operator of that name; ordinary_traits if there is none.
const OperatorTraits& traits_of(const ApiName& name);

// The operator that some namespace, the first by the alphabet, calls `api`; nullptr if none does.
const Operator* find_in_any_namespace(std::string_view api);

// The operator of a canonical name, for tests and tools; nullptr if there is none.
const Operator* find_canonical(std::string_view name);

struct ApiListing {
  std::string type;
  std::string api;
  std::string canonical;
};
// Every known name, sorted by type, then API.
std::vector<ApiListing> list_apis();

// Whether any namespace knows the bare name: what white and black lists accept.
bool is_known_api(std::string_view api);

// What an OP line leaves behind while the library is loaded; the table is made of these when it is first asked. Both
// texts must outlive the program's use of the table. Lines may not be added after that.
struct OperatorRegistration {
  OperatorRegistration(const char* signature, OperatorFunction function);

  const char* signature;
  OperatorFunction function;
  mutable const OperatorRegistration* next = nullptr;
};

// What a NAMES line leaves behind while the library is loaded.
struct NamesRegistration {
  NamesRegistration(const char* canonical, const char* names);

  const char* canonical;
  const char* names;
  mutable const NamesRegistration* next = nullptr;
};

#define MSRUN_CONCAT_INNER(a, b) a##b
#define MSRUN_CONCAT(a, b) MSRUN_CONCAT_INNER(a, b)
#define OP(...) \
  static const ::msrun::OperatorRegistration MSRUN_CONCAT(operator_registration_, __COUNTER__)(__VA_ARGS__)
#define NAMES(...) static const ::msrun::NamesRegistration MSRUN_CONCAT(names_registration_, __COUNTER__)(__VA_ARGS__)
#define TRAITS(canonical, ...) \
  static const ::msrun::TraitsRegistration MSRUN_CONCAT(traits_registration_, __COUNTER__)(canonical, {__VA_ARGS__})

}  // namespace msrun
