"""Writes a recording of layers of real size: the calls of language, vision and diffusion models with the shapes that they
have in training, statistics only, so that a check of an accelerator meets the kernels that small recordings never reach
(tiled products, split reductions, fused attention).

Arguments: the folder to make, the dtype ("bfloat16", "float16", "float32") and, to try it on a small host, by what
to divide the leading dimensions (default 1; at 1 the largest tensor has 65 million elements). Prints how many calls were
written. The Python is one that has torch, which tells the shapes of results: calls have gradients where it does.
"""

import json
import math
import os
import sys

import torch


def _without_data(value):
    """What a function takes in the place of a recorded argument: tensors have shapes alone."""
    if isinstance(value, list):
        return [_without_data(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value["type"] == "torch.Tensor":
        return torch.empty(value["shape"], dtype=getattr(torch, value["dtype"].partition(".")[2]), device="meta",
                           requires_grad=value["requires_grad"])
    return value["value"]


class Recording:
    def __init__(self, dtype, divisor):
        self.dtype = "torch." + dtype
        self.divisor = divisor
        self.data = {}

    def rows(self, count):
        """A leading dimension, made smaller as the host asks for."""
        return max(1, count // self.divisor)

    def tensor(self, *shape, scale=1.0, low=None, high=None, grad=True, dtype=None):
        """Normal numbers with a standard deviation of `scale`, or evenly spread ones between low and high."""
        count = math.prod(shape)
        if low is None:
            # The largest of n normal numbers is some sqrt(2 ln n) deviations away from their mean.
            high = scale * math.sqrt(2 * math.log(count + 2))
            low, mean, power = -high, 0.0, scale * scale
        else:
            mean, power = (low + high) / 2, (low * low + low * high + high * high) / 3
        return {"type": "torch.Tensor", "dtype": dtype or self.dtype, "shape": list(shape), "Max": high, "Min": low,
                "Mean": mean, "Norm": math.sqrt(count * power), "requires_grad": grad}

    def integers(self, *shape, below):
        return {"type": "torch.Tensor", "dtype": "torch.int64", "shape": list(shape), "Max": below - 1, "Min": 0,
                "Mean": None, "Norm": None, "requires_grad": False}

    def booleans(self, *shape):
        return {"type": "torch.Tensor", "dtype": "torch.bool", "shape": list(shape), "Max": True, "Min": False,
                "Mean": None, "Norm": None, "requires_grad": False}

    def value(self, value):
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        if value is None or isinstance(value, dict):
            return value
        return {"type": type(value).__name__, "value": value}

    def call(self, name, *arguments, **keywords):
        number = 0
        while "%s.%d.forward" % (name, number) in self.data:
            number += 1
        arguments = [self.value(argument) for argument in arguments]
        keywords = {key: self.value(value) for key, value in keywords.items()}
        gradients = self.gradients(name, arguments, keywords)
        self.data["%s.%d.forward" % (name, number)] = {"input_args": arguments, "input_kwargs": keywords, "output": []}
        if gradients:
            self.data["%s.%d.backward" % (name, number)] = {"input": gradients, "output": []}

    def gradients(self, name, arguments, keywords):
        """Those that the outputs receive; none where torch tells no shapes of outputs, or has no gradient of them."""
        namespace, _, function = name.partition(".")
        place = {"Functional": torch.nn.functional, "Tensor": torch.Tensor}.get(namespace, torch)
        try:
            outputs = getattr(place, function)(*map(_without_data, arguments),
                                               **{key: _without_data(value) for key, value in keywords.items()})
        except (AttributeError, NotImplementedError, RuntimeError, TypeError):
            return []
        outputs = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
        if not outputs or not outputs[0].requires_grad:
            return []
        return [self.tensor(*output.shape, grad=False) if output.requires_grad else None for output in outputs]


def language_model(r, hidden=4096, ffn=11008, heads=32, kv_heads=8, vocabulary=32000):
    batch, length, width = 2, r.rows(1024), hidden // heads
    states = r.tensor(batch, length, hidden)
    r.call("Functional.embedding", r.integers(batch, length, below=vocabulary), r.tensor(vocabulary, hidden, scale=0.02))
    r.call("Functional.layer_norm", states, [hidden], r.tensor(hidden, low=0.5, high=1.5), r.tensor(hidden), 1e-5)
    r.call("Functional.rms_norm", states, [hidden], r.tensor(hidden, low=0.5, high=1.5), 1e-6)
    for columns, rows in ((hidden, hidden), (kv_heads * width, hidden), (ffn, hidden), (hidden, ffn)):
        r.call("Functional.linear", r.tensor(batch, length, rows), r.tensor(columns, rows, scale=0.02))
    r.call("Functional.linear", states, r.tensor(vocabulary, hidden, scale=0.02), r.tensor(vocabulary, scale=0.02))
    heads_of = r.tensor(batch, heads, length, width)
    r.call("Functional.scaled_dot_product_attention", heads_of, heads_of, heads_of, None, 0.0, True)
    r.call("Functional.scaled_dot_product_attention", heads_of, heads_of, heads_of)
    r.call("Functional.scaled_dot_product_attention", heads_of, heads_of, heads_of,
           r.tensor(1, 1, length, length, grad=False))
    r.call("Torch.matmul", heads_of, r.tensor(batch, heads, width, length))
    r.call("Torch.bmm", r.tensor(batch * heads, length, width), r.tensor(batch * heads, width, length))
    r.call("Torch.einsum", {"type": "str", "value": "bhqd,bhkd->bhqk"}, heads_of, heads_of)
    r.call("Torch.baddbmm", r.tensor(batch * heads, length, length), r.tensor(batch * heads, length, width),
           r.tensor(batch * heads, width, length))
    r.call("Torch.addmm", r.tensor(hidden), r.tensor(batch * length, hidden), r.tensor(hidden, hidden, scale=0.02))
    scores = r.tensor(batch, heads // 2, length, length, scale=3)
    r.call("Functional.softmax", scores, -1)
    r.call("Functional.log_softmax", r.tensor(batch * length, vocabulary), -1)
    r.call("Tensor.masked_fill", scores, r.booleans(length, length), -10000.0)
    r.call("Torch.tril", scores)
    logits = r.tensor(batch * length // 2, vocabulary, scale=2)
    r.call("Functional.cross_entropy", logits, r.integers(batch * length // 2, below=vocabulary))
    r.call("Torch.logsumexp", logits, -1)
    r.call("Torch.topk", logits, 50, -1)
    r.call("Torch.argmax", logits, -1)
    wide = r.tensor(batch, length, ffn)
    for name in ("Functional.silu", "Functional.gelu", "Functional.relu", "Torch.sigmoid", "Torch.tanh"):
        r.call(name, wide)
    r.call("Functional.gelu", wide, approximate="tanh")
    r.call("Torch.mul", wide, wide)
    r.call("Torch.add", states, states)
    r.call("Functional.glu", r.tensor(batch, length, 2 * ffn), -1)
    r.call("Torch.cat", [heads_of, heads_of], -1)
    r.call("Torch.cos", r.tensor(length, width, low=0.0, high=1000.0))
    r.call("Torch.sin", r.tensor(length, width, low=0.0, high=1000.0))
    # A mixture of experts.
    gates = r.tensor(batch * length, 64)
    r.call("Torch.topk", gates, 8, -1)
    r.call("Torch.softmax", gates, -1)
    tokens = r.tensor(batch * length, hidden)
    r.call("Torch.index_select", tokens, 0, r.integers(4 * length, below=batch * length))
    r.call("Torch.gather", tokens, 1, r.integers(batch * length, 512, below=hidden))
    r.call("Torch.scatter_add", tokens, 1, r.integers(batch * length, 512, below=hidden),
           r.tensor(batch * length, 512))
    r.call("Torch.index_add", tokens, 0, r.integers(4 * length, below=batch * length), r.tensor(4 * length, hidden))


def optimizer(r, rows=4096, columns=4096):
    rows = r.rows(rows)
    weights, gradients = r.tensor(rows, columns, scale=0.02), r.tensor(rows, columns, scale=1e-3)
    squares = r.tensor(rows, columns, low=1e-8, high=1e-4)
    r.call("Torch.addcmul", weights, gradients, gradients, value=0.5)
    r.call("Torch.addcdiv", weights, gradients, squares, value=-1e-3)
    r.call("Torch.lerp", weights, gradients, 0.1)
    r.call("Torch.sqrt", squares)
    r.call("Torch.rsqrt", r.tensor(rows, columns, low=1e-4, high=10.0))
    r.call("Torch.div", gradients, r.tensor(rows, columns, low=0.5, high=2.0))
    r.call("Torch.pow", r.tensor(rows, columns, low=0.1, high=4.0), 2.5)
    r.call("Torch.clamp", weights, -0.01, 0.01)
    r.call("Torch.norm", gradients)
    r.call("Torch.vector_norm", gradients)
    r.call("Torch.sum", weights)
    r.call("Torch.mean", weights)
    for name in ("Torch.sum", "Torch.mean", "Torch.var", "Torch.std", "Torch.amax", "Torch.cumsum", "Torch.prod"):
        data = r.tensor(rows, columns, low=0.99, high=1.01) if name == "Torch.prod" else r.tensor(rows, columns)
        r.call(name, data, -1)
        r.call(name, data, 0)
    r.call("Torch.sort", r.tensor(rows, columns), -1)
    r.call("Torch.max", r.tensor(rows, columns), -1)
    r.call("Torch.norm", r.tensor(rows, columns), 2, -1)
    r.call("Functional.normalize", r.tensor(rows, columns), 2.0, -1)
    r.call("Functional.cosine_similarity", r.tensor(rows, columns), r.tensor(rows, columns), -1)
    for name in ("exp", "log", "erf", "expm1", "log1p", "reciprocal", "sin", "cos", "tan", "atan", "asinh", "log2"):
        positive = name in ("log", "log1p", "reciprocal", "log2")
        r.call("Torch." + name, r.tensor(rows, columns, low=0.05, high=20.0) if positive else r.tensor(rows, columns))
    for name in ("softplus", "elu", "selu", "mish", "hardswish", "leaky_relu", "logsigmoid", "hardsigmoid", "softsign"):
        r.call("Functional." + name, r.tensor(rows, columns))
    r.call("Functional.prelu", r.tensor(rows, columns), r.tensor(1, low=0.1, high=0.3))
    target = r.tensor(rows, columns, grad=False)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        r.call("Functional." + name, r.tensor(rows, columns), target)
    r.call("Functional.binary_cross_entropy_with_logits", r.tensor(rows, columns),
           r.tensor(rows, columns, low=0.0, high=1.0, grad=False))
    r.call("Functional.kl_div", r.tensor(rows, columns, low=-9.0, high=-1.0),
           r.tensor(rows, columns, low=0.0, high=0.01, grad=False), reduction="batchmean")
    r.call("Torch.cdist", r.tensor(rows // 4 + 1, 128), r.tensor(rows // 4 + 1, 128))


def vision(r):
    batch = r.rows(32)
    for channels, out, side, kernel, stride, padding in (
            (3, 64, 224, 7, 2, 3), (64, 64, 56, 3, 1, 1), (64, 256, 56, 1, 1, 0), (128, 128, 28, 3, 1, 1),
            (256, 512, 28, 1, 2, 0), (512, 512, 7, 3, 1, 1), (2048, 512, 7, 1, 1, 0)):
        r.call("Functional.conv2d", r.tensor(batch, channels, side, side),
               r.tensor(out, channels, kernel, kernel, scale=(channels * kernel * kernel) ** -0.5), None,
               stride, padding)
    r.call("Functional.conv2d", r.tensor(batch, 192, 28, 28), r.tensor(192, 1, 7, 7, scale=0.1), r.tensor(192), 1, 3, 1,
           192)
    images = r.tensor(batch, 64, 112, 112)
    r.call("Functional.batch_norm", images, r.tensor(64, grad=False), r.tensor(64, low=0.5, high=2.0, grad=False),
           r.tensor(64, low=0.5, high=1.5), r.tensor(64), True, 0.1, 1e-5)
    r.call("Functional.max_pool2d", images, 3, 2, 1)
    r.call("Functional.avg_pool2d", images, 2)
    r.call("Functional.adaptive_avg_pool2d", r.tensor(batch, 2048, 7, 7), [1, 1])
    # A diffusion model.
    latents = r.tensor(r.rows(8), 320, 64, 64)
    r.call("Functional.group_norm", latents, 32, r.tensor(320, low=0.5, high=1.5), r.tensor(320), 1e-5)
    r.call("Functional.instance_norm", latents)
    r.call("Functional.conv2d", latents, r.tensor(320, 320, 3, 3, scale=0.02), r.tensor(320), 1, 1)
    r.call("Functional.conv_transpose2d", r.tensor(r.rows(8), 128, 32, 32), r.tensor(128, 64, 4, 4, scale=0.05), None,
           2, 1)
    r.call("Functional.interpolate", latents, scale_factor=2.0, mode="nearest")
    r.call("Functional.interpolate", latents, scale_factor=2.0, mode="bilinear", align_corners=False)
    r.call("Functional.interpolate", r.tensor(r.rows(8), 64, 64, 64), scale_factor=2.0, mode="bicubic",
           align_corners=False)
    r.call("Functional.pad", latents, [1, 1, 1, 1], mode="reflect")
    r.call("Functional.pixel_shuffle", r.tensor(r.rows(8), 256, 64, 64), 2)
    r.call("Functional.grid_sample", r.tensor(r.rows(8), 32, 64, 64), r.tensor(r.rows(8), 64, 64, 2, low=-1.0, high=1.0),
           align_corners=False)
    r.call("Functional.conv1d", r.tensor(r.rows(8), 80, 3000), r.tensor(512, 80, 3, scale=0.06), r.tensor(512), 1, 1)
    r.call("Functional.conv3d", r.tensor(r.rows(4), 32, 16, 56, 56), r.tensor(64, 32, 3, 3, 3, scale=0.03), None, 1, 1)
    cross = r.tensor(r.rows(8), 8, 4096 // min(4, r.divisor), 40)
    words = r.tensor(r.rows(8), 8, 77, 40)
    r.call("Functional.scaled_dot_product_attention", cross, words, words)


def main():
    folder, dtype = sys.argv[1], sys.argv[2]
    recording = Recording(dtype, int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    language_model(recording)
    optimizer(recording)
    vision(recording)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "dump.json"), "w") as file:
        json.dump({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None,
                   "data": recording.data}, file, indent=0)
    print(sum(name.endswith(".forward") for name in recording.data))


main()
