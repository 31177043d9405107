#!/usr/bin/env python3
"""Records one training step of four small models as msProbe's dumper does at level L1 with the task statistics.

    tests/data/generators/models.py FOLDER

writes FOLDER/{detector,diffusion,ppo,ssm}_{bf16,fp32}/dump.json; the first of each under autocast to bfloat16. Made with
torch 1.13 on the CPU. What is recorded of a backward is the gradients of the results.
"""

import json
import math
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

# Neither computes anything, or msProbe does not wrap it.
_LEFT_OUT = {"size", "dim", "numel", "item", "backward", "requires_grad_", "detach", "stride", "is_floating_point",
             "register_hook", "type", "randn", "rand", "randint", "tolist", "data_ptr", "is_contiguous", "clone"}


def _statistics(tensor):
    numbers = tensor.detach()
    if tensor.numel() == 0:
        return {"Max": None, "Min": None, "Mean": None, "Norm": None}
    if tensor.dtype is torch.bool:
        return {"Max": bool(numbers.any()), "Min": bool(numbers.all()), "Mean": None, "Norm": None}
    wide = numbers.double()
    found = {"Max": numbers.max().item(), "Min": numbers.min().item(), "Mean": None, "Norm": None}
    if tensor.is_floating_point():
        found.update(Mean=wide.mean().item(), Norm=wide.norm().item())
    return found


def _described(value):
    if isinstance(value, torch.Tensor):
        return {"type": "torch.Tensor", "dtype": str(value.dtype), "shape": list(value.shape), **_statistics(value),
                "requires_grad": value.requires_grad}
    if isinstance(value, torch.Size):
        return {"type": "torch.Size", "value": list(value)}
    if isinstance(value, (list, tuple)):
        return [_described(item) for item in value]
    if isinstance(value, torch.dtype):
        return {"type": "torch.dtype", "value": str(value)}
    if isinstance(value, slice):
        return {"type": "slice", "value": [value.start, value.stop, value.step]}
    if value is Ellipsis:
        return {"type": "ellipsis", "value": "..."}
    if value is None:
        return None
    return {"type": type(value).__name__, "value": value}


class Recorder(torch.overrides.TorchFunctionMode):
    """Everything that is called while it is active; inner calls of a call are not seen."""

    def __init__(self):
        self.data = {}
        self._counts = {}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        kind = self._kind(function)
        recorded = kind and [_described(arg) for arg in args]
        recorded_kwargs = {key: _described(value) for key, value in kwargs.items() if key != "generator"}
        result = function(*args, **kwargs)
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        if not kind or not all(isinstance(item, torch.Tensor) for item in results):
            return result
        name = "%s.%s" % (kind, function.__name__)
        number = self._counts[name] = self._counts.get(name, -1) + 1
        call = "%s.%d" % (name, number)
        self.data[call + ".forward"] = {"input_args": recorded, "input_kwargs": recorded_kwargs,
                                        "output": [_described(item) for item in results]}
        self._watch(call, results)
        return result

    @staticmethod
    def _kind(function):
        name = getattr(function, "__name__", "")
        if name in _LEFT_OUT or name == "__get__":
            return None
        for kind, namespace in (("Functional", F), ("Tensor", torch.Tensor), ("Torch", torch)):
            if getattr(namespace, name, None) is function:
                return kind
        return "Functional" if name and hasattr(F, name) else None

    def _watch(self, call, results):
        gradients = [None] * len(results)

        def keep(place, gradient):
            gradients[place] = gradient.detach()
            self.data[call + ".backward"] = {"input": [_described(item) for item in gradients], "output": []}

        for place, item in enumerate(results):
            if item.requires_grad and item.grad_fn is not None:
                item.register_hook(lambda gradient, place=place: keep(place, gradient))


class Diffusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.norms = nn.ModuleList([nn.GroupNorm(4, 16), nn.GroupNorm(4, 32), nn.GroupNorm(4, 32)])
        self.down = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.qkv = nn.Conv2d(32, 96, 1)
        self.up = nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1)
        self.last = nn.Conv2d(32, 3, 3, padding=1)

    def forward(self, x, t):
        angles = t.float()[:, None] * torch.exp(torch.arange(8) * (-math.log(1e4) / 8))
        time = self.time(torch.cat([angles.sin(), angles.cos()], dim=-1))
        first = self.first(x)
        h = self.down(F.silu(self.norms[0](first.float()))) + time[:, :, None, None]
        q, k, v = self.qkv(self.norms[1](h.float())).flatten(2).chunk(3, dim=1)
        weights = torch.softmax(torch.bmm(q.transpose(1, 2), k) * q.shape[1] ** -0.5, dim=-1)
        h = h + torch.bmm(v, weights.transpose(1, 2)).reshape(h.shape)
        h = F.interpolate(F.avg_pool2d(self.norms[2](h.float()), 2), scale_factor=2.0, mode="nearest") + h
        return self.last(torch.cat([self.up(F.silu(h.float())), first], dim=1))


def diffusion():
    model = Diffusion()
    x, noise = torch.randn(2, 3, 16, 16), torch.randn(2, 3, 16, 16)
    t = torch.tensor([3, 41])

    def loss():
        kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 50), dim=0)[t].reshape(-1, 1, 1, 1)
        return F.mse_loss(model(kept.sqrt() * x + (1 - kept).sqrt() * noise, t).float(), noise)
    return loss


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.deep = nn.Sequential(nn.Conv2d(16, 24, 3, padding=1), nn.LeakyReLU(0.1), nn.MaxPool2d(2))
        self.side = nn.Conv2d(16, 24, 1)
        self.classes = nn.Conv2d(24, 5, 3, padding=1)
        self.boxes = nn.Conv2d(24, 4, 3, padding=1)

    def forward(self, image):
        stem = self.stem(image)
        merged = self.side(stem) + F.interpolate(self.deep(stem), size=stem.shape[-2:], mode="bilinear",
                                                 align_corners=False)
        return self.classes(merged), self.boxes(merged)


def detector():
    model = Detector()
    image = torch.randn(2, 3, 24, 24)
    wanted = torch.tensor([[[2.0, 3.0, 14.0, 15.0]], [[5.0, 1.0, 20.0, 12.0]]])

    def loss():
        scores, boxes = model(image)
        scores = scores.permute(0, 2, 3, 1).flatten(1, 2).float()
        boxes = boxes.permute(0, 2, 3, 1).flatten(1, 2).float()
        rows, columns = torch.meshgrid(torch.arange(12) * 2.0 + 1, torch.arange(12) * 2.0 + 1, indexing="ij")
        centres = torch.stack([columns.flatten(), rows.flatten()], dim=-1)
        sides = boxes.clamp(max=3.0).exp()
        decoded = torch.cat([centres - sides[..., :2], centres + sides[..., 2:]], dim=-1)
        corner = torch.maximum(decoded[..., :2], wanted[..., :2])
        overlap = (torch.minimum(decoded[..., 2:], wanted[..., 2:]) - corner).clamp(min=0.0).prod(dim=-1)
        areas = (decoded[..., 2:] - decoded[..., :2]).prod(dim=-1) + (wanted[..., 2:] - wanted[..., :2]).prod(dim=-1)
        union = overlap / (areas - overlap).clamp(min=1e-6)
        best = union.topk(6, dim=1)
        labels = F.one_hot(torch.zeros(2, 144, dtype=torch.int64).scatter(1, best.indices, 2), 5).float()
        probable = torch.sigmoid(scores)
        hard = (1 - (probable * labels + (1 - probable) * (1 - labels))).pow(2)
        focal = (hard * F.binary_cross_entropy_with_logits(scores, labels, reduction="none")).sum() / labels.sum()
        chosen = decoded.gather(1, best.indices.unsqueeze(-1).expand(-1, -1, 4))
        return focal + F.smooth_l1_loss(chosen, wanted.expand_as(chosen)) + (1 - best.values).mean()
    return loss


class Scan(nn.Module):
    """A selective state space."""

    def __init__(self, width=24, states=8):
        super().__init__()
        self.into = nn.Linear(width, 2 * width)
        self.along = nn.Conv1d(width, width, 4, padding=3, groups=width)
        self.select = nn.Linear(width, 2 * states + width)
        self.decay = nn.Parameter(torch.log(torch.arange(1, states + 1).float()).repeat(width, 1))
        self.skip = nn.Parameter(torch.ones(width))
        self.out = nn.Linear(width, width, bias=False)
        self.scale = nn.Parameter(torch.ones(width))
        self.states = states

    def forward(self, x):
        x = x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-6) * self.scale
        u, gate = self.into(x).chunk(2, dim=-1)
        u = F.silu(self.along(u.transpose(1, 2))[..., :x.shape[1]].transpose(1, 2))
        b, c, step = self.select(u).split([self.states, self.states, u.shape[-1]], dim=-1)
        step = F.softplus(step.float())
        kept = torch.exp(step.unsqueeze(-1) * -torch.exp(self.decay))
        added = (step * u.float()).unsqueeze(-1) * b.float().unsqueeze(2)
        state = torch.zeros_like(added[:, 0])
        states = []
        for i in range(x.shape[1]):
            state = kept[:, i] * state + added[:, i]
            states.append(state)
        y = torch.einsum("blds,bls->bld", torch.stack(states, dim=1), c.float()) + u * self.skip
        return self.out(y.to(gate.dtype) * torch.sigmoid(gate))


def ssm():
    model = nn.ModuleList([nn.Embedding(50, 24), Scan(), nn.Linear(24, 50)])
    tokens = torch.randint(50, (3, 12))

    def loss():
        x = model[0](tokens)
        logits = model[2](x + model[1](x)).float()
        return F.cross_entropy(logits[:, :-1].reshape(-1, 50), tokens[:, 1:].reshape(-1), label_smoothing=0.1)
    return loss


def ppo():
    policy = nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 6))
    critic = nn.Sequential(nn.Linear(12, 32), nn.ELU(), nn.Linear(32, 1))
    seen, actions, rewards = torch.randn(40, 12), torch.randint(6, (40,)), torch.randn(40)
    before = F.log_softmax(policy(seen), dim=-1).detach() + 0.1 * torch.randn(40, 6)

    def loss():
        values = critic(seen).squeeze(-1).float()
        with torch.no_grad():
            errors = rewards[:-1] + 0.99 * values[1:] - values[:-1]
            advantages = torch.flip(torch.cumsum(torch.flip(errors, [0]), dim=0), [0])
            returns = advantages + values[:-1]
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        logs = F.log_softmax(policy(seen[:-1]).float(), dim=-1)
        taken = logs.gather(1, actions[:-1].unsqueeze(1)).squeeze(1)
        ratio = torch.exp(taken - before[:-1].gather(1, actions[:-1].unsqueeze(1)).squeeze(1))
        gained = torch.min(ratio * advantages, torch.clamp(ratio, 0.8, 1.2) * advantages)
        entropy = -(logs.exp() * logs).sum(dim=-1)
        return -gained.mean() + 0.5 * F.huber_loss(values[:-1], returns) - 0.01 * entropy.mean()
    return loss


def record(make, autocast):
    torch.manual_seed(0)
    step = make()
    recorder = Recorder()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        with recorder:
            loss = step()
    loss.backward()
    return {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": recorder.data}


def main():
    torch.set_num_threads(1)
    for make in (detector, diffusion, ppo, ssm):
        for name, autocast in (("bf16", True), ("fp32", False)):
            folder = os.path.join(sys.argv[1], "%s_%s" % (make.__name__, name))
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, "dump.json"), "w", encoding="ascii") as file:
                json.dump(record(make, autocast), file, indent=1)
                file.write("\n")


if __name__ == "__main__":
    main()
