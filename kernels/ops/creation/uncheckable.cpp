// Operators that msrun knows by name but never evaluates: nothing they give could be compared. A call of one is a SKIP
// that says why. docs/operators.md explains the reasons to the user.
#include <array>
#include <string>
#include <utility>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"

namespace msrun {
namespace {

// Each completes a sentence that starts with the operator's name.
constexpr const char* random = "draws random numbers: there is no expected result to compare with.";
constexpr const char* unwritten =
    "returns memory that nobody has written: there is no expected result to compare with.";
constexpr const char* sparse = "belongs to sparse tensors, which a dump cannot describe.";
constexpr const char* sparse_operand = "multiplies sparse matrices, which a dump cannot describe.";
constexpr const char* nested = "belongs to nested tensors, which a dump cannot describe.";
constexpr const char* quantised = "belongs to quantised tensors, which a dump cannot describe.";
constexpr const char* search =
    "searches for a quantisation range by steps that differ between devices: no single result is right.";
constexpr const char* callable = "calls a Python function, which is not part of the dump.";
constexpr const char* autograd = "changes how Python records gradients and computes nothing.";
constexpr const char* view_function = "depends on the Python function that a view recorded, which is not in the dump.";
constexpr const char* storage = "returns the memory under a tensor, which is different on every machine.";
constexpr const char* beyond = "reads memory beyond the recorded tensor.";
constexpr const char* pickling = "describes a tensor for Python's pickle, which is different on every machine.";
constexpr const char* named = "gives dimensions names, which the dump does not record.";

struct Uncheckable {
  const char* canonical;
  const char* names;
  const char* reason;
};

constexpr std::array table{
    Uncheckable{"_dimV", "Tensor: _dimV", sparse},
    Uncheckable{"_reduce_ex_internal", "Tensor: _reduce_ex_internal", pickling},
    Uncheckable{"_rev_view_func_unsafe", "Tensor: _rev_view_func_unsafe", view_function},
    Uncheckable{"_sparse_mask_projection", "Tensor: _sparse_mask_projection", sparse},
    Uncheckable{"_to_sparse_bsr", "Tensor: _to_sparse_bsr", sparse},
    Uncheckable{"align_as", "Tensor: align_as", named},
    Uncheckable{"align_tensors", "Torch: align_tensors", named},
    Uncheckable{"align_to", "Tensor: align_to", named},
    Uncheckable{"bernoulli",
                "Torch: bernoulli; Tensor: bernoulli bernoulli_; Aten: bernoulli bernoulli_; Mint: bernoulli", random},
    Uncheckable{"binomial", "Torch: binomial", random},
    Uncheckable{"cauchy", "Tensor: cauchy_; Aten: cauchy cauchy_", random},
    Uncheckable{"ccol_indices", "Tensor: ccol_indices", sparse},
    Uncheckable{"choose_qparams_optimized", "Torch: choose_qparams_optimized", search},
    Uncheckable{"coalesce", "Tensor: coalesce", sparse},
    Uncheckable{"empty", "Torch: empty; Aten: empty", unwritten},
    Uncheckable{"empty_like", "Torch: empty_like; Aten: empty_like", unwritten},
    Uncheckable{"empty_strided", "Torch: empty_strided; Aten: empty_strided", unwritten},
    Uncheckable{"exponential", "Tensor: exponential_; Aten: exponential exponential_", random},
    Uncheckable{"geometric", "Tensor: geometric_; Aten: geometric geometric_", random},
    Uncheckable{"hsmm", "Torch: hsmm hspmm", sparse_operand},
    Uncheckable{"log_normal", "Tensor: log_normal_; Aten: log_normal log_normal_", random},
    Uncheckable{"map2_", "Tensor: map2_", callable},
    Uncheckable{"map_", "Tensor: map_", callable},
    Uncheckable{"multinomial", "Torch: multinomial; Tensor: multinomial; Aten: multinomial; Mint: multinomial", random},
    Uncheckable{"new_empty", "Tensor: new_empty; Aten: new_empty", unwritten},
    Uncheckable{"new_empty_strided", "Tensor: new_empty_strided; Aten: new_empty_strided", unwritten},
    Uncheckable{"normal", "Torch: normal; Tensor: normal_; Aten: normal normal_; Mint: normal; MintFunctional: normal",
                random},
    Uncheckable{"poisson", "Torch: poisson", random},
    Uncheckable{"q_per_channel_axis", "Tensor: q_per_channel_axis", quantised},
    Uncheckable{"q_per_channel_zero_points", "Tensor: q_per_channel_zero_points", quantised},
    Uncheckable{"q_zero_point", "Tensor: q_zero_point", quantised},
    Uncheckable{"rand", "Torch: rand; Aten: rand; Mint: rand", random},
    Uncheckable{"rand_like", "Torch: rand_like; Aten: rand_like; Mint: rand_like", random},
    Uncheckable{"randint", "Torch: randint; Aten: randint", random},
    Uncheckable{"randint_like", "Aten: randint_like", random},
    Uncheckable{"randn", "Torch: randn; Aten: randn", random},
    Uncheckable{"randn_like", "Torch: randn_like; Aten: randn_like", random},
    Uncheckable{"random_", "Tensor: random_", random},
    Uncheckable{"randperm", "Torch: randperm; Aten: randperm", random},
    Uncheckable{"refine_names", "Tensor: refine_names", named},
    Uncheckable{"register_post_accumulate_grad_hook", "Tensor: register_post_accumulate_grad_hook", autograd},
    Uncheckable{"slice_inverse", "Tensor: slice_inverse", beyond},
    Uncheckable{"smm", "Torch: smm; Tensor: smm", sparse_operand},
    Uncheckable{"sparse_coo_tensor", "Torch: sparse_coo_tensor", sparse},
    Uncheckable{"sparse_mask", "Tensor: sparse_mask", sparse},
    Uncheckable{"sparse_resize_", "Tensor: sparse_resize_", sparse},
    Uncheckable{"sparse_resize_and_clear_", "Tensor: sparse_resize_and_clear_", sparse},
    Uncheckable{"sspaddmm", "Torch: sspaddmm; Tensor: sspaddmm", sparse_operand},
    Uncheckable{"to_padded_tensor", "Tensor: to_padded_tensor", nested},
    Uncheckable{"uniform", "Tensor: uniform_; Aten: uniform uniform_", random},
    Uncheckable{"untyped_storage", "Tensor: untyped_storage", storage},
};

template <std::size_t row>
Value refuse(const Bound& /*args*/) {
  throw SkipError(std::string(table[row].canonical) + " " + table[row].reason);
}

// Every row takes whatever it is called with.
template <std::size_t row>
struct Registration {
  std::string signature = std::string(table[row].canonical) + "(*, any... ignored)";
  OperatorRegistration line{signature.c_str(), refuse<row>};
  NamesRegistration names{table[row].canonical, table[row].names};
  TraitsRegistration traits{table[row].canonical, {.uncheckable = table[row].reason}};
};

template <class Rows>
struct Registrations;
template <std::size_t... row>
struct Registrations<std::index_sequence<row...>> : Registration<row>... {};

const Registrations<std::make_index_sequence<table.size()>> registrations;

}  // namespace

}  // namespace msrun
