"""Values of calls as the protocol writes them, as tensors of MindSpore, and the arena: shared memory that they cross
in."""

import mmap
import os

import mindspore
import numpy

ALIGNMENT = 64

# msrun's name, MindSpore's, and numpy's type of the same elements. Of bfloat16, which numpy lacks, the bits cross.
_DTYPES = {
    "bool": ("bool_", numpy.bool_),
    "uint8": ("uint8", numpy.uint8),
    "int8": ("int8", numpy.int8),
    "int16": ("int16", numpy.int16),
    "int32": ("int32", numpy.int32),
    "int64": ("int64", numpy.int64),
    "float16": ("float16", numpy.float16),
    "bfloat16": ("bfloat16", numpy.uint16),
    "float32": ("float32", numpy.float32),
    "float64": ("float64", numpy.float64),
}


class BadRequest(Exception):
    """msrun sent what the protocol does not have."""


class Unsupported(Exception):
    """This MindSpore, or the protocol, has no such value."""


def dtype_of(name):
    found = getattr(mindspore, _DTYPES[name][0], None) if name in _DTYPES else None
    if found is None:
        raise Unsupported("mindspore %s has no dtype %s." % (mindspore.__version__, name))
    return found


def _name_of(dtype):
    """msrun's name of a dtype of MindSpore; None if it has none."""
    for name in _DTYPES:
        if dtype == getattr(mindspore, _DTYPES[name][0], None):
            return name
    return None


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
        self._memory = mmap.mmap(self._descriptor, size)
        self._size = size

    def read(self, offset, size, name, sizes):
        """An array of its own memory: MindSpore may go on using that of an array it was given."""
        element = numpy.dtype(_DTYPES[name][1])
        if any(length < 0 for length in sizes):
            raise BadRequest("a tensor cannot have sizes %r" % sizes)
        count = int(numpy.prod(sizes, dtype=numpy.int64))
        if count * element.itemsize != size:
            raise BadRequest("a tensor of sizes %r does not take %r bytes" % (sizes, size))
        if count == 0:
            return numpy.empty(sizes, element)
        if offset < 0 or offset % ALIGNMENT != 0 or offset + size > os.fstat(self._descriptor).st_size:
            raise BadRequest("a tensor lies outside of the arena")
        self._map(offset + size)
        return numpy.frombuffer(self._memory, element, count, offset).reshape(sizes).copy()

    def write(self, array):
        """Copies an array into the arena; its offset and its bytes."""
        if array.nbytes == 0:
            return 0, 0
        offset = (self._used + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        self._map(offset + array.nbytes)
        self._used = offset + array.nbytes
        target = numpy.frombuffer(self._memory, array.dtype, array.size, offset)
        target[:] = array.reshape(-1)
        return offset, array.nbytes


class Reader:
    """The arguments of one call."""

    def __init__(self, arena):
        self._arena = arena
        self.leaves = []  # one per tensor, depth first: the tensor, or None where no gradient is asked for

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
        dtype = dtype_of(name)
        array = self._arena.read(offset, size, name, sizes)
        if name == "bfloat16":
            wide = (array.astype(numpy.uint32) << 16).view(numpy.float32)
            tensor = mindspore.Tensor(wide).astype(dtype)
        else:
            tensor = mindspore.Tensor(array, dtype)
        if leaf:
            self.leaves.append(tensor if requires_grad else None)
        return tensor


_TAGS = {
    "t": Reader.tensor,
    "T": lambda self, content: tuple(self.value(item) for item in content),
    "d": lambda self, content: dtype_of(content),
    "s": lambda self, content: slice(*content),
    "e": lambda self, content: Ellipsis,
    "m": lambda self, content: {key: self.value(item) for key, item in content.items()},
}


def written(value, arena):
    """A value as the protocol writes it; tensors go into the arena."""
    if isinstance(value, mindspore.Tensor):
        name = _name_of(value.dtype)
        if name is None:
            return {"u": "a tensor of %s" % value.dtype}
        if name == "bfloat16":
            wide = value.astype(mindspore.float32).asnumpy()
            array = (numpy.ascontiguousarray(wide).view(numpy.uint32) >> 16).astype(numpy.uint16)
        else:
            array = value.asnumpy()
        offset, size = arena.write(array)
        return {"t": [offset, size, name, list(value.shape), False]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [written(item, arena) for item in value]
    name = _name_of(value)
    return {"d": name} if name is not None else {"u": "a %s" % type(value).__name__}
