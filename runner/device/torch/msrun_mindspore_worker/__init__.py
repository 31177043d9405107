"""Runs recorded calls with MindSpore for msrun: the worker of torch with other tensors, names, calls and devices.

The process, its lanes and what it says of itself are those of msrun_torch_worker.server, the text between it and msrun
that of msrun_torch_worker.protocol.
"""
