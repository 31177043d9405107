"""A Python for --python whose torch computes wrongly, for a check on real hardware that faults are seen through the
rounding of real kernels at the sizes of layers.py.

MSRUN_GPU_FAULTS=N: each of the functions below has its fault number N, counted from 0; functions that have fewer are left
as they are. MSRUN_GPU_FAULTS_TO=FILE: a line "NAME FAULT" for each function that is made faulty.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "torch"))
import worker_program  # noqa: E402


def _changed(tensor, change):
    """A copy of it in which `change` has written; gradients pass through what is left."""
    copy = tensor.clone()
    change(copy)
    return copy


def _with_first(change):
    """The call with its first tensor changed."""
    return lambda function, x, *rest, **named: function(_changed(x, change), *rest, **named)


def _with_result(change):
    return lambda function, *given, **named: _changed(function(*given, **named), change)


def _with_flag(module, flag):
    """The call while torch is let do what its settings forbid."""
    def call(function, *given, **named):
        import torch
        place = torch
        for part in module.split("."):
            place = getattr(place, part)
        before = getattr(place, flag)
        setattr(place, flag, True)
        try:
            return function(*given, **named)
        finally:
            setattr(place, flag, before)
    return call


def _zero(*place):
    def change(tensor):
        tensor[place] = 0
    return change


def _scale(factor, *place):
    def change(tensor):
        tensor[place] = tensor[place] * factor
    return change


def _one_element(tensor):
    """One element, in the middle, is off by an eighth of the largest."""
    flat = tensor.view(-1)
    flat[flat.numel() // 2] = flat[flat.numel() // 2] + tensor.detach().abs().max() / 8


def _last_tile(tensor):
    """The last tile of the last row is that of the row before."""
    rows = tensor.view(-1, tensor.shape[-1])
    width = (tensor.shape[-1] - 1) % 64 + 1
    rows[-1, -width:] = rows[-2, -width:].clone()


def _argument(index, change):
    def call(function, *given, **named):
        given = list(given)
        given[index] = change(given[index])
        return function(*given, **named)
    return call


def _a_hundredth_more(function, *given, **named):
    return function(*given, **named) * 1.01


def _shifted(tensor):
    return tensor.roll(1, -1)


def _lost_duplicates(function, x, dim, index, source):
    """Of several that add to one place, the last is what counts."""
    return x + x.new_zeros(x.shape).scatter(dim, index, source)


def _lost_rows(function, x, dim, index, source):
    return x + x.new_zeros(x.shape).index_copy(dim, index, source)


_PRODUCTS = {
    "dropped term": _with_first(_zero(Ellipsis, -1)),
    "last tile": _with_result(_last_tile),
    "one element": _with_result(_one_element),
    "float16 accumulation": _with_flag("backends.cuda.matmul", "allow_fp16_accumulation"),
    "TF32": _with_flag("backends.cuda.matmul", "allow_tf32"),
}
_ROWS = {
    "last column": _with_result(_scale(1.05, Ellipsis, -1)),
    "last tile": _with_result(_last_tile),
    "one element": _with_result(_one_element),
}
_CONVOLUTIONS = {
    "dropped channel": _with_first(_zero(slice(None), -1)),
    "last column": _with_result(_zero(Ellipsis, -1)),
    "one element": _with_result(_one_element),
}
_IMAGES = {
    "last column": _with_result(_scale(1.05, Ellipsis, -1)),
    "one element": _with_result(_one_element),
}
_ELEMENTS = {
    "last tile": _with_result(_last_tile),
    "last columns": _with_result(_scale(1.02, Ellipsis, slice(-4, None))),
    "one element": _with_result(_one_element),
}

FAULTS = {
    "nn.functional.linear": _PRODUCTS,
    "matmul": _PRODUCTS,
    "bmm": _PRODUCTS,
    "addmm": {
        "dropped term": lambda function, x, a, b: function(x, _changed(a, _zero(Ellipsis, -1)), b),
        **{name: _PRODUCTS[name] for name in ("last tile", "one element", "float16 accumulation", "TF32")},
    },
    "nn.functional.conv2d": _CONVOLUTIONS,
    "nn.functional.conv1d": _CONVOLUTIONS,
    "nn.functional.conv3d": _CONVOLUTIONS,
    "nn.functional.conv_transpose2d": _CONVOLUTIONS,
    "nn.functional.scaled_dot_product_attention": {
        "dropped key": lambda function, q, k, v, mask=None, p=0.0, causal=False, **named:
            function(q, k[..., :-1, :], v[..., :-1, :], None if mask is None else mask[..., :-1], p, causal, **named),
        "scale": lambda function, q, *rest, **named: function(q * 1.01, *rest, **named),
        "one element": _with_result(_one_element),
    },
    "nn.functional.layer_norm": {
        "epsilon": _argument(4, lambda eps: 1e-2),
        "weights shifted": _argument(2, _shifted),
        **_ROWS,
    },
    "nn.functional.rms_norm": {
        "epsilon": _argument(3, lambda eps: 1e-2),
        "weights shifted": _argument(2, _shifted),
        **_ROWS,
    },
    "nn.functional.group_norm": {
        "epsilon": _argument(4, lambda eps: 1e-2),
        "weights shifted": _argument(2, _shifted),
        **_ROWS,
    },
    "nn.functional.batch_norm": {
        "last channel": _with_result(_scale(1.05, slice(None), -1)),
        "one element": _with_result(_one_element),
    },
    "nn.functional.softmax": _ROWS,
    "nn.functional.log_softmax": {"last term": _with_first(_scale(0.0, Ellipsis, -1)), **_ROWS},
    "nn.functional.cross_entropy": {
        "a row": _with_first(_zero(0)),
        "a class": _with_first(_zero(slice(None), slice(-64, None))),
    },
    "logsumexp": {
        "last tile of terms": _with_first(_zero(Ellipsis, slice(-64, None))),
        "one element": _with_result(_one_element),
    },
    "nn.functional.silu": _ELEMENTS,
    "nn.functional.gelu": {"tanh for erf": lambda function, x, approximate="none": function(
        x, approximate="tanh" if approximate == "none" else "none"), **_ELEMENTS},
    "nn.functional.relu": _ELEMENTS,
    "sigmoid": _ELEMENTS,
    "tanh": _ELEMENTS,
    "exp": _ELEMENTS,
    "log": _ELEMENTS,
    "mul": _ELEMENTS,
    "add": _ELEMENTS,
    "div": _ELEMENTS,
    "sum": {"last terms": _with_first(_zero(Ellipsis, slice(-32, None))), "a hundredth": _a_hundredth_more},
    "mean": {"last terms": _with_first(_zero(Ellipsis, slice(-32, None))), "a hundredth": _a_hundredth_more},
    "var": {"a hundredth": _a_hundredth_more},
    "cumsum": {"a block": _with_first(_zero(Ellipsis, slice(512, 544))), "one element": _with_result(_one_element)},
    "nn.functional.embedding": {
        "last index": _argument(0, lambda i: _changed(i, _zero(-1, -1))),
        "one element": _with_result(_one_element),
    },
    "scatter_add": {"lost duplicates": _lost_duplicates},
    "index_add": {"lost duplicates": _lost_rows},
    "gather": {"one element": _with_result(_one_element)},
    "nn.functional.interpolate": _IMAGES,
    "nn.functional.max_pool2d": _IMAGES,
    "nn.functional.avg_pool2d": _IMAGES,
    "nn.functional.mse_loss": {"last terms": _with_first(_zero(Ellipsis, slice(-256, None)))},
    "nn.functional.kl_div": {"last terms": _with_first(_zero(Ellipsis, slice(-256, None)))},
}


def main():
    words = worker_program.words()
    number = int(os.environ["MSRUN_GPU_FAULTS"])
    import torch
    lines = []
    for path, faults in FAULTS.items():
        if number >= len(faults):
            continue
        name, fault = list(faults.items())[number]
        *modules, function = path.split(".")
        place = torch
        for module in modules:
            place = getattr(place, module)
        original = getattr(place, function, None)
        if original is None:
            continue

        def faulty(*given, _fault=fault, _original=original, **named):
            return _fault(_original, *given, **named)
        setattr(place, function, faulty)
        lines.append("%s %s\n" % (path, name))
    if "MSRUN_GPU_FAULTS_TO" in os.environ:
        with open(os.environ["MSRUN_GPU_FAULTS_TO"], "w") as file:
            file.writelines(lines)
    worker_program.run(words)


main()
