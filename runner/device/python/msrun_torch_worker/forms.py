"""What a recorded call lacks, or has too much of, to be called as it was: facts about torch's functions, whichever runs
them. Scripts that call one recorded call by themselves hold a copy of this file, which therefore needs nothing but
torch."""

import re

import torch

# Arguments that torch reads on the host, and refuses (before 2.11: crashes) where they are on a device: their place and
# their name. A recording does not say where a tensor was. They are integers: in another form of a recurrent network
# the state stands in that place.
_RNN = (1, "batch_sizes")
ON_HOST = {"tensor_split": (1, "tensor_indices_or_sections"), "lstm": _RNN, "gru": _RNN, "rnn_tanh": _RNN,
           "rnn_relu": _RNN}


# What of torch.linalg has a namesake in torch. Recordings shorten torch.linalg.norm to norm. These namesakes raise,
# since 1.13, or are something else altogether ...
_LINALG_ALONE = ("solve", "lstsq", "eig", "matrix_rank", "cond")
# ... and these take none of these keywords.
_LINALG_KEYWORDS = {"norm": {"A", "ord"}, "svd": {"A", "full_matrices", "driver"}, "qr": {"A", "mode"}}


def is_of_linalg(api, keywords):
    """Whether a call of torch.api with these keywords is one of torch.linalg.api."""
    return api in _LINALG_ALONE or bool(_LINALG_KEYWORDS.get(api, set()) & set(keywords))


def without_memory_format(api, args, kwargs):
    """Every memory format is recorded as None, which not all functions take."""
    if kwargs.get("memory_format", "") is None:
        kwargs = {key: value for key, value in kwargs.items() if key != "memory_format"}
    if api in ("contiguous", "is_contiguous") and len(args) > 1 and args[1] is None:
        args = args[:1]
    return args, kwargs


# Devices as calls name them.
DEVICE_TEXT = re.compile(r"(cpu|cuda|npu)(:[0-9]+)?")
# The type of a tensor on a certain kind of device, of which only the dtype is meant.
_TYPE_ON_DEVICE = re.compile(r"torch\.(?:[a-z]+\.)?([A-Za-z0-9]+Tensor)")


def on_device(api, args, kwargs, device):
    """The arguments with this device in place of those that they name by a text or a number."""
    def moved(value, name=None):
        if isinstance(value, str) and DEVICE_TEXT.fullmatch(value):
            return device
        return device if name == "device" and isinstance(value, (int, str)) and not isinstance(value, bool) else value
    args = [moved(value) for value in args]
    kwargs = {key: moved(value, key) for key, value in kwargs.items()}
    if api == "type":
        args = args[:1] + [_dtype_of_type(value) for value in args[1:2]] + args[2:]
        kwargs = {key: _dtype_of_type(value) if key == "dtype" else value for key, value in kwargs.items()}
    return args, kwargs


def _dtype_of_type(value):
    named = _TYPE_ON_DEVICE.fullmatch(value) if isinstance(value, str) else None
    return getattr(getattr(torch, named.group(1), None), "dtype", value) if named else value


def without_device(api, out):
    """What x.type() says of the dtype alone, wherever x is: "torch.FloatTensor"."""
    named = _TYPE_ON_DEVICE.fullmatch(out) if api == "type" and isinstance(out, str) else None
    return "torch." + named.group(1) if named else out


def of_operator(api, args):
    """What Python makes of NotImplemented, which a method such as x.__eq__(None) returns: x == None is False."""
    if api in ("__eq__", "__ne__"):
        return (args[0] is args[1]) == (api == "__eq__")
    raise TypeError("The operands of %s are not supported." % api)


def changed(api, args, kwargs):
    """What a call that returned nothing has written to, in the form that msrun compares."""
    if api == "__setitem__" and args:
        return args[0]
    if api == "_fused_adamw_" and len(args) > 4:
        return [args[0], args[2], args[3]] + ([args[4]] if kwargs.get("amsgrad") else [])
    return None


def upstream_of(gradient, output):
    """The gradient of an output. One of a single element may be recorded of a torch that gives the output another
    number of axes."""
    return gradient.reshape(output.shape) if gradient.numel() == output.numel() == 1 else gradient
