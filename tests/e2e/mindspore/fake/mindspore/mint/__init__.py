"""mindspore.mint: functions of the names and arguments of torch's."""

import numpy

from .. import Tensor, bool_


def _data(value):
    return value._data if isinstance(value, Tensor) else value


def _like(array, *values):
    """In the dtype of the first tensor."""
    return Tensor(array, next(value.dtype for value in values if isinstance(value, Tensor)))


def _shrunk(gradient, shape):
    """The gradient of what was broadcast to its shape."""
    lead = tuple(range(gradient.ndim - len(shape)))
    kept = tuple(i + len(lead) for i, size in enumerate(shape) if size == 1 != gradient.shape[i + len(lead)])
    return gradient.sum(axis=lead + kept, keepdims=True).reshape(shape)


def _made(array, *sources):
    """A result with a step back to each source that is a tensor."""
    out = _like(array, *[source for source, _ in sources])
    out.steps = tuple((source, (lambda gradient, s=source, f=step: _shrunk(f(gradient), s.shape)))
                      for source, step in sources if isinstance(source, Tensor))
    return out


def add(input, other, *, alpha=1):
    return _made(_data(input) + alpha * _data(other), (input, lambda g: g), (other, lambda g: alpha * g))


def sub(input, other, *, alpha=1):
    return add(input, other, alpha=-alpha)


def mul(input, other):
    return _made(_data(input) * _data(other), (input, lambda g: g * _data(other)), (other, lambda g: g * _data(input)))


def matmul(input, other):
    a, b = _data(input), _data(other)
    return _made(a @ b, (input, lambda g: g @ b.swapaxes(-1, -2)), (other, lambda g: a.swapaxes(-1, -2) @ g))


def eq(input, other):
    return Tensor(_data(input) == _data(other), bool_)


def where(condition, input, other):
    chosen = _data(condition)
    array = numpy.where(chosen, _data(input), _data(other))
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        return Tensor(array)
    return _made(array, (input, lambda g: numpy.where(chosen, g, 0)), (other, lambda g: numpy.where(chosen, 0, g)))


def split(tensor, split_size_or_sections, dim=0):
    array = _data(tensor)
    outputs = []
    for start in range(0, array.shape[dim], split_size_or_sections):
        part = [slice(None)] * array.ndim
        part[dim] = slice(start, start + split_size_or_sections)
        part = tuple(part)

        def back(gradient, part=part):
            whole = numpy.zeros(array.shape, gradient.dtype)
            whole[part] = gradient
            return whole
        outputs.append(_made(array[part], (tensor, back)))
    return tuple(outputs)


from . import nn  # noqa: E402,F401
