"""The process behind `msrun --backend mindspore`: it runs recorded calls with the user's own MindSpore.

names: from recorded names to callables; tensors: tensors in the arena; devices: what differs between CPU, GPU and NPU;
calls: one call. What else there is to it is msrun_worker. MindSpore and NumPy, which it brings, are needed.
"""
