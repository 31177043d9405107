import torch

from ... import of_torch

relu = of_torch(torch.nn.functional.relu)
softmax = of_torch(torch.nn.functional.softmax)
