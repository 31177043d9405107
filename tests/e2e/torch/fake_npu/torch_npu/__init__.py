"""A torch_npu without an NPU: "npu" is the CPU, and what is done to it is written to MSRUN_TEST_NPU_LOG, a line each,
with the thread's identity in front.

MSRUN_TEST_NPU_HF32 is what conv.allow_hf32 says; MSRUN_TEST_NPU_OOM=FILE has the first call of npu_silu fail for want
of memory, which then makes FILE.
"""

import contextlib
import os
import sys
import threading
import types

import torch

from torch_npu.fused import *  # noqa: F401,F403

__version__ = "2.1.0.fake"


def log(text):
    path = os.environ.get("MSRUN_TEST_NPU_LOG")
    if path:
        with open(path, "a") as file:
            file.write("%d %s\n" % (threading.get_ident(), text))


_real_device = torch.device


class _IsDevice(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, _real_device)


class _Device(metaclass=_IsDevice):
    def __new__(cls, *words):
        if words and str(words[0]).startswith("npu"):
            return _real_device("cpu")
        return _real_device(*words)


torch.device = _Device


class _Config(types.ModuleType):
    def __setattr__(self, name, value):
        log("config.%s=%s" % (name, value))
        super().__setattr__(name, value)


@contextlib.contextmanager
def _autocast(dtype):
    log("autocast %s" % dtype)
    yield


def _module(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    return module


npu = _module(
    "torch_npu.npu",
    is_available=lambda: True,
    device_count=lambda: 2,
    get_device_name=lambda index: "Ascend910Fake",
    get_device_properties=lambda index: types.SimpleNamespace(total_memory=64 << 30),
    set_device=lambda index: log("set_device %d" % index),
    set_compile_mode=lambda jit_compile: log("set_compile_mode %s" % jit_compile),
    synchronize=lambda: log("synchronize"),
    empty_cache=lambda: log("empty_cache"),
    config=_Config("torch_npu.npu.config"),
    conv=_module("conv", allow_hf32=os.environ.get("MSRUN_TEST_NPU_HF32", "True") == "True"),
    matmul=_module("matmul", allow_hf32=False),
    amp=_module("amp", autocast=_autocast),
)
torch.npu = npu
torch.version.cann = "8.0.fake"


def npu_silu(x):
    mark = os.environ.get("MSRUN_TEST_NPU_OOM")
    if mark and not os.path.exists(mark):
        open(mark, "w").close()
        raise RuntimeError("NPU out of memory. Tried to allocate 2.00 GiB")
    log("npu_silu")
    return torch.nn.functional.silu(x)


log("import autoload=%s" % os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD"))
sys.modules["torch_npu.npu"] = npu
