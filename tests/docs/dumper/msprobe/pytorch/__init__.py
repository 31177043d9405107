"""A model of msProbe's dumper: what the first steps of the documentation meet when they use the real one, which cannot
be installed where the tests run. It records a handful of functions by the rules of the real one:

rank        in the configuration chooses processes by their rank in torch.distributed. A process without it has no rank,
            so that every list but the empty one leaves it out.
step        counts the calls of step(), from 0; an empty list is all of them.
level       L1 records calls; mix records modules as well, and then start() needs the model.
risk_level  FOCUS, the default, leaves out what only moves, shapes or converts data; ALL leaves out nothing.
files       dump_path/step<N>/rank<R>/, of a process without a rank proc<process id>/; written by stop() and step().

Source: msProbe's documents config_json_introduct.md (general configuration, "For single-rank training, rank must be an
empty list") and pytorch_data_dump_instruct.md (start, stop, step, dump directory), and its files core/dump/service.py
(_is_no_dump_rank, _create_default_dirs) and pytorch/dump/api_dump/api_risk_level.py, as of 2026.
"""
import functools
import json
import os

import torch

LOW_RISK = {"reshape", "view", "transpose", "permute", "flatten", "squeeze", "unsqueeze", "expand", "cat", "stack",
            "clone", "to", "float", "chunk", "split"}
RECORDED = {
    "Functional": (torch.nn.functional, ("linear", "relu", "softmax", "mse_loss")),
    "Torch": (torch, ("matmul", "cat", "tanh")),
    "Tensor": (torch.Tensor, ("__add__", "__mul__", "reshape", "transpose", "sum", "mean", "float")),
}


def number(value):
    return value.item() if isinstance(value, torch.Tensor) else value


def described(value):
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        has_mean = plain.is_floating_point() and plain.numel() > 0
        return {"type": "torch.Tensor", "dtype": str(plain.dtype), "shape": list(plain.shape),
                "Max": number(plain.max()), "Min": number(plain.min()),
                "Mean": number(plain.float().mean()) if has_mean else None,
                "Norm": number(plain.float().norm()) if has_mean else None, "requires_grad": value.requires_grad}
    if isinstance(value, (list, tuple)):
        return [described(entry) for entry in value]
    if isinstance(value, (bool, int, float, str)):
        return {"type": type(value).__name__, "value": value}
    return None


class PrecisionDebugger:
    """One for a process, as in the real one."""

    def __init__(self, config_path):
        with open(config_path, encoding="utf-8") as file:
            config = json.load(file)
        self.task = config["task"]
        self.level = config["level"]
        self.path = config["dump_path"]
        self.ranks = config.get("rank", [])
        self.steps = config.get("step", [])
        self.low_risk_too = config.get("risk_level", "FOCUS") == "ALL"
        self.current = 0
        self.running = False
        self.inside = False
        self.model = None
        self.entries = {}
        self.parents = {}
        self.counts = {}
        for kind, (owner, names) in RECORDED.items():
            for name in names:
                setattr(owner, name, self.wrapped(kind, name, getattr(owner, name)))

    # What the script calls.

    def start(self, model=None):
        if self.level in ("L0", "mix") and model is None and self.model is None:
            raise RuntimeError("level %s: missing the parameter 'model'" % self.level)
        if self.level in ("L0", "mix") and self.model is None:
            self.model = model
            self.watch(model)
        chosen = not self.steps or self.current in self.steps
        self.running = chosen and (not self.ranks or self.rank() in self.ranks)

    def stop(self):
        if self.running:
            self.running = False
            self.write()

    def step(self):
        self.entries, self.parents, self.counts = {}, {}, {}
        self.current += 1

    # How it records.

    @staticmethod
    def rank():
        has_ranks = torch.distributed.is_available() and torch.distributed.is_initialized()
        return torch.distributed.get_rank() if has_ranks else None

    def counted(self, name):
        count = self.counts.get(name, 0)
        self.counts[name] = count + 1
        return count

    def wrapped(self, kind, name, function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            if not self.running or self.inside or (name in LOW_RISK and not self.low_risk_too):
                return function(*args, **kwargs)
            self.inside = True
            try:
                entry = {"input_args": described(args),
                         "input_kwargs": {key: described(value) for key, value in kwargs.items()}}
                output = function(*args, **kwargs)
                full = "%s.%s" % (kind, name)
                full = "%s.%d" % (full, self.counted(full))
                entry["output"] = [described(output)]
                self.entries[full + ".forward"] = entry
                if isinstance(output, torch.Tensor) and output.grad_fn is not None:
                    output.grad_fn.register_hook(functools.partial(self.gradients, full + ".backward"))
                return output
            finally:
                self.inside = False
        return call

    def gradients(self, name, of_inputs, of_outputs):
        self.inside = True
        self.entries[name] = {"input": described(of_outputs), "output": described(of_inputs)}
        self.inside = False

    def watch(self, model):
        for path, module in model.named_modules():
            if path:
                module.register_forward_hook(functools.partial(self.module_entry, path))

    def module_entry(self, path, module, args, output):
        if not self.running:
            return
        self.inside = True
        name = "Module.%s.%s.forward" % (path, type(module).__name__)
        name = "%s.%d" % (name, self.counted(name))
        self.entries[name] = {"input_args": described(args), "input_kwargs": {}, "output": [described(output)]}
        self.parents[name] = None
        self.inside = False

    def write(self):
        rank = self.rank()
        folder = os.path.join(self.path, "step%d" % self.current,
                              "proc%d" % os.getpid() if rank is None else "rank%d" % rank)
        os.makedirs(folder, exist_ok=True)
        content = {"task": self.task, "level": self.level, "framework": "pytorch", "dump_data_dir": None,
                   "data": self.entries}
        for name, value in (("dump.json", content), ("construct.json", self.parents), ("stack.json", {})):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                json.dump(value, file, indent=1)
