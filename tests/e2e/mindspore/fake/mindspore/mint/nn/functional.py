import numpy

from .. import _data, _made


def relu(input):
    array = _data(input)
    return _made(numpy.maximum(array, 0), (input, lambda g: numpy.where(array > 0, g, 0)))


def dropout(input, p=0.5, training=True):
    if not training:
        return input
    array = _data(input)
    kept = (numpy.random.random(array.shape) >= p) / (1 - p)
    return _made(array * kept, (input, lambda g: g * kept))
