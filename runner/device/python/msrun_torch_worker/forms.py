"""What a recorded call lacks, or has too much of, to be called as it was: facts about torch's functions, whichever runs
them. Scripts that call one recorded call by themselves hold a copy of this file, which therefore needs nothing else."""

# Arguments that torch reads on the host, and refuses (before 2.11: crashes) where they are on a device: their place and
# their name. A recording does not say where a tensor was.
_RNN = (1, "batch_sizes")
ON_HOST = {"tensor_split": (1, "tensor_indices_or_sections"), "lstm": _RNN, "gru": _RNN, "rnn_tanh": _RNN,
           "rnn_relu": _RNN}


def without_memory_format(api, args, kwargs):
    """Every memory format is recorded as None, which not all functions take."""
    if kwargs.get("memory_format", "") is None:
        kwargs = {key: value for key, value in kwargs.items() if key != "memory_format"}
    if api in ("contiguous", "is_contiguous") and len(args) > 1 and args[1] is None:
        args = args[:1]
    return args, kwargs


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
