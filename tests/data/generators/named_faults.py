"""Records calls whose results have a fault with a name: another formula, operand, layout, scale or sign.

    named_faults.py FOLDER [SEED]

FOLDER has the form of kernels.py's, and beside it FOLDER/sound holds the same calls without the fault. kernel_verdicts.py compares what
msrun says of each with the phrases in NAMES. Needs torch 1.13."""

import json
import math
import pathlib
import sys

import torch
from torch.nn import functional

import kernels
from kernels import DTYPES, SHORT, flash, normal, off_by_places, product_tiled, product_split, stored, sum_lanes, sum_tree, welford

# What the Message of a fault has to hold; one of them is enough.
NAMES = {
    "tanh formula": ["approximate='tanh'"],
    "erf formula": ["approximate='none'"],
    "flipped kernels": ["spatial axes of weight reversed"],
    "operands exchanged": ["exchanged", "opposite sign"],
    "read as NHWC": ["channels"],
    "halves interleaved": ["interleave", "parted"],
    "gate and value exchanged": ["halves", "exchanged"],
    "a head doubled": ["2 times", "twice", "Wrong is"],
    "a head of another": ["Wrong is", "swapped"],
    "dQ negated": ["opposite sign"],
    "dK unscaled": ["times the benchmark's"],
    "dV doubled": ["2 times"],
    "scale doubled": ["scale="],
    "not causal": ["is_causal="],
    "operands in TF32": ["TF32"],
    "operands in HF32": ["HF32"],
    "epsilon of 1e-3": ["0.001"],
    "epsilon missing": ["eps=0 ", "epsilon=0 "],
    "biased variance": ["unbiased=False"],
    "without bias": ["Without bias"],
    "without weight": ["Without weight", "1 times"],
    "summed, not averaged": ["reduction='sum'"],
    "slope of 0.1": ["negative_slope=0.1", "0.1"],
    "transposed weight": ["exchanged", "transposed"],
    "first half of the row": ["half"],
    "alpha of 1": ["alpha=1", "times"],
    "scaled by 1.01": ["times the benchmark's"],
    "negated": ["opposite sign"],
    "rows swapped": ["swapped"],
    "transposed": ["transposed"],
    "one element": ["One element"],
    "a row is zero": ["Wrong is", "zero", "block"],
}


def tf32(x, bits=10):
    """Rounded to so many fraction bits, to nearest, halves away from zero."""
    if x.dtype != torch.float32:
        return x
    whole = x.contiguous().view(torch.int32)
    half = 1 << (22 - bits)
    return ((whole + half) & ~((1 << (23 - bits)) - 1)).view(torch.float32)


class Pairs:
    """Writes each call twice: as it is right, and with the fault."""

    def __init__(self, record, dtype):
        self.record, self.dtype = record, dtype

    def narrow(self, values):
        return [v.to(self.dtype) if isinstance(v, torch.Tensor) and v.is_floating_point() else v for v in values]

    def add(self, api, name, args, kwargs, right, wrong, given=None, gradients=(), wrong_gradients=()):
        args = self.narrow(args)
        kwargs = {k: self.narrow([v])[0] for k, v in kwargs.items()}
        given = () if given is None else self.narrow([given])
        self.record.sound.entry(api, name, args, kwargs, self.narrow([right]), given, self.narrow(gradients))
        self.record.faulty.entry(api, name, args, kwargs, self.narrow([wrong]), given, self.narrow(wrong_gradients))


def activations(pairs, dtype):
    x = normal(dtype, 48, 96, scale=1.5)
    erf = functional.gelu(x.double()).float()
    inner = torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    tanh = 0.5 * x * (1 + inner)
    pairs.add("Functional.gelu", "tanh formula", [x], {}, off_by_places(erf, 1), tanh)
    pairs.add("Functional.gelu", "erf formula", [x], {"approximate": "tanh"}, tanh, off_by_places(erf, 1))
    pairs.add("Functional.leaky_relu", "slope of 0.1", [x], {"negative_slope": 0.01}, torch.where(x > 0, x, 0.01 * x),
              torch.where(x > 0, x, 0.1 * x))
    a, b = normal(dtype, 40, 40), normal(dtype, 40, 40)
    pairs.add("Torch.sub", "operands exchanged", [a, b], {}, a - b, b - a)
    pairs.add("Torch.div", "operands exchanged", [a, b], {}, a / b, b / a)
    pairs.add("Torch.pow", "operands exchanged", [a.abs() + 0.1, b], {}, stored(a.abs() + 0.1, dtype)**b, b**stored(a.abs() + 0.1, dtype))
    pairs.add("Torch.add", "alpha of 1", [a, b], {"alpha": 0.5}, a + 0.5 * b, a + b)
    pairs.add("Torch.exp", "scaled by 1.01", [a], {}, off_by_places(torch.exp(a), 2), torch.exp(a) * 1.05)
    pairs.add("Torch.tanh", "negated", [a], {}, off_by_places(torch.tanh(a), 2), -torch.tanh(a))
    wrong = torch.sigmoid(a)
    wrong[[3, 4]] = wrong[[4, 3]]
    pairs.add("Torch.sigmoid", "rows swapped", [a], {}, off_by_places(torch.sigmoid(a), 2), wrong)
    pairs.add("Torch.sin", "transposed", [a], {}, off_by_places(torch.sin(a), 2), torch.sin(a).T.contiguous())
    x = normal(dtype, 24, 128)
    gate, up = x[..., :64], x[..., 64:]
    right = functional.silu(gate) * up
    pairs.add("NPU.npu_swiglu", "halves interleaved", [x, -1], {}, right, functional.silu(x[..., ::2]) * x[..., 1::2])
    pairs.add("NPU.npu_swiglu", "gate and value exchanged", [x, -1], {}, right, functional.silu(up) * gate)
    pairs.add("Functional.glu", "gate and value exchanged", [x, -1], {}, gate * torch.sigmoid(up), up * torch.sigmoid(gate))
    angle = torch.rand(1, 20, 1, 16) * 6
    cos, sin = (stored(torch.cat([f(angle), f(angle)], -1), dtype) for f in (torch.cos, torch.sin))
    q = normal(dtype, 2, 20, 3, 32)
    turned = torch.cat([-q[..., 16:], q[..., :16]], -1)
    between = torch.stack([-q[..., 1::2], q[..., ::2]], -1).flatten(-2)
    pairs.add("NPU.npu_rotary_mul", "halves interleaved", [q, cos, sin], {}, q * cos + turned * sin, q * cos + between * sin)


def matrices(pairs, dtype):
    x, w, b = normal(dtype, 32, 96), normal(dtype, 64, 96, scale=0.1), normal(dtype, 64)
    right = product_tiled(x, w.T.contiguous())
    pairs.add("Functional.linear", "without bias", [x, w, b], {}, right + b, right)
    square, other = normal(dtype, 48, 48), normal(dtype, 48, 48, scale=0.2)
    right = product_tiled(square, other)
    pairs.add("Torch.matmul", "operands exchanged", [square, other], {}, right, product_tiled(other, square))
    pairs.add("Torch.matmul", "transposed weight", [square, other], {}, right, product_tiled(square, other.T.contiguous()))
    pairs.add("Torch.matmul", "one element", [square, other], {}, right, right + 4 * (torch.arange(48 * 48).reshape(48, 48) == 1000))
    zero = right.clone()
    zero[17] = 0
    pairs.add("Torch.matmul", "a row is zero", [square, other], {}, right, zero)
    if dtype is torch.float32:
        for bits, name in ((10, "operands in TF32"), (11, "operands in HF32")):
            pairs.add("Torch.matmul", name, [square, other], {}, product_split(square, other), product_tiled(tf32(square, bits), tf32(other, bits)))
            pairs.add("Functional.linear", name, [x, w], {}, product_tiled(x, w.T.contiguous()), product_tiled(tf32(x, bits), tf32(w, bits).T.contiguous()))
    m, n = normal(dtype, 4, 24, 24), normal(dtype, 4, 24, 24)
    pairs.add("Torch.bmm", "operands exchanged", [m, n], {}, product_tiled(m, n), product_tiled(n, m))


def convolutions(pairs, dtype):
    def convolve(x, w, b):
        y = product_tiled(w.reshape(w.shape[0], -1), functional.unfold(x, 3, padding=1))
        return (y + b[:, None]).reshape(x.shape[0], w.shape[0], *x.shape[2:])

    x, w, b = normal(dtype, 2, 12, 10, 10), normal(dtype, 16, 12, 3, 3, scale=0.1), normal(dtype, 16)
    own = [x, w, b, [1, 1], [1, 1], [1, 1], 1]
    right = convolve(x, w, b)
    pairs.add("Functional.conv2d", "flipped kernels", own, {}, right, convolve(x, w.flip(2, 3), b))
    pairs.add("Functional.conv2d", "without bias", own, {}, right, convolve(x, w, 0 * b))
    nhwc = x.permute(0, 2, 3, 1).contiguous().reshape(x.shape)
    pairs.add("Functional.conv2d", "read as NHWC", own, {}, right, convolve(nhwc, w, b))
    if dtype is torch.float32:
        pairs.add("Functional.conv2d", "operands in TF32", own, {}, right, convolve(tf32(x), tf32(w), b))


def statistics(pairs, dtype):
    for size, scale in ((128, 1.0), (320, 0.1)):
        x, w, b = normal(dtype, 6, 10, size, scale=scale), stored(normal(dtype, size) * 0.1 + 1, dtype), normal(dtype, size)

        def layer(eps, by=None, weight=w, bias=b, base=x):
            mean, squares = welford(base if by is None else by)
            rows = base if by is None else by
            return (base - mean[..., None]) * torch.rsqrt(squares[..., None] / rows.shape[-1] + eps) * weight + bias

        own = [x, [size], w, b, 1e-5]
        pairs.add("Functional.layer_norm", "epsilon of 1e-3", own, {}, layer(1e-5), layer(1e-3))
        tiny = stored(x * 1e-3, dtype)
        pairs.add("Functional.layer_norm", "epsilon missing", [tiny, *own[1:]], {}, layer(1e-5, base=tiny), layer(0, base=tiny))
        pairs.add("Functional.layer_norm", "without bias", own, {}, layer(1e-5), layer(1e-5, bias=0))
        pairs.add("Functional.layer_norm", "without weight", own, {}, layer(1e-5), layer(1e-5, weight=1))
        pairs.add("Functional.layer_norm", "first half of the row", own, {}, layer(1e-5), layer(1e-5, by=x[..., : size // 2]))
        rms = lambda eps: torch.rsqrt(sum_tree(x * x)[..., None] / size + eps)
        own = [x, w, 1e-6]
        pairs.record.sound.entry("NPU.npu_rms_norm", "epsilon of 1e-3", pairs.narrow(own), {}, [*pairs.narrow([x * rms(1e-6) * w]), rms(1e-6)])
        pairs.record.faulty.entry("NPU.npu_rms_norm", "epsilon of 1e-3", pairs.narrow(own), {}, [*pairs.narrow([x * rms(1e-3) * w]), rms(1e-3)])
        half = torch.rsqrt(sum_tree(x[..., : size // 2]**2)[..., None] / (size // 2) + 1e-6)
        pairs.record.faulty.entry("NPU.npu_rms_norm", "first half of the row", pairs.narrow(own), {}, [*pairs.narrow([x * half * w]), half])
        pairs.add("Torch.mean", "first half of the row", [x, -1], {}, sum_lanes(x) / size, sum_tree(x[..., : size // 2]) * 2 / size)
        pairs.add("Torch.sum", "first half of the row", [x, -1], {}, sum_lanes(x), sum_tree(x[..., : size // 2]))
        mean = sum_tree(x)[..., None] / size
        squares = sum_tree((x - mean)**2)
        pairs.add("Torch.var", "biased variance", [x, -1], {}, squares / (size - 1), squares / size)
        pairs.add("Torch.std", "biased variance", [x, -1], {}, torch.sqrt(squares / (size - 1)), torch.sqrt(squares / size))
    x = normal(dtype, 4, 12, 8, 8, scale=0.3)
    channels = x.transpose(0, 1).reshape(12, -1)
    mean, squares = welford(channels)
    batch = lambda eps: ((channels - mean[:, None]) * torch.rsqrt(squares[:, None] / channels.shape[-1] + eps)).reshape(12, 4, 8, 8).transpose(0, 1).contiguous()
    pairs.add("Functional.batch_norm", "epsilon of 1e-3", [x, None, None, None, None, True, 0.1, 1e-5], {}, batch(1e-5), batch(1e-3))
    grouped = x.reshape(4, 3, -1)
    mean, squares = welford(grouped)
    group = lambda eps: ((grouped - mean[..., None]) * torch.rsqrt(squares[..., None] / grouped.shape[-1] + eps)).reshape(x.shape)
    pairs.add("Functional.group_norm", "epsilon of 1e-3", [x, 3], {}, group(1e-5), group(1e-3))
    a, b = normal(dtype, 64, 20), normal(dtype, 64, 20)
    pairs.add("Functional.mse_loss", "summed, not averaged", [a, b], {}, sum_tree(((a - b)**2).reshape(-1)) / a.numel(), sum_tree(((a - b)**2).reshape(-1)))


def attentions(pairs, dtype):
    for causal in (False, True):
        heads, length, size = 3, 40, 32
        scale = size**-0.5
        mask = torch.ones(length, length).tril().bool() if causal else None
        q, k, v, g = (normal(dtype, 2, heads, length, size) for _ in range(4))
        kwargs = {"attn_mask": None, "dropout_p": 0.0, "is_causal": causal}
        o, dq, dk, dv = flash(q, k, v, g, dtype, scale, mask)
        api = "Functional.scaled_dot_product_attention"

        def forward(name, wrong):
            pairs.add(api, name, [q, k, v], kwargs, o, wrong)

        def backward(name, *wrong):
            pairs.add(api, name, [q, k, v], kwargs, o, o, g, [dq, dk, dv], wrong)

        doubled = o.clone()
        doubled[:, 1] *= 2
        forward("a head doubled", doubled)
        other = o.clone()
        other[:, 2] = o[:, 1]
        forward("a head of another", other)
        forward("scale doubled", flash(q, k, v, None, dtype, 2 * scale, mask))
        forward("not causal" if causal else "operands exchanged",
                flash(q, k, v, None, dtype, scale) if causal else flash(k, q, v, None, dtype, scale, mask))
        backward("dQ negated", -dq, dk, dv)
        backward("dK unscaled", dq, dk / scale, dv)
        backward("dV doubled", dq, dk, 2 * dv)


GROUPS = (activations, matrices, convolutions, statistics, attentions)


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    torch.set_num_threads(1)
    record = kernels.Recorder(folder)
    for dtype in DTYPES:
        for group in GROUPS:
            before = set(record.labels)
            group(Pairs(record, dtype), dtype)
            for name in set(record.labels) - before:
                record.labels[name] = f"{group.__name__}, {SHORT[dtype]}: {record.labels[name]}"
    record.sound.write()
    record.faulty.write()
    (folder / "labels.json").write_text(json.dumps(record.labels, indent=0, sort_keys=True))


if __name__ == "__main__":
    main()
