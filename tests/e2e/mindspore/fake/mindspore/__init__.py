"""As much of MindSpore as msrun's worker calls, made of torch: MindSpore itself is not needed to test the worker.

FAKE_MINDSPORE_FAULT: a function of mint whose results are off by one in their first element.
"""

import torch

__version__ = "2.7.0.fake"
PYNATIVE_MODE = 1


class DType:
    def __init__(self, text, torch_dtype):
        self.text = text
        self.torch = torch_dtype

    def __str__(self):
        return self.text

    def __eq__(self, other):
        return isinstance(other, DType) and self.text == other.text

    def __hash__(self):
        return hash(self.text)


bool_ = DType("Bool", torch.bool)
uint8 = DType("UInt8", torch.uint8)
int8 = DType("Int8", torch.int8)
int16 = DType("Int16", torch.int16)
int32 = DType("Int32", torch.int32)
int64 = DType("Int64", torch.int64)
float16 = DType("Float16", torch.float16)
bfloat16 = DType("BFloat16", torch.bfloat16)
float32 = DType("Float32", torch.float32)
float64 = DType("Float64", torch.float64)
_ALL = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64)


class Tensor:
    def __init__(self, data, dtype=None):
        if isinstance(data, torch.Tensor):
            self.data = data
        else:
            self.data = torch.as_tensor(data)
            if dtype is not None:
                self.data = self.data.to(dtype.torch)

    @property
    def dtype(self):
        return next(dtype for dtype in _ALL if dtype.torch == self.data.dtype)

    @property
    def shape(self):
        return tuple(self.data.shape)

    def astype(self, dtype):
        return Tensor(self.data.to(dtype.torch))

    def asnumpy(self):
        return self.data.detach().numpy()

    def copy(self):
        return Tensor(self.data.clone())

    def sub(self, other):
        return _wrapped(self.data - _plain(other))

    def item(self):
        return self.data.item()


def _plain(value):
    if isinstance(value, Tensor):
        return value.data
    if isinstance(value, DType):
        return value.torch
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item) for item in value)
    return value


def _wrapped(value):
    if isinstance(value, torch.Tensor):
        return Tensor(value)
    if isinstance(value, (list, tuple)):
        return tuple(_wrapped(item) for item in value)
    return value


def of_torch(function):
    def call(*args, **kwargs):
        return _wrapped(function(*_plain(args), **{key: _plain(value) for key, value in kwargs.items()}))
    return call


def set_context(mode, device_target, device_id):
    if device_target != "CPU":
        raise RuntimeError("the fake has no %s" % device_target)


from . import mint, ops  # noqa: E402,F401
