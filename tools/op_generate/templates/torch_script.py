"""Runs one recorded API call on a device and compares it with the CPU in higher precision.

    python SCRIPT [--device cpu|cuda|npu] [--save FILE] [--against FILE]

It needs torch 1.13 or later and nothing else. What was recorded stands below as CASE; change it to try other shapes,
ranges or values. Written by msrun op_generate.
"""
import argparse
import contextlib
import functools
import importlib
import json
import math
import os
import re
import sys
import warnings

import torch

try:
    torch_npu = importlib.import_module("torch_npu")
except (ImportError, OSError, RuntimeError):
    torch_npu = None  # no NPU can be used then, which --device npu says

CASE = {}

DRAWS = "%s draws random numbers: there is no expected result to compare with."

# Stands for a recorded device, whichever it was: each side has its own.
THE_DEVICE = object()

# Where recordings shorten the name of a function that is not directly in torch.
FAMILIES = ("linalg", "special", "fft", "_VF", "_C._VariableFunctions")

# Texts that name a device: "npu:0".
DEVICE_TEXT = re.compile(r"(cpu|cuda|npu)(:[0-9]+)?")


# What is known of torch's functions -----------------------------------------------------------------------------------


from msrun_torch_worker.forms import ON_HOST, changed, is_of_linalg, of_operator, upstream_of, without_memory_format
from msrun_torch_worker.removed import FORMS


# The recorded call -------------------------------------------------------------------------------------------------


def find_attribute(root, path):
    value = root
    for name in path.split("."):
        value = getattr(value, name, None)
    return value


def find_api():
    namespace, name = CASE["namespace"], CASE["api_name"]
    if name in FORMS and namespace != "nn.functional":
        return FORMS[name]
    found = find_attribute(importlib.import_module("torch"), namespace + "." + name if namespace else name)
    if not namespace and is_of_linalg(name, CASE["kwargs"]):
        found = find_attribute(torch, "linalg." + name) or found
    if namespace == "Tensor" and found is None and name == "__imatmul__":
        found = torch.Tensor.__matmul__
    if namespace == "Tensor" and found is not None and not callable(found):
        descriptor = found
        return lambda tensor: descriptor.__get__(tensor)
    for family in FAMILIES:
        if found is None and not namespace:
            found = find_attribute(torch, family + "." + name)
    if not callable(found):
        sys.exit("ERROR: torch %s has no %s." % (torch.__version__, CASE["api"]))
    return found


# Data --------------------------------------------------------------------------------------------------------------


from torch_inputs import fit, load_tensor, random_tensor, report


def build_value(info):
    """What a description stands for; tensors on the CPU in their recorded dtype."""
    kind, value = info["type"], info.get("value")
    if kind == "torch.Tensor":
        real = CASE["data_mode"] == "real_data" and "data_name" in info
        data = load_tensor(info["data_name"]) if real else random_tensor(info, short_dtype(info["dtype"]))
        if info.get("fitted"):  # of every iteration one entry
            data = fit(data, info["fitted"].pop(0))
    elif kind == "torch.dtype":
        data = getattr(torch, short_dtype(value))
    elif kind == "torch.device":
        data = THE_DEVICE
    elif kind == "slice":
        data = slice(*value)
    else:
        data = Ellipsis
    return data


def get_input(info):
    """Arguments in the place of their descriptions, the tensors with their mark that gradients are wanted."""
    if isinstance(info, list):
        return [get_input(entry) for entry in info]
    if not isinstance(info, dict):
        return info
    if info["type"] == "dict":
        return {key: get_input(entry) for key, entry in info["value"].items()}
    value = build_value(info)
    if isinstance(value, torch.Tensor):
        return Leaf(value, info["requires_grad"] and (value.is_floating_point() or value.is_complex()))
    return value


class Leaf:
    """A tensor that was built, before it is copied to the device and to the benchmark."""

    def __init__(self, tensor, requires_grad):
        self.tensor = tensor
        self.requires_grad = requires_grad

    def on(self, device, raised, lowered=None):
        """A copy; of the benchmark it is raised, after it was rounded to the dtype lowered, if there is one."""
        tensor = self.tensor if lowered is None else self.tensor.to(lowered)
        return tensor.to(device=device, dtype=self.raised_dtype() if raised else self.tensor.dtype, copy=True).detach()

    def raised_dtype(self):
        dtype = self.tensor.dtype
        if not CASE["raises"] or dtype not in RAISED:
            return dtype
        # Operators take arguments of one dtype, and autocast, which makes them so, is left to the device.
        return getattr(torch, CASE["raised_to"]) if CASE["raised_to"] and not dtype.is_complex else RAISED[dtype]


# Autocast ----------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def knows_autocast(kind, dtype):
    """Whether torch's autocast on this kind of device has the dtype, which for the processor depends on its version."""
    if kind != "cpu":
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with torch.autocast(kind, dtype=dtype):
                return torch.is_autocast_cpu_enabled()
        except RuntimeError:
            return False


class Autocast:
    """What autocast did to the arguments when the call was recorded, which the dtype of its result shows."""

    def __init__(self, device, raised):
        self.dtype = None if raised or CASE["autocast"] is None else getattr(torch, CASE["autocast"])
        self.casts_to = getattr(torch, CASE["casts_to"]) if CASE["casts_to"] else None
        lowers = CASE["casts_to"] is not None and CASE["casts_to"] == CASE["autocast"]
        self.lowered = self.casts_to if lowers else None
        self.device = device
        self.is_of_torch = self.dtype is None or knows_autocast(device.type, self.dtype)

    def surroundings(self):
        if self.dtype is None or not self.is_of_torch:
            return contextlib.nullcontext()
        older = find_attribute(torch_npu, "npu.amp.autocast") if self.device.type == "npu" else None
        if older is not None and torch.__version__.startswith(("1.", "2.0")):
            return older(dtype=self.dtype)
        return torch.autocast(self.device.type, dtype=self.dtype)

    def takes(self, tensor):
        return tensor.dtype in (torch.float16, torch.bfloat16, torch.float32)

    def lowered_dtype(self, tensor):
        """The dtype that the operator computes in, if autocast makes that of the tensor a narrower one."""
        return self.lowered if self.takes(tensor) else None

    def cast(self, tensor):
        """In torch's place, where it has no autocast to the dtype, or does not know that the operator is to be computed in
        float32, as the processor's of some versions."""
        is_ours = self.casts_to == torch.float32 or not self.is_of_torch
        casts = self.dtype is not None and self.casts_to is not None and is_ours and self.takes(tensor)
        return tensor.to(self.casts_to) if casts else tensor


class Side:
    """The device or the benchmark: where its tensors are and whether their precision is raised."""

    def __init__(self, device, raised):
        self.device = device
        self.raised = raised
        self.autocast = Autocast(device, raised)
        self.wanted = []  # tensors whose gradients are asked for, in the order of the arguments
        self.computed_in = []  # for each the dtype that its gradient is computed in, if it is not its own

    def value(self, built, name=None, device=None):
        if isinstance(built, list):
            return [self.value(entry) for entry in built]
        if isinstance(built, dict):
            return {key: self.value(entry) for key, entry in built.items()}
        if self.is_device(built, name):
            return self.device
        if not isinstance(built, Leaf):
            return built
        # What stays on the host are integers.
        is_integer = not built.tensor.dtype.is_floating_point
        lowered = self.autocast.lowered_dtype(built.tensor)
        copy = built.on(device if device is not None and is_integer else self.device, self.raised,
                        lowered if self.raised else None)
        if not built.requires_grad:
            return self.autocast.cast(copy)
        self.wanted.append(copy.requires_grad_(True))
        self.computed_in.append(lowered)
        return self.autocast.cast(copy.clone())  # calls that work in place may not change a leaf

    @staticmethod
    def is_device(built, name):
        if name == "device" and isinstance(built, (int, str)):
            return True
        return built is THE_DEVICE or (isinstance(built, str) and DEVICE_TEXT.fullmatch(built) is not None)

    def arguments(self, args, kwargs):
        on_host = ON_HOST.get(CASE["api_name"], ())
        host = torch.device("cpu")
        args = [self.value(entry, device=host if place in on_host else None) for place, entry in enumerate(args)]
        kwargs = {key: self.value(entry, key, host if key in on_host else None) for key, entry in kwargs.items()}
        # A list as index would pick elements; what was recorded is x[1, 2].
        if CASE["api_name"] in ("__getitem__", "__setitem__") and len(args) > 1 and isinstance(args[1], list):
            args[1] = tuple(args[1])
        # The type of a tensor on a certain kind of device, "torch.npu.FloatTensor": only its dtype is meant.
        if CASE["api_name"] == "type" and len(args) > 1 and isinstance(args[1], str):
            args[1] = getattr(getattr(torch, short_dtype(args[1]), None), "dtype", args[1])
        return without_memory_format(CASE["api_name"], args, kwargs)

    def forward(self, api, args, kwargs):
        args, kwargs = self.arguments(args, kwargs)
        with self.autocast.surroundings():
            output = api(*args, **kwargs)
        if output is NotImplemented:
            output = of_operator(CASE["api_name"], args)
        if output is None:
            output = changed(CASE["api_name"], args, kwargs)
        return args[0] if output is None and args else output

    def backward(self, output, gradients):
        outputs = list(output) if isinstance(output, (list, tuple)) else [output]
        pairs = [(out, upstream_of(gradient.on(self.device, self.raised), out))
                 for out, gradient in zip(outputs, gradients)
                 if isinstance(out, torch.Tensor) and out.requires_grad and isinstance(gradient, Leaf)]
        return torch.autograd.grad([out for out, _ in pairs], self.wanted,
                                   [gradient.to(out.dtype) for out, gradient in pairs], allow_unused=True)


def build_arguments():
    """Positional arguments, those with a name, and the gradients of the outputs, in the order of the random numbers."""
    try:
        return (get_input(CASE["args"]), {key: get_input(info) for key, info in CASE["kwargs"].items()},
                get_input(CASE["gradients"]))
    except Exception as error:
        return sys.exit("ERROR: the arguments of %s cannot be built: %s: %s"
                        % (CASE["api"], type(error).__name__, error))


def run(api, side, args, kwargs, gradients):
    try:
        output = side.forward(api, args, kwargs)
        return output if CASE["propagation"] == "forward" else side.backward(output, gradients)
    except Exception as error:
        where = "the benchmark" if side.raised else str(side.device)
        sys.exit("ERROR: %s failed on %s: %s: %s" % (CASE["api"], where, type(error).__name__, error))


# Comparison --------------------------------------------------------------------------------------------------------


from torch_standards import (BENCHMARK, BINARY, RAISED, ULP, Pair, benchmark_metrics, binary_metrics, gpu_metric,
                             metric_rows, metrics_of, numbers_of, ratio_metrics, real_parts, short_dtype)


class Comparison:
    """Prints the tables of outputs and keeps their numbers. The Benchmark Standard is judged against those of a GPU."""

    def __init__(self, against=None):
        self.kept = []
        self.against = against
        self.not_compared = CASE["not_compared"]  # why values are not; empty: they are
        self.computed_in_each = []  # of gradients the dtype that each was computed in, if it is not its own
        self.computed_in = None  # that of the output that is next
        self.nowhere_known = 0  # outputs with elements that are NaN on both sides

    def print_grid(self, rows):
        left = max(len(name) for name, _ in rows) + 2
        right = max(len(value) for _, value in rows) + 2
        print("+" + "-" * left + "+" + "-" * right + "+")
        for i, (name, value) in enumerate(rows):
            print("| " + name.ljust(left - 1) + "| " + value.ljust(right - 1) + "|")
            line = "=" if i == 0 else "-"
            print("+" + line * left + "+" + line * right + "+")

    def gpu_numbers(self, metrics):
        """Those of --against for the output that is next; None without that option."""
        if self.against is None:
            return None
        place = len(self.kept)
        other = self.against[place] if place < len(self.against) else None
        if not isinstance(other, dict) or set(other) != set(numbers_of(metrics)):
            sys.exit("ERROR: --against does not hold the numbers of this call.")
        return other

    def judged_by_gpu(self, standard, metrics, result):
        """The metrics with what a GPU's numbers say of them, and the result."""
        gpu = self.gpu_numbers(metrics)
        if gpu is None:
            return metrics, result
        if standard == ULP:
            more = gpu_metric(metrics, gpu)
            return metrics + [more], "pass" if more[-1] == "pass" else result
        if standard != BENCHMARK:
            return metrics, result
        ratios, result = ratio_metrics(metrics, gpu)
        return metrics + ratios, result

    def tensors(self, device, bench):
        device, bench = device.detach().cpu(), bench.detach().cpu()
        computed_in, self.computed_in = self.computed_in, None
        if device.shape != bench.shape:
            print("ERROR: shape of out_device and out_bench is not equal!")
            return
        if device.numel() == 0:
            print("Both out_device and out_bench have zero elements.")
            return
        kinds = [torch.bool if tensor.dtype == torch.bool else
                 "float" if tensor.dtype.is_floating_point else
                 "complex" if tensor.dtype.is_complex else "int" for tensor in (device, bench)]
        if kinds[0] != kinds[1]:
            print("ERROR: out_device dtype is %s, out_bench dtype is %s, not comparable." % (device.dtype, bench.dtype))
            return
        if self.not_compared:
            print("NOT COMPARED: " + self.not_compared)
            return
        rows = [("Metric", "Value"), ("Shape", str(device.shape)), ("Dtype of out_device", str(device.dtype)),
                ("Dtype of out_bench", str(bench.dtype))]
        if computed_in not in (None, device.dtype):
            rows.append(("Computed in", str(computed_in)))
        standard = CASE["standard"] if kinds[0] in ("float", "complex") else BINARY
        metrics, result = self.measure(standard, real_parts(device), real_parts(bench), computed_in)
        rows += [("Compare Standard", standard)] + metric_rows(metrics)
        if result is not None:
            rows.append(("Result", result))
        self.print_grid(rows)

    def measure(self, standard, device, bench, computed_in):
        """The metrics of an output, and the result; None where it has none."""
        if standard == BINARY:
            metrics, result = binary_metrics(device, bench)
            self.kept.append(numbers_of(metrics))
            self.nowhere_known += len(metrics) > 1
            return metrics, result
        pair = Pair(device, bench, computed_in)
        metrics, result = (benchmark_metrics(pair), None) if standard == BENCHMARK else metrics_of(standard, pair)
        own = numbers_of(metrics)
        metrics, result = self.judged_by_gpu(standard, metrics, result)
        self.kept.append(own)
        self.nowhere_known += pair.nowhere_known > 0
        odd, result = pair.judge(result)
        return metrics + odd, result

    def outputs(self, device, bench, index=""):
        if type(device) is not type(bench):
            print("ERROR: out_device and out_bench is not the same type!")
        elif isinstance(device, (list, tuple, dict)):
            if len(device) != len(bench):
                print("ERROR: len of out_device and out_bench is different!")
                return
            keys = list(device) if isinstance(device, dict) else range(len(device))
            for place, key in enumerate(keys):
                name = index + str(place)
                print("index %s:" % name)
                if not index and place < len(self.computed_in_each):
                    self.computed_in = self.computed_in_each[place]
                if isinstance(bench, dict) and key not in bench:
                    print("ERROR: out_device and out_bench is not equal!")
                else:
                    self.outputs(device[key], bench[key], name + ".")
        elif isinstance(device, torch.Tensor):
            self.tensors(device, bench)
        elif isinstance(device, (bool, int, float, str)) and self.not_compared:
            print("NOT COMPARED: " + self.not_compared)
        elif isinstance(device, (bool, int, float, str)):
            equal = device == bench or (device != device and bench != bench)
            print("PASS: out_device and out_bench equals." if equal else
                  "ERROR: out_device and out_bench is not equal!")
        else:
            print("ERROR: comparison of type %s is not supported." % type(device))


# The run -----------------------------------------------------------------------------------------------------------


def has_npu():
    npu = getattr(torch, "npu", None)
    return npu is not None and npu.is_available()


def choose_device(wanted):
    available = {"cuda": torch.cuda.is_available(), "npu": has_npu(), "cpu": True}
    if wanted is not None and not available[wanted]:
        sys.exit("ERROR: torch finds no %s device here." % wanted)
    if wanted is None:
        wanted = next(name for name in ("cuda", "npu", "cpu") if available[name])
        if wanted == "cpu":
            report("There is neither an NPU nor a GPU here: the device is the cpu, which tests no NPU or GPU.")
    return torch.device(wanted)


def parse_options():
    parser = argparse.ArgumentParser(
        description="Runs %s on a device and compares it with the CPU in higher precision." % CASE["name"],
        epilog="The same case without Python: " + CASE["native"].replace("%", "%%"))
    parser.add_argument("--device", choices=["cpu", "cuda", "npu"], help="default: a GPU or NPU if there is one")
    parser.add_argument("--save", metavar="FILE", help="keep the numbers, to be given to --against elsewhere")
    parser.add_argument("--against", metavar="FILE",
                        help="numbers of a GPU's run: judges the Benchmark Standard by the ratio to them, up to 1 pass, "
                             "up to 2 (maximum relative error: 10) warning; the ULP standard passes smaller proportions")
    # Words that are no options are those of whoever runs the script from a program of his own.
    options, rest = parser.parse_known_args()
    unknown = [word for word in rest if word.startswith("-")]
    if unknown:
        parser.error("unrecognized arguments: " + " ".join(unknown))
    return options


def read_numbers(path):
    try:
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
    except (OSError, ValueError) as error:
        sys.exit("ERROR: %s cannot be read: %s" % (path, error))
    if not isinstance(kept, list):
        sys.exit("ERROR: %s does not hold what --save writes." % path)
    return kept


def is_same_file(one, other):
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def check_save(options):
    for path in (options.against, __file__ if "__file__" in globals() else None):
        if options.save and path and is_same_file(options.save, path):
            sys.exit("ERROR: --save %s would overwrite %s." % (options.save, path))


def write_numbers(path, numbers):
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(numbers, file, indent=1)
    except OSError as error:
        sys.exit("ERROR: %s cannot be written: %s" % (path, error))


def main():
    options = parse_options()
    check_save(options)
    comparison = Comparison(read_numbers(options.against) if options.against else None)
    device = choose_device(options.device)
    api = find_api()
    torch.manual_seed(CASE["random_seed"])
    for i in range(CASE["iter_times"]):
        print("iter: %d:" % i)
        arguments = build_arguments()
        device_side = Side(device, False)
        out_device = run(api, device_side, *arguments)
        before = torch.get_rng_state()
        out_bench = run(api, Side(torch.device("cpu"), True), *arguments)
        if not CASE["not_compared"] and not torch.equal(before, torch.get_rng_state()):
            comparison.not_compared = DRAWS % CASE["api"]
        print("Compare result:")
        comparison.computed_in_each = device_side.computed_in if CASE["propagation"] == "backward" else []
        comparison.outputs(out_device, out_bench)
    if comparison.nowhere_known > 0:
        print("NaN on both sides in %d of the outputs: they agree there, and nothing is known of the device."
              % comparison.nowhere_known)
    print("Compare finished.")
    if options.save:
        write_numbers(options.save, comparison.kept)


if __name__ == "__main__":
    main()
