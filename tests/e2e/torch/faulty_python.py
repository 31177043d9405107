"""A Python whose relu, of torch.nn.functional or mindspore.mint.nn.functional, misbehaves as MSRUN_TEST_FAULT says, for
tests of what msrun makes of it.

With MSRUN_TEST_ONCE=FILE only the first call does, which then makes FILE.
"""

import ctypes
import importlib
import os
import signal
import sys
import time
import warnings

import worker_program


def crash():
    ctypes.string_at(0)


def crash_elsewhere():
    """In a thread that Python knows nothing of."""
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    libc.pthread_create(ctypes.byref(thread), None, ctypes.cast(libc.abort, ctypes.c_void_p), None)
    time.sleep(60)


def kill():
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def hang():
    while True:
        time.sleep(1)


def leave():
    os._exit(5)


def noise():
    print("noise on standard output", flush=True)
    os.write(1, b'{"type":"noise"}\n')


def out_of_memory():
    raise RuntimeError("NPU out of memory. Tried to allocate 20.00 GiB")


def lose():
    raise RuntimeError("ACL stream synchronize failed, error code:507015")


def assert_on_gpu():
    """An error that the GPU finds while it works, and tells later."""
    import torch
    torch.zeros(4, device="cuda")[torch.tensor([100], device="cuda")]


def fill_gpu():
    import torch
    torch.empty(1 << 44, dtype=torch.uint8, device="cuda")


def hang_gpu():
    import torch
    torch.cuda._sleep(1 << 60)


def name_a_size():
    """As an error of the arguments does: the number is that of elements."""
    raise RuntimeError("shape '[507015, 207001]' is invalid for input of size 507015")


def advise():
    """As CUDA's errors do."""
    raise RuntimeError("CUDA error: device-side assert triggered\nSearch for `cudaErrorAssert' in https://example.org\n")


def warn():
    warnings.simplefilter("always")
    warnings.warn("relu is deprecated in favour of nothing")


def fail():
    raise RuntimeError("kernel launch failed for a reason of its own")


def nonsense():
    from msrun_worker import protocol
    protocol.Frames.send_text = lambda self, text: self._connection.sendall(b"\x05\x00\x00\x00{]{]{")


def endless_frame():
    from msrun_worker import protocol
    protocol.Frames.send_text = lambda self, text: self._connection.sendall(b"\xff\xff\xff\xff")


def outside():
    for tensors in [module for name, module in sys.modules.items() if name.endswith("_worker.tensors")]:
        tensors.Arena.write = lambda self, tensor: (1 << 40, 256)


def take_three_seconds():
    time.sleep(3)


def memory_of_another():
    """There is no memory until both workers have given back what they keep, which takes each of them a while."""
    if len(os.listdir(os.environ["MSRUN_TEST_GIVEN"])) < 2:
        raise RuntimeError("NPU out of memory. Tried to allocate 20.00 GiB")


def give_back_slowly(worker):
    sys.path.insert(0, os.path.dirname(worker))
    devices = importlib.import_module("msrun_torch_worker.devices")

    def give_back(_self):
        time.sleep(1)
        with open(os.path.join(os.environ["MSRUN_TEST_GIVEN"], str(os.getpid())), "w", encoding="utf-8"):
            pass
    devices.Cpu.give_back = give_back


def wrong_shape():
    """Is what relu returns, not what it does."""


def many_values():
    """Likewise: more of them than a frame has room for."""


def is_turn():
    """Whether this is the call that misbehaves."""
    mark = os.environ.get("MSRUN_TEST_ONCE")
    if mark is None:
        return True
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:  # another lane or worker was first
        return False
    return True


def misbehaving(function, fault):
    def relu(*args, **kwargs):
        if not is_turn():
            return function(*args, **kwargs)
        fault()
        result = function(*args, **kwargs)
        if fault is many_values:
            return [0.12345678901234567] * 4000000
        return result[:-1] if fault is wrong_shape else result
    return relu


def break_lanes(worker):
    """Lanes that begin with nonsense."""
    sys.path.insert(0, os.path.dirname(worker))
    from msrun_worker import protocol
    send = protocol.Frames.send

    def broken(self, message):
        if "lane" in message and is_turn():
            self._connection.sendall(b"\x05\x00\x00\x00{]{]{")
        else:
            send(self, message)
    protocol.Frames.send = broken


class Hanging:
    """Finds no module; of one whose name is given it never says so."""

    def __init__(self, name):
        self._name = name

    def find_spec(self, name, path=None, target=None):
        if name == self._name:
            hang()


def main():
    words = worker_program.words()
    fault = os.environ["MSRUN_TEST_FAULT"]
    framework = "mindspore" if "mindspore" in os.path.basename(words[0]) else "torch"
    if fault == "hanging_import":
        sys.meta_path.insert(0, Hanging(framework))
    elif fault == "import":
        sys.modules[framework] = None
    else:
        # The inspection runs no call.
        root = importlib.import_module(framework)
        functional = importlib.import_module("torch.nn.functional" if framework == "torch"
                                             else "mindspore.mint.nn.functional")
        if fault == "lanes":
            break_lanes(words[0])
        elif fault in ("inspection", "hanging_inspection"):
            # What is asked before a run.
            setattr(root, "are_deterministic_algorithms_enabled" if framework == "torch" else "get_context",
                    lambda *words: crash() if fault == "inspection" else hang())
        else:
            if fault == "memory_of_another":
                give_back_slowly(words[0])
            functional.relu = misbehaving(functional.relu, globals()[fault])
    worker_program.run(words)


main()
