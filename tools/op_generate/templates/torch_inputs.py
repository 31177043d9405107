"""The tensors that a script of op_generate builds: random ones from torch's stream, within the recorded range, and those
of files. A part of torch_script.py, into which op_generate puts it.
"""
import math
import os
import sys

import torch

FLOAT_TYPES = {"float16", "half", "bfloat16", "float32", "float", "float64", "double"}
INTEGER_TYPES = {"uint8", "int8", "int16", "short", "int32", "int", "int64", "long"}


def report(text):
    print(text, file=sys.stderr)


def load_tensor(path):
    if not os.path.exists(path):
        sys.exit("ERROR: The file path %s does not exist." % path)
    try:
        return torch.load(path, map_location="cpu", weights_only=True).detach()
    except Exception as error:
        sys.exit("ERROR: load pt file %s failed: %s" % (path, error))


def numbers(low, high, limits, name):
    """What a tensor held that overflowed says nothing of what the call was made for, and numbers at the end of the
    range would overflow on the side that is less precise alone."""
    reach = 1.0
    for value in (low, high):
        if math.isfinite(value):
            reach = min(2 * max(reach, abs(value)), limits.max)
    return finite(low, -reach, name + " Min"), finite(high, reach, name + " Max")


def finite(value, instead, name):
    if math.isfinite(value):
        return value
    report("%s: %r says nothing of the range; %r is taken in its place." % (name, value, instead))
    return instead


def bound(value, limits, limit, name):
    """A recorded extremum as a number of the dtype; limit is the end of its range that takes its place."""
    if math.isfinite(value) and limits.min <= value <= limits.max:
        return value
    report("%s: %r lies outside of the range of the dtype; %r is taken in its place." % (name, value, limit))
    return limit


def random_float(shape, dtype, low, high):
    data = torch.rand(shape, dtype=dtype)
    scale, limit = high - low, torch.finfo(dtype).max
    if abs(scale) <= limit and dtype in (torch.float16, torch.bfloat16):
        # Older versions of torch round a number to the half type that it is beside, newer ones do not.
        scale, low = (torch.tensor(number, dtype=dtype).item() for number in (scale, low))
    if abs(scale) <= limit:
        return data * scale + low
    part = data.to(torch.float64)
    return (low * (1 - part) + high * part).clamp(-limit, limit).to(dtype)


def random_integer(shape, dtype, low, high):
    if high == torch.iinfo(torch.int64).max:
        return torch.randint(low, high, shape, dtype=dtype)
    return torch.randint(low, high + 1, shape, dtype=dtype)


def masked_float(info, shape, dtype):
    """A tensor whose recorded extremum is a number that masks are made of: ordinary numbers, and the mask at random
    places, but never along a whole row."""
    low, high, mask, limit = info["masked"]
    data = random_float(shape, dtype, low, high)
    flat = data.reshape(-1)
    flat[0] = low
    flat[-1] = high
    hidden = data.to(torch.float64) < limit
    if shape[-1] > 1:
        hidden.scatter_(-1, data.argmax(-1, keepdim=True), False)
    data[hidden] = mask
    return data


def random_tensor(info, kind):
    """The tensor of a description; kind is its dtype without "torch."."""
    name, shape = info["parameter_name"], tuple(info["shape"])
    if kind not in FLOAT_TYPES and kind not in INTEGER_TYPES and kind != "bool":
        sys.exit("ERROR: %s is not supported!" % info["dtype"])
    dtype = getattr(torch, kind)
    low, high = info["Min"], info["Max"]
    if 0 in shape or low is None or high is None:
        if 0 not in shape:
            report("%s: no range was recorded; all its values are 0." % name)
        return torch.zeros(shape, dtype=dtype)
    if kind == "bool":
        ends = sorted([int(finite(low, 0.0, name + " Min")), int(finite(high, 1.0, name + " Max"))])
        return torch.randint(ends[0], ends[1] + 1, shape) > 0
    limits = torch.finfo(dtype) if kind in FLOAT_TYPES else torch.iinfo(dtype)
    if "masked" in info:
        data = masked_float(info, shape, dtype)
    elif kind in FLOAT_TYPES:
        low, high = numbers(low, high, limits, name)
        low, high = bound(low, limits, limits.min, name + " Min"), bound(high, limits, limits.max, name + " Max")
        data = random_float(shape, dtype, low, high)
    else:
        low = int(bound(low, limits, limits.min, name + " Min"))
        high = int(bound(high, limits, limits.max, name + " Max"))
        if low > high:
            report("%s: Min is greater than Max; they were exchanged." % name)
            low, high = high, low
        data = random_integer(shape, dtype, low, high)
    flat = data.reshape(-1)
    flat[0] = low
    flat[-1] = high
    return flat.reshape(shape)


def fit(data, runs):
    """Elements that were drawn so that they do not fit each other, such as a mask with more places than there are values
    for: from the first element of each run on, count of them, step by step, become the value."""
    flat = data.reshape(-1)
    for first, step, count, value in runs:
        flat[first:first + step * count:step] = value
    return flat.reshape(data.shape)
