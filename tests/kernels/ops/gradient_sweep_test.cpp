// Gradients of every differentiable operator of the inventory against central differences in float64, on random shapes,
// layouts and cotangents. The seed is printed; MSRUN_GRADIENT_SEED repeats or varies a run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "kernels/base/error.h"
#include "kernels/inventory/inventory.h"
#include "runner/dialects/dialect.h"
#include "tests/kernels/ops/gradient_sweep.h"

namespace msrun::testing {
namespace {

constexpr int rounds = 3;  // calls per entry

enum class Reason : std::uint8_t {
  always_skipped,  // every call is a SKIP, as docs/operators.md says
  random,          // draws random numbers
  no_gradient,     // torch defines none, or the outputs are no tensors of floats
  other_check,     // central differences do not apply; the test named beside it checks the gradient
};

const std::map<std::string, Reason>& exceptions() {
  static const std::map<std::string, Reason> all{
      // Behind a log_softmax only: CtcLoss.GradientIsThatBehindALogSoftmax.
      {"ctc_loss", Reason::other_check},
      // The order of eigenvalues may change with any step: Eigenvalues.OfGeneralMatrices.
      {"eig", Reason::other_check},
      {"_dimV", Reason::always_skipped},
      {"_reduce_ex_internal", Reason::always_skipped},
      {"_rev_view_func_unsafe", Reason::always_skipped},
      {"_sparse_mask_projection", Reason::always_skipped},
      {"_to_sparse_bsr", Reason::always_skipped},
      {"align_as", Reason::always_skipped},
      {"align_tensors", Reason::always_skipped},
      {"align_to", Reason::always_skipped},
      {"ccol_indices", Reason::always_skipped},
      {"choose_qparams_optimized", Reason::always_skipped},
      {"coalesce", Reason::always_skipped},
      {"hsmm", Reason::always_skipped},
      {"hspmm", Reason::always_skipped},
      {"log_normal", Reason::always_skipped},
      {"map", Reason::always_skipped},
      {"map2", Reason::always_skipped},
      {"refine_names", Reason::always_skipped},
      {"register_post_accumulate_grad_hook", Reason::always_skipped},
      {"slice_inverse", Reason::always_skipped},
      {"smm", Reason::always_skipped},
      {"sparse_mask", Reason::always_skipped},
      {"sparse_resize", Reason::always_skipped},
      {"sparse_resize_and_clear", Reason::always_skipped},
      {"sspaddmm", Reason::always_skipped},
      {"untyped_storage", Reason::always_skipped},
      {"gumbel_softmax", Reason::random},
      // Statistics of other devices; nothing of the input.
      {"batch_norm_gather_stats", Reason::no_gradient},
      {"batch_norm_gather_stats_with_counts", Reason::no_gradient},
      // Writes to the weights outside of the recorded computation.
      {"embedding_renorm", Reason::no_gradient},
      {"linalg_ldl_factor", Reason::no_gradient},
      {"linalg_ldl_factor_ex", Reason::no_gradient},
      {"ndimension", Reason::no_gradient},
      {"tolist", Reason::no_gradient},
  };
  return all;
}

std::uint64_t sweep_seed() {
  const char* given = std::getenv("MSRUN_GRADIENT_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

// The outputs that a gradient flows from, counted depth first.
std::vector<std::size_t> differentiable_outputs(const std::string& type, const std::string& api,
                                                const SweepCall& call) {
  Tape tape;
  std::vector<Var> leaves;
  const Value args = on_tape(call.args, tape, leaves);
  const Value kwargs = on_tape(call.kwargs, tape, leaves);
  const Operator* op = find_operator(type, api);
  if (op == nullptr) throw std::logic_error(type + "." + api + " is not in the table");
  std::vector<std::size_t> outputs;
  std::size_t position = 0;
  for_each_leaf(op->call(*args.get<List>(), *kwargs.get<Dict>(), tape), [&](const Value& leaf) {
    const Var* var = leaf.get<Var>();
    if (var != nullptr && var->requires_grad()) outputs.push_back(position);
    ++position;
  });
  return outputs;
}

TEST(GradientSweep, EveryDifferentiableOperator) {
  const std::uint64_t seed = sweep_seed();
  std::cout << "MSRUN_GRADIENT_SEED=" << seed << std::endl;
  RecordProperty("MSRUN_GRADIENT_SEED", std::to_string(seed));
  for (const SweepEntry& entry : whole_sweep()) {
    // Every operator has a seed of its own, so that a change of one leaves the others alone.
    const auto [type, api] = name_of(entry);
    const std::string name = type + "." + api;
    std::seed_seq mixed(name.begin(), name.end());
    std::vector<std::uint32_t> own(2);
    mixed.generate(own.begin(), own.end());
    Draw draw(seed ^ (static_cast<std::uint64_t>(own[0]) << 32 | own[1]));
    for (int round = 0; round < rounds; ++round) {
      SCOPED_TRACE(entry.canonical + " as " + name + ", call " + std::to_string(round) +
                   ", MSRUN_GRADIENT_SEED=" + std::to_string(seed));
      try {
        const SweepCall call = entry.make(draw);
        const std::vector<std::size_t> outputs = differentiable_outputs(type, api, call);
        EXPECT_FALSE(outputs.empty()) << "no output has a gradient";
        for (const std::size_t output : outputs) {
          GradientCheck check{output, call.tolerance, call.constants};
          check.cotangent_seed = static_cast<std::uint64_t>(draw.integer(0, 1 << 30));
          // Of several outputs, not every one depends on every argument.
          check.missing_is_zero = outputs.size() > 1;
          check.symmetric = call.symmetric;
          check.lower = call.lower;
          check_gradients(type, api, call.args, call.kwargs, check);
        }
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
}

TEST(GradientSweep, LeavesOutNoOperator) {
  std::set<std::string> swept;
  for (const SweepEntry& entry : whole_sweep()) {
    swept.insert(entry.canonical);
    EXPECT_TRUE(differentiable_operators().contains(entry.canonical))
        << entry.canonical << " is no differentiable operator of the inventory";
  }
  for (const auto& [name, entry] : differentiable_operators()) {
    const auto exception = exceptions().find(name);
    EXPECT_NE(swept.contains(name), exception != exceptions().end())
        << name << " must be in a table of the sweep or among the exceptions";
    if (exception == exceptions().end() || exception->second != Reason::always_skipped) continue;
    const auto [type, api] = first_name(*entry);
    const bool refused = !find_operator(type, api)->traits().uncheckable.empty();
    EXPECT_TRUE(refused || pytorch_dialect().is_never_run(api)) << name << " is not always skipped";
  }
  for (const auto& [name, reason] : exceptions())
    EXPECT_TRUE(differentiable_operators().contains(name)) << name << " is no differentiable operator";
}

}  // namespace
}  // namespace msrun::testing
