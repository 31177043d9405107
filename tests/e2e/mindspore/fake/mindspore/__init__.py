"""As much of MindSpore as msrun's worker and its tests use, made of NumPy: what is tested with it is the worker and what
msrun makes of it, not MindSpore.

With FAKE_MINDSPORE_DEVICES=N there are N devices of the kind Ascend, else none.
"""

import os

import numpy

__version__ = "2.7.0.fake"
PYNATIVE_MODE = 1


class DType:
    """numpy_type holds the elements; those of bfloat16 are float32 without the lower half of their bits."""

    def __init__(self, text, numpy_type):
        self.text = text
        self.numpy_type = numpy.dtype(numpy_type)

    def __str__(self):
        return self.text


bool_ = DType("Bool", numpy.bool_)
uint8 = DType("UInt8", numpy.uint8)
int8 = DType("Int8", numpy.int8)
int16 = DType("Int16", numpy.int16)
int32 = DType("Int32", numpy.int32)
int64 = DType("Int64", numpy.int64)
float16 = DType("Float16", numpy.float16)
bfloat16 = DType("BFloat16", numpy.float32)
float32 = DType("Float32", numpy.float32)
float64 = DType("Float64", numpy.float64)
complex64 = DType("Complex64", numpy.complex64)
complex128 = DType("Complex128", numpy.complex128)
_BY_NUMPY = {dtype.numpy_type: dtype for dtype in (bool_, uint8, int8, int16, int32, int64, float16, float32, float64,
                                                   complex64, complex128)}


def _rounded_to_bfloat16(array):
    bits = numpy.ascontiguousarray(array, numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(numpy.uint32).view(numpy.float32)


class Tensor:
    """steps: of a result, (input, function from the gradient of this tensor to that of the input)."""

    def __init__(self, data, dtype=None, steps=()):
        self._data = numpy.array(data)
        self.dtype = _BY_NUMPY[self._data.dtype] if dtype is None else dtype
        if dtype is bfloat16:
            self._data = _rounded_to_bfloat16(self._data)
        elif dtype is not None:
            self._data = self._data.astype(dtype.numpy_type)
        self.steps = steps

    @property
    def shape(self):
        return self._data.shape

    def astype(self, dtype):
        return Tensor(self._data, dtype)

    def asnumpy(self):
        if self.dtype is bfloat16:
            raise TypeError("For asnumpy, the type of tensor cannot be BFloat16")
        return self._data

    def __getitem__(self, index):
        return Tensor(self._data[index], self.dtype)

    def sub(self, other):
        return mint.sub(self, other)

    def sub_(self, other):
        self._data = self._data - other._data
        return self


def set_context(mode=None):
    assert mode == PYNATIVE_MODE


def get_context(name):
    return {"deterministic": "OFF", "conv_allow_hf32": os.environ.get("FAKE_MINDSPORE_CONV_HF32", "")}[name]


def set_device(target, index):
    devices = hal.device_count(target) if target != "CPU" else 1
    if index >= devices:
        raise RuntimeError("Unsupported device target %s, device id %d" % (target, index))


def set_seed(seed):
    numpy.random.seed(seed)


class hal:  # pylint: disable=invalid-name
    @staticmethod
    def device_count(target):
        return int(os.environ.get("FAKE_MINDSPORE_DEVICES", "0")) if target == "Ascend" else 0

    @staticmethod
    def is_available(target):
        return hal.device_count(target) > 0

    @staticmethod
    def get_device_name(index, target):
        return "fake %s %d" % (target, index)

    @staticmethod
    def synchronize():
        pass


from . import mint, ops  # noqa: E402,F401
