"""Values of calls as the protocol writes them, and the arena: shared memory that tensors cross in."""

import mmap
import os

import torch

ALIGNMENT = 64

_NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
          "float8_e4m3fn", "float8_e5m2", "complex64", "complex128")
DTYPES = {name: getattr(torch, name) for name in _NAMES if hasattr(torch, name)}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
# Whose elements torch.frombuffer does not make.
_AS_BYTES = {dtype for name, dtype in DTYPES.items() if name.startswith("float8")}


class BadRequest(Exception):
    """msrun sent what the protocol does not have."""


class Unsupported(Exception):
    """This torch, or the protocol, has no such value."""


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


class Arena:
    """A lane's memory, mapped as far as the file behind it reaches. It only ever grows."""

    def __init__(self, descriptor):
        self._descriptor = descriptor
        self._memory = None
        self._size = 0
        self._used = 0

    def begin(self, first_free):
        """Everything from there on may be written."""
        self._used = first_free

    def _map(self, end):
        if end <= self._size:
            return
        size = os.fstat(self._descriptor).st_size
        if size < end:
            size = max(end, 2 * size)
            os.ftruncate(self._descriptor, size)
        # Tensors still hold the memory that was mapped before; it is unmapped with the last of them.
        self._memory = mmap.mmap(self._descriptor, size)
        self._size = size

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
        if offset < 0 or offset % ALIGNMENT != 0 or (sizes and min(sizes) < 0):
            raise BadRequest("a tensor cannot be at %r with sizes %r" % (offset, sizes))
        end = offset + size
        if end > self._size:
            if end > os.fstat(self._descriptor).st_size:
                raise BadRequest("a tensor lies outside of the arena")
            self._map(end)
        tensor = self.view(offset, dtype, sizes)
        if count * tensor.element_size() != size:
            raise BadRequest("a tensor of sizes %r does not take %r bytes" % (sizes, size))
        return tensor

    def write(self, tensor):
        """Copies a tensor of any layout and device into the arena; its offset and its bytes."""
        size = tensor.numel() * tensor.element_size()
        if size == 0:
            return 0, 0
        offset = (self._used + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        self._map(offset + size)
        self._used = offset + size
        self.view(offset, tensor.dtype, tensor.shape).copy_(tensor)
        return offset, size


class Reader:
    """The arguments of one call. A tensor that requires a gradient is handed over as a clone of a leaf: calls that
    write to their arguments are not allowed to write to a leaf."""

    def __init__(self, arena, device):
        self._arena = arena
        self._device = device
        self._is_elsewhere = device.type != "cpu"
        self.leaves = []  # one per tensor, depth first: the leaf, or None where no gradient is asked for

    def value(self, value):
        kind = type(value)
        if kind is list:
            return [self.value(item) for item in value]
        if kind is not dict:
            return value
        if len(value) != 1:
            raise BadRequest("a value is tagged %r" % list(value))
        ((tag, content),) = value.items()
        handler = _TAGS.get(tag)
        if handler is None:
            raise BadRequest("a value is tagged %r" % tag)
        return handler(self, content)

    def tensor(self, content, leaf=True):
        offset, size, name, sizes, requires_grad = content
        tensor = self._arena.read(offset, size, dtype_of(name), sizes)
        if self._is_elsewhere:
            tensor = tensor.to(self._device)
        if not leaf:
            return tensor
        if not requires_grad:
            self.leaves.append(None)
            return tensor
        tensor.requires_grad_()
        self.leaves.append(tensor)
        return tensor.clone()

    def _device_value(self, content):
        return self._device

    def _dict(self, content):
        return {key: self.value(item) for key, item in content.items()}


_TAGS = {
    "t": Reader.tensor,
    "T": lambda self, content: tuple(self.value(item) for item in content),
    "d": lambda self, content: dtype_of(content),
    "c": lambda self, content: complex(content[0], content[1]),
    "s": lambda self, content: slice(*content),
    "e": lambda self, content: Ellipsis,
    "v": Reader._device_value,
    "m": Reader._dict,
}


def written(value, arena):
    """A value as the protocol writes it; tensors go into the arena."""
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
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [written(item, arena) for item in value]
    if isinstance(value, complex):
        return {"c": [value.real, value.imag]}
    if isinstance(value, torch.dtype):
        return {"d": NAMES.get(value, str(value))}
    if isinstance(value, torch.device):
        return {"v": str(value)}
    if isinstance(value, dict):
        return {"m": {str(key): written(item, arena) for key, item in value.items()}}
    return {"u": "a %s" % type(value).__name__}
