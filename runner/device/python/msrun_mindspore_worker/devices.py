"""Which device MindSpore runs the calls on, and what is said of it."""

import contextlib
import gc

import mindspore

from msrun_worker import host

_ENVIRONMENT = ("INF_NAN_MODE_ENABLE", "ASCEND_LAUNCH_BLOCKING", "ACL_PRECISION_MODE", "MS_DEV_JIT_SYNTAX_LEVEL")


class NoDevice(Exception):
    """The device cannot be used. Its text is for the user."""


class Device:
    """One device, as all lanes of the process see it. target: MindSpore's name of its kind."""

    target = ""

    def __init__(self, kind, index):
        self.kind = kind
        self.index = index

    def open(self, jit):
        """In the main thread, before there are lanes."""
        mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
        if hasattr(mindspore, "set_device"):
            mindspore.set_device(self.target, self.index)
        else:
            mindspore.set_context(device_target=self.target, device_id=self.index)
        mindspore.Tensor([0.0], mindspore.float32).asnumpy()

    def limit_memory(self, size):
        """Calls are not to take more bytes of the host than that."""

    def attach(self):
        """In each lane's thread, before its first call: the mode is one of the thread."""
        mindspore.set_context(mode=mindspore.PYNATIVE_MODE)

    def synchronize(self):
        """Returns once the calls are done; results are copied to the host as they are written, which waits for them."""

    def give_back(self):
        gc.collect()

    def versions(self):
        return {}

    def settings(self):
        settings = {}
        for name in ("deterministic", "jit_level"):
            with contextlib.suppress(Exception):  # of this version
                settings[name] = mindspore.get_context(name)
        settings.update(host.environment(_ENVIRONMENT))
        return settings

    def devices(self):
        """What there is of this kind: id, name, bytes of memory."""
        raise NotImplementedError


class Cpu(Device):
    target = "CPU"

    def limit_memory(self, size):
        host.limit_memory(size)

    def devices(self):
        return [host.processor()]


class Accelerator(Device):
    # What lets the device round float32 operands: the name that the supervisor knows, MindSpore's, and what holds where
    # MindSpore leaves it to the device or does not tell.
    operand_settings = ()

    def settings(self):
        settings = super().settings()
        for name, parameter, usual in self.operand_settings:
            value = ""
            with contextlib.suppress(Exception):  # of this version
                value = mindspore.get_context(parameter)
            settings[name] = usual if value == "" else value in (True, "1")
        return settings

    def synchronize(self):
        # With launches that are not waited for, an error appears here at the latest.
        mindspore.hal.synchronize()

    def give_back(self):
        gc.collect()
        with contextlib.suppress(Exception):  # of this version
            mindspore.hal.empty_cache()

    def versions(self):
        with contextlib.suppress(Exception):
            return {"soc": mindspore.hal.get_device_name(self.index, self.target)}
        return {}

    def devices(self):
        count = mindspore.hal.device_count(self.target) if mindspore.hal.is_available(self.target) else 0
        if count == 0:
            raise NoDevice("mindspore %s finds no device of its kind %s" % (mindspore.__version__, self.target))
        found = []
        for index in range(count):
            device = {"id": index, "name": mindspore.hal.get_device_name(index, self.target)}
            with contextlib.suppress(Exception):
                device["memory"] = mindspore.hal.get_device_properties(index, self.target).total_memory
            found.append(device)
        return found


class Gpu(Accelerator):
    target = "GPU"
    operand_settings = (("cudnn.allow_tf32", "conv_allow_tf32", True),
                        ("cuda.matmul.allow_tf32", "matmul_allow_tf32", False))


class Npu(Accelerator):
    target = "Ascend"
    operand_settings = (("conv.allow_hf32", "conv_allow_hf32", True),
                        ("matmul.allow_hf32", "matmul_allow_hf32", False))


# What is imported beside MindSpore.
PACKAGES = {}
KINDS = {"cpu": Cpu, "cuda": Gpu, "npu": Npu}
