"""What differs between the CPU, a GPU and an NPU: devices, settings that change results, synchronisation, memory."""

import contextlib
import functools
import gc
import platform
import warnings

import torch

from msrun_torch_worker import tensors
from msrun_worker import host


class NoDevice(Exception):
    """The device cannot be used. Its text is for the user."""


def _get(root, path):
    for name in path.split("."):
        root = getattr(root, name, None)
    return root


def _setting(path):
    """None where this version of torch has no such setting, and where it does not say: since 2.9 it refuses to tell the
    older settings of float32 precision once a newer one (fp32_precision) was set that contradicts them."""
    try:
        return _get(torch, path)
    except (AttributeError, AssertionError, RuntimeError):
        return None


def _common_settings():
    settings = {"deterministic_algorithms": torch.are_deterministic_algorithms_enabled()}
    if hasattr(torch, "get_float32_matmul_precision"):
        with contextlib.suppress(RuntimeError):  # as in _setting()
            settings["float32_matmul_precision"] = torch.get_float32_matmul_precision()
    return settings


class Device:
    """One device, as all lanes of the process see it."""

    def __init__(self, kind, index):
        self.kind = kind
        self.index = index
        self.torch_device = torch.device(kind) if kind == "cpu" else torch.device(kind, index)

    def open(self, jit):
        """In the main thread, before there are lanes."""

    def limit_memory(self, size):
        """Calls are not to take more bytes of the host than that."""

    def attach(self):
        """In each lane's thread, before its first call."""
        # Accelerators run every backward on one engine thread otherwise, on which all lanes would wait for each other.
        if hasattr(torch.autograd, "set_multithreading_enabled"):
            torch.autograd.set_multithreading_enabled(False)

    def autocast(self, dtype, casts):
        """What autocast to a half type did when the call was recorded. casts: the dtype, by name, that it casts the
        arguments of this call to; None: of none."""
        return torch.autocast(self.kind, dtype=dtype)

    def cast(self, casts, args, kwargs):
        """The arguments as they are called with."""
        return args, kwargs

    def synchronize(self):
        """Returns once the calls are done; an error of theirs appears here at the latest."""

    def give_back(self):
        gc.collect()

    def versions(self):
        return {}

    def settings(self):
        return _common_settings()

    def devices(self):
        """What there is of this kind: id, name, bytes of memory, the part of them that is free."""
        return []


@functools.lru_cache(maxsize=None)
def _processor_casts_to(dtype):
    """Whether autocast on the processor knows the dtype, which depends on torch's version."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with torch.autocast("cpu", dtype=dtype):
                return torch.is_autocast_cpu_enabled()
        except RuntimeError:
            return False


class Cpu(Device):
    def autocast(self, dtype, casts):
        """To a dtype that the processor does not know it does nothing; what it would cast is cast already."""
        known = casts is None and _processor_casts_to(dtype)
        return super().autocast(dtype, casts) if known else contextlib.nullcontext()

    def cast(self, casts, args, kwargs):
        """As accelerators cast them, for which other functions are lowered than for processors."""
        if casts is None:
            return args, kwargs
        dtype = tensors.dtype_of(casts)
        return tensors.cast(args, dtype), tensors.cast(kwargs, dtype)

    def open(self, jit):
        # As each lane: sums are split by the number of threads, and results would depend on the host.
        torch.set_num_threads(1)

    def attach(self):
        super().attach()
        torch.set_num_threads(1)

    def limit_memory(self, size):
        host.limit_memory(size)

    def devices(self):
        return [host.processor()]

    def settings(self):
        settings = _common_settings()
        settings["capability"] = _get(torch, "backends.cpu.get_cpu_capability") and \
            torch.backends.cpu.get_cpu_capability()
        settings["mkldnn"] = torch.backends.mkldnn.is_available()
        settings["machine"] = platform.machine()
        return settings


class Cuda(Device):
    _SETTINGS = ("backends.cudnn.allow_tf32", "backends.cudnn.benchmark", "backends.cudnn.deterministic",
                 "backends.cuda.matmul.allow_tf32", "backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
                 "backends.cuda.matmul.allow_bf16_reduced_precision_reduction")
    # What says the same where torch does not tell those.
    _NEWER_SETTINGS = {
        "backends.cudnn.allow_tf32": ("backends.cudnn.conv.fp32_precision", "backends.cudnn.rnn.fp32_precision"),
        "backends.cuda.matmul.allow_tf32": ("backends.cuda.matmul.fp32_precision",),
    }
    # Told where they are on, as none is unless somebody asks for it, so that runs of before they were known go on.
    _SETTINGS_IF_ON = ("backends.cuda.matmul.allow_fp16_accumulation",)
    _ENVIRONMENT = ("CUBLAS_WORKSPACE_CONFIG", "NVIDIA_TF32_OVERRIDE", "CUDA_LAUNCH_BLOCKING",
                    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE")

    def _require(self):
        if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
            raise NoDevice("torch %s was built without CUDA" % torch.__version__)
        if not torch.cuda.is_available():
            raise NoDevice("torch %s finds no GPU" % torch.__version__)

    def open(self, jit):
        self._require()
        torch.cuda.set_device(self.index)
        torch.zeros(1, device=self.torch_device)

    def attach(self):
        super().attach()
        torch.cuda.set_device(self.index)

    def synchronize(self):
        torch.cuda.synchronize(self.index)

    def give_back(self):
        gc.collect()
        torch.cuda.empty_cache()

    def versions(self):
        return {"cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
                "soc": torch.cuda.get_device_name(self.index)}

    def settings(self):
        settings = _common_settings()
        told = {path: _setting(path) for path in self._SETTINGS}
        for path, newer in self._NEWER_SETTINGS.items():
            if told[path] is None:
                told.update({other: _setting(other) for other in newer})
        told.update({path: True for path in self._SETTINGS_IF_ON if _setting(path)})
        settings.update({path[len("backends."):]: value for path, value in told.items() if value is not None})
        settings.update(host.environment(self._ENVIRONMENT))
        return settings

    def devices(self):
        self._require()
        found = []
        for index in range(torch.cuda.device_count()):
            properties = torch.cuda.get_device_properties(index)
            device = {"id": index, "name": properties.name, "memory": properties.total_memory}
            if hasattr(torch.cuda, "mem_get_info"):
                device["free"] = torch.cuda.mem_get_info(index)[0]
            found.append(device)
        return found


class Npu(Device):
    _SETTINGS = ("conv.allow_hf32", "matmul.allow_hf32")
    _ENVIRONMENT = ("INF_NAN_MODE_ENABLE", "INF_NAN_MODE_FORCE_DISABLE", "TORCH_NPU_USE_COMPATIBLE_IMPL",
                    "TASK_QUEUE_ENABLE", "ASCEND_LAUNCH_BLOCKING", "PYTORCH_NPU_ALLOC_CONF", "ACL_PRECISION_MODE")

    def __init__(self, kind, index):
        # Gives torch its device type "npu".
        import torch_npu
        self._torch_npu = torch_npu
        self._jit = False
        super().__init__(kind, index)

    def _require(self):
        if not torch.npu.is_available():
            raise NoDevice("torch_npu %s finds no NPU" % self._torch_npu.__version__)

    def open(self, jit):
        self._require()
        self._jit = jit
        torch.npu.set_device(self.index)
        torch.npu.set_compile_mode(jit_compile=jit)
        config = _get(torch, "npu.config")
        if config is not None:
            config.allow_internal_format = jit

    def attach(self):
        super().attach()
        # The device is one of the thread: without this the lane would open a context on device 0.
        torch.npu.set_device(self.index)

    def autocast(self, dtype, casts):
        older = _get(self._torch_npu, "npu.amp.autocast")
        if older is not None and torch.__version__.startswith(("1.", "2.0")):
            return older(dtype=dtype)
        return torch.autocast("npu", dtype=dtype)

    def synchronize(self):
        torch.npu.synchronize()

    def give_back(self):
        gc.collect()
        torch.npu.empty_cache()

    def versions(self):
        version = _get(torch, "version.cann") or _get(self._torch_npu, "version.cann")
        return {"torch_npu": self._torch_npu.__version__, "cann": version,
                "soc": torch.npu.get_device_name(self.index)}

    def settings(self):
        settings = _common_settings()
        settings["jit_compile"] = self._jit
        settings["allow_internal_format"] = self._jit
        for path in self._SETTINGS:
            value = _get(torch, "npu." + path)
            if value is not None:
                settings[path] = value
        settings.update(host.environment(self._ENVIRONMENT))
        return settings

    def devices(self):
        self._require()
        found = []
        for index in range(torch.npu.device_count()):
            device = {"id": index, "name": torch.npu.get_device_name(index)}
            with contextlib.suppress(Exception):
                device["memory"] = torch.npu.get_device_properties(index).total_memory
            found.append(device)
        return found

# What is imported beside torch.
PACKAGES = {"npu": "torch_npu"}
KINDS = {"cpu": Cpu, "cuda": Cuda, "npu": Npu}
