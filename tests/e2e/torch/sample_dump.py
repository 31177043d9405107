"""Writes torch's own samples of its operators as a recording: a dump of task "tensor" with arguments and, where the
operator has gradients, random gradients of its outputs.

Arguments: a dtype ("float32"), the folder to make, how many samples of each operator at most, and 1 if every floating
argument shall have a gradient, 0 for those that the sample says. Prints how many calls were written.
"""

import json
import os
import sys

import torch

try:
    import torch_samples as samples
except ImportError as error:
    print("this torch has no samples that can be imported: %s" % error)
    sys.exit(77)

MOST_ELEMENTS = 20000


class Untold(Exception):
    """An argument that recordings do not hold."""


class Dump:
    def __init__(self, folder, all_gradients):
        self.data_folder = os.path.join(os.path.abspath(folder), "dump_tensor_data")
        self.folder = folder
        self.all_gradients = all_gradients
        self.data = {}
        os.makedirs(self.data_folder)

    def tensor(self, tensor, stem):
        if tensor.layout is not torch.strided or tensor.is_complex() or tensor.numel() > MOST_ELEMENTS:
            raise Untold
        content = tensor.detach().clone().contiguous()
        torch.save(content, os.path.join(self.data_folder, stem + ".pt"))
        wide = content.double().flatten()
        statistics = [float(f(wide)) if wide.numel() else None for f in (torch.max, torch.min, torch.mean, torch.norm)]
        entry = dict(zip(("Max", "Min", "Mean", "Norm"), statistics))
        entry.update({"type": "torch.Tensor", "dtype": str(tensor.dtype), "shape": list(tensor.shape),
                      "requires_grad": self.wants_gradient(tensor), "data_name": stem + ".pt"})
        return entry

    def wants_gradient(self, tensor):
        return tensor.is_floating_point() and (tensor.requires_grad or self.all_gradients)

    def value(self, value, stem):
        if isinstance(value, torch.Tensor):
            return self.tensor(value, stem)
        if value is None:
            return None
        if type(value) in (bool, int, float, str):
            return {"type": type(value).__name__, "value": value}
        if isinstance(value, (list, tuple)):
            return [self.value(item, "%s.%d" % (stem, i)) for i, item in enumerate(value)]
        if isinstance(value, torch.dtype):
            return {"type": "torch.dtype", "value": str(value)}
        raise Untold

    def leaf(self, value):
        """A copy that collects its gradient where the recording says so."""
        if isinstance(value, torch.Tensor):
            return value.detach().clone().requires_grad_(self.wants_gradient(value))
        if type(value) in (list, tuple):
            return type(value)(self.leaf(item) for item in value)
        return value

    def add(self, base, operator, sample):
        number = 0
        while "%s.%d.forward" % (base, number) in self.data:
            number += 1
        call = "%s.%d" % (base, number)
        arguments = (sample.input,) + tuple(sample.args)
        entry = {
            "input_args": [self.value(a, "%s.forward.input.%d" % (call, i)) for i, a in enumerate(arguments)],
            "input_kwargs": {k: self.value(v, "%s.forward.input.%s" % (call, k)) for k, v in sample.kwargs.items()},
            "output": [],
        }
        backward = self.backward(call, operator, arguments, sample.kwargs) if operator.supports_autograd else None
        self.data[call + ".forward"] = entry
        if backward is not None:
            self.data[call + ".backward"] = {"input": backward, "output": []}

    def backward(self, call, operator, arguments, keywords):
        try:
            leaves = [self.leaf(argument) for argument in arguments]
            if call.startswith("Tensor."):  # may work in place, which leaves do not allow
                leaves = [a * 1 if isinstance(a, torch.Tensor) and a.requires_grad else a for a in leaves]
            result = operator(*leaves, **{key: self.leaf(value) for key, value in keywords.items()})
        except (RuntimeError, TypeError, ValueError):
            raise Untold from None
        outputs = [o for o in (result if isinstance(result, (list, tuple)) else [result]) if isinstance(o, torch.Tensor)]
        if not outputs or not outputs[0].requires_grad:
            return None
        return [self.value(torch.randn_like(o) if o.requires_grad else None, "%s.backward.input.%d" % (call, i))
                for i, o in enumerate(outputs)]

    def write(self):
        with open(os.path.join(self.folder, "dump.json"), "w") as file:
            json.dump({"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": self.data_folder,
                       "data": self.data}, file)


def base_name(operator):
    name = operator.name
    if name.startswith("nn.functional."):
        return "Functional." + name[len("nn.functional."):]
    if name.startswith("__") or (hasattr(torch.Tensor, name) and not hasattr(torch, name)):
        return "Tensor." + name
    return "Torch." + name


def main():
    dtype, folder, per_operator = getattr(torch, sys.argv[1]), sys.argv[2], int(sys.argv[3])
    torch.manual_seed(5)
    dump = Dump(folder, sys.argv[4] == "1")
    for operator in samples.op_db:
        if dtype not in operator.supported_dtypes("cpu"):
            continue
        try:
            inputs = list(operator.sample_inputs("cpu", dtype, requires_grad=operator.supports_autograd))
        except Exception:  # samples of this build of torch need what is not there
            continue
        # The first ones of an operator are much alike.
        for sample in inputs[::max(1, len(inputs) // per_operator)][:per_operator]:
            try:
                dump.add(base_name(operator), operator, sample)
            except (Untold, NotImplementedError):  # the latter of tensors of other layouts
                continue
    dump.write()
    print(len(dump.data))


main()
