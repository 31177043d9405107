"""Records calls at the ends of their domains, computed by torch on the CPU, as msProbe's dumper does: one folder per category and
dtype with dump.json and dump_tensor_data/*.pt.

    edges.py FOLDER

Rows of zeros and of equal elements, eps of 0, zeros of both signs, infinite and missing numbers where functions have poles, steps
and kinks, classes that are all ignored, empty batches, masked rows. Unlike oracle.py it keeps calls in which torch's own float32
is not its float64, as float16 has no 1e-12. Needs torch (1.13, whose results these are)."""

import itertools
import math
import pathlib
import sys

import torch

import oracle
from oracle import Category, Lcg, numbers

INF, NAN = math.inf, math.nan
POINTS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, INF, -INF, NAN]


def tensor(values, dtype):
    return torch.tensor(values, dtype=torch.float64).to(dtype)


def constant(value):
    """An argument of which torch has no gradient."""
    value = value.clone()
    value.constant = True
    return value


def grid(dtype):
    """Every point beside every other."""
    pairs = list(itertools.product(POINTS, POINTS))
    return tensor([a for a, _ in pairs], dtype), tensor([b for _, b in pairs], dtype)


def rows(dtype, rng, shape=(5, 6)):
    """Rows of zeros, of negative zeros, of equal elements, of one element that is not 0, and plain ones."""
    x = numbers(list(shape), "plain", torch.float64, rng).reshape(shape[0], -1)
    x[0] = 0.0
    x[1] = -0.0
    x[2] = 1.5
    x[3] = 0.0
    x[3, 1] = -2.0
    return x.reshape(shape).to(dtype)


def norms(category, dtype, rng):
    x, other = rows(dtype, rng), numbers([5, 6], "plain", dtype, rng)
    other[4] = 0
    weight, bias = numbers([6], "plain", dtype, rng), numbers([6], "plain", dtype, rng)
    for eps in (0.0, 1e-12, 1e-5):
        for p in (1.0, 2.0, 3.0, 0.5, INF):
            category.add("Functional.normalize", [x], {"p": p, "dim": -1, "eps": eps})
        category.add("Functional.cosine_similarity", [x, other], {"dim": 1, "eps": eps})
        category.add("Functional.cosine_similarity", [x, x], {"dim": -1, "eps": eps})
        category.add("Functional.layer_norm", [x, [6]], {"eps": eps})
        category.add("Functional.layer_norm", [x, [6], weight, bias], {"eps": eps})
        for p in (1.0, 2.0, 3.0, INF):
            category.add("Functional.pairwise_distance", [x, x], {"p": p, "eps": eps})
            category.add("Functional.pairwise_distance", [x, other], {"p": p, "eps": eps})
        images = rows(dtype, rng, (5, 4, 6))
        category.add("Functional.group_norm", [images, 2, weight[:4], bias[:4]], {"eps": eps})
        category.add("Functional.group_norm", [images, 4], {"eps": eps})
        category.add("Functional.instance_norm", [images], {"eps": eps})
        category.add("Functional.instance_norm", [images], {"weight": weight[:4], "bias": bias[:4], "eps": eps})
        zeros, ones = constant(torch.zeros(5, dtype=dtype)), constant(torch.ones(5, dtype=dtype))
        channels = images.transpose(0, 1).contiguous()
        category.add("Functional.batch_norm", [channels, zeros, ones], {"training": True, "eps": eps})
        category.add("Functional.batch_norm", [channels, zeros, zeros], {"training": False, "eps": eps})
        category.add("Functional.batch_norm", [channels, zeros, zeros, numbers([5], "plain", dtype, rng), numbers([5], "plain", dtype, rng)],
                     {"training": False, "eps": eps})
    for k in (0.0, 1.0):
        category.add("Functional.local_response_norm", [rows(dtype, rng, (5, 4, 6)), 2], {"k": k})
    for p in (0.0, 0.5, 1.0, 2.0, 3.0, -1.0, -2.0, INF, -INF):
        for dim in (-1, None):
            category.add("Torch.norm", [x, p], {} if dim is None else {"dim": dim})
            category.add("Torch.linalg.vector_norm", [x, p], {} if dim is None else {"dim": dim})
        category.add("Torch.dist", [x, x, p])
        category.add("Torch.dist", [x, other, p])
        category.add("Torch.linalg.vector_norm", [x[:, :0], p], {"dim": 0})
        category.add("Torch.norm", [x[0], p])
        if p >= 0:
            category.add("Torch.cdist", [x, x, p])
            category.add("Functional.pdist", [x, p])
        if p > 0:
            category.add("Torch.renorm", [x, p, 0, 0.5])
    for order in ("fro", 1, -1, INF, -INF, 2, "nuc"):
        category.add("Torch.linalg.matrix_norm", [x, order])
        category.add("Torch.linalg.matrix_norm", [torch.zeros(3, 4, dtype=dtype), order])
    category.add("Torch._weight_norm", [x, numbers([5, 1], "plain", dtype, rng), 0])
    for name in ("std", "var", "std_mean", "var_mean"):
        for unbiased in (True, False):
            category.add(f"Torch.{name}", [x, -1, unbiased])
            category.add(f"Torch.{name}", [x[:, :1], -1, unbiased])
    for name in ("cov", "corrcoef"):
        category.add(f"Torch.{name}", [x])


def masked(dtype):
    x = tensor([[-INF] * 5, [-INF, 1, -INF, 0, 2], [INF, 1, -INF, 0, 2], [INF, INF, 0, 1, 2], [NAN, 0, 1, 2, 3], [-1e4] * 5, [0.0] * 5], dtype)
    return x


def softmaxes(category, dtype, rng):
    x = masked(dtype)
    for name in ("softmax", "log_softmax", "softmin"):
        for dim in (-1, 0):
            category.add(f"Functional.{name}", [x, dim])
    for name in ("logsumexp", "logcumsumexp", "cumsum", "cumprod", "prod", "sum", "mean", "amax", "amin", "aminmax", "nansum", "nanmean", "median",
                 "nanmedian", "mode", "std", "var", "cummax", "cummin", "max", "min", "argmax", "argmin", "any", "all", "sort", "std_mean", "var_mean"):
        kwargs = {"dim": -1}
        category.add(f"Torch.{name}", [x], kwargs)
        category.add(f"Torch.{name}", [rows(dtype, rng)], kwargs)
        category.add(f"Torch.{name}", [x[:0]], kwargs)
    for name in ("prod", "cumprod"):
        zeros = tensor([[0, 2, 3, 4], [0, 2, 0, 4], [1, 2, 3, 4], [-0.0, 1, 2, INF], [0, NAN, 1, 2]], dtype)
        category.add(f"Torch.{name}", [zeros, -1])
        category.add(f"Torch.{name}", [zeros, 0])
    category.add("Torch.prod", [tensor([0, 2, 3], dtype)])
    category.add("Functional.glu", [tensor([[INF, -INF, 0.0, NAN], [1, 2, INF, -INF]], dtype)])
    query, key = numbers([2, 3, 4], "plain", dtype, rng), numbers([2, 5, 4], "plain", dtype, rng)
    mask = torch.zeros(3, 5, dtype=dtype)
    mask[1] = -INF
    category.add("Torch.baddbmm", [mask.expand(2, 3, 5).contiguous(), query, key.transpose(1, 2).contiguous()])
    category.add("Functional._scaled_dot_product_attention", [query, key, key, mask])
    category.add("Tensor.masked_fill", [x, x > 0, -INF])
    category.add("Functional.multi_head_attention_forward", [
        numbers([3, 2, 4], "plain", dtype, rng), numbers([5, 2, 4], "plain", dtype, rng), numbers([5, 2, 4], "plain", dtype, rng), 4, 2,
        numbers([12, 4], "plain", dtype, rng), numbers([12], "plain", dtype, rng), None, None, False, 0.0, numbers([4, 4], "plain", dtype, rng),
        numbers([4], "plain", dtype, rng)], {"key_padding_mask": torch.tensor([[True] * 5, [False, False, True, True, False]]), "need_weights": True})


def losses(category, dtype, rng):
    x = masked(dtype)
    plain, wide = numbers([7, 5], "plain", dtype, rng), numbers([7, 5], "large", dtype, rng)
    weight = constant(tensor([0.0, 1, 0.5, 2, 0], dtype))
    targets = [torch.tensor([-100] * 7), torch.tensor([0, 1, 2, 3, 4, -100, 1]), torch.tensor([0] * 7), torch.tensor([1] * 7)]
    for reduction, logits, target in itertools.product(("none", "mean"), (x, plain), targets):
        for kwargs in ({}, {"weight": weight}, {"label_smoothing": 0.1}, {"ignore_index": 1}, {"weight": weight, "label_smoothing": 0.2}):
            category.add("Functional.cross_entropy", [logits, target], {"reduction": reduction, **kwargs})
            if "label_smoothing" not in kwargs:
                category.add("Functional.nll_loss", [logits, target], {"reduction": reduction, **kwargs})
    points = tensor(POINTS, dtype)
    units = tensor([0.0, 1.0, 0.5, 0.0, 1.0, 0.25, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.5], dtype)
    a, b = grid(dtype)
    for reduction in ("none", "mean"):
        kwargs = {"reduction": reduction}
        category.add("Functional.cross_entropy", [plain[:0], torch.tensor([], dtype=torch.int64)], kwargs)
        category.add("Functional.cross_entropy", [plain, torch.zeros(7, 5, dtype=dtype)], kwargs)
        category.add("Functional.cross_entropy", [x, torch.softmax(plain.double(), -1).to(dtype)], kwargs)
        category.add("Functional.binary_cross_entropy", [units, constant(units.flip(0))], kwargs)
        category.add("Functional.binary_cross_entropy", [units, constant(units)], {"weight": constant(units), **kwargs})
        category.add("Functional.binary_cross_entropy_with_logits", [points, units], kwargs)
        category.add("Functional.binary_cross_entropy_with_logits", [points, units], {"pos_weight": constant(units), **kwargs})
        for log_target in (False, True):
            category.add("Functional.kl_div", [points, units.double().log().to(dtype) if log_target else units], {"log_target": log_target, **kwargs})
        for full in (False, True):
            category.add("Functional.gaussian_nll_loss", [plain, wide, torch.zeros(7, 5, dtype=dtype)], {"full": full, **kwargs})
            category.add("Functional.gaussian_nll_loss", [plain, plain, rows(dtype, rng, (7, 5)).abs()], {"full": full, **kwargs})
            for log_input, eps in ((False, 0.0), (False, 1e-8), (True, 1e-8)):
                category.add("Functional.poisson_nll_loss", [units, units.flip(0)], {"log_input": log_input, "full": full, "eps": eps, **kwargs})
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "hinge_embedding_loss"):
            category.add(f"Functional.{name}", [a, b if "margin" not in name and "hinge" not in name else torch.ones_like(b)], kwargs)
            category.add(f"Functional.{name}", [a[:0], b[:0]], kwargs)
        category.add("Functional.smooth_l1_loss", [a, b], {"beta": 0.0, **kwargs})
        signs = tensor([1.0, -1.0, 1.0, -1.0, 1.0], dtype)
        zeros, other = rows(dtype, rng), numbers([5, 6], "plain", dtype, rng)
        for margin in (0.0, 0.5):
            category.add("Functional.cosine_embedding_loss", [zeros, other, signs], {"margin": margin, **kwargs})
            category.add("Functional.cosine_embedding_loss", [zeros, zeros, signs], {"margin": margin, **kwargs})
            category.add("Functional.margin_ranking_loss", [zeros[:, 1], zeros[:, 2], signs], {"margin": margin, **kwargs})
        for p, eps, swap in itertools.product((1.0, 2.0), (0.0, 1e-6), (False, True)):
            category.add("Functional.triplet_margin_loss", [zeros, zeros, other], {"p": p, "eps": eps, "swap": swap, **kwargs})
            category.add("Functional.triplet_margin_loss", [zeros, other, other], {"p": p, "eps": eps, "swap": swap, **kwargs})
        category.add("Functional.multi_margin_loss", [plain, torch.tensor([0, 1, 2, 3, 4, 0, 1])], {"p": 2, "margin": 0.0, **kwargs})
        category.add("Functional.multilabel_soft_margin_loss", [wide, (plain > 0).to(dtype)], kwargs)
        category.add("Functional.multilabel_margin_loss", [plain, torch.tensor([[-1] * 5] * 6 + [[0, 2, -1, 1, 1]])], kwargs)
        log_probs = torch.log_softmax(numbers([4, 3, 5], "plain", torch.float64, rng), -1).to(dtype)
        # No alignment of the first, no target of the second. Without inputs torch 1.13 reads memory that was not written.
        lengths = [torch.tensor([[1, 1, 1], [2, 3, 1], [1, 2, 3]]), torch.tensor([4, 4, 2]), torch.tensor([3, 0, 1])]
        for zero_infinity in (False, True):
            category.add("Functional.ctc_loss", [log_probs, *lengths], {"zero_infinity": zero_infinity, **kwargs})


def poolings(category, dtype, rng):
    x = rows(dtype, rng, (5, 2, 6))
    wild = tensor([[-INF] * 6, [INF, -INF, 0, 1, 2, 3], [NAN, 0, 1, 2, -1, -2], [0.0, -0.0] * 3], dtype).reshape(2, 2, 6)
    for data in (x, wild):
        for p in (1.0, 2.0, 3.0, 0.5, 4.0):
            category.add("Functional.lp_pool1d", [data, p, 2])
            category.add("Functional.lp_pool1d", [data, p, 3, 2, True])
            category.add("Functional.lp_pool2d", [data, p, 2, 1])
        for kwargs in ({}, {"ceil_mode": True}, {"padding": 1}, {"padding": 1, "count_include_pad": False}):
            category.add("Functional.avg_pool1d", [data, 2, 2], kwargs)
            if "count_include_pad" not in kwargs:
                category.add("Functional.max_pool1d", [data, 2, 2], kwargs)
        category.add("Functional.avg_pool2d", [data, 2, 1], {"divisor_override": -3})
        category.add("Functional.adaptive_avg_pool1d", [data, 4])
        category.add("Functional.adaptive_max_pool1d", [data, 4])
        category.add("Functional.avg_pool1d", [data[:0], 2])
        category.add("Functional.max_pool2d", [data, [2, 3], 1, [1, 1]])
        weight = numbers([3, 2, 3], "plain", dtype, rng)
        for padding in (0, 1):
            category.add("Functional.conv1d", [data, weight, None, 1, padding])
            category.add("Functional.conv_transpose1d", [data, weight.transpose(0, 1).contiguous(), None, 1, padding])
        category.add("Functional.unfold", [data[:, None], [1, 2]], {"padding": 1})
        category.add("Functional.interpolate", [data], {"scale_factor": 1.5, "mode": "linear"})
        category.add("Functional.pad", [data, [1, 2]], {"mode": "replicate"})
    whole = torch.arange(-12, 12).reshape(2, 12)
    for p in (1.0, 2.0, 3.0):
        for kernel in (2, 3, 5):
            category.add("Functional.lp_pool1d", [whole, p, kernel])
    category.add("Functional.lp_pool2d", [whole.reshape(2, 3, 4), 2.0, 2])
    table, index = rows(dtype, rng), torch.tensor([0, 2, 2, 4, 1])
    for mode in ("sum", "mean", "max"):
        category.add("Functional.embedding_bag", [index, table, torch.tensor([0, 0, 3, 5])], {"mode": mode})
        category.add("Functional.embedding_bag", [index, table, torch.tensor([0, 2])], {"mode": mode, "padding_idx": 2})
    category.add("Functional.embedding", [index, rows(dtype, rng)], {"max_norm": 1.0, "padding_idx": 1})


UNARY = """abs acos acosh angle asin asinh atan atanh ceil cos cosh digamma erf erfc erfinv exp exp2 expm1 floor frac i0 lgamma log log10
    log1p log2 logit nan_to_num neg reciprocal round rsqrt sigmoid sgn sign sin sinc sinh sqrt square tan tanh trunc signbit isposinf
    isneginf special.entr special.i0e special.i1 special.i1e special.ndtr special.ndtri special.log_ndtr special.erfcx""".split()
BINARY = """add sub mul div floor_divide fmod remainder pow float_power atan2 hypot maximum minimum fmax fmin copysign nextafter logaddexp
    logaddexp2 xlogy special.xlog1py heaviside ldexp eq lt isclose special.zeta""".split()
ACTIVATIONS = oracle.ACTIVATIONS


def elementwise(category, dtype, rng):
    points = tensor(POINTS + [1e4, -1e4, 6.0, -6.0, 20.0, 2.0**-14, -(2.0**-14), 2.0**-24, 1 - 2.0**-8, 2.5, -2.5], dtype)
    a, b = grid(dtype)
    for name in UNARY:
        category.add(f"Torch.{name}", [points])
    category.add("Torch.logit", [points], {"eps": 0.0})
    category.add("Torch.logit", [points], {"eps": 0.1})
    for name in ACTIVATIONS:
        category.add(f"Functional.{name}", [points, *oracle.extra_arguments(name)])
    category.add("Functional.prelu", [points, tensor([0.0], dtype)])
    category.add("Functional.prelu", [points, tensor([-INF], dtype)])
    category.add("Functional.elu", [points, 0.0])
    category.add("Functional.celu", [points, -1.0])
    category.add("Functional.leaky_relu", [points, -0.0])
    category.add("Functional.softplus", [points, 2.0, 5.0])
    category.add("Functional.rrelu", [points])
    category.add("Functional.gelu", [points], {"approximate": "tanh"})
    for name in BINARY:
        category.add(f"Torch.{name}", [a, b])
    for exponent in (0, 0.0, 0.5, -0.5, 1, 2, 3, -1, -2, -3, 1 / 3, -1 / 3, 1.5, -1.5, INF, -INF, NAN):
        category.add("Torch.pow", [points, exponent])
        category.add("Torch.float_power", [points, exponent])
    for base in (0.0, -0.0, 1.0, 2.0, -2.0, INF, -INF, NAN, 0.5):
        category.add("Torch.pow", [base, points])
        category.add("Tensor.__rpow__", [points, base])
        for name in ("fmod", "remainder", "floor_divide", "div", "copysign", "xlogy", "mul", "maximum"):
            if name != "maximum":
                category.add(f"Torch.{name}", [points, base])
        category.add("Tensor.__rtruediv__", [points, base])
        category.add("Tensor.__rsub__", [points, base])
        category.add("Torch.clamp", [points, base, 2.0])
        category.add("Torch.clamp", [points], {"max": base})
        category.add("Torch.add", [points, points], {"alpha": base})
        category.add("Torch.lerp", [a, b, base])
        category.add("Torch.addcmul", [points, points, points], {"value": base})
    for mode in ("trunc", "floor"):
        category.add("Torch.div", [a, b], {"rounding_mode": mode})
    category.add("Torch.addcdiv", [b, a, b])
    category.add("Torch.where", [a > 0, a, b])
    category.add("Torch.polygamma", [1, points])
    category.add("Torch.mvlgamma", [points.abs() + 2, 2])
    category.add("Torch.nan_to_num", [points, 0.5, 3.0, -3.0])
    category.add("Torch.clamp", [a], {"min": b})
    category.add("Torch.heaviside", [points, points])
    category.add("Torch.cross", [a[:168].reshape(56, 3), b[:168].reshape(56, 3)], {"dim": -1})
    category.add("Torch.cumsum", [points, 0])
    category.add("Torch.diff", [points])
    category.add("Torch.trapezoid", [points, points])
    category.add("Torch.histc", [points[:10], 4, -1, 1], backward=False)
    category.add("Torch.bucketize", [points, torch.tensor([-1.0, 0.0, 1.0], dtype=dtype)], backward=False)
    if dtype is torch.float32:
        whole = torch.arange(-4, 5)
        for name in ("fmod", "remainder", "floor_divide", "div", "pow", "float_power", "copysign", "atan2", "xlogy"):
            for scalar in (2, 3, 0.5, -3, 1):
                category.add(f"Torch.{name}", [whole, scalar] if name != "atan2" else [whole, torch.full_like(whole, scalar)])
            category.add(f"Torch.{name}", [whole, whole * 2 + 1])


# Float16 for what its range ends, as far as torch has it on the processor.
CATEGORIES = {norms: [torch.float32, torch.bfloat16, torch.float16], softmaxes: [torch.float32, torch.float64], losses: [torch.float32],
              poolings: [torch.float32, torch.bfloat16], elementwise: [torch.float32, torch.float16]}


def main(folder):
    Category.keeps_exact = False
    oracle.disagree = lambda own, exact: False
    torch.set_num_threads(1)
    for part, dtype in [(part, dtype) for part, dtypes in CATEGORIES.items() for dtype in dtypes]:
        category = Category(pathlib.Path(folder) / f"{part.__name__}_{str(dtype).removeprefix('torch.')}")
        part(category, dtype, Lcg(1))
        category.write()


if __name__ == "__main__":
    main(*sys.argv[1:])
