"""One recorded call: forward, backward, and what went wrong with it."""

import contextlib
import threading

import torch

from msrun_torch_worker import forms, names, tensors
from msrun_worker import answers

_failures = answers.Failures(
    # Those after which CUDA refuses everything else in this process, and no others.
    lost=answers.code(answers.LOST_CODES) + r"|device-side assert|illegal memory access|unspecified launch failure|"
         r"CUDA error: (?:an )?(?:illegal|misaligned|uncorrectable|the launch timed out|hardware stack error|"
         r"invalid program counter|operation not supported on global|unknown error)|device (?:is )?lost",
    out_of_memory=r"out of memory|can't allocate memory|cannot allocate memory|DefaultCPUAllocator|not enough memory|"
                  r"(?:CUBLAS|CUDNN|CUSOLVER|CUSPARSE)_STATUS_ALLOC_FAILED|std::bad_alloc|" +
                  answers.code(answers.MEMORY_CODES),
    unsupported=r"not implemented for|not supported|unsupported|no kernel|Could not run|"
                r"does not support|is not available|only supported|not currently implemented|"
                r"compiled without|requires compiling|not compiled",
    # The allocator's books, and how to set it up; advice that every error of CUDA ends with, and that names another.
    aside=r"Including non-PyTorch memory, this process|Of the allocated memory|If reserved (?:but unallocated )?memory|"
          r"CUDA kernel errors might be asynchronously|Compile with .?TORCH_USE_CUDA_DSA")

# All lanes draw from one generator.
_generator = threading.Lock()


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
        function = names.resolve(request["n"], request["f"], request.get("op", ""), frozenset(request["k"]))
        args, kwargs = self._reader.arguments(request)
        args, kwargs = forms.without_memory_format(request["f"], args, kwargs)
        args, kwargs = forms.on_device(request["f"], args, kwargs, self._device.torch_device)
        args, kwargs = self._device.cast(request.get("casts"), args, kwargs)
        out = self._forward(function, args, kwargs)
        if out is NotImplemented:
            out = forms.of_operator(request["f"], args)
        if out is None:
            out = forms.changed(request["f"], args, kwargs)
        reply = {"id": request["id"]}
        self._arena.begin(request["o"])
        reply["out"] = tensors.written(forms.without_device(request["f"], out), self._arena)
        if request["b"] and out is not None:
            _failures.add_gradients(reply, lambda: self._gradients(out),
                                    lambda gradient: tensors.written(gradient, self._arena))
        self._device.synchronize()
        return reply

    def _forward(self, function, args, kwargs):
        if self._request.get("autocast") is None and self._request.get("seed") is None:
            return function(*args, **kwargs)
        with contextlib.ExitStack() as surroundings:
            if self._request.get("autocast") is not None:
                surroundings.enter_context(self._device.autocast(tensors.dtype_of(self._request["autocast"]),
                                                                 self._request.get("casts")))
            if self._request.get("seed") is not None:
                surroundings.enter_context(_generator)
                torch.manual_seed(self._request["seed"])
            return function(*args, **kwargs)

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
            upstream.append(forms.upstream_of(self._reader.tensor(gradient["t"], leaf=False), output))
        if not outputs:
            raise RuntimeError("No output of the call has a graph and a gradient.")
        if not wanted:
            return [None] * len(leaves)
        found = iter(torch.autograd.grad(outputs, wanted, upstream, allow_unused=True))
        return [None if leaf is None else next(found) for leaf in leaves]


def answer(request, arena, device):
    """The reply to a request, an error included."""
    return _failures.answer(request, lambda: Call(request, arena, device).run(), device, arena.limit)
