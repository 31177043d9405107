"""Runs a generated script several times, with a device, a benchmark or both that return damaged tensors.

    python op_generate_damaged.py SCRIPT RUN...

RUN is "device=KIND,bench=KIND OPTION...", with options of the script; it and a colon are printed before what the script
prints. KIND is empty or a number in place of every element ("nan", "inf", "-inf") or, with "1" behind it ("nan1"), of
the first alone.
"""
import sys

import torch


def damaged(value, kind):
    if isinstance(value, (list, tuple)):
        return type(value)(damaged(entry, kind) for entry in value)
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    result = value.detach().clone()
    flat = result.reshape(-1)
    flat[:1 if kind.endswith("1") else None] = float(kind.rstrip("1"))
    return flat.reshape(result.shape)


def run(script, words):
    print(" ".join(words) + ":")
    faults = dict(fault.split("=") for fault in words[0].split(","))
    sys.argv = [script, "--device", "cpu"] + words[1:]
    with open(script, encoding="utf-8") as file:
        source = file.read()
    namespace = {"__name__": "script"}
    exec(compile(source, script, "exec"), namespace)
    side = namespace["Side"]
    forward = side.forward

    def damaged_forward(self, *arguments):
        output = forward(self, *arguments)
        kind = faults.get("bench" if self.raised else "device")
        return damaged(output, kind) if kind else output

    side.forward = damaged_forward
    namespace["main"]()


def main():
    script, *runs = sys.argv[1:]
    for words in runs:
        run(script, words.split())


if __name__ == "__main__":
    main()
