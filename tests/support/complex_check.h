// Complex tensors for tests, and their gradients against central differences by real and imaginary parts.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/ops/common/functions.h"
#include "kernels/tensor/complex.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {

inline Tensor complex128(const Dims& shape, const std::vector<std::complex<double>>& data) {
  return Tensor::from<std::complex<double>>(DType::complex128, shape, std::span<const std::complex<double>>(data));
}

// Parts between -1 and 1, none of them close to zero.
inline Tensor random_complex(const Dims& shape, std::uint64_t seed) {
  const auto away = [](const Tensor& t) {
    std::vector<double> parts = values(t);
    for (double& v : parts) v += v < 0 ? -0.25 : 0.25;
    return float64(t.shape(), parts);
  };
  return complex_of(away(uniform(shape, -1, 1, seed)), away(uniform(shape, -1, 1, seed + 1)));
}

inline std::vector<std::complex<double>> numbers(const Tensor& tensor) {
  const Tensor wide = tensor.to(DType::complex128).contiguous();
  return {wide.data<std::complex<double>>(), wide.data<std::complex<double>>() + wide.numel()};
}

inline std::vector<std::complex<double>> result(const std::string& type, const std::string& api, const List& args,
                                                const Dict& kwargs = {}) {
  return numbers(result_of(type, api, args, kwargs));
}

inline void expect_close(const std::vector<std::complex<double>>& found,
                         const std::vector<std::complex<double>>& expected, double tolerance = 1e-14) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_LE(std::abs(found[i] - expected[i]), tolerance) << "element " << i << ": " << found[i];
  }
}

// The loss that the gradients are checked with: a weighted sum of all parts of an output.
struct ComplexLoss {
  Var value;
  std::vector<Var> leaves;  // complex ones as pairs of real numbers
};

inline ComplexLoss complex_loss(const std::string& type, const std::string& api, const List& args, const Dict& kwargs,
                                const std::vector<Tensor>& inputs, Tape& tape) {
  ComplexLoss result;
  const auto build = [&](const Value& tree) {
    return transform_leaves(tree, [&](const Value& leaf) -> Value {
      const Tensor* tensor = leaf.get<Tensor>();
      if (tensor == nullptr) return leaf;
      const bool complex = is_complex(tensor->dtype());
      if (!complex && tensor->dtype() != DType::float64) return tape.constant(*tensor);
      const Var var = tape.leaf(inputs.at(result.leaves.size()));
      result.leaves.push_back(var);
      return complex ? view_as_complex(var) : var;
    });
  };
  const Value bound_args = build(args);
  const Value bound_kwargs = build(kwargs);
  const Operator* op = find_operator(type, api);
  if (op == nullptr) throw std::logic_error(type + "." + api + " is not in the table");
  std::uint64_t seed = 40;
  const Value output = op->call(*bound_args.get<List>(), *bound_kwargs.get<Dict>(), tape);
  for_each_leaf(output, [&](const Value& leaf) {
    const Var* var = leaf.get<Var>();
    if (var == nullptr) return;
    const Var parts = is_complex(var->dtype()) ? view_as_real(*var) : *var;
    const Var weighted = sum(mul(parts, tape.constant(uniform(parts.shape(), -1, 1, seed++))), {}, false);
    result.value = result.value.defined() ? add(result.value, weighted) : weighted;
  });
  return result;
}

// Gradients against central differences by real and imaginary part of every complex128 and by every float64 element.
inline void check_complex_gradients(const std::string& type, const std::string& api, const List& args,
                                    const Dict& kwargs = {}, double tolerance = 1e-6) {
  std::vector<Tensor> inputs;
  const auto collect = [&](const Value& leaf) {
    const Tensor* tensor = leaf.get<Tensor>();
    if (tensor == nullptr) return;
    if (is_complex(tensor->dtype())) inputs.push_back(pairs_of(*tensor).contiguous());
    if (tensor->dtype() == DType::float64) inputs.push_back(tensor->contiguous());
  };
  for_each_leaf(args, collect);
  for_each_leaf(kwargs, collect);
  Tape tape;
  const ComplexLoss at_inputs = complex_loss(type, api, args, kwargs, inputs, tape);
  tape.backward(at_inputs.value, float64({}, {1}));
  const auto value_at = [&](const std::vector<Tensor>& moved) {
    Tape other;
    return complex_loss(type, api, args, kwargs, moved, other).value.tensor().item();
  };
  ASSERT_FALSE(inputs.empty());
  for (std::size_t which = 0; which < inputs.size(); ++which) {
    const Tensor gradient = tape.gradient(at_inputs.leaves[which]);
    ASSERT_TRUE(gradient.defined()) << type << "." << api << ": tensor " << which;
    for (std::int64_t i = 0; i < inputs[which].numel(); ++i) {
      std::vector<Tensor> moved = inputs;
      std::array<double, 2> at{};
      const double h = 1e-5;
      for (const int side : {0, 1}) {
        std::vector<double> x = values(inputs[which]);
        x[static_cast<std::size_t>(i)] += side == 0 ? h : -h;
        moved[which] = float64(inputs[which].shape(), x);
        at[static_cast<std::size_t>(side)] = value_at(moved);
      }
      const double numeric = (at[0] - at[1]) / (2 * h);
      EXPECT_NEAR(gradient.item(i), numeric, tolerance * std::max(1.0, std::abs(numeric)))
          << type << "." << api << ": tensor " << which << ", part " << i;
    }
  }
}

}  // namespace msrun::testing
