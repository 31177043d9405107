#!/usr/bin/env python3
"""Calls as large as those of real models, with many seeds: hidden size 4096, 32000 tokens, attention over 512 places.

    tests/real_sizes.py build/bin/msrun [--kinds products,norms] [--dtypes fp32,bf16] [--seeds 40] [--backend sim]
    tests/real_sizes.py --write FOLDER

Checks every call, forward and backward, with the seeds 1 to 40, and prints which of them are suspicious; a sound device
has none. Takes some seconds for each kind, dtype and seed on two cores. With --write the recordings alone are made.
Python's standard library only.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

DTYPES = {"fp32": "torch.float32", "bf16": "torch.bfloat16", "fp16": "torch.float16"}
HIDDEN = 4096


class Recording:
    def __init__(self, dtype):
        self.dtype = dtype
        self.data = {}
        self._counts = {}

    def tensor(self, *shape, most=3.0, least=None, dtype=None, gradient=True):
        least = -most if least is None else least
        return {"type": "torch.Tensor", "dtype": dtype or self.dtype, "shape": list(shape), "Max": most, "Min": least,
                "Mean": (most + least) / 2, "Norm": 1.0, "requires_grad": gradient}

    def weight(self, *shape):
        return self.tensor(*shape, most=0.05)

    def scale(self, *shape):
        return self.tensor(*shape, most=1.2, least=0.8)

    def tokens(self, *shape, of=32000):
        return self.tensor(*shape, most=of - 1, least=0, dtype="torch.int64", gradient=False)

    def call(self, api, args, result, most=0.01, **kwargs):
        """A call with the shapes of its results, or these themselves, and in the backward the gradient of the first."""
        number = self._counts[api] = self._counts.get(api, -1) + 1
        name = "%s.%d" % (api, number)
        results = result if isinstance(result, list) else [result]
        outputs = [shape if isinstance(shape, dict) else self.tensor(*shape) for shape in results]
        gradient = self.tensor(*outputs[0]["shape"], most=most, gradient=False)
        self.data[name + ".forward"] = {"input_args": [_value(arg) for arg in args],
                                        "input_kwargs": {key: _value(value) for key, value in kwargs.items()},
                                        "output": outputs}
        self.data[name + ".backward"] = {"input": [gradient], "output": []}

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "dump.json"), "w") as file:
            json.dump({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None,
                       "data": self.data}, file)


def _value(value):
    if value is None or isinstance(value, dict):
        return value
    if isinstance(value, (list, tuple)):
        return [_value(item) for item in value]
    return {"type": type(value).__name__, "value": value}


def products(r):
    r.call("Functional.linear", [r.tensor(64, HIDDEN), r.weight(HIDDEN, HIDDEN), r.weight(HIDDEN)], (64, HIDDEN))
    r.call("Functional.linear", [r.tensor(2, 16, HIDDEN), r.weight(HIDDEN, HIDDEN)], (2, 16, HIDDEN), most=1.0)
    r.call("Torch.matmul", [r.tensor(4, 16, HIDDEN), r.weight(HIDDEN, 1024)], (4, 16, 1024))
    r.call("Torch.bmm", [r.tensor(4, 64, HIDDEN), r.tensor(4, HIDDEN, 64)], (4, 64, 64))
    r.call("Torch.addmm", [r.weight(HIDDEN), r.tensor(32, HIDDEN), r.weight(HIDDEN, HIDDEN)], (32, HIDDEN))
    r.call("Torch.mm", [r.tensor(HIDDEN, 64), r.tensor(64, 256)], (HIDDEN, 256))
    r.call("NPU.npu_linear", [r.tensor(32, HIDDEN), r.weight(1024, HIDDEN), r.weight(1024)], (32, 1024))


def norms(r):
    rows = (256, HIDDEN)
    deviations = r.tensor(256, 1, dtype="torch.float32")
    r.call("Functional.layer_norm", [r.tensor(*rows), [HIDDEN], r.scale(HIDDEN), r.weight(HIDDEN), 1e-5], rows)
    r.call("Functional.layer_norm", [r.tensor(4, 128, 1024), [1024], r.scale(1024), r.weight(1024), 1e-5], (4, 128, 1024))
    r.call("Functional.layer_norm", [r.tensor(*rows), [HIDDEN]], rows)
    r.call("Functional.rms_norm", [r.tensor(*rows), [HIDDEN], r.scale(HIDDEN), 1e-6], rows)
    r.call("NPU.npu_rms_norm", [r.tensor(*rows), r.scale(HIDDEN)], [rows, deviations], epsilon=1e-6)
    r.call("NPU.npu_add_rms_norm", [r.tensor(*rows), r.tensor(*rows), r.scale(HIDDEN)], [rows, deviations, rows])
    image = (4, 256, 32, 32)
    r.call("Functional.group_norm", [r.tensor(*image), 32, r.scale(256), r.weight(256), 1e-5], image)
    r.call("Functional.group_norm", [r.tensor(16, HIDDEN), 32, r.scale(HIDDEN), r.weight(HIDDEN), 1e-5], (16, HIDDEN))
    r.call("Functional.batch_norm", [r.tensor(*image), None, None, r.scale(256), r.weight(256), True, 0.1, 1e-5], image)
    r.call("Functional.batch_norm", [r.tensor(256, HIDDEN), None, None, r.scale(HIDDEN), r.weight(HIDDEN), True, 0.1, 1e-5],
           rows)
    r.call("Functional.instance_norm", [r.tensor(*image), None, None, r.scale(256), r.weight(256), True, 0.1, 1e-5], image)
    r.call("NPU.npu_group_norm_silu", [r.tensor(*image), r.scale(256), r.weight(256), 32, 1e-5],
           [image, (4, 32), (4, 32)])
    r.call("Functional.normalize", [r.tensor(*rows)], rows)


def embeddings(r):
    r.call("Functional.embedding", [r.tokens(2, 512), r.tensor(32000, 1024)], (2, 512, 1024))
    r.call("Functional.embedding", [r.tokens(4, 512, of=100), r.tensor(32000, 1024)], (4, 512, 1024))
    r.call("Functional.embedding", [r.tokens(512), r.tensor(32000, 256), 0], (512, 256))
    r.call("Functional.cross_entropy", [r.tensor(128, 32000), r.tokens(128)], (), most=1.0)
    r.call("Functional.log_softmax", [r.tensor(64, 32000), -1], (64, 32000))


def attention(r):
    heads = (1, 4, 256, 128)
    r.call("Functional.scaled_dot_product_attention", [r.tensor(*heads) for _ in range(3)], heads)
    r.call("Functional.scaled_dot_product_attention", [r.tensor(*heads, most=1.0) for _ in range(3)], heads,
           is_causal=True)
    r.call("Functional.softmax", [r.tensor(1, 8, 512, 512, most=8.0)], (1, 8, 512, 512), dim=-1)
    r.call("Functional.softmax", [r.tensor(128, HIDDEN)], (128, HIDDEN), dim=-1)
    r.call("Torch.softmax", [r.tensor(HIDDEN, 128)], (HIDDEN, 128), dim=0)
    scale = 128 ** -0.5
    r.call("NPU.npu_fusion_attention", [r.tensor(*heads) for _ in range(3)] + [4], heads, input_layout="BNSD",
           scale=scale, keep_prob=1.0)
    r.call("NPU.npu_fusion_attention", [r.tensor(256, 1, 512) for _ in range(3)] + [4], (256, 1, 512),
           input_layout="SBH", scale=scale, keep_prob=1.0)
    mask = r.tensor(1, 1, 256, 256, most=True, least=False, dtype="torch.bool", gradient=False)
    r.call("NPU.npu_scaled_masked_softmax", [r.tensor(1, 8, 256, 256), mask, scale, False], (1, 8, 256, 256))
    r.call("NPU.npu_swiglu", [r.tensor(128, 22016)], (128, 11008), dim=-1)
    r.call("Functional.gelu", [r.tensor(128, 11008)], (128, 11008))


KINDS = {"products": products, "norms": norms, "embeddings": embeddings, "attention": attention}


def recording(kind, dtype):
    made = Recording(DTYPES[dtype])
    KINDS[kind](made)
    return made


def suspicious(msrun, folder, words):
    """Lines about what a run over the recording in a folder found suspicious, or could not check."""
    with tempfile.TemporaryDirectory() as output:
        run = subprocess.run([msrun, "-api_info", os.path.join(folder, "dump.json"), "-o", output, "-n", "2",
                              "--message-format", "json"] + words, capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        event = json.loads(line)
        if event["type"] == "api_result" and (event["suspicious"] or event["outcome"] != "checked"):
            yield "%s %s %s" % (event["name"], event["output"] or event["outcome"], event["reason"])


def check(options):
    found = 0
    for kind in options.kinds.split(","):
        for dtype in options.dtypes.split(","):
            with tempfile.TemporaryDirectory() as folder:
                recording(kind, dtype).write(folder)
                for seed in range(1, options.seeds + 1):
                    words = ["--backend", options.backend, "--seed", str(seed)]
                    for line in suspicious(options.msrun, folder, words):
                        print(kind, dtype, "seed", seed, line, flush=True)
                        found += 1
            print("%s %s: %d seeds" % (kind, dtype, options.seeds), flush=True)
    print("%d suspicious" % found)
    return 1 if found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("msrun", nargs="?")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--backend", default="sim")
    parser.add_argument("--write", metavar="FOLDER")
    options = parser.parse_args()
    if options.write:
        for kind in KINDS:
            for dtype in DTYPES:
                recording(kind, dtype).write(os.path.join(options.write, "%s_%s" % (kind, dtype)))
        return 0
    if not options.msrun:
        parser.error("the program is missing")
    return check(options)


if __name__ == "__main__":
    sys.exit(main())
