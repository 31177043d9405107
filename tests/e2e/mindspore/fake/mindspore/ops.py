"""mindspore.ops: what differentiates."""

import numpy

from . import Tensor


def zeros_like(tensor):
    return Tensor(numpy.zeros(tensor.shape), tensor.dtype)


def _ordered(tensor, seen, order):
    """Inputs before what is made of them."""
    if id(tensor) in seen:
        return
    seen.add(id(tensor))
    for source, _ in tensor.steps:
        _ordered(source, seen, order)
    order.append(tensor)


class GradOperation:
    def __init__(self, get_all=False, sens_param=False):
        assert get_all and sens_param

    def __call__(self, function):
        def derivative(*inputs):
            *leaves, sensitivity = inputs
            out = function(*leaves)
            several = isinstance(out, tuple)
            assert several == isinstance(sensitivity, tuple)
            found = {}
            order = []
            for output, upstream in zip(out if several else (out,), sensitivity if several else (sensitivity,)):
                assert output.dtype is upstream.dtype and output.shape == upstream.shape
                found[id(output)] = upstream._data
                _ordered(output, {id(tensor) for tensor in order}, order)
            for tensor in reversed(order):
                for source, step in tensor.steps if id(tensor) in found else ():
                    found[id(source)] = found.get(id(source), 0) + step(found[id(tensor)])
            return tuple(Tensor(found.get(id(leaf), numpy.zeros(leaf.shape)), leaf.dtype) for leaf in leaves)
        return derivative
