"""One recorded call: forward, backward, and what went wrong with it."""

import re

import mindspore

from msrun_mindspore_worker import names, tensors

# What a call is answered with that could not be run. All but the last concern this call alone.
UNSUPPORTED = "unsupported"  # this MindSpore or this device does not have it
ARGUMENTS = "arguments"  # it does not take these arguments
FAILED = "failed"
OOM = "oom"
LOST = "lost"  # the device is of no more use to this process

_LOST = re.compile(r"\b5070\d\d\b|device (?:is )?lost", re.I)
_OOM = re.compile(r"out of memory|memory isn't enough|not enough memory|allocate memory fail|\b20700[12]\b", re.I)
_UNSUPPORTED = re.compile(r"not support|unsupported|no kernel|is not implemented|unregistered", re.I)


def text_of(error):
    text = str(error).strip()
    if isinstance(error, (names.Unresolved, tensors.Unsupported)):
        return text
    return "%s: %s" % (type(error).__name__, text) if text else type(error).__name__


def status_of(error):
    text = str(error)
    if isinstance(error, MemoryError) or _OOM.search(text):
        return OOM
    if isinstance(error, RuntimeError) and _LOST.search(text):
        return LOST
    if isinstance(error, (names.Unresolved, tensors.Unsupported, NotImplementedError)):
        return UNSUPPORTED
    if isinstance(error, (TypeError, ValueError, IndexError, KeyError, AttributeError)):
        return ARGUMENTS
    return UNSUPPORTED if _UNSUPPORTED.search(text) else FAILED


def _replaced(value, replacements):
    if isinstance(value, (list, tuple)):
        return type(value)(_replaced(item, replacements) for item in value)
    return replacements.get(id(value), value)


class Call:
    """What a request asks for, with what of it is known so far."""

    def __init__(self, request, arena, device):
        self._request = request
        self._arena = arena
        self._device = device
        self._reader = tensors.Reader(arena)

    def run(self):
        """The reply. Throws what the call throws."""
        request = self._request
        function = names.resolve(request["n"], request["f"])
        args = [self._reader.value(item) for item in request["a"]]
        kwargs = {key: self._reader.value(item) for key, item in request["k"].items()}
        # Before the call: one that writes to an argument is differentiated where that was.
        leaves = list(self._reader.leaves)
        copies = {id(leaf): leaf.copy() for leaf in leaves if leaf is not None}
        out = function(*_replaced(args, copies), **kwargs)
        reply = {"id": request["id"]}
        self._arena.begin(request["o"])
        reply["out"] = tensors.written(out, self._arena)
        if request["b"] and out is not None:
            self._backward(function, args, kwargs, out, reply)
        self._device.synchronize()
        return reply

    def _backward(self, function, args, kwargs, out, reply):
        try:
            gradients = self._gradients(function, args, kwargs, out)
        except tensors.BadRequest:
            raise
        except Exception as error:  # pylint: disable=broad-except
            if status_of(error) in (OOM, LOST):
                raise
            reply["bp"] = text_of(error)
            return
        reply["g"] = [tensors.written(gradient, self._arena) for gradient in gradients]

    def _gradients(self, function, args, kwargs, out):
        """One per tensor among the arguments; None where none is asked for."""
        leaves = self._reader.leaves
        wanted = [leaf for leaf in leaves if leaf is not None]
        outputs = list(out) if isinstance(out, (list, tuple)) else [out]
        given = self._request["gy"][:len(outputs)]
        if not wanted or all(gradient is None for gradient in given):
            raise RuntimeError("No output of the call has a graph and a gradient.")
        upstream = []
        for i, output in enumerate(outputs):
            gradient = given[i] if i < len(given) else None
            upstream.append(mindspore.ops.zeros_like(output) if gradient is None else
                            self._reader.tensor(gradient["t"], leaf=False))

        def forward(*inputs):
            replacements = {id(leaf): copy for leaf, copy in zip(wanted, inputs)}
            return function(*_replaced(args, replacements), **kwargs)

        derivative = mindspore.ops.GradOperation(get_all=True, sens_param=True)(forward)
        sensitivity = upstream[0] if not isinstance(out, (list, tuple)) else tuple(upstream)
        found = derivative(*wanted, sensitivity)
        found = iter(found if isinstance(found, (list, tuple)) else (found,))
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
