import torch

from . import Tensor, _wrapped


def zeros_like(tensor):
    return Tensor(torch.zeros_like(tensor.data))


class GradOperation:
    def __init__(self, get_all=False, sens_param=False):
        assert get_all and sens_param

    def __call__(self, function):
        def derivative(*inputs):
            *tensors, sensitivity = inputs
            leaves = [Tensor(tensor.data.detach().clone().requires_grad_()) for tensor in tensors]
            out = function(*leaves)
            outputs = list(out) if isinstance(out, tuple) else [out]
            upstream = list(sensitivity) if isinstance(sensitivity, tuple) else [sensitivity]
            pairs = [(o.data, s.data) for o, s in zip(outputs, upstream) if o.data.requires_grad]
            found = torch.autograd.grad([o for o, _ in pairs], [leaf.data for leaf in leaves], [s for _, s in pairs])
            return _wrapped(found)
        return derivative
