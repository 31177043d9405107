// The table of operators: what msrun can execute, by the names under which the dumper records it.
//
// Operators register themselves from the files in kernels/ops and kernels/fused:
//
//   OP("relu(Tensor input, bool inplace=False)", [](const Bound& args) -> Value { return relu(args.var("input")); });
//   NAMES("relu", "Functional: relu relu_; Torch: relu relu_; Tensor: relu relu_; Aten: relu relu_");
//
// Several OPs with one name are overloads, tried in the order of registration. In-place forms are names of the
// functional operator: it returns what the first argument becomes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/signature.h"
#include "kernels/api/value.h"

namespace msrun {

using OperatorFunction = Value (*)(const Bound& args);

struct Overload {
  Signature signature;
  OperatorFunction function;
};

class Operator {
 public:
  explicit Operator(std::string operator_name) : name(std::move(operator_name)) {}

  // Evaluates the first overload that the arguments fit. Tensor leaves are Vars of tape. Throws SkipError if none fits,
  // or from the operator. Outputs: Var, number, None, List.
  Value call(const List& args, const Dict& kwargs, Tape& tape) const;

  std::string name;  // canonical: "relu"
  std::vector<Overload> overloads;
};

// The operator that the dumper calls `api` in namespace `type` ("Functional", "Tensor", "Torch", "NPU", "Aten", "Mint",
// "MintFunctional"); nullptr if there is none.
const Operator* find_operator(std::string_view type, std::string_view api);

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

struct OperatorRegistration {
  OperatorRegistration(const char* signature, OperatorFunction function);
};
struct NamesRegistration {
  NamesRegistration(const char* canonical, const char* names);
};

#define MSRUN_CONCAT_INNER(a, b) a##b
#define MSRUN_CONCAT(a, b) MSRUN_CONCAT_INNER(a, b)
#define OP(...) \
  static const ::msrun::OperatorRegistration MSRUN_CONCAT(operator_registration_, __COUNTER__)(__VA_ARGS__)
#define NAMES(...) static const ::msrun::NamesRegistration MSRUN_CONCAT(names_registration_, __COUNTER__)(__VA_ARGS__)

}  // namespace msrun
