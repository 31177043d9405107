"""The process behind `msrun --backend torch`: it runs recorded calls with the user's own torch.

protocol: frames and what they mean; names: from recorded names to callables; tensors: values and the arena;
devices: what differs between CPU, GPU and NPU; calls: one call; server: the process; forks: the one that
forks it. Only torch is needed.
"""
