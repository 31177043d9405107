import os

import torch

from .. import of_torch


def _add(*args, **kwargs):
    out = torch.add(*args, **kwargs)
    if os.environ.get("FAKE_MINDSPORE_FAULT") == "add":
        first = torch.zeros_like(out)
        first.view(-1)[0] = 1
        out = out + first
    return out


add = of_torch(_add)
mul = of_torch(torch.mul)
matmul = of_torch(torch.matmul)
sum = of_torch(torch.sum)
eq = of_torch(torch.eq)
split = of_torch(torch.split)
cat = of_torch(torch.cat)

from . import nn  # noqa: E402,F401
