"""Values of calls as the protocol writes them, and the shared memory that tensors cross in."""

import mmap
import os

ALIGNMENT = 64


class BadRequest(Exception):
    """msrun sent what the protocol does not have."""


class Unsupported(Exception):
    """The framework, or the protocol, has no such value."""


class TooLarge(Exception):
    """The results of a call take more bytes than calls may take."""

    def __init__(self, size):
        super().__init__("its results take %d bytes" % size)
        self.size = size


class Memory:
    """A lane's memory, mapped as far as the file behind it reaches. It only ever grows. limit: bytes that the results of
    one call may take; 0: as many as the host has."""

    def __init__(self, descriptor, limit=0):
        self._descriptor = descriptor
        self.limit = limit
        self._memory = None
        self._size = 0
        self._first = 0
        self._used = 0

    def begin(self, first_free):
        """Everything from there on may be written."""
        self._first = self._used = first_free

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

    def _show(self, offset, size, sizes):
        """Maps what a tensor of those sizes has been written to."""
        if offset < 0 or offset % ALIGNMENT != 0 or (sizes and min(sizes) < 0):
            raise BadRequest("a tensor cannot be at %r with sizes %r" % (offset, sizes))
        end = offset + size
        if end > self._size:
            if end > os.fstat(self._descriptor).st_size:
                raise BadRequest("a tensor lies outside of the arena")
            self._map(end)

    def _reserve(self, size):
        """The offset of so many bytes that may be written, which are mapped. Throws TooLarge."""
        offset = (self._used + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        # A view of a few bytes, such as an expanded tensor, is as large here as it says.
        if 0 < self.limit < offset + size - self._first:
            raise TooLarge(offset + size - self._first)
        self._map(offset + size)
        self._used = offset + size
        return offset


class Reader:
    """The arguments of one call. A framework's reader has `tensor(content)`, `dtype(name)` and `device(name)`."""

    def __init__(self):
        self.leaves = []  # one per tensor, depth first: the leaf, or None where no gradient is asked for

    def arguments(self, request):
        """The positional arguments and those with a name."""
        if request["k"].get("generator") is not None:
            raise Unsupported("A recorded generator cannot be rebuilt.")
        args = [self.value(item) for item in request["a"]]
        kwargs = {key: self.value(item) for key, item in request["k"].items()}
        # A list as index would pick elements; what was recorded is x[1, 2].
        if request["f"] in ("__getitem__", "__setitem__") and len(args) > 1 and isinstance(args[1], list):
            args[1] = tuple(args[1])
        return args, kwargs

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

    def _dict(self, content):
        return {key: self.value(item) for key, item in content.items()}


_TAGS = {
    "t": lambda self, content: self.tensor(content),
    "T": lambda self, content: tuple(self.value(item) for item in content),
    "d": lambda self, content: self.dtype(content),
    "c": lambda self, content: complex(content[0], content[1]),
    "s": lambda self, content: slice(*content),
    "e": lambda self, content: Ellipsis,
    "v": lambda self, content: self.device(content),
    "m": Reader._dict,
}


def written(value, of_framework):
    """A value as the protocol writes it. of_framework writes tensors and what else only the framework knows, and returns
    None for anything else."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [written(item, of_framework) for item in value]
    if isinstance(value, complex):
        return {"c": [value.real, value.imag]}
    if isinstance(value, dict):
        return {"m": {str(key): written(item, of_framework) for key, item in value.items()}}
    found = of_framework(value)
    return {"u": "a %s" % type(value).__name__} if found is None else found
