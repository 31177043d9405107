"""The metrics of precision_metrics.md 5 with NumPy, as a user would write them, and how long they take.

Prints one JSON object: seconds of processor time per element by "<device dtype> <bench dtype> <columns>", the fastest of a few runs.
bench_compare runs this script, or reads its output, to say how many times faster msrun is. bfloat16, which NumPy
lacks, is compared as the float32 array into which upstream converts it, so that conversion is not even counted.
"""

import argparse
import json
import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # one core, as msrun's comparison of one pair

import numpy as np

CONSTANTS = {  # small_value, atol, atol of the absolute-threshold standard, rtol, least exponent, fraction bits, ULPs
    "float16": (2**-10, 1e-16, 2**-16, 2**-10, -14, 10, 1),
    "bfloat16": (2**-10, 1e-16, 1e-16, 2**-8, -126, 7, 1),
    "float32": (2**-20, 2**-30, 2**-30, 2**-20, -126, 23, 32),
}


def cosine(bench, device):
    top_bench, top_device = np.max(np.abs(bench)), np.max(np.abs(device))
    x, y = device.astype(np.float64) / top_device, bench.astype(np.float64) / top_bench
    return x @ y / (np.sqrt(x @ x) * np.sqrt(y @ y))


def common(bench, device, dtype):
    error = np.abs(device - bench)
    size = np.abs(bench)
    eps = 2**-8 if dtype == "bfloat16" else np.finfo(bench.dtype).eps
    relative = error / (size + bench.dtype.type(eps))
    shares = [np.mean(relative < limit) for limit in (0.01, 0.001, 0.0001)]
    return error, size, relative, [cosine(bench, device), error.max(), *shares]


def masks(bench, device, size, small_value):
    finite = np.isfinite(device) & np.isfinite(bench.astype(device.dtype))
    small = (size <= small_value) & finite
    return finite, small, finite & ~small


def benchmark(bench, device, dtype, error, size, relative):
    small_value, atol = CONSTANTS[dtype][:2]
    finite, small, normal = masks(bench, device, size, small_value)
    small_errors = np.sum(small & (error > atol)) / max(1, np.sum(small))
    squares = np.where(normal, error, 0) ** 2
    count, masked = bench.size, np.sum(~normal)
    rmse = np.sqrt(np.mean(squares) * (count / (count - masked + 0.0001) + 0.0001))
    difference = device - bench.astype(device.dtype)
    balance = abs(np.sum(difference > 0) - np.sum(difference < 0)) / count
    return [small_errors, rmse, balance, np.max(relative[normal], initial=0), np.mean(relative[normal])]


def absolute_threshold(bench, device, dtype, error, size, relative):
    small_value, _, atol, rtol = CONSTANTS[dtype][:4]
    finite, small, normal = masks(bench, device, size, small_value)
    limits = np.finfo(device.dtype)
    clipped = np.abs(np.clip(device, limits.min, limits.max) - np.clip(bench, limits.min, limits.max)) / (size + 1e-7)
    wrong = ~finite & ~((clipped <= rtol) | (np.isnan(device) & np.isnan(bench)))
    return [
        np.sum(wrong) / max(1, np.sum(~finite)),
        np.sum(normal & (relative > rtol)) / max(1, np.sum(normal)),
        np.sum(small & (error > atol)) / max(1, np.sum(small)),
    ]


def ulp_compare(bench, device, dtype, error, size, relative):
    least, fraction_bits, limit = CONSTANTS[dtype][4:]
    working = np.float64 if dtype == "float32" else np.float32
    exponent = np.where(bench == 0, 0, np.floor(np.log2(size, where=size > 0, out=np.zeros_like(size))))
    exponent = np.maximum(exponent, least)
    scale = np.exp2(fraction_bits - exponent).astype(working)
    ulp = np.abs((device.astype(working) - bench.astype(working)) * scale)
    return [ulp.max(), ulp.mean(), np.mean(ulp > limit)]


def binary_consistency(bench, device, dtype, error, size, relative):
    return [np.mean(bench != device)]


STANDARDS = {
    "benchmark": [benchmark],
    "absolute_threshold": [absolute_threshold],
    "ulp_compare": [ulp_compare],
    "binary_consistency": [binary_consistency],
    "all columns": [benchmark, absolute_threshold, ulp_compare, binary_consistency],
}


def metrics(bench, device, dtype, standards):
    error, size, relative, values = common(bench, device, dtype)
    for standard in standards:
        values += standard(bench, device, dtype, error, size, relative)
    return values


def rounded(values, dtype):
    if dtype != "bfloat16":
        return values.astype(dtype)
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=1 << 22)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--print-values", action="store_true", help="the metrics too, to be checked by eye")
    arguments = parser.parse_args()
    times, values = {}, {}
    for device_dtype, bench_dtype in [("float32", "float64"), ("bfloat16", "float32"), ("float16", "float32")]:
        random = np.random.default_rng(7)
        bench = random.uniform(-4, 4, arguments.elements).astype(bench_dtype)
        wrong = bench.astype(np.float64)
        wrong[::8] *= 1 + 0.001 * random.uniform(0, 1, len(wrong[::8]))
        device = rounded(wrong, device_dtype)
        for columns, standards in STANDARDS.items():
            key = f"{device_dtype} {bench_dtype} {columns}"
            for _ in range(arguments.repeat):
                start = time.process_time()
                values[key] = [float(value) for value in metrics(bench, device, device_dtype, standards)]
                elapsed = (time.process_time() - start) / arguments.elements
                times[key] = min(times.get(key, elapsed), elapsed)
    print(json.dumps({**times, "values": values} if arguments.print_values else times))


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        main()
