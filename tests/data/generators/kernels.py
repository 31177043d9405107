"""Records calls whose results kernels of accelerators give, sound ones and faulty ones, as torch on a processor imitates them. One function a
kernel, hence longer than other files.

    kernels.py FOLDER [SEED [few]]

FOLDER/sound and FOLDER/faulty become tensor dumps, and FOLDER/labels.json says of each call which kernel made it. A sound kernel forms its
sums in float32, in any order, and rounds to a half type what it stores; a faulty one has one planted fault. With `few`, half types alone, and tensors as small as those that are packed as
test data (seed 7). Needs torch 1.13."""

import json
import math
import pathlib
import sys

import torch

from oracle import Category

HALVES = (torch.float16, torch.bfloat16)
DTYPES = (torch.float32, *HALVES)
FEW = sys.argv[3:] == ["few"]
SHORT = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}


def stored(x, dtype):
    """What is left of float32 numbers that a kernel stores in a dtype."""
    return x.to(dtype).float()


def e4m3(x, axis=None):
    """Scaled to the range of float8_e4m3fn, rounded to its four significant bits, and scaled back."""
    most = x.abs().amax() if axis is None else x.abs().amax(axis, keepdim=True)
    scale = most.clamp(min=1e-30) / 448
    _, exponent = torch.frexp(x / scale)
    step = torch.ldexp(torch.ones_like(x), exponent.clamp(min=-5) - 4)
    return torch.round(x / scale / step) * step * scale


def int8(x, axis=None):
    most = x.abs().amax() if axis is None else x.abs().amax(axis, keepdim=True)
    return torch.round(x / most * 127) * most / 127


def off_by_places(x, most=4):
    """Functions of float32 that err by some places."""
    places = torch.randint(-most, most + 1, x.shape).float()
    return x * (1 + places * 2.0**-23)


def tiles(size, tile):
    return [slice(i, min(i + tile, size)) for i in range(0, size, tile)]


def add_up(parts):
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


# Products, float32 in and out.

def product_tiled(a, b, tile=32, skipped=None, twice=None):
    parts = [a[..., t] @ b[..., t, :] for t in tiles(a.shape[-1], tile)]
    if skipped is not None and len(parts) > 1:
        del parts[min(skipped, len(parts) - 1)]
    if twice is not None:
        parts.append(parts[min(twice, len(parts) - 1)])
    return add_up(parts)


def product_split(a, b, dtype=None, ways=4):
    size = -(-a.shape[-1] // ways)
    parts = [product_tiled(a[..., t], b[..., t, :]) for t in tiles(a.shape[-1], size)]
    return add_up(parts if dtype is None else [stored(p, dtype) for p in parts])


def product_serial(a, b, dtype):
    """Sums that are rounded to a half type after every addition."""
    total = torch.zeros(*a.shape[:-1], b.shape[-1])
    for k in range(a.shape[-1]):
        total = stored(total + a[..., k:k + 1] * b[..., k:k + 1, :], dtype)
    return total


# Sums over the last axis.

def sum_tree(x):
    while x.shape[-1] > 1:
        if x.shape[-1] % 2:
            x = torch.cat([x, torch.zeros_like(x[..., :1])], -1)
        half = x.shape[-1] // 2
        x = x[..., :half] + x[..., half:]
    return x[..., 0]


def sum_lanes(x, lanes=32):
    """Each of so many lanes adds its own terms one by one, and a tree the lanes."""
    missing = -x.shape[-1] % lanes
    x = torch.nn.functional.pad(x, (0, missing)).reshape(*x.shape[:-1], -1, lanes)
    total = x[..., 0, :]
    for i in range(1, x.shape[-2]):
        total = total + x[..., i, :]
    return sum_tree(total)


def sum_any_order(x):
    return sum_lanes(x[..., torch.randperm(x.shape[-1])], 1)


def sum_serial(x, dtype):
    total = torch.zeros_like(x[..., 0])
    for i in range(x.shape[-1]):
        total = stored(total + x[..., i], dtype)
    return total


def sum_tile_lost(x, tile=64):
    keep = torch.ones(x.shape[-1], dtype=torch.bool)
    keep[tile:2 * tile] = False
    return sum_tree(x[..., keep]) if x.shape[-1] > tile else sum_tree(x[..., : max(x.shape[-1] // 2, 1)])


def sum_tile_twice(x, tile=64):
    return sum_tree(x) + sum_tree(x[..., -tile:])


def sum_half_row(x):
    return 2 * sum_tree(x[..., : x.shape[-1] // 2])


def welford(x):
    """Mean and sum of squared differences, two elements at a time."""
    count, mean, squares = 0.0, torch.zeros_like(x[..., 0]), torch.zeros_like(x[..., 0])
    for i in range(x.shape[-1]):
        count += 1
        delta = x[..., i] - mean
        mean = mean + delta / count
        squares = squares + delta * (x[..., i] - mean)
    return mean, squares


class Recording(Category):
    keeps_exact = False
    drawn = 0  # tensors of the call in the making

    def __init__(self, folder, labels):
        super().__init__(folder)
        self.labels = labels

    def entry(self, api, label, args, kwargs, outputs, given=(), gradients=()):
        """A call whose tensors have their dtypes; gradients are those of the tensors of args and kwargs, in order."""
        Recording.drawn = 0
        number = self.counts.get(api, 0)
        self.counts[api] = number + 1
        self.labels[f"{self.folder.name}/{api}.{number}"] = label
        wants = bool(gradients)
        # A leaf's dtype decides whether it has a gradient.
        def described(value, stem):
            result = self.described(value, stem)
            if isinstance(result, dict) and isinstance(value, torch.Tensor):
                result["requires_grad"] = wants and value.is_floating_point()
            return result

        key = f"{api}.{number}.forward"
        self.forward[key] = {"input_args": [described(a, f"{key}.input.{i}") for i, a in enumerate(args)],
                             "input_kwargs": {k: described(v, f"{key}.kwargs.{k}") for k, v in kwargs.items()},
                             "output": [described(o, f"{key}.output.{i}") for i, o in enumerate(outputs)]}
        if gradients:
            key = f"{api}.{number}.backward"
            self.backward[key] = {"input": [self.described(g, f"{key}.input.{i}") for i, g in enumerate(given)],
                                  "output": [self.described(g, f"{key}.output.{i}") for i, g in enumerate(gradients)]}

    def write(self):
        entries = {}
        for key, entry in self.forward.items():
            entries[key] = entry
            back = key.replace(".forward", ".backward")
            if back in self.backward:
                entries[back] = self.backward[back]
        dump = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": "dump_tensor_data", "data": entries}
        (self.folder / "dump.json").write_text(json.dumps(dump))


def normal(dtype, *shape, scale=1.0):
    """Random numbers of a dtype. With `few` the n-th tensor of a call is that of every call with that shape, so that packing spares it."""
    if FEW:
        torch.manual_seed(hash((shape, Recording.drawn)) % 2**31)
        Recording.drawn += 1
    return stored(torch.randn(*shape) * scale, dtype)


# --------------------------------------------------------------------------------------------------------- kernels

def products(record, dtype):
    half = dtype is not torch.float32
    kinds = {"tiled": (product_tiled, product_tiled), "split-K": (product_split, product_split)}
    if dtype is torch.bfloat16:
        kinds["split-K, parts stored"] = (lambda a, b: product_split(a, b, dtype), lambda a, b: product_split(a, b, dtype))
    faults = {"a tile skipped": lambda a, b: product_tiled(a, b, skipped=1),
              "a tile twice": lambda a, b: product_tiled(a, b, twice=1),
              "weights in e4m3": lambda a, b: product_tiled(a, e4m3(b)),
              "weights in int8": lambda a, b: product_tiled(a, int8(b)),
              "weights in int8 by column": lambda a, b: product_tiled(a, int8(b, 0))}
    if half:
        faults["sums in the half type"] = lambda a, b: product_serial(a, b, dtype)
    for rows, inner, columns in ((10, 256, 12),) if FEW else ((48, 256, 64), (16, 640, 48)):
        for name, (forward, backward) in kinds.items():
            x, w, g = normal(dtype, rows, inner), normal(dtype, inner, columns, scale=inner**-0.5), normal(dtype, rows, columns)
            y, dx, dw = forward(x, w), backward(g, w.T.contiguous()), backward(x.T.contiguous(), g)
            record.sound.entry("Torch.matmul", name, [x.to(dtype), w.to(dtype)], {}, [y.to(dtype)], [g.to(dtype)],
                               [dx.to(dtype), dw.to(dtype)])
            b = normal(dtype, columns)
            record.sound.entry("Functional.linear", name, [x.to(dtype), w.T.contiguous().to(dtype), b.to(dtype)], {},
                               [(y + b).to(dtype)], [g.to(dtype)],
                               [dx.to(dtype), dw.T.contiguous().to(dtype), sum_any_order(g.T).to(dtype)])
        for name, forward in faults.items():
            x, w = normal(dtype, rows, inner), normal(dtype, inner, columns, scale=inner**-0.5)
            record.faulty.entry("Torch.matmul", name, [x.to(dtype), w.to(dtype)], {}, [forward(x, w).to(dtype)])
            b = normal(dtype, columns)
            record.faulty.entry("Functional.linear", name, [x.to(dtype), w.T.contiguous().to(dtype), b.to(dtype)], {},
                                [(forward(x, w) + b).to(dtype)])
        # Positive terms, as behind a relu: sums that stand still stay far behind.
        x, w = normal(dtype, rows, inner).abs(), normal(dtype, inner, columns).abs()
        record.sound.entry("Torch.matmul", "positive, tiled", [x.to(dtype), w.to(dtype)], {}, [product_tiled(x, w).to(dtype)])
        if half:
            record.faulty.entry("Torch.matmul", "positive, sums in the half type", [x.to(dtype), w.to(dtype)], {},
                                [product_serial(x, w, dtype).to(dtype)])
    a, b = normal(dtype, 6, 40, 96)[: 2 if FEW else 6, :8].contiguous(), normal(dtype, 6, 96, 24)[: 2 if FEW else 6].contiguous()
    record.sound.entry("Torch.bmm", "tiled", [a.to(dtype), b.to(dtype)], {}, [product_tiled(a, b).to(dtype)])
    record.faulty.entry("Torch.bmm", "a tile skipped", [a.to(dtype), b.to(dtype)], {}, [product_tiled(a, b, skipped=2).to(dtype)])


def convolutions(record, dtype):
    def convolve(x, w, b, product):
        columns = torch.nn.functional.unfold(x, 3, padding=1)
        y = product(w.reshape(w.shape[0], -1), columns)
        return (y + b[:, None]).reshape(x.shape[0], w.shape[0], *x.shape[2:])

    for channels, outputs, size in ((8, 12, 6),) if FEW else ((16, 24, 12), (32, 16, 9)):
        x, w, b = normal(dtype, 2, channels, size, size), normal(dtype, outputs, channels, 3, 3, scale=0.1), normal(dtype, outputs)
        own = [x.to(dtype), w.to(dtype), b.to(dtype), [1, 1], [1, 1], [1, 1], 1]
        right = convolve(x, w, b, product_tiled)
        record.sound.entry("Functional.conv2d", "tiled", own, {}, [right.to(dtype)])
        record.faulty.entry("Functional.conv2d", "a tile skipped", own, {},
                            [convolve(x, w, b, lambda p, q: product_tiled(p, q, skipped=1)).to(dtype)])
        record.faulty.entry("Functional.conv2d", "weights in e4m3", own, {}, [convolve(x, e4m3(w), b, product_tiled).to(dtype)])
        wrong = right.clone()
        wrong.view(-1)[wrong.numel() // 3] += 2 * right.abs().max()
        record.faulty.entry("Functional.conv2d", "one element", own, {}, [wrong.to(dtype)])


def softmaxes(record, dtype):
    def online(x, tile=64):
        most, total = torch.full_like(x[..., :1], -math.inf), torch.zeros_like(x[..., :1])
        for t in tiles(x.shape[-1], tile):
            larger = torch.maximum(most, x[..., t].amax(-1, keepdim=True))
            total = total * off_by_places(torch.exp(most - larger)) + sum_tree(off_by_places(torch.exp(x[..., t] - larger)))[..., None]
            most = larger
        return off_by_places(torch.exp(x - most)) / total

    def passes(x, add=sum_lanes):
        powers = off_by_places(torch.exp(x - x.amax(-1, keepdim=True)), 2)
        return powers * (1 / add(powers)[..., None])

    def padded(x):
        wide = torch.nn.functional.pad(x, (0, -x.shape[-1] % 64 or 64))
        return passes(wide)[..., : x.shape[-1]]

    def gradient(y, g, add=sum_tree):
        return y * (g - add(y * g)[..., None])

    faults = {"the padded tail counts": padded, "a tile skipped": lambda x: passes(x, sum_tile_lost),
              "a tile twice": lambda x: passes(x, sum_tile_twice),
              "sum of half of the row": lambda x: passes(x, lambda p: sum_tree(p[..., : p.shape[-1] // 2]))}
    if dtype is not torch.float32:
        faults["sums in the half type"] = lambda x: passes(x, lambda p: sum_serial(p, dtype))
    rows = 6 if FEW else 24
    for size, scale in ((200, 1.0), (72, 1.5)) if FEW else ((200, 1.0), (72, 8.0), (1000, 0.5)):
        for name, forward in {"online": online, "three passes": passes, "tree": lambda x: passes(x, sum_tree)}.items():
            x, g = normal(dtype, rows, size, scale=scale), normal(dtype, rows, size)
            y = stored(forward(x), dtype)
            record.sound.entry("Functional.softmax", name, [x.to(dtype), -1], {}, [y.to(dtype)], [g.to(dtype)],
                               [gradient(y, g, sum_lanes).to(dtype)])
            z = x - x.amax(-1, keepdim=True)
            z = z - torch.log(sum_lanes(torch.exp(z)))[..., None]
            record.sound.entry("Functional.log_softmax", name, [x.to(dtype), -1], {}, [z.to(dtype)])
        for name, forward in faults.items():
            if scale > 2 and name == "the padded tail counts":
                continue  # beside large scores it changes nothing
            x = normal(dtype, rows, size, scale=scale)
            record.faulty.entry("Functional.softmax", name, [x.to(dtype), -1], {}, [forward(x).to(dtype)])
        x, g = normal(dtype, rows, size, scale=scale), normal(dtype, rows, size)
        y = stored(passes(x), dtype)
        record.faulty.entry("Functional.softmax", "gradient: a tile skipped", [x.to(dtype), -1], {}, [y.to(dtype)], [g.to(dtype)],
                            [gradient(y, g, sum_tile_lost).to(dtype)])


def flash(q, k, v, g, dtype, scale, mask=None, tile=32, keeps=False, powers=None, functions=2, pad=0, rescale=True, inner=0,
          stored_scores=False, dscore_scale=True, delta=None):
    """Flash attention forward and backward, (batch, heads, length, size). keeps: probabilities stay in float32 on their way into products."""
    narrow = (lambda x: x) if keeps else (lambda x: stored(x, dtype))
    powers = powers or narrow
    groups = q.shape[1] // k.shape[1]
    kk, vv = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)

    def scores(t):
        s = product_tiled(q, kk[..., t, :].transpose(-1, -2).contiguous()) * scale
        if stored_scores:
            s = stored(s, dtype)
        if mask is not None:
            s = s.masked_fill(~mask[..., t], -math.inf)
        return s

    most = torch.full((*q.shape[:-1], 1), -math.inf)
    total, out = torch.zeros_like(most), torch.zeros(*q.shape[:-1], v.shape[-1])
    for t in tiles(k.shape[-2], tile):
        s = scores(t)
        larger = torch.maximum(most, s.amax(-1, keepdim=True))
        safe = torch.where(torch.isinf(larger), torch.zeros_like(larger), larger)
        p = off_by_places(torch.exp(s - safe), functions)
        again = off_by_places(torch.exp(most - safe), functions) if rescale else torch.ones_like(most)
        total = total * again + sum_lanes(p)[..., None]
        out = out * again + product_tiled(powers(p), vv[..., t, :])
        most = larger
    if pad:
        total = total + pad * torch.exp(-most)
    o = stored(out / total, dtype)
    if g is None:
        return o
    lse = most + torch.log(total)
    d = (delta or (lambda x: sum_lanes(x)))(o * g)[..., None]
    dq, dk, dv = torch.zeros_like(q), [], []
    for t in tiles(k.shape[-2], tile):
        p = off_by_places(torch.exp(scores(t) - lse), functions)
        dv.append(product_tiled(narrow(p).transpose(-1, -2).contiguous(), g))
        dp = product_tiled(g, vv[..., t, :].transpose(-1, -2).contiguous())
        ds = narrow(p * (dp - d))
        dq = dq + product_tiled(ds, kk[..., t, :])
        dk.append(product_tiled(ds.transpose(-1, -2).contiguous(), q))
    shape = (k.shape[0], k.shape[1], groups, *k.shape[2:])
    dk = torch.cat(dk, -2).reshape(shape)
    dv = torch.cat(dv, -2).reshape(*shape[:-1], v.shape[-1])
    return o, dq * scale, add_up(list(dk.unbind(2))) * (scale if dscore_scale else 1), add_up(list(dv.unbind(2)))


def three_passes(q, k, v, g, dtype, scale, mask=None, keeps=True, scores_stored=False, powers=None):
    """Attention by products and a softmax over whole rows; what is passed on is stored in the dtype, or stays in float32."""
    narrow = (lambda x: x) if keeps else (lambda x: stored(x, dtype))
    groups = q.shape[1] // k.shape[1]
    kk, vv = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    if scores_stored:
        s = stored(stored(product_tiled(q, kk.transpose(-1, -2).contiguous()), dtype) * scale, dtype)
    else:
        s = product_tiled(q, kk.transpose(-1, -2).contiguous()) * scale
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    p = off_by_places(torch.exp(s - s.amax(-1, keepdim=True)), 2)
    p = p / sum_tree(p)[..., None]
    p = narrow(p)
    o = stored(product_tiled((powers or (lambda x: x))(p), vv), dtype)
    if g is None:
        return o
    dv = product_tiled(p.transpose(-1, -2).contiguous(), g)
    dp = narrow(product_tiled(g, vv.transpose(-1, -2).contiguous()))
    ds = narrow(p * (dp - sum_tree(p * dp)[..., None]))
    if scores_stored:
        ds = stored(ds * scale, dtype)
        last = 1.0
    else:
        last = scale
    dq = product_tiled(ds, kk) * last
    dk = product_tiled(ds.transpose(-1, -2).contiguous(), q) * last
    shape = (k.shape[0], k.shape[1], groups, *k.shape[2:])
    return o, dq, add_up(list(dk.reshape(shape).unbind(2))), add_up(list(dv.reshape(*shape[:-1], -1).unbind(2)))


def attentions(record, dtype):
    half = dtype is not torch.float32
    whole = ((2, 1, 48, 64, 32, False, 1.0), (4, 4, 24, 160, 32, False, 3.0), (4, 2, 40, 40, 16, True, 1.0), (2, 1, 33, 72, 64, False, 3.0), (4, 4, 64, 96, 32, False, 2.0))
    for heads, groups, length, keys, size, causal, large in ((2, 2, 10, 40, 16, False, 3.0), (1, 1, 40, 40, 8, True, 1.0)) if FEW else whole:
        batch = 1 if FEW else 2
        scale = size**-0.5
        mask = torch.ones(length, keys).tril().bool() if causal else None

        def inputs():
            return (normal(dtype, batch, heads, length, size, scale=large), normal(dtype, batch, heads // groups, keys, size, scale=large),
                    normal(dtype, batch, heads // groups, keys, size), normal(dtype, batch, heads, length, size))

        def entry(to, name, results, q, k, v, g):
            kwargs = {"attn_mask": None, "dropout_p": 0.0, "is_causal": causal}
            if groups > 1:
                kwargs["enable_gqa"] = True
            results = list(results) if isinstance(results, tuple) else [results]
            gradients = [r.to(dtype) for r in results[1:]]
            to.entry("Functional.scaled_dot_product_attention", name, [x.to(dtype) for x in (q, k, v)], kwargs, [results[0].to(dtype)],
                     [g.to(dtype)] if gradients else (), gradients)

        sound = {"flash": lambda *x: flash(*x, dtype, scale, mask),
                 "flash, tiles of 16": lambda *x: flash(*x, dtype, scale, mask, tile=16),
                 "flash, P in float32": lambda *x: flash(*x, dtype, scale, mask, keeps=True),
                 "three passes in float32": lambda *x: three_passes(*x, dtype, scale, mask)}
        if half:
            sound["eager, scores stored"] = lambda *x: three_passes(*x, dtype, scale, mask, keeps=False, scores_stored=True)
            sound["three passes, P stored"] = lambda *x: three_passes(*x, dtype, scale, mask, keeps=False)
        for name, kernel in sound.items():
            x = inputs()
            entry(record.sound, name, kernel(*x), *x)
        faults = {"P in e4m3": lambda q, k, v, g: flash(q, k, v, None, dtype, scale, mask, powers=e4m3),
                  "P in int8": lambda q, k, v, g: flash(q, k, v, None, dtype, scale, mask, powers=int8),
                  "V in e4m3": lambda q, k, v, g: flash(q, k, e4m3(v), None, dtype, scale, mask),
                  "the padded tail counts": lambda q, k, v, g: flash(q, k, v, None, dtype, scale, mask, pad=64 - keys % 64),
                  "not rescaled": lambda q, k, v, g: flash(q, k, v, None, dtype, scale, mask, rescale=False),
                  "scale of another size": lambda q, k, v, g: flash(q, k, v, None, dtype, (size + 4)**-0.5, mask),
                  "dK unscaled": lambda q, k, v, g: flash(q, k, v, g, dtype, scale, mask, dscore_scale=False),
                  "D of half of the row": lambda q, k, v, g: flash(q, k, v, g, dtype, scale, mask, delta=lambda x: sum_tree(x[..., : size // 2])),
                  "a tile of keys twice": lambda q, k, v, g: flash(q, torch.cat([k, k[..., -16:, :]], -2), torch.cat([v, v[..., -16:, :]], -2), None,
                                                                   dtype, scale, None if mask is None else torch.cat([mask, mask[..., -16:]], -1))}
        for name, kernel in faults.items():
            if large > 2 and name == "the padded tail counts" and not FEW:
                continue  # beside large scores it changes nothing
            x = inputs()
            entry(record.faulty, name, kernel(*x), *x)


def norms(record, dtype):
    half = dtype is not torch.float32

    def two_passes(x, add=sum_tree, correction=0):
        mean = add(x)[..., None] / x.shape[-1]
        return mean, add((x - mean) ** 2)[..., None] / (x.shape[-1] - correction)

    def by_welford(x):
        mean, squares = welford(x)
        return mean[..., None], squares[..., None] / x.shape[-1]

    def layer(x, w, b, g, eps, statistics):
        mean, var = statistics(x)
        rstd = torch.rsqrt(var + eps)
        hat = (x - mean) * rstd
        gw = g * w
        n = x.shape[-1]
        dx = rstd * (gw - sum_tree(gw)[..., None] / n - hat * sum_tree(gw * hat)[..., None] / n)
        flat = (-1, x.shape[-1])
        return (hat * w + b, dx, sum_any_order((g * hat).reshape(flat).T), sum_any_order(g.reshape(flat).T))

    rows = (2, 4) if FEW else (4, 12)
    for size, scale in ((128, 0.1),) if FEW else ((128, 1.0), (320, 0.2), (768, 3.0)):
        def inputs():
            return (normal(dtype, *rows, size, scale=scale) + stored(torch.tensor(0.25 * scale), dtype), normal(dtype, size) * 0.1 + 1, normal(dtype, size),
                    normal(dtype, *rows, size))

        def layer_entry(to, name, eps, statistics, used=None, backward=True):
            x, w, b, g = (stored(t, dtype) for t in inputs())
            y, *gradients = layer(x, w, b, g, eps if used is None else used, statistics)
            to.entry("Functional.layer_norm", name, [x.to(dtype), [size], w.to(dtype), b.to(dtype), eps], {}, [y.to(dtype)],
                     [g.to(dtype)] if backward else (), [t.to(dtype) for t in gradients] if backward else ())

        layer_entry(record.sound, "welford", 1e-5, by_welford)
        layer_entry(record.sound, "two passes", 1e-5, two_passes)
        layer_entry(record.sound, "lanes", 1e-5, lambda x: two_passes(x, sum_lanes))
        faults = {"unbiased variance": (lambda x: two_passes(x, correction=1), None),
                  "epsilon of 1e-3": (two_passes, 1e-3), "mean of half of the row": (lambda x: two_passes(x, sum_half_row), None),
                  "a tile skipped": (lambda x: two_passes(x, sum_tile_lost), None), "a tile twice": (lambda x: two_passes(x, sum_tile_twice), None)}
        if half:
            faults["sums in the half type"] = (lambda x: two_passes(x, lambda t: sum_serial(t, dtype)), None)
        for name, (statistics, used) in faults.items():
            layer_entry(record.faulty, name, 1e-5, statistics, used, backward=False)
        layer_entry(record.faulty, "gradient: " + "a tile skipped", 1e-5, lambda x: two_passes(x, sum_tile_lost))

        def rms(x, w, eps, add=sum_tree):
            rstd = torch.rsqrt(add(x * x)[..., None] / x.shape[-1] + eps)
            return x * rstd * w, rstd

        def rms_gradients(x, w, g, rstd):
            hat, gw = x * rstd, g * w
            dx = rstd * (gw - hat * (sum_tree(gw * hat) / x.shape[-1])[..., None])
            return dx, sum_any_order((g * hat).reshape(-1, size).T)

        small = 1e-3 * scale  # what epsilon shows beside

        def rms_entry(to, name, used=None, add=sum_tree, tiny=False, backward=False):
            x, w, _, g = (stored(t, dtype) for t in inputs())
            if tiny:
                x = stored(x * small, dtype)
            y, rstd = rms(x, w, 1e-6 if used is None else used, add)
            gradients = rms_gradients(x, w, g, rstd) if backward else ()
            to.entry("NPU.npu_rms_norm", name, [x.to(dtype), w.to(dtype), 1e-6], {}, [y.to(dtype), rstd],
                     [g.to(dtype), None] if backward else (), [t.to(dtype) if i == 0 else t.to(dtype) for i, t in enumerate(gradients)])

        rms_entry(record.sound, "tree", backward=True)
        rms_entry(record.sound, "lanes", add=sum_lanes, backward=True)
        rms_entry(record.sound, "tiny", tiny=True, backward=True)
        rms_entry(record.faulty, "epsilon missing", used=0.0, tiny=True)
        rms_entry(record.faulty, "epsilon of 1e-3", used=1e-3)
        rms_entry(record.faulty, "a tile skipped", add=sum_tile_lost)
        rms_entry(record.faulty, "mean of half of the row", add=sum_half_row)

        def add_rms_entry(to, name, stores, add=sum_tree):
            x, w, _, other = (stored(t, dtype) for t in inputs())
            total = x + other
            y, rstd = rms(stored(total, dtype) if stores else total, w, 1e-6, add)
            to.entry("NPU.npu_add_rms_norm", name, [x.to(dtype), other.to(dtype), w.to(dtype), 1e-6], {},
                     [y.to(dtype), rstd, total.to(dtype)])

        add_rms_entry(record.sound, "sum in float32", False)
        add_rms_entry(record.sound, "sum stored", True)
        add_rms_entry(record.faulty, "a tile skipped", True, sum_tile_lost)
        add_rms_entry(record.faulty, "mean of half of the row", True, sum_half_row)

    # Batch norm in training, over samples and space.
    def batch_entry(to, name, statistics, used=1e-5):
        side = 4 if FEW else 8
        x, w, b = normal(dtype, 6, 12, side, side, scale=0.3), stored(normal(dtype, 12) * 0.1 + 1, dtype), normal(dtype, 12)
        channels = x.transpose(0, 1).reshape(12, -1)
        mean, var = statistics(channels)
        y = (channels - mean) * torch.rsqrt(var + used) * w[:, None] + b[:, None]
        to.entry("Functional.batch_norm", name, [x.to(dtype), None, None, w.to(dtype), b.to(dtype), True, 0.1, 1e-5], {},
                 [y.reshape(12, 6, side, side).transpose(0, 1).contiguous().to(dtype)])

    batch_entry(record.sound, "welford", by_welford)
    batch_entry(record.sound, "two passes", two_passes)
    batch_entry(record.faulty, "epsilon of 1e-3", two_passes, 1e-3)
    batch_entry(record.faulty, "mean of half of the row", lambda x: two_passes(x, sum_half_row))


def sums(record, dtype):
    half = dtype is not torch.float32
    kinds = {"tree": sum_tree, "lanes": sum_lanes, "any order": sum_any_order}
    faults = {"a tile skipped": sum_tile_lost, "a tile twice": sum_tile_twice, "half of the row": sum_half_row}
    if half:
        faults["in the half type"] = lambda x: sum_serial(x, dtype)
    rows = 8 if FEW else 40
    for size in (200, 1536):
        for shift in (0.0, 0.5):
            for to, each in ((record.sound, kinds), (record.faulty, faults)):
                for name, add in each.items():
                    if FEW and (size == 1536) != (shift > 0):
                        continue
                    x = stored(normal(torch.float32, rows, size) + shift, dtype)
                    to.entry("Torch.sum", name, [x.to(dtype), -1], {}, [add(x).to(dtype)])
                    to.entry("Torch.mean", name, [x.to(dtype), -1], {}, [(add(x) / size).to(dtype)])
                    to.entry("Torch.norm", name, [x.to(dtype), 2, -1], {}, [torch.sqrt(add(x * x)).to(dtype)])
                    if shift == 0:
                        mean = (add(x) / size)[..., None]
                        to.entry("Torch.var", name, [x.to(dtype), -1], {}, [(add((x - mean) ** 2) / (size - 1)).to(dtype)])
    x = normal(dtype, rows, 120)
    mean = x.mean(-1, keepdim=True)
    record.faulty.entry("Torch.var", "biased variance", [x.to(dtype), -1], {}, [(((x - mean) ** 2).sum(-1) / 120).to(dtype)])
    x = normal(dtype, rows, 6, 40)
    record.sound.entry("Torch.cumsum", "float32", [x.to(dtype), -1], {}, [x.cumsum(-1).to(dtype)])


def elementwise(record, dtype):
    rows = 12 if FEW else 64
    x, g = normal(dtype, rows, 96, scale=2.0), normal(dtype, rows, 96)
    one, other = x.to(dtype), g.to(dtype)
    sigmoid = off_by_places(torch.sigmoid(x))
    for most in (1, 2, 4):
        record.sound.entry("Torch.exp", f"{most} ULP", [one], {}, [off_by_places(torch.exp(x), most).to(dtype)])
        record.sound.entry("Torch.tanh", f"{most} ULP", [one], {}, [off_by_places(torch.tanh(x), most).to(dtype)])
        record.sound.entry("Functional.gelu", f"{most} ULP", [one], {}, [off_by_places(torch.nn.functional.gelu(x.double()).float(), most).to(dtype)])
        record.sound.entry("Functional.silu", f"{most} ULP", [one], {}, [(x * off_by_places(torch.sigmoid(x), most)).to(dtype)],
                           [other], [(g * sigmoid * (1 + x * (1 - sigmoid))).to(dtype)])
    inner = torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    record.sound.entry("Functional.gelu", "tanh", [one], {"approximate": "tanh"}, [(0.5 * x * (1 + off_by_places(inner, 1))).to(dtype)])
    record.faulty.entry("Functional.gelu", "the other formula", [one], {}, [(0.5 * x * (1 + inner)).to(dtype)])
    record.faulty.entry("Functional.gelu", "x sigmoid(1.702 x)", [one], {}, [(x * torch.sigmoid(1.702 * x)).to(dtype)])
    record.faulty.entry("Torch.exp", "in e4m3", [one], {}, [torch.exp(e4m3(x)).to(dtype)])
    record.faulty.entry("Functional.silu", "gradient without x", [one], {}, [(x * sigmoid).to(dtype)], [other],
                        [(g * sigmoid * (1 + (1 - sigmoid))).to(dtype)])
    cos, sin = torch.cos(torch.rand(1, 20, 1, 32) * 6), torch.sin(torch.rand(1, 20, 1, 32) * 6)
    q = normal(dtype, 2, 20, 3, 32)
    cos, sin = stored(cos, dtype), stored(sin, dtype)
    turned = torch.cat([-q[..., 16:], q[..., :16]], -1)
    own = [q.to(dtype), cos.to(dtype), sin.to(dtype)]
    record.sound.entry("NPU.npu_rotary_mul", "float32", own, {}, [(q * cos + turned * sin).to(dtype)])
    if dtype is not torch.float32:
        record.sound.entry("NPU.npu_rotary_mul", "products stored", own, {},
                           [(stored(q * cos, dtype) + stored(turned * sin, dtype)).to(dtype)])
    record.faulty.entry("NPU.npu_rotary_mul", "not negated", own, {}, [(q * cos + torch.cat([q[..., 16:], q[..., :16]], -1) * sin).to(dtype)])
    x = normal(dtype, 24, 128)
    gate, up = x[..., :64], x[..., 64:]
    record.sound.entry("NPU.npu_swiglu", "float32", [x.to(dtype), -1], {}, [(gate * off_by_places(torch.sigmoid(gate)) * up).to(dtype)])
    if dtype is not torch.float32:
        record.sound.entry("NPU.npu_swiglu", "silu stored", [x.to(dtype), -1], {},
                           [(stored(gate * torch.sigmoid(gate), dtype) * up).to(dtype)])


def losses(record, dtype):
    rows, classes = (30, 40) if FEW else (60, 200)
    x = normal(dtype, rows, classes, scale=2.0)
    target = torch.randint(classes, (rows,))
    target[::5] = -100
    valid = target >= 0
    log = off_by_places(x - x.amax(-1, keepdim=True), 1)
    log = log - torch.log(sum_lanes(torch.exp(log)))[..., None]
    picked = -log[valid, target[valid]]
    kwargs = {"ignore_index": -100, "reduction": "mean"}
    own = [x.to(dtype), target]
    count = int(valid.sum())

    def gradient(divisor):
        p = torch.exp(log)
        p[valid, target[valid]] -= 1
        p[~valid] = 0
        return p / divisor

    one = torch.ones(())
    record.sound.entry("Functional.cross_entropy", "float32", own, kwargs, [(sum_tree(picked) / count).to(dtype)], [one.to(dtype)],
                       [gradient(count).to(dtype), None])
    if dtype is not torch.float32:
        stored_log = stored(log, dtype)
        record.sound.entry("Functional.cross_entropy", "log-probabilities stored", own, kwargs,
                           [(sum_tree(-stored_log[valid, target[valid]]) / count).to(dtype)])
    record.faulty.entry("Functional.cross_entropy", "mean over ignored targets", own, kwargs, [(sum_tree(picked) / rows).to(dtype)],
                        [one.to(dtype)], [gradient(rows).to(dtype), None])
    none = {"ignore_index": -100, "reduction": "none"}
    each = torch.zeros(rows)
    each[valid] = picked
    record.sound.entry("Functional.cross_entropy", "each", own, none, [each.to(dtype)])
    a, b = normal(dtype, 64, 80), normal(dtype, 64, 80)
    squares = ((a - b) ** 2).reshape(-1)
    record.sound.entry("Functional.mse_loss", "tree", [a.to(dtype), b.to(dtype)], {}, [(sum_tree(squares) / squares.numel()).to(dtype)])
    record.faulty.entry("Functional.mse_loss", "a tile skipped", [a.to(dtype), b.to(dtype)], {},
                        [(sum_tree(squares[: squares.numel() * 7 // 8]) / squares.numel()).to(dtype)])


def scattered(record, dtype):
    """Several threads add to one element, in any order: of a half type each addition is rounded."""
    def scatter(base, index, source, lose=None, at=None):
        """Rows of source are added to rows of base."""
        total = base.clone()
        order = torch.randperm(index.numel())
        if lose is not None:
            order = order[: order.numel() * (lose - 1) // lose]
        for i in order.tolist():
            total[index[i]] = stored(total[index[i]] + source[i], dtype)
        return total

    for hits, positive in ((48, False), (48, True)) if FEW else ((8, False), (48, False), (48, True), (160, False)):
        rows, width = (4, 12) if FEW else (6, 24)
        index = torch.randint(rows, (rows * hits,))

        def source():
            s = normal(dtype, rows * hits, width)
            return s.abs() if positive else s

        zero = torch.zeros(rows, width)
        for name, lose, to in (("atomics", None, record.sound), ("an eighth is lost", 8, record.faulty)):
            s = source()
            base = normal(dtype, rows, width)
            to.entry("Torch.index_add", f"{name}, {hits} hits", [base.to(dtype), 0, index, s.to(dtype)], {},
                     [scatter(base, index, s, lose).to(dtype)])
            s = source()
            wide = index[:, None].expand(-1, width).contiguous()
            to.entry("Torch.scatter_add", f"{name}, {hits} hits", [zero.to(dtype), 0, wide, s.to(dtype)], {},
                     [scatter(zero, index, s, lose).to(dtype)])
            s = source()
            to.entry("Torch.index_put", f"{name}, {hits} hits", [zero.to(dtype), [index], s.to(dtype), True], {},
                     [scatter(zero, index, s, lose).to(dtype)])
            weight, g = normal(dtype, rows, width), source()
            to.entry("Functional.embedding", f"{name}, {hits} hits", [index, weight.to(dtype)], {}, [weight[index].to(dtype)],
                     [g.to(dtype)], [None, scatter(zero, index, g, lose).to(dtype)])
        s = source()
        exact = torch.zeros(rows, width).index_add(0, index, s)
        record.sound.entry("Torch.index_add", f"float32, {hits} hits", [zero.to(dtype), 0, index, s.to(dtype)], {}, [exact.to(dtype)])


def others(record, dtype):
    """More operators and larger sizes, which are not among the packed ones."""
    if FEW:
        return
    x, g = normal(dtype, 40, 72), normal(dtype, 40, 72)
    positive = x.abs() + stored(torch.tensor(0.05), dtype)
    functions = {"Torch.sigmoid": (torch.sigmoid, x), "Torch.log": (torch.log, positive), "Torch.sqrt": (torch.sqrt, positive), "Torch.rsqrt": (torch.rsqrt, positive),
                 "Torch.sin": (torch.sin, x), "Torch.cos": (torch.cos, x), "Torch.erf": (torch.erf, x), "Torch.expm1": (torch.expm1, x), "Torch.log1p": (torch.log1p, positive),
                 "Torch.reciprocal": (torch.reciprocal, positive), "Functional.softplus": (torch.nn.functional.softplus, x), "Functional.mish": (torch.nn.functional.mish, x),
                 "Functional.elu": (torch.nn.functional.elu, x), "Functional.logsigmoid": (torch.nn.functional.logsigmoid, x), "Torch.atan": (torch.atan, x)}
    for api, (function, argument) in functions.items():
        argument = stored(argument, dtype)
        for most in (1, 2, 4):
            record.sound.entry(api, f"{most} ULP", [argument.to(dtype)], {}, [off_by_places(function(argument.double()).float(), most).to(dtype)])
        record.faulty.entry(api, "in e4m3", [argument.to(dtype)], {}, [function(e4m3(argument).double()).float().to(dtype)])
    for size in (130, 1000):
        x = normal(dtype, 24, size, scale=3.0)
        most = x.amax(-1, keepdim=True)
        powers = off_by_places(torch.exp(x - most), 2)
        for name, add, to in (("lanes", sum_lanes, record.sound), ("tree", sum_tree, record.sound), ("a tile skipped", sum_tile_lost, record.faulty)):
            to.entry("Torch.logsumexp", name, [x.to(dtype), -1], {}, [(most[..., 0] + torch.log(add(powers))).to(dtype)])
    for groups in (3, 12):
        x, w, b = normal(dtype, 4, 12, 10, 10, scale=0.4), stored(normal(dtype, 12) * 0.1 + 1, dtype), normal(dtype, 12)
        grouped = x.reshape(4, groups, -1)
        size = grouped.shape[-1]

        def group(eps, add):
            mean = add(grouped)[..., None] / size
            var = add((grouped - mean)**2)[..., None] / size
            return (((grouped - mean) * torch.rsqrt(var + eps)).reshape(x.shape) * w[:, None, None] + b[:, None, None]).to(dtype)

        own = [x.to(dtype), groups, w.to(dtype), b.to(dtype), 1e-5]
        record.sound.entry("Functional.group_norm", "tree", own, {}, [group(1e-5, sum_tree)])
        record.sound.entry("Functional.group_norm", "lanes", own, {}, [group(1e-5, sum_lanes)])
        record.faulty.entry("Functional.group_norm", "epsilon of 1e-3", own, {}, [group(1e-3, sum_tree)])
        record.faulty.entry("Functional.group_norm", "a tile skipped", own, {}, [group(1e-5, sum_tile_lost)])
    a, b, c, g = normal(dtype, 40, 200), normal(dtype, 200, 32, scale=0.1), normal(dtype, 32), normal(dtype, 40, 32)
    for name, product in (("tiled", product_tiled), ("split-K", product_split)):
        record.sound.entry("Torch.addmm", name, [c.to(dtype), a.to(dtype), b.to(dtype)], {"beta": 0.5, "alpha": 2}, [(0.5 * c + 2 * product(a, b)).to(dtype)])
        record.sound.entry("Torch.einsum", name, ["ij,jk->ik", a.to(dtype), b.to(dtype)], {}, [product(a, b).to(dtype)])
    record.faulty.entry("Torch.addmm", "a tile skipped", [c.to(dtype), a.to(dtype), b.to(dtype)], {"beta": 0.5, "alpha": 2}, [(0.5 * c + 2 * product_tiled(a, b, skipped=1)).to(dtype)])
    x, w, g = normal(dtype, 3, 8, 10, 10), normal(dtype, 12, 8, 3, 3, scale=0.1), normal(dtype, 3, 12, 10, 10)
    columns = torch.nn.functional.unfold(x, 3, padding=1)
    flat = g.reshape(3, 12, -1)
    y = product_tiled(w.reshape(12, -1), columns).reshape(g.shape)
    dx = torch.nn.functional.fold(product_tiled(w.reshape(12, -1).T.contiguous(), flat), (10, 10), 3, padding=1)
    dw = add_up([product_split(f, u.T.contiguous()) for f, u in zip(flat, columns)]).reshape(w.shape)
    own = [x.to(dtype), w.to(dtype), None, [1, 1], [1, 1], [1, 1], 1]
    record.sound.entry("Functional.conv2d", "tiled", own, {}, [y.to(dtype)], [g.to(dtype)], [dx.to(dtype), dw.to(dtype)])
    record.faulty.entry("Functional.conv2d", "gradient of two of three samples", own, {}, [y.to(dtype)], [g.to(dtype)],
                        [dx.to(dtype), add_up([product_split(f, u.T.contiguous()) for f, u in zip(flat[:2], columns[:2])]).reshape(w.shape).to(dtype)])
    rows, width, hits = 5, 16, 400
    index = torch.randint(rows, (rows * hits,))
    for positive in (False, True):
        s = normal(dtype, rows * hits, width)
        s = s.abs() if positive else s
        total, lost = torch.zeros(rows, width), torch.zeros(rows, width)
        for n, i in enumerate(torch.randperm(index.numel()).tolist()):
            total[index[i]] = stored(total[index[i]] + s[i], dtype)
            if n % 4:
                lost[index[i]] = stored(lost[index[i]] + s[i], dtype)
        wide = index[:, None].expand(-1, width).contiguous()
        zero = torch.zeros(rows, width)
        for result, to, name in ((total, record.sound, "atomics, 400 hits"), (lost, record.faulty, "a quarter is lost, 400 hits")):
            to.entry("Torch.index_add", name, [zero.to(dtype), 0, index, s.to(dtype)], {}, [result.to(dtype)])
            to.entry("Torch.scatter_add", name, [zero.to(dtype), 0, wide, s.to(dtype)], {}, [result.to(dtype)])
    a, b = normal(dtype, 30, 50), normal(dtype, 30, 50)
    target = torch.sigmoid(b)
    target = stored(target, dtype)
    each = torch.nn.functional.binary_cross_entropy_with_logits(a, target, reduction="none")
    record.sound.entry("Functional.binary_cross_entropy_with_logits", "tree", [a.to(dtype), target.to(dtype)], {}, [(sum_tree(each.reshape(-1)) / 1500).to(dtype)])
    record.faulty.entry("Functional.binary_cross_entropy_with_logits", "a tile skipped", [a.to(dtype), target.to(dtype)], {}, [(sum_tree(each.reshape(-1)[:1300]) / 1500).to(dtype)])
    each = torch.nn.functional.smooth_l1_loss(a, b, reduction="none")
    record.sound.entry("Functional.smooth_l1_loss", "tree", [a.to(dtype), b.to(dtype)], {}, [(sum_tree(each.reshape(-1)) / 1500).to(dtype)])


GROUPS = (products, convolutions, softmaxes, attentions, norms, sums, elementwise, losses, scattered, others)


class Recorder:
    def __init__(self, folder):
        self.labels = {}
        self.sound = Recording(folder / "sound", self.labels)
        self.faulty = Recording(folder / "faulty", self.labels)


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    torch.set_num_threads(1)
    record = Recorder(folder)
    for dtype in HALVES if FEW else DTYPES:
        for group in GROUPS:
            before = set(record.labels)
            group(record, dtype)
            for name in set(record.labels) - before:
                record.labels[name] = f"{group.__name__}, {SHORT[dtype]}: {record.labels[name]}"
    record.sound.write()
    record.faulty.write()
    (folder / "labels.json").write_text(json.dumps(record.labels, indent=0, sort_keys=True))


if __name__ == "__main__":
    main()
