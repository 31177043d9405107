"""Runs one recorded API call with MindSpore on a device and compares it with PyTorch on the CPU.

    python SCRIPT [--device cpu|cuda|npu]

It needs MindSpore, torch and NumPy. What was recorded stands below as CASE; change it to try other shapes, ranges or
values. The results go to ./op_result_output. Written by msrun op_generate.
"""
import argparse
import csv
import importlib
import math
import os
import sys
import time

import numpy as np

CASE = {}


def import_torch():
    """PyTorch, and MindTorch's module of the same name where that stands in front of it."""
    adapter = None
    for _ in range(20):
        module = importlib.import_module("torch")
        if CASE["framework"] != "mindtorch" or not issubclass(
                module.Tensor, importlib.import_module("mindspore").Tensor):
            return module, adapter
        adapter = adapter or module
        folder = os.path.realpath(os.path.dirname(os.path.dirname(module.__file__)))
        sys.path[:] = [path for path in sys.path if os.path.realpath(path or ".") != folder]
        for name in [name for name in sys.modules if name == "torch" or name.startswith("torch.")]:
            del sys.modules[name]
    return sys.exit("ERROR: Please check if you have a valid PyTorch and MindTorch environment")


torch, ADAPTER = import_torch()

OUTPUT_FOLDER = "./op_result_output"
DETAILS_TITLES = ["API Name", "Bench Dtype", "Tested Dtype", "Shape", "Cosine", "MaxAbsErr", "MaxRelativeErr", "Status",
                  "Message"]
RESULT_TITLES = ["API Name", "Forward Test Success", "Backward Test Success", "Message"]
MIN_COSINE = 0.99
MAX_ABS_ERR = 0.0001
NOT_VALID = "two inputs are not valid for computing %s, skip comparing "
DRAWS = "%s draws random numbers: there is no expected result to compare with."
TARGETS = {"cpu": "CPU", "cuda": "GPU", "npu": "Ascend"}

FLOATS = {"float16", "bfloat16", "float32", "float64"}
INTEGERS = {"int8", "uint8", "int16", "int32", "int64", "uint16", "uint32", "uint64"}
RAISED = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.float32: torch.float64}


def report(text):
    print(text, file=sys.stderr)


# The recorded call -------------------------------------------------------------------------------------------------


def find_attribute(root, path):
    value = root
    for name in path.split("."):
        value = getattr(value, name, None)
    return value


def find_api(root, path):
    found = find_attribute(root, path)
    if not callable(found):
        sys.exit("ERROR: %s has no %s." % (root.__name__, path))
    return found


def bench_path():
    namespace = {"Tensor": "Tensor.", "Functional": "nn.functional."}.get(CASE["type"], "")
    return namespace + CASE["api_name"]


def tested_path():
    if CASE["framework"] == "mindtorch":
        return bench_path()
    namespace = {"Mint": "mint.", "Tensor": "Tensor.", "Functional": "ops."}.get(CASE["type"], "")
    return namespace + CASE["api_name"]


# Data --------------------------------------------------------------------------------------------------------------


def short_dtype(text):
    return text.split(".")[-1].lower()


def load_array(path):
    if not os.path.exists(path):
        sys.exit("ERROR: The file path %s does not exist." % path)
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        sys.exit("ERROR: load npy file %s failed: %s" % (path, error))


def random_array(info):
    """Every tensor has the same stream of its own, so that those of one shape and range are equal."""
    name, shape, kind = info["parameter_name"], tuple(info["shape"]), short_dtype(info["dtype"])
    if kind not in FLOATS and kind not in INTEGERS and kind != "bool":
        sys.exit("ERROR: %s is not supported!" % info["dtype"])
    uniform = np.random.RandomState(CASE["random_seed"]).random_sample(shape)
    if kind == "bool":
        return uniform > 0.5
    low, high = info["Min"], info["Max"]
    wide = np.float64 if kind in FLOATS else np.dtype(kind)
    if 0 in shape or low is None or high is None:
        if 0 not in shape:
            report("%s: no range was recorded; all its values are 0." % name)
        return np.zeros(shape, wide)
    limits = torch.finfo(getattr(torch, kind)) if kind in FLOATS else np.iinfo(wide)
    if kind in FLOATS:
        low, high = numbers(low, high, limits, name)
    low, high = bound(low, limits, limits.min, name + " Min"), bound(high, limits, limits.max, name + " Max")
    data = low + (high - low) * uniform if math.isfinite(high - low) else low * (1 - uniform) + high * uniform
    return np.asarray(data).astype(wide)


def numbers(low, high, limits, name):
    """What a tensor held that overflowed says nothing of what the call was made for, and numbers at the end of the
    range would overflow on the side that is less precise alone."""
    reach = 1.0
    for value in (low, high):
        if math.isfinite(value):
            reach = min(2 * max(reach, abs(value)), limits.max)
    ends = []
    for value, instead, which in ((low, -reach, "Min"), (high, reach, "Max")):
        if not math.isfinite(value):
            report("%s %s: %r says nothing of the range; %r is taken in its place." % (name, which, value, instead))
            value = instead
        ends.append(value)
    return ends


def bound(value, limits, limit, name):
    if math.isfinite(value) and limits.min <= value <= limits.max:
        return value
    report("%s: %r lies outside of the range of the dtype; %r is taken in its place." % (name, value, limit))
    return limit


class Leaf:
    """A tensor of the call: its values, and the dtype that they have on both sides."""

    def __init__(self, info):
        self.dtype = short_dtype(info["dtype"])
        real = CASE["data_mode"] == "real_data" and "data_name" in info
        self.array = load_array(info["data_name"]) if real else random_array(info)

    def is_float(self):
        return self.dtype in FLOATS

    def torch(self):
        dtype = getattr(torch, self.dtype, None)
        if dtype is None:
            sys.exit("ERROR: torch has no dtype %s." % self.dtype)
        return torch.from_numpy(np.array(self.array)).to(dtype)

    def mindspore(self, mindspore):
        dtype = getattr(mindspore, "bool_" if self.dtype == "bool" else self.dtype)
        return mindspore.Tensor(np.array(self.array)).astype(dtype)


class RecordedDType:
    def __init__(self, name):
        self.name = short_dtype(name)


def get_input(info):
    if isinstance(info, list):
        return [get_input(entry) for entry in info]
    if not isinstance(info, dict):
        return info
    kind, value = info["type"], info.get("value")
    if kind == "torch.Tensor":
        return Leaf(info)
    if kind == "torch.dtype":
        return RecordedDType(value)
    if kind == "dict":
        return {key: get_input(entry) for key, entry in value.items()}
    if kind == "slice":
        return slice(*value)
    return Ellipsis if kind == "ellipsis" else None


def with_tensors(built, tensor, dtype):
    """The argument with tensor(leaf) for every tensor and dtype(name) for every dtype; lists become tuples."""
    if isinstance(built, list):
        return tuple(with_tensors(entry, tensor, dtype) for entry in built)
    if isinstance(built, dict):
        return {key: with_tensors(entry, tensor, dtype) for key, entry in built.items()}
    if isinstance(built, RecordedDType):
        return dtype(built.name)
    return tensor(built) if isinstance(built, Leaf) else built


def leaves_of(built):
    """The tensors of arguments, depth first."""
    if isinstance(built, Leaf):
        return [built]
    entries = built.values() if isinstance(built, dict) else built if isinstance(built, list) else []
    return [leaf for entry in entries for leaf in leaves_of(entry)]


# Running both sides ------------------------------------------------------------------------------------------------


def spread(output):
    return list(output) if isinstance(output, (tuple, list)) else [output]


class Tested:
    """The call on the device, by MindSpore or, for MindTorch, by its adapter named torch."""

    def __init__(self, mindspore):
        self.mindspore = mindspore
        root = ADAPTER if CASE["framework"] == "mindtorch" else mindspore
        if root is None:
            sys.exit("ERROR: Please check if you have a valid PyTorch and MindTorch environment")
        self.api = find_api(root, tested_path())

    def dtype(self, name):
        return getattr(self.mindspore, "bool_" if name == "bool" else name)

    def arguments(self, built):
        return with_tensors(built, lambda leaf: leaf.mindspore(self.mindspore), self.dtype)

    def run(self, args, kwargs, gradients):
        names = self.arguments(kwargs)
        if CASE["propagation"] == "forward":
            return spread(self.api(*self.arguments(args), **names))
        upstream = self.arguments(gradients)
        tensors = [leaf.mindspore(self.mindspore) for leaf in leaves_of(args)]

        def call(*inputs):
            rest = iter(inputs)
            return self.api(*with_tensors(args, lambda leaf: next(rest), self.dtype), **names)

        grad = self.mindspore.ops.GradOperation(get_all=True, sens_param=True)(call)
        return spread(grad(*tensors, upstream[0] if len(upstream) == 1 else upstream))


class Bench:
    """The call on the CPU in raised precision, rounded once to the dtype that a call without raising has."""

    def __init__(self):
        self.api = find_api(torch, bench_path())

    def tensor(self, leaf, wanted):
        tensor = leaf.torch()
        if CASE["raises"]:
            tensor = tensor.to(RAISED.get(tensor.dtype, tensor.dtype))
        if wanted is not None and leaf.is_float():
            wanted.append(tensor.requires_grad_(True))
            return tensor.clone()
        return tensor

    def arguments(self, built, wanted=None):
        return with_tensors(built, lambda leaf: self.tensor(leaf, wanted), lambda name: getattr(torch, name))

    def run(self, args, kwargs, gradients):
        wanted = []
        values = self.arguments(args, wanted if CASE["propagation"] == "backward" else None)
        output = spread(self.api(*values, **self.arguments(kwargs)))
        dtypes = [getattr(torch, leaf.dtype) for leaf in leaves_of(args) if leaf.is_float()]
        if CASE["propagation"] == "forward":
            return [self.rounded(value, dtypes) for value in output]
        pairs = [(out, gradient) for out, gradient in zip(output, self.arguments(gradients))
                 if isinstance(out, torch.Tensor) and out.requires_grad and isinstance(gradient, torch.Tensor)]
        found = torch.autograd.grad([out for out, _ in pairs], wanted,
                                    [gradient.to(out.dtype) for out, gradient in pairs], allow_unused=True)
        return [None if gradient is None else gradient.to(dtype) for gradient, dtype in zip(found, dtypes)]

    @staticmethod
    def rounded(value, dtypes):
        """A raised output in the widest of the floating dtypes of the arguments."""
        widest = None
        for dtype in dtypes:
            widest = dtype if widest is None else torch.promote_types(widest, dtype)
        if widest is not None and isinstance(value, torch.Tensor) and value.dtype == RAISED.get(widest):
            return value.to(widest)
        return value


# Comparison --------------------------------------------------------------------------------------------------------


def dtype_name(value):
    if hasattr(value, "dtype"):
        name = str(value.dtype).split(".")[-1].rstrip("_").lower()
        return name.capitalize().replace("Uint", "UInt").replace("Bfloat", "BFloat")
    return type(value).__name__


def as_float64(value):
    if isinstance(value, torch.Tensor):
        return value.detach().to(torch.float64).numpy().reshape(-1)
    if dtype_name(value) == "BFloat16":
        value = value.astype(importlib.import_module("mindspore").float32)
    return value.asnumpy().astype(np.float64).reshape(-1)


def is_tensor(value):
    return hasattr(value, "dtype") and hasattr(value, "shape")


def cosine_of(bench, tested, epsilon):
    return (epsilon + np.dot(bench, tested)) / (epsilon + np.linalg.norm(bench) * np.linalg.norm(tested))


def metrics(bench, tested):
    """Cosine, largest absolute and relative error. Equal NaN and infinities agree."""
    both = (np.isnan(bench) & np.isnan(tested)) | (np.isinf(bench) & (bench == tested))
    bench, tested = np.where(both, 0, bench), np.where(both, 0, tested)
    if bench.size == 0:
        return 1.0, 0.0, 0.0
    with np.errstate(all="ignore"):
        cosine = cosine_of(bench, tested, 1e-8)
        sizes = [np.abs(side).max() for side in (bench, tested)]
        if not np.isfinite(cosine) and np.isfinite(sizes).all():  # the squares of these are too large
            scales = [1 / size if size > 0 else 1.0 for size in sizes]
            cosine = cosine_of(bench * scales[0], tested * scales[1], 1e-8 * scales[0] * scales[1])
        difference = np.abs(bench - tested)
        relative = difference / np.where(bench == 0, 1e-8, np.abs(bench))
    return float(cosine), float(difference.max()), float(relative.max())


def compare_slot(name, bench, tested):
    """A row of the details file."""
    row = [name, dtype_name(bench), dtype_name(tested), str(tuple(getattr(bench, "shape", ())))]
    if not (is_tensor(bench) and is_tensor(tested)):
        equal = bench == tested or (isinstance(bench, float) and isinstance(tested, float) and (
            math.isclose(bench, tested, rel_tol=1e-6) or (math.isnan(bench) and math.isnan(tested))))
        return row + ["", "", "", "pass" if equal else "error", "" if equal else "the values are not equal "]
    if tuple(bench.shape) != tuple(tested.shape):
        message = NOT_VALID % "cosine similarity" + NOT_VALID % "max absolute difference"
        return row + ["", "", "", "error", message]
    cosine, absolute, relative = metrics(as_float64(bench), as_float64(tested))
    message = "" if cosine > MIN_COSINE else "cosine similarity is less than threshold: %s " % MIN_COSINE
    if not absolute < MAX_ABS_ERR:
        message += "max absolute difference is greater than threshold: %s " % MAX_ABS_ERR
    return row + [repr(cosine), repr(absolute), repr(relative), "error" if message else "pass", message]


def trimmed(values):
    values = [value for value in values if value is not None]
    if CASE["propagation"] == "backward":
        values = [value for value in values if dtype_name(value).lower() in FLOATS]
    return values


class ResultFiles:
    """The pair of CSV files, whose titles are written once."""

    def __init__(self):
        os.makedirs(OUTPUT_FOLDER, exist_ok=True)
        stamp = time.strftime("%Y%m%d%H%M%S")
        self.details = os.path.join(OUTPUT_FOLDER, "accuracy_checking_details_%s.csv" % stamp)
        self.result = os.path.join(OUTPUT_FOLDER, "accuracy_checking_result_%s.csv" % stamp)
        for path, titles in ((self.details, DETAILS_TITLES), (self.result, RESULT_TITLES)):
            with open(path, "w", encoding="utf-8-sig", newline="") as file:
                csv.writer(file).writerow(titles)

    @staticmethod
    def append(path, rows):
        with open(path, "a", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)

    def add(self, rows):
        self.append(self.details, rows)
        if not rows:
            return
        status = "pass" if all(row[-2] == "pass" for row in rows) else "error"
        verdicts = [status, ""] if CASE["propagation"] == "forward" else ["", status]
        self.append(self.result, [[CASE["name"]] + verdicts + ["".join(row[-1] for row in rows)]])


# The run -----------------------------------------------------------------------------------------------------------


def run(side, where, *arguments):
    try:
        return trimmed(side.run(*arguments))
    except Exception as error:
        sys.exit("ERROR: %s failed on %s: %s: %s" % (CASE["api"], where, type(error).__name__, error))


def parse_options():
    parser = argparse.ArgumentParser(description="Runs %s on a device and compares it with the CPU." % CASE["name"])
    parser.add_argument("--device", choices=["cpu", "cuda", "npu"], help="default: what MindSpore takes by itself")
    # Words that are no options are those of whoever runs the script from a program of his own.
    options, rest = parser.parse_known_args()
    unknown = [word for word in rest if word.startswith("-")]
    if unknown:
        parser.error("unrecognized arguments: " + " ".join(unknown))
    return options


def main():
    options = parse_options()
    try:
        mindspore = importlib.import_module("mindspore")
    except ImportError as error:
        sys.exit("ERROR: MindSpore cannot be imported: %s" % error)
    if options.device:
        mindspore.set_context(device_target=TARGETS[options.device])
    elif mindspore.get_context("device_target") == "CPU":
        report("There is neither an NPU nor a GPU here: the device is the cpu, which tests no NPU or GPU.")
    files = ResultFiles()
    tested, bench = Tested(mindspore), Bench()
    for i in range(CASE["iter_times"]):
        print("iter: %d:" % i)
        arguments = (get_input(CASE["args"]), {key: get_input(info) for key, info in CASE["kwargs"].items()},
                     get_input(CASE["gradients"]))
        out_tested = run(tested, "the device", *arguments)
        before = torch.get_rng_state()
        out_bench = run(bench, "the benchmark", *arguments)
        not_compared = CASE["not_compared"]
        if not not_compared and not torch.equal(before, torch.get_rng_state()):
            not_compared = DRAWS % CASE["api"]
        if not_compared:
            print("NOT COMPARED: " + not_compared)
            continue
        if len(out_tested) != len(out_bench):
            report("number of bench outputs and tested outputs is different, comparing result can be wrong. tested "
                   "outputs: %d, bench outputs: %d" % (len(out_tested), len(out_bench)))
        files.add([compare_slot("%s.%s.output.%d" % (CASE["name"], CASE["propagation"], slot), *pair)
                   for slot, pair in enumerate(zip(out_bench, out_tested))])
    print("Compare finished.")


if __name__ == "__main__":
    main()
