"""One recorded call: forward, backward, and what went wrong with it."""

import threading

import mindspore

from msrun_mindspore_worker import names, tensors
from msrun_worker import answers

_failures = answers.Failures(
    lost=answers.code(answers.LOST_CODES) + r"|device (?:is )?lost",
    out_of_memory=r"out of memory|memory isn't enough|memory not enough|not enough memory|allocate memory fail|"
                  + answers.code(answers.MEMORY_CODES),
    unsupported=r"not support|unsupported|no kernel|is not implemented|unregistered")

# MindSpore records what is differentiated for the process as a whole, not for each thread.
_turn = threading.Lock()


def _replaced(value, replacements):
    """The value with other tensors in the place of some, by the identity of these."""
    if isinstance(value, (list, tuple)):
        return type(value)(_replaced(item, replacements) for item in value)
    if isinstance(value, dict):
        return {key: _replaced(item, replacements) for key, item in value.items()}
    return replacements.get(id(value), value)


def _seed(seed):
    """Of all generators: those of newer functions have a seed of their own."""
    mindspore.set_seed(seed)
    manual = getattr(mindspore, "manual_seed", None)
    if callable(manual):
        manual(seed)


class Call:
    """What a request asks for, with what of it is known so far."""

    def __init__(self, request, arena, device):
        self._request = request
        self._arena = arena
        self._device = device
        self._reader = tensors.Reader(arena, device)

    def run(self):
        """The reply. Throws what the call throws."""
        request = self._request
        function = names.resolve(request["n"], request["f"])
        args, kwargs = tensors.Reader(self._arena, self._device).arguments(request)

        with _turn:
            self._begin()
            out = function(*args, **kwargs)
            reply = {"id": request["id"]}
            self._arena.begin(request["o"])
            reply["out"] = tensors.written(out, self._arena)
            if request["b"] and out is not None:
                _failures.add_gradients(reply, lambda: self._gradients(function, out),
                                        lambda gradient: tensors.written(gradient, self._arena))
            self._device.synchronize()
        return reply

    def _begin(self):
        """Before each run of the function, so that all of them draw the same numbers."""
        if self._request.get("seed") is not None:
            _seed(self._request["seed"] % (1 << 32))

    def _gradients(self, function, out):
        """One per tensor among the arguments; None where none is asked for."""
        # A call that writes to its arguments is differentiated where they were before. They are read once more:
        # Tensor.copy() computes on the device, in float32 as a rule, and does not give every number back.
        args, kwargs = self._reader.arguments(self._request)
        wanted = [leaf for leaf in self._reader.leaves if leaf is not None]

        def forward(*inputs):
            others = {id(leaf): tensor for leaf, tensor in zip(wanted, inputs)}
            return function(*_replaced(args, others), **_replaced(kwargs, others))

        several = isinstance(out, (list, tuple))
        outputs = list(out) if several else [out]
        only = self._request["only"]
        given = [None if only is not None and only != i else gradient
                 for i, gradient in enumerate(self._request["gy"][:len(outputs)])]
        given += [None] * (len(outputs) - len(given))
        if all(gradient is None for gradient in given):
            raise RuntimeError("No output of the call has a graph and a gradient.")
        if not wanted:
            return [None] * len(self._reader.leaves)
        upstream = [mindspore.ops.zeros_like(output) if gradient is None else
                    self._reader.tensor(gradient["t"], leaf=False) for output, gradient in zip(outputs, given)]
        derivative = mindspore.ops.GradOperation(get_all=True, sens_param=True)(forward)
        self._begin()
        found = derivative(*wanted, tuple(upstream) if several else upstream[0])
        found = iter(found if isinstance(found, (list, tuple)) else (found,))
        return [None if leaf is None else next(found) for leaf in self._reader.leaves]


def answer(request, arena, device):
    """The reply to a request, an error included."""
    return _failures.answer(request, lambda: Call(request, arena, device).run(), device, arena.limit)
