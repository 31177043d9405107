"""Records calls with unusual arguments as msProbe's dumper does, computed by torch on the CPU: one folder per category with
dump.json, dump_tensor_data/*.pt and expected_fp64/*.npy, what torch computes with every floating argument in float64.

    oracle.py FOLDER [SEED [results]]     with "results" no expected_fp64

Arguments: empty and 0-d tensors, broadcasting, ties, zeros of both signs, NaN, Inf, subnormal, tiny and huge numbers, negative
dims, every reduction and padding mode. Calls that torch refuses are left out. Needs torch (1.13 or newer) and NumPy."""

import json
import math
import pathlib
import sys

import numpy
import torch

FUNCTIONAL = torch.nn.functional


class Lcg:
    """Numbers that are the same with every version of torch."""

    def __init__(self, seed):
        self.state = seed * 2862933555777941757 + 3037000493

    def uniform(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 40) / 2**24


def numbers(shape, kind, dtype, rng):
    """A tensor of `shape` whose values are of the named kind."""
    count = math.prod(shape)
    spread = [4 * rng.uniform() - 2 for _ in range(count)]
    unit = [rng.uniform() for _ in range(count)]
    tiny = 2.0**-135 if dtype is torch.float32 else 2.0**-20
    special = {
        "nan": [math.nan], "inf": [math.inf, -math.inf], "zero": [0.0, -0.0], "subnormal": [tiny, -tiny, 3 * tiny],
        "edge": [1.0, -1.0, 0.5, -0.5, 3.0, -3.0, 6.0, 2.0, -2.0, 20.0, -20.0, 0.0], "wild": [math.nan, math.inf, -math.inf, 0.0, -0.0],
        "near_zero": [-1e-20, 1e-20, -1e-16, 1e-16, -1e-8, 1e-8, -1e-4, 1e-4]}
    if kind in special:
        values = [special[kind][i // 2 % len(special[kind])] if i % 2 == 0 else v for i, v in enumerate(spread)]
    elif kind == "ties":
        values = [float(math.floor(2 * v)) for v in spread]
    elif kind == "equal":
        values = [1.5] * count
    elif kind == "huge":
        values = [v * 1e18 for v in spread]
    elif kind == "tiny":
        values = [v * 1e-18 for v in spread]
    elif kind == "all_nan":
        values = [math.nan] * count
    elif kind == "minus_inf":
        values = [-math.inf] * count
    elif kind == "positive":
        values = [0.05 + 3 * v for v in unit]
    elif kind == "unit":
        values = [0.02 + 0.96 * v for v in unit]
    elif kind == "symmetric_unit":
        values = [1.9 * (v - 0.5) for v in unit]
    elif kind == "large":
        values = [v * 60 for v in spread]
    else:
        values = spread
    return torch.tensor(values, dtype=torch.float64).reshape(shape).to(dtype)


class Category:
    """One dump in the making."""

    keeps_exact = True

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.forward, self.backward, self.counts = {}, {}, {}
        (self.folder / "dump_tensor_data").mkdir(parents=True, exist_ok=True)
        if self.keeps_exact:
            (self.folder / "expected_fp64").mkdir(exist_ok=True)

    def described(self, value, stem, exact=None):
        if value is None:
            return None
        if isinstance(value, (list, tuple)):
            exact = exact if exact is not None else [None] * len(value)
            return [self.described(v, f"{stem}.{i}", e) for i, (v, e) in enumerate(zip(value, exact))]
        if isinstance(value, torch.dtype):
            return {"type": "torch.dtype", "value": str(value)}
        if not isinstance(value, torch.Tensor):
            return {"type": type(value).__name__, "value": value}
        plain = value.detach().contiguous().clone()
        result = {"type": "torch.Tensor", "dtype": str(plain.dtype), "shape": list(plain.shape), "Max": None, "Min": None, "Mean": None,
                  "Norm": None, "requires_grad": bool(value.requires_grad)}
        if plain.numel() == 0:
            return result
        if plain.dtype is torch.bool:
            result["Max"], result["Min"] = bool(plain.any()), bool(plain.all())
        else:
            wide = plain.double()
            result["Max"], result["Min"] = wide.max().item(), wide.min().item()
            if plain.is_floating_point():
                result["Mean"], result["Norm"] = wide.mean().item(), wide.norm().item()
        result["data_name"] = f"{stem}.pt"
        torch.save(plain, self.folder / "dump_tensor_data" / f"{stem}.pt")
        if self.keeps_exact and isinstance(exact, torch.Tensor) and exact.is_floating_point():
            numpy.save(self.folder / "expected_fp64" / f"{stem}.npy", exact.detach().double().contiguous().numpy())
        return result

    def add(self, api, args, kwargs=None, backward=True):
        """Records one call; True unless torch refuses it."""
        kwargs = kwargs or {}
        try:
            run, exact = (Call(api, args, kwargs, dtype, backward) for dtype in (None, torch.float64))
            outputs = [o for o in flattened(run.output) if isinstance(o, torch.Tensor)]
            if not outputs or any(o.is_complex() for o in outputs):
                return False
            gradients = None
            if backward and any(o.requires_grad for o in outputs):
                rng = Lcg(7)
                given = [numbers(list(o.shape), "plain", o.dtype, rng) if o.requires_grad else None for o in outputs]
                wide = [g.double() if g is not None else None for g in given]
                gradients = (run.gradients(given), exact.gradients(wide))
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as refused:
            if backward and "not implemented" in str(refused):  # the function has no gradient
                return self.add(api, args, kwargs, backward=False)
            print(f"left out: {api} {[tuple(a.shape) if isinstance(a, torch.Tensor) else a for a in args]} {kwargs}: "
                  f"{str(refused).splitlines()[0][:90]}", file=sys.stderr)
            return False
        found = (outputs, (gradients or ([], []))[0])
        wide_found = ([o for o in flattened(exact.output) if isinstance(o, torch.Tensor)], (gradients or ([], []))[1])
        if any(disagree(o, e) for own, other in zip(found, wide_found) for o, e in zip(own, other)):
            print(f"left out: {api}: torch's {outputs[0].dtype} is not its float64", file=sys.stderr)
            return False
        number = self.counts.get(api, 0)
        self.counts[api] = number + 1
        key = f"{api}.{number}.forward"
        exact_outputs = [o for o in flattened(exact.output) if isinstance(o, torch.Tensor)]
        self.forward[key] = {
            "input_args": [self.described(a, f"{key}.input.{i}") for i, a in enumerate(run.args)],
            "input_kwargs": {k: self.described(v, f"{key}.kwargs.{k}") for k, v in run.kwargs.items()},
            "output": [self.described(o, f"{key}.output.{i}", e) for i, (o, e) in enumerate(zip(outputs, exact_outputs))]
            if len(outputs) == 1 or not isinstance(run.output, list)
            else [self.described(outputs, f"{key}.output.0", exact_outputs)]}
        if gradients is not None:
            key = f"{api}.{number}.backward"
            self.backward[key] = {
                "input": [self.described(g, f"{key}.input.{i}") for i, g in enumerate(given)],
                "output": [self.described(g, f"{key}.output.{i}", e) for i, (g, e) in enumerate(zip(*gradients))]}
        return True

    def write(self):
        data = dict(self.forward)
        data.update(reversed(list(self.backward.items())))
        whole = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": "./dump_tensor_data", "data": data}
        (self.folder / "dump.json").write_text(json.dumps(whole, indent=1))


def disagree(own, exact):
    """Whether a float result is NaN or infinite where that in float64 is not, but for what overflows the dtype: scalar and vector
    code of torch differ at some such places, and a few gradients are undefined."""
    if own is None or exact is None or not own.is_floating_point():
        return False
    limit = torch.finfo(own.dtype).max
    return bool((torch.isnan(own) != torch.isnan(exact)).any() or (torch.isinf(own) & ~(exact.abs() > limit / 4)).any()
                or (torch.isinf(exact) & (torch.isfinite(own))).any() or (own.double() - exact).abs().nan_to_num(0, 0, 0).max(
                ) > 0.25 * exact.abs().nan_to_num(0, 0, 0).clamp(max=limit).max() + 1e-30 if own.numel() else False)


def flattened(value):
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in flattened(v)]
    return [value]


def resolved(api):
    kind, name = api.split(".", 1)
    owner = {"Functional": FUNCTIONAL, "Torch": torch, "Tensor": torch.Tensor, "Aten": torch.ops.aten}[kind]
    for part in name.split("."):
        owner = getattr(owner, part)
    return owner


class Call:
    """A call on copies of the arguments, floating ones in `dtype` if that is given, with gradients if `requires_grad` and they have no
    attribute "constant"."""

    def __init__(self, api, args, kwargs, dtype, requires_grad):
        def own(value):
            if isinstance(value, (list, tuple)):
                return type(value)(own(v) for v in value)
            if value is torch.float32 and dtype is not None:
                return dtype
            if not isinstance(value, torch.Tensor):
                return value
            copy = value.detach().clone()
            if copy.is_floating_point():
                copy = (copy if dtype is None else copy.to(dtype)).requires_grad_(requires_grad and not hasattr(value, "constant"))
            return copy

        self.args = [own(a) for a in args]
        self.kwargs = {k: own(v) for k, v in kwargs.items()}
        self.output = resolved(api)(*self.args, **self.kwargs)

    def gradients(self, given):
        outputs = [o for o in flattened(self.output) if isinstance(o, torch.Tensor)]
        pairs = [(o, g) for o, g in zip(outputs, given) if g is not None]
        leaves = [a for a in flattened(self.args) if isinstance(a, torch.Tensor)]
        wanted = [a for a in leaves if a.requires_grad]
        found = torch.autograd.grad([o for o, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True)
        by_leaf = {id(a): g for a, g in zip(wanted, found)}
        return [by_leaf.get(id(a)) for a in leaves]


ACTIVATIONS = """relu relu6 hardtanh leaky_relu elu selu celu gelu silu mish softplus softsign sigmoid tanh hardswish hardsigmoid
    tanhshrink softshrink hardshrink logsigmoid threshold""".split()
UNARY = """abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac i0 lgamma log
    log10 log1p log2 logit nan_to_num neg positive rad2deg reciprocal round rsqrt sigmoid sign sgn sin sinc sinh sqrt square tan tanh
    trunc isnan isinf isfinite signbit isneginf isposinf special.i0e special.i1 special.entr special.ndtr special.log_ndtr
    special.erfcx special.xlog1py special.bessel_j0""".split()
BINARY = """add sub mul div true_divide floor_divide fmod remainder pow atan2 hypot maximum minimum fmax fmin copysign nextafter
    logaddexp logaddexp2 xlogy heaviside float_power eq ne lt le gt ge isclose dist ldexp""".split()
REDUCTIONS = """sum mean prod amax amin max min argmax argmin median nanmedian mode std var logsumexp norm nansum nanmean cumsum
    cumprod cummax cummin logcumsumexp any all count_nonzero aminmax std_mean var_mean softmax log_softmax sort argsort msort
    linalg.vector_norm diff""".split()
KINDS = ["edge", "wild", "subnormal", "huge", "near_zero", "unit", "inf"]
REDUCED_KINDS = ["ties", "nan", "inf", "wild", "huge", "all_nan", "minus_inf"]


def extra_arguments(name):
    return {"threshold": (0.5, -1.0), "special.xlog1py": (1.5,)}.get(name, ())


def elementwise(root, rng):
    for title, names, kind in (("activations", ACTIVATIONS, "Functional"), ("unary", UNARY, "Torch")):
        category = Category(root / title)
        for name in names:
            for values in KINDS:
                category.add(f"{kind}.{name}", [numbers([3, 8], values, torch.float32, rng), *extra_arguments(name)])
            category.add(f"{kind}.{name}", [numbers([], "plain", torch.float32, rng), *extra_arguments(name)])
            category.add(f"{kind}.{name}", [numbers([0, 3], "plain", torch.float32, rng), *extra_arguments(name)])
            category.add(f"{kind}.{name}", [numbers([2, 9], "edge", torch.bfloat16, rng), *extra_arguments(name)])
            category.add(f"{kind}.{name}", [torch.arange(-4, 5), *extra_arguments(name)])
        category.write()
    category = Category(root / "binary")
    for name in BINARY:
        for values in KINDS:
            category.add(f"Torch.{name}", [numbers([4, 5], values, torch.float32, rng), numbers([4, 5], "edge", torch.float32, rng)])
            category.add(f"Torch.{name}", [numbers([4, 1], "edge", torch.float32, rng), numbers([5], values, torch.float32, rng)])
        category.add(f"Torch.{name}", [numbers([], "plain", torch.float32, rng), numbers([2, 3], "positive", torch.float32, rng)])
        category.add(f"Torch.{name}", [numbers([0, 3], "plain", torch.float32, rng), numbers([3], "plain", torch.float32, rng)])
        category.add(f"Torch.{name}", [torch.arange(-4, 5), torch.arange(1, 10) * 2 - 9])
    for mode in (None, "trunc", "floor"):
        category.add("Torch.div", [numbers([4, 5], "edge", torch.float32, rng), numbers([4, 5], "wild", torch.float32, rng)],
                     {"rounding_mode": mode})
    for decimals in (-2, -1, 0, 1, 2, 3):
        category.add("Torch.round", [torch.tensor([2.345, -1.255, 1.005, 0.5, 1.5, 2.5, 155.0, -12345.678])], {"decimals": decimals})
    category.write()


def reductions(root, rng):
    category = Category(root / "reductions")
    for name in REDUCTIONS:
        for values in REDUCED_KINDS:
            for dim in (None, -1):
                if name in ("norm", "linalg.vector_norm"):
                    for order in (0, 1, 2, 3, math.inf):
                        category.add(f"Torch.{name}", [numbers([4, 6], values, torch.float32, rng), order], {"dim": -1} if dim else {})
                    continue
                args = [numbers([4, 6], values, torch.float32, rng)]
                by_name = name in ("aminmax", "nansum", "logsumexp", "count_nonzero", "diff", "sort", "argsort")
                category.add(f"Torch.{name}", args + ([] if dim is None or by_name else [dim]), {"dim": dim} if by_name and dim is not None else {})
        for dim in (0, -1):
            for keepdim in (False, True):
                category.add(f"Torch.{name}", [numbers([], "plain", torch.float32, rng)], {"dim": dim, "keepdim": keepdim})
                category.add(f"Torch.{name}", [numbers([3, 0], "plain", torch.float32, rng)], {"dim": dim, "keepdim": keepdim})
                category.add(f"Torch.{name}", [numbers([1, 7], "ties", torch.float32, rng)], {"dim": dim, "keepdim": keepdim})
        category.add(f"Torch.{name}", [torch.arange(12).reshape(3, 4) % 5])
        category.add(f"Torch.{name}", [numbers([4, 6], "ties", torch.bfloat16, rng), -1])
    category.write()


def losses(root, rng):
    category = Category(root / "losses")
    pairs = "mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss kl_div hinge_embedding_loss poisson_nll_loss".split()
    for reduction in ("none", "mean", "sum"):
        for values in ("plain", "edge", "nan", "inf", "large", "zero", "ties"):
            for name in pairs:
                category.add(f"Functional.{name}", [numbers([3, 5], values, torch.float32, rng), numbers([3, 5], "edge", torch.float32, rng)],
                             {"reduction": reduction})
            category.add("Functional.binary_cross_entropy_with_logits",
                         [numbers([3, 5], values, torch.float32, rng), numbers([3, 5], "unit", torch.float32, rng)], {"reduction": reduction})
            target = torch.tensor([0, 4, 2])
            for name in ("cross_entropy", "multi_margin_loss", "nll_loss"):
                category.add(f"Functional.{name}", [numbers([3, 5], values, torch.float32, rng), target], {"reduction": reduction})
            for smoothing in (0.1, 1.0):
                category.add("Functional.cross_entropy", [numbers([3, 5], values, torch.float32, rng), target],
                             {"reduction": reduction, "label_smoothing": smoothing})
            category.add("Functional.cross_entropy", [numbers([3, 5], values, torch.float32, rng), torch.tensor([-100, 1, -100])],
                         {"reduction": reduction})
            for name in ("margin_ranking_loss", "triplet_margin_loss", "cosine_embedding_loss"):
                third = torch.tensor([1.0, -1.0, 1.0]) if name != "triplet_margin_loss" else numbers([3, 5], "plain", torch.float32, rng)
                shape = [3] if name == "margin_ranking_loss" else [3, 5]
                category.add(f"Functional.{name}", [numbers(shape, values, torch.float32, rng), numbers(shape, "plain", torch.float32, rng), third],
                             {"reduction": reduction})
        category.add("Functional.binary_cross_entropy", [numbers([3, 5], "unit", torch.float32, rng), numbers([3, 5], "unit", torch.float32, rng)],
                     {"reduction": reduction})
        category.add("Functional.binary_cross_entropy", [torch.tensor([0.0, 1.0, 0.0, 1.0]), torch.tensor([0.0, 1.0, 1.0, 0.0])],
                     {"reduction": reduction})
        category.add("Functional.multilabel_margin_loss", [numbers([3, 4], "plain", torch.float32, rng),
                                                           torch.tensor([[3, 0, -1, 1], [0, -1, 1, 2], [-1, 0, 1, 2]])], {"reduction": reduction})
    category.write()


def layers(root, rng):
    category = Category(root / "layers")
    for mode in ("constant", "reflect", "replicate", "circular"):
        for pad in ([1, 2], [0, 0], [2, 1, 1, 2], [-1, 0]):
            category.add("Functional.pad", [numbers([2, 3, 6, 7], "plain", torch.float32, rng), pad], {"mode": mode})
            category.add("Functional.pad", [numbers([2, 3, 7], "wild", torch.float32, rng), pad], {"mode": mode})
    for values in ("plain", "nan", "inf", "ties", "minus_inf", "huge"):
        x = numbers([2, 3, 6, 7], values, torch.float32, rng)
        for kwargs in ({}, {"stride": 1, "padding": 1}, {"stride": 2, "ceil_mode": True}):
            category.add("Functional.max_pool2d", [x, 3], kwargs)
            category.add("Functional.avg_pool2d", [x, 3], kwargs)
            category.add("Functional.avg_pool2d", [x, 3], {**kwargs, "count_include_pad": False})
        category.add("Functional.lp_pool2d", [x, 2.0, 2], {})
        category.add("Functional.lp_pool1d", [x[0], 3.0, 2], {"ceil_mode": True})
        category.add("Functional.adaptive_avg_pool2d", [x, [3, 2]])
        category.add("Functional.adaptive_max_pool2d", [x, [3, 2]])
        for mode in ("nearest", "bilinear", "bicubic", "area", "nearest-exact"):
            category.add("Functional.interpolate", [x], {"size": [9, 4], "mode": mode})
            if mode.startswith("bi"):
                category.add("Functional.interpolate", [x], {"scale_factor": 1.7, "mode": mode, "align_corners": True})
        category.add("Functional.layer_norm", [x, [7]])
        category.add("Functional.group_norm", [x, 3])
        category.add("Functional.instance_norm", [x])
        category.add("Functional.normalize", [x], {"dim": 1})
        category.add("Functional.normalize", [x], {"p": 1.0, "dim": -1})
        category.add("Functional.batch_norm", [x, torch.zeros(3), torch.ones(3)], {"training": True})
        category.add("Functional.local_response_norm", [x, 2])
        category.add("Functional.glu", [numbers([3, 6], values, torch.float32, rng)], {"dim": -1})
        category.add("Functional.prelu", [x, numbers([3], "plain", torch.float32, rng)])
        for padding_mode in ("zeros", "border", "reflection"):
            for mode in ("bilinear", "nearest", "bicubic"):
                category.add("Functional.grid_sample", [x, numbers([2, 4, 5, 2], "symmetric_unit", torch.float32, rng)],
                             {"mode": mode, "padding_mode": padding_mode, "align_corners": False})
        category.add("Functional.cosine_similarity", [x, numbers([2, 3, 6, 7], "plain", torch.float32, rng)], {"dim": -1})
        category.add("Functional.pairwise_distance", [numbers([3, 5], values, torch.float32, rng), numbers([3, 5], "plain", torch.float32, rng)])
    category.add("Functional.lp_pool1d", [torch.arange(24).reshape(2, 12), 2.0, 3])
    category.write()


def products_and_indices(root, rng):
    category = Category(root / "products")
    for values in ("plain", "huge", "tiny", "nan", "inf", "zero", "subnormal", "large"):
        for shapes in (([4, 5], [5, 3]), ([5], [5, 3]), ([2, 1, 4, 5], [3, 5, 2]), ([5], [5]), ([0, 5], [5, 3]), ([4, 0], [0, 3])):
            category.add("Torch.matmul", [numbers(shapes[0], values, torch.float32, rng), numbers(shapes[1], "plain", torch.float32, rng)])
        category.add("Functional.linear", [numbers([4, 5], values, torch.float32, rng), numbers([3, 5], "plain", torch.float32, rng),
                                           numbers([3], "plain", torch.float32, rng)])
        category.add("Torch.bmm", [numbers([2, 4, 5], values, torch.float32, rng), numbers([2, 5, 3], values, torch.float32, rng)])
        for beta, alpha in ((0, 1), (1, 0), (0.5, -2)):
            category.add("Torch.addmm", [numbers([4, 3], values, torch.float32, rng), numbers([4, 5], "plain", torch.float32, rng),
                                         numbers([5, 3], "plain", torch.float32, rng)], {"beta": beta, "alpha": alpha})
        category.add("Torch.outer", [numbers([4], values, torch.float32, rng), numbers([3], "plain", torch.float32, rng)])
        category.add("Torch.cdist", [numbers([4, 3], values, torch.float32, rng), numbers([5, 3], "plain", torch.float32, rng)])
        category.add("Torch.cross", [numbers([4, 3], values, torch.float32, rng), numbers([4, 3], "plain", torch.float32, rng)], {"dim": -1})
    category.write()
    category = Category(root / "indices")
    for values in ("plain", "wild", "ties", "zero"):
        x = numbers([4, 6], values, torch.float32, rng)
        index = torch.tensor([[0, 2, 2, 5, 1, 0], [3, 3, 3, 0, 0, 1]])
        category.add("Torch.gather", [x, -1, index])
        category.add("Torch.index_select", [x, -1, torch.tensor([5, 0, 0])])
        category.add("Torch.take_along_dim", [x, index, -1])
        for reduce in ("sum", "prod", "mean", "amax", "amin"):
            for include in (True, False):
                category.add("Torch.scatter_reduce", [x, 1, index, numbers([2, 6], values, torch.float32, rng), reduce], {"include_self": include})
        category.add("Torch.scatter", [x, 1, torch.tensor([[0, 2], [3, 5]]), numbers([2, 2], values, torch.float32, rng)])
        category.add("Torch.scatter_add", [x, 1, index, numbers([2, 6], "plain", torch.float32, rng)])
        category.add("Torch.index_add", [x, 1, torch.tensor([0, 0, 5]), numbers([4, 3], "plain", torch.float32, rng)])
        category.add("Torch.masked_fill", [x, x > 0, -math.inf])
        category.add("Torch.where", [x > 0, x, numbers([6], values, torch.float32, rng)])
        category.add("Torch.clamp", [x, -0.5, 0.5])
        category.add("Torch.clamp", [x], {"min": numbers([6], values, torch.float32, rng)})
        category.add("Torch.clamp", [x, 0.5, -0.5])
        for k, largest in ((3, True), (2, False), (0, True)):
            category.add("Torch.topk", [x, k], {"largest": largest})
        category.add("Torch.kthvalue", [x, 2])
        category.add("Torch.flip", [x, [-1, 0]])
        category.add("Torch.roll", [x, [2, -1], [0, 1]])
        category.add("Torch.tril", [x, -1])
        category.add("Torch.triu", [x, 2])
        category.add("Torch.cat", [[x, x[:0], x]])
        category.add("Torch.stack", [[x, x]], {"dim": -1})
        category.add("Torch.repeat_interleave", [x, 2], {"dim": -1})
        category.add("Torch.quantile", [x, 0.3])
        category.add("Torch.renorm", [x, 2, 0, 1.0])
        category.add("Torch.bucketize", [x, torch.tensor([-1.0, 0.0, 0.0, 1.0])], backward=False)
        category.add("Torch.searchsorted", [torch.tensor([-1.0, 0.0, 0.0, 1.0]), x], {"right": True}, backward=False)
        category.add("Torch.lerp", [x, numbers([4, 6], "plain", torch.float32, rng), 0.3])
        category.add("Torch.addcdiv", [x, numbers([4, 6], "plain", torch.float32, rng), numbers([4, 6], values, torch.float32, rng)], {"value": 2.0})
        category.add("Functional.embedding", [torch.tensor([[0, 3], [3, 1]]), x])
    category.write()


def namespaces(root, rng):
    """The same name in several namespaces: its defaults, the order of its arguments and what it returns differ."""
    category = Category(root / "namespaces")

    def plain(*shape):
        return numbers(list(shape), "plain", torch.float32, rng)

    x, y, z, signs = plain(3, 4), plain(3, 4), plain(3, 4), torch.tensor([[1.0, -1.0, 1.0, -1.0]] * 3)
    unit = numbers([3, 4], "unit", torch.float32, rng)
    for kind in ("Functional", "Torch", "Aten"):
        for name, args in (("binary_cross_entropy_with_logits", [x, unit]), ("hinge_embedding_loss", [x, signs]), ("kl_div", [x, unit]),
                           ("margin_ranking_loss", [x, y, signs]), ("cosine_embedding_loss", [x, y, signs[0, :3]]),
                           ("triplet_margin_loss", [x, y, z]), ("triplet_margin_loss", [x, y, z, 0.5, 1.0, 1e-6, True])):
            category.add(f"{kind}.{name}", args)
            for reduction in ("none", "mean", "sum") if kind == "Functional" else (0, 1, 2):
                category.add(f"{kind}.{name}", args, {"reduction": reduction})
        lengths = [torch.tensor([[1, 2], [2, 1]]), torch.tensor([6, 5]), torch.tensor([2, 1])]
        category.add(f"{kind}.ctc_loss", [torch.log_softmax(plain(6, 2, 4), -1), *lengths])
        category.add(f"{kind}.ctc_loss", [torch.log_softmax(plain(6, 2, 4), -1), *lengths, 3])
    for kind in ("Functional", "Aten"):
        for name in ("l1_loss", "mse_loss", "smooth_l1_loss", "soft_margin_loss"):
            for third in ([], [False], [True]) if kind == "Functional" else ([], [False], [True], [0], [1], [2]):
                category.add(f"{kind}.{name}", [x, signs.long() if name == "soft_margin_loss" else signs, *third])
        for third in ([], [False], [True], [None, False]) if kind == "Functional" else ([], [0], [2]):
            category.add(f"{kind}.multilabel_margin_loss", [x, torch.tensor([[3, 0, -1, 1]] * 3), *third])
        category.add(f"{kind}.huber_loss", [x, y])
    for kind, mean in (("Functional", "mean"), ("Aten", 1)):
        category.add(f"{kind}.huber_loss", [x, y, mean, 0.5])
    signal = plain(2, 32)
    window = numbers([8], "positive", torch.float32, rng)
    for kind in ("Torch", "Tensor", "Aten"):
        category.add(f"{kind}.stft", [signal, 8], {"return_complex": False})
        category.add(f"{kind}.stft", [signal, 8, 4, 8, window], {"return_complex": False})
        for center in (False, True):
            category.add(f"{kind}.stft", [signal, 8], {"center": center, "normalized": True, "return_complex": False})
            category.add(f"{kind}.stft", [signal, 8, 4, 8, window, center, "reflect", False, False], {"return_complex": False})
    category.add("Aten.stft", [signal, 8, 4, 8, window, True])
    condition = x > 0
    category.add("Torch.where", [condition, x, y])
    category.add("Torch.where", [condition])
    category.add("Aten.where", [condition, x, y])
    category.add("Aten.where", [condition, x, 2.0])
    category.add("Aten.where", [condition])
    category.add("Tensor.where", [x, condition, y])
    category.add("Tensor.where", [x, condition], {"other": y})
    runs = torch.tensor([3.0, 3.0, 1.0, 1.0, 1.0, 3.0, -0.0, 0.0])
    for kind in ("Torch", "Tensor"):
        category.add(f"{kind}.unique_consecutive", [runs], backward=False)
        category.add(f"{kind}.unique_consecutive", [runs, True, True], backward=False)
        category.add(f"{kind}.unique", [runs], backward=False)
        category.add(f"{kind}.unique", [runs, True, True, True], backward=False)
    for kind in ("Torch", "Tensor"):
        for name in ("add", "sub"):
            category.add(f"{kind}.{name}", [x, 3, y])
        for name in ("addcmul", "addcdiv"):
            category.add(f"{kind}.{name}", [x, -0.5, y, unit])
            category.add(f"{kind}.{name}", [x, y, unit], {"value": 2})
        for name in ("std", "var"):
            for args in ([], [False], [1], [1, False], [[0, 1], False, True]):
                category.add(f"{kind}.{name}", [x, *args])
    for name in ("std", "var", "std_mean", "var_mean"):
        for kind in ("Torch", "Aten"):
            for args in ([], [False], [[1], False], [[0, 1], False, True]):
                category.add(f"{kind}.{name}", [x, *args])
    category.write()


def main(folder, seed="1", what="all"):
    Category.keeps_exact = what == "all"
    torch.set_num_threads(1)
    root, rng = pathlib.Path(folder), Lcg(int(seed))
    for part in (elementwise, reductions, losses, layers, products_and_indices, namespaces):
        part(root, rng)


if __name__ == "__main__":
    main(*sys.argv[1:])
