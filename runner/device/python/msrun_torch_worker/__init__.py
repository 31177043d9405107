"""The process behind `msrun --backend torch`: it runs recorded calls with the user's own torch.

names: from recorded names to callables; tensors: tensors in the arena; devices: what differs between CPU, GPU and NPU;
calls: one call. What else there is to it is msrun_worker. Only torch is needed.
"""
