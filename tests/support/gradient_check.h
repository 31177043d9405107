// Compares the gradients that the tape gives with central differences in float64.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/api/operators.h"
#include "tests/support/tensor_values.h"

namespace msrun::testing {

inline Tensor float64(const Dims& shape, const std::vector<double>& data) {
  return Tensor::from<double>(DType::float64, shape, std::span<const double>(data));
}

inline Tensor int64(const Dims& shape, const std::vector<std::int64_t>& data) {
  return Tensor::from<std::int64_t>(DType::int64, shape, std::span<const std::int64_t>(data));
}

inline Tensor uniform(const Dims& shape, double low, double high, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  std::vector<double> data(static_cast<std::size_t>(element_count(shape)));
  for (double& value : data) value = distribution(generator);
  return float64(shape, data);
}

// Tensors become Vars of the tape: float64 ones as leaves, which are appended to leaves in depth-first order.
inline Value on_tape(const Value& tree, Tape& tape, std::vector<Var>& leaves) {
  return transform_leaves(tree, [&](const Value& leaf) -> Value {
    const Tensor* tensor = leaf.get<Tensor>();
    if (tensor == nullptr) return leaf;
    if (tensor->dtype() != DType::float64) return tape.constant(*tensor);
    leaves.push_back(tape.leaf(*tensor));
    return leaves.back();
  });
}

// The output of an API; of a tuple the item `output`, counted depth first.
inline Var call(const std::string& type, const std::string& api, const List& args, const Dict& kwargs, Tape& tape,
                std::vector<Var>& leaves, std::size_t output = 0) {
  const Operator* op = find_operator(type, api);
  if (op == nullptr) throw std::logic_error(type + "." + api + " is not in the table");
  const Value bound_args = on_tape(args, tape, leaves);
  const Value bound_kwargs = on_tape(kwargs, tape, leaves);
  const Value result = op->call(*bound_args.get<List>(), *bound_kwargs.get<Dict>(), tape);
  std::vector<Value> items;
  for_each_leaf(result, [&](const Value& leaf) { items.push_back(leaf); });
  return *items.at(output).get<Var>();
}

// Forward value.
inline Tensor result_of(const std::string& type, const std::string& api, const List& args, const Dict& kwargs = {},
                        std::size_t output = 0) {
  Tape tape;
  std::vector<Var> leaves;
  return call(type, api, args, kwargs, tape, leaves, output).tensor();
}

// The same as doubles.
inline std::vector<double> forward(const std::string& type, const std::string& api, const List& args,
                                   const Dict& kwargs = {}, std::size_t output = 0) {
  return values(result_of(type, api, args, kwargs, output));
}

// Gradients of all float64 tensor arguments for the cotangent `gradient` (all ones if undefined).
inline std::vector<std::vector<double>> gradients(const std::string& type, const std::string& api, const List& args,
                                                  const Dict& kwargs = {}, Tensor gradient = {}, std::size_t output = 0,
                                                  const EvaluationContext& context = {}) {
  Tape tape(context);
  std::vector<Var> leaves;
  const Var result = call(type, api, args, kwargs, tape, leaves, output);
  if (!gradient.defined()) gradient = Tensor::full(DType::float64, result.shape(), 1);
  tape.backward(result, gradient);
  std::vector<std::vector<double>> all;
  for (const Var& leaf : leaves) {
    const Tensor of_leaf = tape.gradient(leaf);
    all.push_back(of_leaf.defined() ? values(of_leaf) : std::vector<double>{});
  }
  return all;
}

struct GradientCheck {
  std::size_t output = 0;
  double tolerance = 1e-6;
  std::vector<std::size_t> skip = {};  // leaves that are not differentiated, by depth-first index
  std::uint64_t cotangent_seed = 7;
  // A leaf that no gradient reaches counts as one with a gradient of 0.
  bool missing_is_zero = false;
  // The leaves are symmetric matrices, of which only one half may be read: gradients are compared up to what they add
  // up to for an element and its mirror image.
  bool symmetric = false;
  // Square matrices of which only the lower triangle is read. torch gives the other half a gradient, too, as if it were
  // read; no difference quotient can confirm that, so it is not compared.
  bool lower = false;
};

// The mean of every square matrix and its transpose.
inline std::vector<double> symmetrised(const std::vector<double>& matrices, std::int64_t size) {
  std::vector<double> result = matrices;
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    const auto n = static_cast<std::size_t>(size);
    const std::size_t in_matrix = k % (n * n);
    result[k] = (matrices[k] + matrices[k - in_matrix + in_matrix % n * n + in_matrix / n]) / 2;
  }
  return result;
}

// Every gradient element against (f(x + h) - f(x - h)) / 2h, weighted by a random cotangent.
inline void check_gradients(const std::string& type, const std::string& api, const List& args, const Dict& kwargs,
                            const GradientCheck& check) {
  const std::size_t output = check.output;
  Tape tape;
  std::vector<Var> leaves;
  const Var result = call(type, api, args, kwargs, tape, leaves, output);
  const Tensor cotangent = uniform(result.shape(), -1, 1, check.cotangent_seed);
  const std::vector<double> weights = values(cotangent);
  tape.backward(result, cotangent);
  const auto weighted = [&](std::size_t which, const Tensor& replacement) {
    std::size_t seen = 0;
    const auto replace = [&](const Value& leaf) -> Value {
      const Tensor* tensor = leaf.get<Tensor>();
      if (tensor == nullptr || tensor->dtype() != DType::float64) return leaf;
      return seen++ == which ? Value(replacement) : leaf;
    };
    const Value new_args = transform_leaves(args, replace);
    const Value new_kwargs = transform_leaves(kwargs, replace);
    const std::vector<double> y = forward(type, api, *new_args.get<List>(), *new_kwargs.get<Dict>(), output);
    double total = 0;
    for (std::size_t i = 0; i < y.size(); ++i) total += y[i] * weights[i];
    return total;
  };
  for (std::size_t which = 0; which < leaves.size(); ++which) {
    if (std::find(check.skip.begin(), check.skip.end(), which) != check.skip.end()) continue;
    Tensor analytic_tensor = tape.gradient(leaves[which]);
    if (!analytic_tensor.defined() && check.missing_is_zero)
      analytic_tensor = Tensor::zeros(DType::float64, leaves[which].shape());
    ASSERT_TRUE(analytic_tensor.defined()) << type << "." << api << ": no gradient for tensor " << which;
    std::vector<double> analytic = values(analytic_tensor);
    const std::vector<double> x = values(leaves[which].tensor());
    std::vector<double> numeric(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double h = 1e-5 * std::max(1.0, std::abs(x[i]));
      std::vector<double> moved = x;
      moved[i] = x[i] + h;
      const double above = weighted(which, float64(leaves[which].shape(), moved));
      moved[i] = x[i] - h;
      const double below = weighted(which, float64(leaves[which].shape(), moved));
      numeric[i] = (above - below) / (2 * h);
    }
    if (check.symmetric) {
      analytic = symmetrised(analytic, leaves[which].size(-1));
      numeric = symmetrised(numeric, leaves[which].size(-1));
    }
    const Dims& shape = leaves[which].shape();
    const bool square = shape.size() >= 2 && shape.back() == shape[shape.size() - 2];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto size = square ? static_cast<std::size_t>(shape.back()) : 1;
      if (check.lower && square && i % size > i / size % size) continue;
      EXPECT_NEAR(analytic[i], numeric[i], check.tolerance * std::max(1.0, std::abs(numeric[i])))
          << type << "." << api << ": tensor " << which << ", element " << i;
    }
  }
}

inline void check_gradients(const std::string& type, const std::string& api, const List& args, const Dict& kwargs = {},
                            std::size_t output = 0, double tolerance = 1e-6, std::vector<std::size_t> skip = {}) {
  check_gradients(type, api, args, kwargs, GradientCheck{output, tolerance, std::move(skip)});
}

}  // namespace msrun::testing
