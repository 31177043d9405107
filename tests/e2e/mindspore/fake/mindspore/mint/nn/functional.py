import numpy

from .. import _data, _made


def relu(input):
    array = _data(input)
    return _made(numpy.maximum(array, 0), (input, lambda g: numpy.where(array > 0, g, 0)))
