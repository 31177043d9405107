"""Which device MindSpore runs the calls on, and what is said of it."""

import contextlib
import gc
import os

import mindspore

# msrun's kinds of devices and MindSpore's.
_TARGETS = {"npu": "Ascend", "cuda": "GPU", "cpu": "CPU"}
_ENVIRONMENT = ("MS_ENABLE_NUMA", "INF_NAN_MODE_ENABLE", "ASCEND_LAUNCH_BLOCKING", "ACL_PRECISION_MODE")


class Device:
    """One device, as all lanes of the process see it."""

    def __init__(self, kind, index):
        self.kind = kind
        self.index = index

    def open(self, jit):
        """In the main thread, before there are lanes."""
        mindspore.set_context(mode=mindspore.PYNATIVE_MODE, device_target=_TARGETS[self.kind], device_id=self.index)
        mindspore.Tensor([0.0], mindspore.float32).asnumpy()

    def limit_memory(self, size):
        """Calls are not to take more bytes of the host than that; MindSpore has no such limit."""

    def attach(self):
        """In each lane's thread, before its first call."""

    def synchronize(self):
        """Returns once the calls are done; results are copied to the host as they are written, which waits for them."""

    def give_back(self):
        gc.collect()
        with contextlib.suppress(Exception):
            mindspore.hal.empty_cache()

    def versions(self):
        return {"mindspore": mindspore.__version__}

    def settings(self):
        return {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}

    def devices(self):
        """What there is of this kind: id and name."""
        if self.kind == "cpu":
            return [{"id": 0, "name": "CPU"}]
        target = _TARGETS[self.kind]
        return [{"id": index, "name": mindspore.hal.get_device_name(index, target)}
                for index in range(mindspore.hal.device_count(target))]


KINDS = {kind: Device for kind in _TARGETS}
