"""Values of calls as torch has them, and its tensors in the arena."""

import torch

from msrun_torch_worker import forms
from msrun_worker import values
from msrun_worker.values import BadRequest, Unsupported

_NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
          "float8_e4m3fn", "float8_e5m2", "complex64", "complex128")
DTYPES = {name: getattr(torch, name) for name in _NAMES if hasattr(torch, name)}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
# Whose elements torch.frombuffer does not make.
_AS_BYTES = {dtype for name, dtype in DTYPES.items() if name.startswith("float8")}


def dtype_of(name):
    found = DTYPES.get(name) or getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise Unsupported("torch %s has no dtype %s." % (torch.__version__, name))
    return found


def _count(sizes):
    count = 1
    for size in sizes:
        count *= size
    return count


class Arena(values.Memory):
    """A lane's memory as tensors."""

    def view(self, offset, dtype, sizes):
        """A tensor in the arena, of at least one element."""
        count = _count(sizes)
        if dtype in _AS_BYTES:
            raw = torch.frombuffer(self._memory, dtype=torch.uint8, count=count, offset=offset)
            return raw.view(dtype).view(sizes)
        flat = torch.frombuffer(self._memory, dtype=dtype, count=count, offset=offset)
        return flat if len(sizes) == 1 else flat.view(sizes)

    def read(self, offset, size, dtype, sizes):
        count = _count(sizes)
        if count == 0:
            return torch.empty(sizes, dtype=dtype)
        self._show(offset, size, sizes)
        tensor = self.view(offset, dtype, sizes)
        if count * tensor.element_size() != size:
            raise BadRequest("a tensor of sizes %r does not take %r bytes" % (sizes, size))
        return tensor

    def write(self, tensor):
        """Copies a tensor of any layout and device into the arena; its offset and its bytes."""
        size = tensor.numel() * tensor.element_size()
        if size == 0:
            return 0, 0
        offset = self._reserve(size)
        self.view(offset, tensor.dtype, tensor.shape).copy_(tensor)
        return offset, size


def _on_host(request):
    """What the request says of the tensor that stays on the host; None if there is none."""
    if request["f"] not in forms.ON_HOST:
        return None
    place, name = forms.ON_HOST[request["f"]]
    argument = request["a"][place] if place < len(request["a"]) else request["k"].get(name)
    content = argument.get("t") if isinstance(argument, dict) else None
    return content if content is not None and content[2] in ("int32", "int64") else None


class Reader(values.Reader):
    """The arguments of one call. A tensor that requires a gradient is handed over as a clone of a leaf: calls that
    write to their arguments are not allowed to write to a leaf."""

    def __init__(self, arena, device):
        super().__init__()
        self._arena = arena
        self._device = device
        self._is_elsewhere = device.type != "cpu"
        self._stays = None

    def arguments(self, request):
        self._stays = _on_host(request)
        return super().arguments(request)

    def dtype(self, name):
        return dtype_of(name)

    def device(self, name):
        return self._device

    def tensor(self, content, leaf=True):
        offset, size, name, sizes, requires_grad = content
        tensor = self._arena.read(offset, size, dtype_of(name), sizes)
        if self._is_elsewhere and content is not self._stays:
            tensor = tensor.to(self._device)
        if not leaf:
            return tensor
        if not requires_grad:
            self.leaves.append(None)
            return tensor
        tensor.requires_grad_()
        self.leaves.append(tensor)
        return tensor.clone()


def cast(value, dtype):
    """A value with the tensors that autocast casts, those of half types and float32, in this dtype."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.dtype in (torch.float16, torch.bfloat16, torch.float32) else value
    if isinstance(value, dict):
        return {key: cast(item, dtype) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(cast(item, dtype) for item in value)
    return value


def written(value, arena):
    """A value as the protocol writes it; tensors go into the arena."""
    return values.written(value, lambda item: _of_torch(item, arena))


def _of_torch(value, arena):
    if isinstance(value, torch.Tensor):
        tensor = value.detach() if value.requires_grad else value
        if tensor.layout is not torch.strided:
            tensor = tensor.to_dense()
        if tensor.is_quantized:
            return {"u": "a quantized tensor"}
        name = NAMES.get(tensor.dtype)
        if name is None:
            return {"u": "a tensor of %s" % tensor.dtype}
        offset, size = arena.write(tensor)
        return {"t": [offset, size, name, list(tensor.shape), False]}
    if isinstance(value, torch.dtype):
        return {"d": NAMES.get(value, str(value))}
    if isinstance(value, torch.device):
        return {"v": str(value)}
    return None
