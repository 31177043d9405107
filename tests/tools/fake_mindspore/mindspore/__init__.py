"""As much of MindSpore as generated scripts use, computed by torch on the CPU in the dtype of the tensors: a device for
tests, which every machine with torch has."""
import types

import torch

_NAMES = ["bool_", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64", "bfloat16"]


class DType:
    def __init__(self, name):
        self.torch = getattr(torch, name.rstrip("_"))
        self._name = name.rstrip("_").capitalize()

    def __str__(self):
        return self._name


_DTYPES = {name: DType(name) for name in _NAMES}
globals().update(_DTYPES)


def _dtype_of(tensor):
    return next(dtype for dtype in _DTYPES.values() if dtype.torch == tensor.dtype)


class Tensor:
    def __init__(self, value):
        self.value = value if isinstance(value, torch.Tensor) else torch.from_numpy(value)

    @property
    def dtype(self):
        return _dtype_of(self.value)

    @property
    def shape(self):
        return tuple(self.value.shape)

    def astype(self, dtype):
        return Tensor(self.value.to(dtype.torch))

    def asnumpy(self):
        return self.value.detach().numpy()


def _unwrapped(value):
    if isinstance(value, Tensor):
        return value.value
    if isinstance(value, DType):
        return value.torch
    if isinstance(value, (list, tuple)):
        return type(value)(_unwrapped(entry) for entry in value)
    return value


def _wrapped(value):
    if isinstance(value, torch.Tensor):
        return Tensor(value)
    return tuple(_wrapped(entry) for entry in value) if isinstance(value, (list, tuple)) else value


def _function(function):
    def call(*args, **kwargs):
        return _wrapped(function(*_unwrapped(args), **{key: _unwrapped(value) for key, value in kwargs.items()}))
    return call


class _Namespace:
    def __init__(self, root):
        self._root = root

    def __getattr__(self, name):
        found = getattr(self._root, name, None)
        return None if found is None else _function(found)


class _GradOperation:
    def __init__(self, get_all, sens_param):
        assert get_all and sens_param

    def __call__(self, function):
        def gradients(*inputs):
            *values, sens = inputs
            places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
            leaves = {i: values[i].value.detach().clone() for i in places}
            for leaf in leaves.values():
                leaf.requires_grad_(leaf.is_floating_point())
            output = function(*[Tensor(leaves[i]) if i in leaves else value for i, value in enumerate(values)])
            outputs = output if isinstance(output, tuple) else (output,)
            senses = sens if isinstance(sens, tuple) else (sens,)
            pairs = [(out.value, given.value) for out, given in zip(outputs, senses) if out.value.requires_grad]
            wanted = [leaf for leaf in leaves.values() if leaf.requires_grad]
            found = iter(torch.autograd.grad([out for out, _ in pairs], wanted, [given for _, given in pairs]))
            return tuple(Tensor(next(found)) if leaf.requires_grad else Tensor(torch.zeros_like(leaf))
                         for leaf in leaves.values())
        return gradients


mint = _Namespace(torch)
ops = types.SimpleNamespace(GradOperation=_GradOperation)
for _name in dir(torch.Tensor):
    if not hasattr(Tensor, _name):
        setattr(Tensor, _name, _function(getattr(torch.Tensor, _name)) if callable(getattr(torch.Tensor, _name)) else None)

_context = {"device_target": "CPU"}


def set_context(**settings):
    _context.update(settings)


def get_context(key):
    return _context[key]
