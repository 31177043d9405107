"""torch's own operator samples, run by the worker and called directly: the results, gradients included, are the same bits.

Arguments: the worker's folder, and how many calls at most. Prints how many were run, and each that differs; names that
may differ are listed here with their reason.
"""

import os
import sys
import warnings

sys.path.insert(0, os.path.dirname(sys.argv[1]))
warnings.simplefilter("ignore")

import torch  # noqa: E402

try:
    import torch_samples as samples
except ImportError as error:
    print("this torch has no samples that can be imported: %s" % error)
    sys.exit(0)

from msrun_torch_worker import calls, devices, names, tensors  # noqa: E402

PER_OPERATOR = 8
MAY_DIFFER = {
    # They return what the memory held; of the last the gradient does in torch 1.13.
    "empty", "empty_like", "empty_permuted", "new_empty", "empty_strided", "new_empty_strided", "resize_", "resize_as_",
    "as_strided_scatter",
}


class Untold(Exception):
    """An argument that recordings do not hold."""


class Writer:
    """Arguments as msrun sends them."""

    def __init__(self, memory):
        self.memory = memory
        self.offset = 0

    def tensor(self, tensor):
        if tensor.layout is not torch.strided or tensor.dtype not in tensors.NAMES:
            raise Untold
        content = tensor.detach().contiguous()
        size = content.numel() * content.element_size()
        self.offset = (self.offset + 63) // 64 * 64
        if self.offset + size > 1 << 24:
            raise Untold
        if size:
            view = torch.frombuffer(self.memory, dtype=content.dtype, count=content.numel(), offset=self.offset)
            view.copy_(content.reshape(-1))
        reply = {"t": [self.offset, size, tensors.NAMES[tensor.dtype], list(tensor.shape), tensor.requires_grad]}
        self.offset += size
        return reply

    def value(self, value):
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        if isinstance(value, torch.dtype):
            return {"d": tensors.NAMES[value]} if value in tensors.NAMES else self.refuse()
        if isinstance(value, slice):
            if any(isinstance(part, torch.Tensor) for part in (value.start, value.stop, value.step)):
                raise Untold
            return {"s": [value.start, value.stop, value.step]}
        if value is Ellipsis:
            return {"e": 1}
        if isinstance(value, complex):
            return {"c": [value.real, value.imag]}
        return self.refuse()

    def refuse(self):
        raise Untold


def plain(value):
    """Lists in place of tuples, and copies of leaves as the model's tensors are."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            raise Untold
        leaf = value.detach().contiguous().clone()
        return leaf.requires_grad_() if value.requires_grad else leaf
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def leaves_of(value, found):
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            leaves_of(item, found)
    return found


def handed_over(value):
    if isinstance(value, torch.Tensor):
        return value.clone() if value.requires_grad else value
    if isinstance(value, tuple):
        return tuple(handed_over(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [handed_over(item) for item in value]
    return value


def direct(function, args, kwargs):
    """Output and gradients; ones stand for the gradients of the outputs."""
    leaves = leaves_of(list(args) + list(kwargs.values()), [])
    out = function(*handed_over(args), **{key: handed_over(value) for key, value in kwargs.items()})
    outputs = list(out) if isinstance(out, (list, tuple)) else [out]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    upstream = [torch.ones_like(output) if isinstance(output, torch.Tensor) and output.requires_grad else None
                for output in outputs]
    if not wanted or all(gradient is None for gradient in upstream):
        return out, upstream, None
    chosen = [(output, gradient) for output, gradient in zip(outputs, upstream) if gradient is not None]
    found = iter(torch.autograd.grad([pair[0] for pair in chosen], wanted, [pair[1] for pair in chosen],
                                     allow_unused=True))
    return out, upstream, [next(found) if leaf.requires_grad else None for leaf in leaves]


def read(value, memory):
    """What the worker wrote, as Python has it."""
    if isinstance(value, list):
        return [read(item, memory) for item in value]
    if not isinstance(value, dict):
        return value
    ((tag, content),) = value.items()
    if tag != "t":
        return value
    offset, size, dtype, sizes, _ = content
    if size == 0:
        return torch.empty(sizes, dtype=tensors.dtype_of(dtype))
    count = size // torch.empty(0, dtype=tensors.dtype_of(dtype)).element_size()
    return torch.frombuffer(memory, dtype=tensors.dtype_of(dtype), count=count, offset=offset).view(sizes)


def same(found, expected):
    if isinstance(expected, torch.Tensor):
        if not isinstance(found, torch.Tensor):
            return False
        expected = expected.detach()
        expected = expected.to_dense() if expected.layout is not torch.strided else expected
        flat = torch.empty(expected.numel(), dtype=expected.dtype).copy_(expected.reshape(-1))
        if found.dtype != expected.dtype or found.shape != expected.shape:
            return False
        if found.numel() == 0:
            return True
        return torch.equal(found.reshape(-1).view(torch.uint8), flat.view(torch.uint8))
    if isinstance(expected, (list, tuple)):
        return isinstance(found, list) and len(found) == len(expected) and \
            all(same(a, b) for a, b in zip(found, expected))
    if isinstance(expected, (bool, int, float, str)) or expected is None:
        return found == expected or (found != found and expected != expected)
    return isinstance(found, dict)


def places(operator):
    """Under which names a recording may hold the operator."""
    if operator.name.startswith("nn.functional."):
        yield "Functional", operator.name[len("nn.functional."):]
        return
    yield "Torch", operator.name
    if "." not in operator.name:
        yield "Tensor", operator.name
        yield "Tensor", operator.name + "_"


def run(namespace, api, sample, arena, memory, device):
    """Whether the worker agrees; None if there is nothing to compare."""
    function = names.resolve(namespace, api, api)
    args = plain([sample.input, *sample.args])
    kwargs = {key: plain(value) for key, value in sample.kwargs.items()}
    if api == "__getitem__":
        # A recording does not tell a list from a tuple.
        if isinstance(sample.args[0], list):
            raise Untold
        args[1] = tuple(args[1]) if isinstance(args[1], list) else args[1]
    writer = Writer(memory)
    request = {"id": 1, "n": namespace, "f": api, "op": api, "only": None, "autocast": None,
               "a": [writer.value(item) for item in args],
               "k": {key: writer.value(value) for key, value in kwargs.items()}}
    torch.manual_seed(7)
    try:
        expected, upstream, gradients = direct(function, args, kwargs)
    except Exception:  # pylint: disable=broad-except
        return None
    request["gy"] = [None if gradient is None else writer.value(gradient) for gradient in upstream]
    request["b"] = gradients is not None
    request["o"] = writer.offset
    torch.manual_seed(7)
    reply = calls.answer(request, arena, device)
    if "out" not in reply:
        return False, reply
    if not same(read(reply["out"], memory), expected):
        return False, "the output"
    if gradients is not None:
        for found, gradient in zip(reply.get("g", []), gradients):
            if not same(None if found is None else read(found, memory), gradient):
                return False, "a gradient"
        if "bp" in reply:
            return False, reply["bp"]
    return True, None


def main():
    most = int(sys.argv[2])
    device = devices.Cpu("cpu", 0)
    device.open(False)
    import mmap
    descriptor = os.memfd_create("arena")
    os.ftruncate(descriptor, 1 << 26)
    memory = mmap.mmap(descriptor, 1 << 26)
    arena = tensors.Arena(descriptor)
    done = 0
    different = {}
    for operator in samples.op_db:
        if done >= most:
            break
        if torch.float32 not in operator.dtypes or operator.name in MAY_DIFFER:
            continue
        try:
            inputs = list(operator.sample_inputs("cpu", torch.float32, requires_grad=operator.supports_autograd))
        except Exception:  # pylint: disable=broad-except
            continue
        for sample in inputs[:PER_OPERATOR]:
            for namespace, api in places(operator):
                try:
                    outcome = run(namespace, api, sample, arena, memory, device)
                except (names.Unresolved, Untold):
                    continue
                if outcome is None:
                    continue
                done += 1
                agrees, why = outcome
                if not agrees:
                    different.setdefault("%s.%s" % (namespace, api), str(why)[:200])
    print("%d calls" % done)
    for name, why in sorted(different.items()):
        print("%s: %s" % (name, why))
    sys.exit(1 if different or done == 0 else 0)


main()
