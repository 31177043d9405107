"""The host's processor as a device, and its memory."""

import contextlib
import os
import platform
import resource


def processor():
    """The entry of a list of devices: id, name, bytes of memory, the part of them that is free."""
    page = os.sysconf("SC_PAGE_SIZE")
    return {"id": 0, "name": platform.processor() or platform.machine(),
            "memory": os.sysconf("SC_PHYS_PAGES") * page, "free": os.sysconf("SC_AVPHYS_PAGES") * page}


# What a framework takes beside the tensors of a call: stacks of its threads, buffers of its libraries. Without them it hangs or
# dies where it should refuse.
ROOM_OF_THE_FRAMEWORK = 256 << 20


def limit_memory(size):
    """This process is not to take more than so many bytes of tensors beyond what it has. The host grants what it does not
    have, and kills the process that then uses it; a refusal is told."""
    with open("/proc/self/status") as status:
        used = [int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:")]
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (used[0] + size + ROOM_OF_THE_FRAMEWORK, hard))


def environment(names):
    """Those of the variables that are set."""
    return {name: os.environ[name] for name in names if name in os.environ}
