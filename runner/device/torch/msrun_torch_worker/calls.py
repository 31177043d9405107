"""One recorded call: forward, backward, and what went wrong with it."""

import contextlib
import re
import threading

import torch

from msrun_torch_worker import names, tensors

# What a call is answered with that could not be run. All but the last concern this call alone.
UNSUPPORTED = "unsupported"  # this torch or this device does not have it
ARGUMENTS = "arguments"  # it does not take these arguments
FAILED = "failed"
OOM = "oom"
LOST = "lost"  # the device is of no more use to this process

_LOST = re.compile(r"\b5070\d\d\b|device-side assert|illegal memory access|unspecified launch failure|"
                   r"CUDA error: (?:misaligned|illegal|uncorrectable|the launch timed out)|device (?:is )?lost", re.I)
_OOM = re.compile(r"out of memory|can't allocate memory|DefaultCPUAllocator|not enough memory|\b20700[12]\b", re.I)
_UNSUPPORTED = re.compile(r"not implemented for|not supported|unsupported|no kernel|Could not run|"
                          r"does not support|is not available|only supported|not currently implemented|"
                          r"compiled without|requires compiling|not compiled", re.I)


# All lanes draw from one generator.
_generator = threading.Lock()


def text_of(error):
    text = str(error).strip()
    if isinstance(error, (names.Unresolved, tensors.Unsupported)):
        return text
    return "%s: %s" % (type(error).__name__, text) if text else type(error).__name__


def status_of(error):
    text = str(error)
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or _OOM.search(text):
        return OOM
    if isinstance(error, RuntimeError) and _LOST.search(text):
        return LOST
    if isinstance(error, (names.Unresolved, tensors.Unsupported, NotImplementedError)):
        return UNSUPPORTED
    if isinstance(error, (TypeError, ValueError, IndexError, KeyError, AttributeError)):
        return ARGUMENTS
    return UNSUPPORTED if _UNSUPPORTED.search(text) else FAILED


class Call:
    """What a request asks for, with what of it is known so far."""

    def __init__(self, request, arena, device):
        self._request = request
        self._arena = arena
        self._device = device
        self._reader = tensors.Reader(arena, device.torch_device)

    def run(self):
        """The reply. Throws what the call throws."""
        request = self._request
        if request["k"].get("generator") is not None:
            raise tensors.Unsupported("A recorded generator cannot be rebuilt.")
        function = names.resolve(request["n"], request["f"], request.get("op", ""))
        args = [self._reader.value(item) for item in request["a"]]
        kwargs = {key: self._reader.value(item) for key, item in request["k"].items()}
        # A list as index would pick elements; what was recorded is x[1, 2].
        if request["f"] in ("__getitem__", "__setitem__") and len(args) > 1 and isinstance(args[1], list):
            args[1] = tuple(args[1])
        out = self._forward(function, args, kwargs)
        if out is None:
            out = names.changed(request["f"], args, kwargs)
        reply = {"id": request["id"]}
        self._arena.begin(request["o"])
        reply["out"] = tensors.written(out, self._arena)
        if request["b"] and out is not None:
            self._backward(out, reply)
        self._device.synchronize()
        return reply

    def _forward(self, function, args, kwargs):
        if self._request.get("autocast") is None and self._request.get("seed") is None:
            return function(*args, **kwargs)
        with contextlib.ExitStack() as surroundings:
            if self._request.get("autocast") is not None:
                surroundings.enter_context(self._device.autocast(tensors.dtype_of(self._request["autocast"])))
            if self._request.get("seed") is not None:
                surroundings.enter_context(_generator)
                torch.manual_seed(self._request["seed"])
            return function(*args, **kwargs)

    def _backward(self, out, reply):
        try:
            gradients = self._gradients(out)
        except tensors.BadRequest:
            raise
        except Exception as error:  # pylint: disable=broad-except
            if status_of(error) in (OOM, LOST):
                raise
            reply["bp"] = text_of(error)
            return
        reply["g"] = [tensors.written(gradient, self._arena) for gradient in gradients]

    def _gradients(self, out):
        """One per tensor among the arguments; None where there is none."""
        leaves = self._reader.leaves
        wanted = [leaf for leaf in leaves if leaf is not None]
        all_outputs = list(out) if isinstance(out, (list, tuple)) else [out]
        only = self._request["only"]
        outputs = []
        upstream = []
        for i, gradient in enumerate(self._request["gy"][:len(all_outputs)]):
            output = all_outputs[i]
            if gradient is None or not isinstance(output, torch.Tensor) or (only is not None and only != i):
                continue
            # With several outputs those without a graph simply get no gradient; a single one must have it.
            if not output.requires_grad and len(all_outputs) > 1:
                continue
            outputs.append(output)
            upstream.append(self._reader.tensor(gradient["t"], leaf=False))
        if not outputs:
            raise RuntimeError("No output of the call has a graph and a gradient.")
        if not wanted:
            return [None] * len(leaves)
        found = iter(torch.autograd.grad(outputs, wanted, upstream, allow_unused=True))
        return [None if leaf is None else next(found) for leaf in leaves]


def answer(request, arena, device):
    """The reply to a request, an error included."""
    number = request.get("id")
    try:
        return Call(request, arena, device).run()
    except tensors.BadRequest:
        raise
    except BaseException as error:  # pylint: disable=broad-except
        reply = {"id": number, "status": status_of(error), "error": text_of(error)}
    if reply["status"] == OOM:
        device.give_back()
    return reply
