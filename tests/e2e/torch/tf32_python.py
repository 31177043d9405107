"""A Python whose processor poses as a GPU: conv2d and linear cut the float32 operands of their products to TF32, forward
and backward, as tensor cores do. The settings say that convolutions may (MSRUN_TEST_TF32=false: that they may not), and
products may not.
"""

import os
import sys

import worker_program


def cut(tensor):
    import torch
    if tensor.dtype is not torch.float32:
        return tensor
    return (tensor.detach().contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32)


def main():
    words = worker_program.words()
    sys.path.insert(0, os.path.dirname(words[0]))
    import torch
    from msrun_torch_worker import devices
    functional = torch.nn.functional
    conv2d = functional.conv2d

    class Conv2d(torch.autograd.Function):
        @staticmethod
        def forward(context, x, weight, how):
            context.save_for_backward(x, weight)
            context.how = how
            return conv2d(cut(x), cut(weight), None, *how)

        @staticmethod
        def backward(context, gradient):
            x, weight = context.saved_tensors
            with torch.enable_grad():
                leaves = [cut(x).requires_grad_(), cut(weight).requires_grad_()]
                out = conv2d(*leaves, None, *context.how)
            return (*torch.autograd.grad(out, leaves, cut(gradient)), None)

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(context, x, weight):
            context.save_for_backward(x, weight)
            return cut(x) @ cut(weight).t()

        @staticmethod
        def backward(context, gradient):
            x, weight = context.saved_tensors
            rows = cut(gradient).reshape(-1, weight.shape[0])
            return cut(gradient) @ cut(weight), rows.t() @ cut(x).reshape(-1, weight.shape[1])

    def rounding_conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        result = Conv2d.apply(x, weight, (stride, padding, dilation, groups))
        return result if bias is None else result + bias.reshape(1, -1, 1, 1)

    def rounding_linear(x, weight, bias=None):
        result = Linear.apply(x, weight)
        return result if bias is None else result + bias

    functional.conv2d = rounding_conv2d
    functional.linear = rounding_linear

    class Gpu(devices.Cpu):
        def __init__(self, kind, index):
            super().__init__("cpu", index)

        def settings(self):
            return {"cudnn.allow_tf32": os.environ.get("MSRUN_TEST_TF32") != "false", "cuda.matmul.allow_tf32": False}
    devices.KINDS = dict(devices.KINDS, cuda=Gpu)
    worker_program.run(words)


main()
