"""Runs generated scripts one after the other in one interpreter and keeps what they print, build and compare.

    python op_generate_scripts.py FOLDER SCRIPT...

For FOLDER/KEY.py it leaves FOLDER/KEY.out, what the script printed, and FOLDER/KEY.inputs, every tensor it built, in
the layout of op_generate's --save-inputs; and of the N-th table of an output KEY.N.table, KEY.N.device.pt and
KEY.N.bench.pt. A script that fails leaves KEY.failed with the reason. FOLDER/capability says for which processor torch
computes.
"""
import contextlib
import io
import json
import os
import sys

import torch


def keep_tables(namespace, stem):
    comparison = namespace["Comparison"]
    compare = comparison.tensors
    count = 0

    def tensors(self, device, bench):
        nonlocal count
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            compare(self, device, bench)
        print(text.getvalue(), end="")
        place = "%s.%d." % (stem, count)
        count += 1
        with open(place + "table", "w", encoding="utf-8") as file:
            file.write(text.getvalue())
        torch.save(device.detach().contiguous().clone(), place + "device.pt")
        torch.save(bench.detach().contiguous().clone(), place + "bench.pt")

    comparison.tensors = tensors


def keep_inputs(namespace):
    kept = []
    build = namespace["build_value"]

    def build_value(info):
        data = build(info)
        if isinstance(data, torch.Tensor):
            values = data.to(torch.float64) if data.dtype.is_floating_point else data
            kept.append({"name": info["parameter_name"], "dtype": str(data.dtype), "shape": list(data.shape),
                         "values": values.flatten().tolist()})
        return data

    namespace["build_value"] = build_value
    return kept


def run(folder, script):
    stem = os.path.join(folder, os.path.basename(script)[:-len(".py")])
    with open(script, encoding="utf-8") as file:
        source = file.read()
    namespace = {"__name__": "script"}
    printed = io.StringIO()
    try:
        exec(compile(source, script, "exec"), namespace)
        keep_tables(namespace, stem)
        inputs = keep_inputs(namespace)
        with contextlib.redirect_stdout(printed):
            namespace["main"]()
    except (Exception, SystemExit) as error:
        with open(stem + ".failed", "w", encoding="utf-8") as file:
            file.write("%s: %s\n" % (type(error).__name__, error))
        return
    with open(stem + ".out", "w", encoding="utf-8") as file:
        file.write(printed.getvalue())
    with open(stem + ".inputs", "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(entry) for entry in inputs) + "\n]\n")


def main():
    folder, scripts = sys.argv[1], sys.argv[2:]
    # The order of sums depends on it.
    with open(os.path.join(folder, "capability"), "w", encoding="utf-8") as file:
        file.write("AVX2" if "CPU capability usage: AVX2" in torch.__config__.show() else "other")
    sys.argv = sys.argv[:1]
    for script in scripts:
        run(folder, script)


if __name__ == "__main__":
    main()
