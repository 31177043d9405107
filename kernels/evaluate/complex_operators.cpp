#include "kernels/evaluate/complex_operators.h"

#include <algorithm>
#include <array>

namespace msrun {
namespace {

// clang-format off
constexpr auto names = std::to_array<std::string_view>({
    "_fft_c2c", "_fft_c2r", "_fft_r2c", "abs", "acos", "acosh", "add", "addbmm", "addcdiv", "addcmul", "addmm",
    "addmv", "addr", "adjoint", "alias", "all", "allclose", "angle", "any", "argwhere", "asin", "asinh", "atan",
    "atanh", "atleast_1d", "atleast_2d", "atleast_3d", "baddbmm", "bfloat16", "block_diag", "bmm", "bool",
    "bool_value", "broadcast_tensors", "byte", "cartesian_prod", "cat", "cdouble", "cfloat", "chain_matmul",
    "channel_shuffle", "char", "chunk", "clone", "column_stack", "combinations", "complex", "conj",
    "constant_pad_nd", "contiguous", "copy_", "cos", "cosh", "count_nonzero", "cross", "cumprod", "cumsum",
    "cumulative_trapezoid", "detach", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_scatter", "diff",
    "dim", "dist", "div", "dot", "double", "dsplit", "dstack", "einsum", "eq", "eq_", "equal", "exp", "expand",
    "expand_as", "fft_fft", "fft_fft2", "fft_fftn", "fft_fftshift", "fft_hfft", "fft_hfft2", "fft_hfftn",
    "fft_ifft", "fft_ifft2", "fft_ifftn", "fft_ifftshift", "fft_ihfft", "fft_ihfft2", "fft_ihfftn", "fft_irfft",
    "fft_irfft2", "fft_irfftn", "fft_rfft", "fft_rfft2", "fft_rfftn", "fill_", "fill_diagonal_", "flatten", "flip",
    "fliplr", "flipud", "float", "float_power", "frobenius_norm", "full", "full_like", "gather", "getitem", "half",
    "hsplit", "hstack", "imag", "index", "index_add", "index_copy", "index_fill", "index_put", "index_select",
    "inner", "int", "is_complex", "is_contiguous", "is_same_size", "isclose", "isfinite", "isinf", "isnan",
    "isreal", "istft", "kron", "linalg_cross", "linalg_diagonal", "linalg_matrix_power", "linalg_multi_dot",
    "linalg_norm", "linalg_vecdot", "linalg_vector_norm", "linear", "log", "log10", "log2", "logical_and",
    "logical_and_", "logical_not", "logical_not_", "logical_or", "logical_or_", "logical_xor", "logical_xor_",
    "long", "masked_fill", "masked_scatter", "masked_select", "matmul", "mean", "meshgrid", "mm", "movedim", "mul",
    "mv", "narrow", "ne", "ne_", "neg", "new_full", "new_ones", "new_zeros", "nonzero", "norm", "npu_broadcast",
    "npu_confusion_transpose", "npu_dtype_cast", "npu_format_cast", "npu_transpose", "numel", "ones_like", "outer",
    "pad", "permute", "pixel_shuffle", "pixel_unshuffle", "polar", "pow", "prod", "put", "ravel", "rdiv", "real",
    "reciprocal", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "repeat", "repeat_interleave",
    "replication_pad1d", "replication_pad2d", "replication_pad3d", "reshape", "reshape_alias", "resize_",
    "resize_as_", "rmatmul", "roll", "rot90", "rpow", "rsqrt", "rsub", "saddmm", "scatter", "scatter_add", "select",
    "select_scatter", "setitem", "sgn", "short", "sigmoid", "silu", "sin", "sinh", "size", "slice", "slice_scatter",
    "split", "sqrt", "square", "squeeze", "stack", "std", "std_mean", "stft", "stride", "sub", "sum", "sum_to_size",
    "t", "take", "take_along_dim", "tan", "tanh", "tensor_split", "tensor_where", "tensordot", "tile", "to",
    "to_copy", "trace", "transpose", "trapezoid", "tril", "triu", "type", "type_as", "unbind", "unflatten",
    "unfold", "unsqueeze", "var", "var_mean", "vdot", "view", "view_as", "view_as_complex", "view_as_real",
    "vsplit", "vstack", "where", "zero_", "zeros_like",
});
// clang-format on
static_assert(std::ranges::is_sorted(names));

}  // namespace

bool takes_complex(std::string_view canonical_operator) {
  return std::ranges::binary_search(names, canonical_operator);
}

std::span<const std::string_view> complex_operators() { return names; }

}  // namespace msrun
