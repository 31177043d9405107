"""Values of calls as MindSpore has them, and its tensors in the arena, which cross it as NumPy's arrays."""

import mindspore
import numpy

from msrun_worker import values
from msrun_worker.values import BadRequest, Unsupported

# msrun's name, MindSpore's, and NumPy's type of the same elements. Of bfloat16, which NumPy lacks, the bits cross.
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
    "complex64": ("complex64", numpy.complex64),
    "complex128": ("complex128", numpy.complex128),
}


def dtype_of(name):
    found = getattr(mindspore, _DTYPES[name][0], None) if name in _DTYPES else None
    if found is None:
        raise Unsupported("mindspore %s has no dtype %s." % (mindspore.__version__, name))
    return found


def _name_of(dtype):
    """msrun's name of a dtype of MindSpore; None if it has none, or if it is something else."""
    for name, (own, _) in _DTYPES.items():
        known = getattr(mindspore, own, None)
        if known is not None and type(dtype) is type(known) and dtype == known:
            return name
    return None


class Arena(values.Memory):
    """A lane's memory as arrays."""

    def read(self, offset, size, name, sizes):
        """An array of its own memory: MindSpore may go on using that of an array it was given."""
        element = numpy.dtype(_DTYPES[name][1])
        if sizes and min(sizes) < 0:
            raise BadRequest("a tensor cannot have sizes %r" % sizes)
        count = 1
        for length in sizes:
            count *= length
        if count * element.itemsize != size:
            raise BadRequest("a tensor of sizes %r does not take %r bytes" % (sizes, size))
        if count == 0:
            return numpy.empty(sizes, element)
        self._show(offset, size, sizes)
        return numpy.frombuffer(self._memory, element, count, offset).reshape(sizes).copy()

    def write(self, array):
        """Copies an array into the arena; its offset and its bytes."""
        if array.nbytes == 0:
            return 0, 0
        offset = self._reserve(array.nbytes)
        numpy.frombuffer(self._memory, array.dtype, array.size, offset)[:] = array.reshape(-1)
        return offset, array.nbytes


class Reader(values.Reader):
    """The arguments of one call."""

    def __init__(self, arena, device):
        super().__init__()
        self._arena = arena
        self._device = device

    def dtype(self, name):
        return dtype_of(name)

    def device(self, name):
        return self._device.target

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


def written(value, arena):
    """A value as the protocol writes it; tensors go into the arena."""
    return values.written(value, lambda item: _of_mindspore(item, arena))


def _of_mindspore(value, arena):
    if isinstance(value, mindspore.Tensor):
        name = _name_of(value.dtype)
        if name is None:
            return {"u": "a tensor of %s" % value.dtype}
        if name == "bfloat16":
            wide = numpy.ascontiguousarray(value.astype(mindspore.float32).asnumpy())
            array = (wide.view(numpy.uint32) >> 16).astype(numpy.uint16)
        else:
            array = value.asnumpy()
        offset, size = arena.write(array)
        return {"t": [offset, size, name, list(value.shape), False]}
    name = _name_of(value)
    return None if name is None else {"d": name}
