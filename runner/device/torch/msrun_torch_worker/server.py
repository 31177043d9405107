"""The process: says what it is, then runs the calls of its lanes, each in a thread, until msrun closes the control
socket or kills it."""

import argparse
import contextlib
import faulthandler
import os
import platform
import socket
import sys
import threading
import traceback

from msrun_torch_worker import forks, protocol


def _options(words):
    parser = argparse.ArgumentParser("msrun_torch_worker")
    parser.add_argument("--protocol", type=int, required=True)
    parser.add_argument("--device", choices=("cpu", "cuda", "npu"), required=True)
    parser.add_argument("--index", type=int, default=0)
    parser.add_argument("--jit", action="store_true")
    parser.add_argument("--memory", type=int, default=0, help="bytes of the host that calls may take")
    parser.add_argument("--inspect", action="store_true", help="say what there is, and end")
    parser.add_argument("--forks", action="store_true", help="with --inspect: go on, and fork workers")
    return parser.parse_args(words)


def _import_error(package, error):
    return {"v": protocol.VERSION, "error": str(error) or type(error).__name__, "cause": "import", "missing": package,
            "python": platform.python_version(), "program": sys.executable}


def _open(options):
    """The device and what hello says of it; of one that cannot be had, None and why."""
    # Libraries that are not there are an ImportError or an OSError, and more than these were seen.
    try:
        import torch
        from msrun_torch_worker import devices
    except Exception as error:  # pylint: disable=broad-except
        return None, _import_error("torch", error)
    try:
        device = devices.KINDS[options.device](options.device, options.index)
    except Exception as error:  # pylint: disable=broad-except
        return None, _import_error("torch_npu", error)
    hello = {"v": protocol.VERSION, "torch": torch.__version__, "python": platform.python_version(),
             "program": sys.executable}
    try:
        if options.inspect:
            hello["devices"] = device.devices()
            known = [entry["id"] for entry in hello["devices"]]
            # Of what is not there msrun says so; the settings are those of one that is.
            if options.index not in known and known and options.device != "cpu":
                device = devices.KINDS[options.device](options.device, known[0])
        device.open(options.jit)
        if options.memory > 0 and not options.inspect:
            device.limit_memory(options.memory)
        hello.update(device.versions())
        hello["settings"] = device.settings()
    except Exception as error:  # pylint: disable=broad-except
        hello.update({"error": str(error) or type(error).__name__, "cause": "device"})
        return None, hello
    return device, hello


def _end(message):
    """Nothing else can be understood: msrun sees the end of the sockets."""
    print("msrun_torch_worker: " + message, file=sys.stderr)
    sys.stderr.flush()
    os._exit(70)


def _serve_lane(number, connection, descriptor, device):
    try:
        from msrun_torch_worker import calls, tensors
        frames = protocol.Frames(connection)
        arena = tensors.Arena(descriptor)
        device.attach()
        frames.send({"lane": number, "ident": threading.get_ident()})
        while True:
            request = frames.receive()
            if request is None:
                return
            frames.send(calls.answer(request, arena, device))
    except (ConnectionError, BrokenPipeError):
        return
    except protocol.BadFrame as error:
        _end(str(error))
    except BaseException:  # pylint: disable=broad-except
        _end(traceback.format_exc())


def _control(connection, device):
    while True:
        message, descriptors = protocol.receive_control(connection)
        if message is None or "bye" in message:
            return
        if "lane" in message:
            if len(descriptors) != 2:
                raise protocol.BadFrame("a lane came with %d descriptors" % len(descriptors))
            lane = socket.socket(fileno=descriptors[0])
            threading.Thread(target=_serve_lane, args=(message["lane"], lane, descriptors[1], device),
                             daemon=True).start()
        elif "trim" in message:
            with contextlib.suppress(Exception):
                device.give_back()
        else:
            raise protocol.BadFrame("the control message %r is not known" % sorted(message))


def _fork_workers(options, connection):
    """Says what there is, then forks. Returns in the workers, with what is asked of them."""
    with contextlib.suppress(Exception):
        import torch  # noqa: F401
        from msrun_torch_worker import calls  # noqa: F401
    # In a process of its own: devices are touched.
    pid = os.fork()
    if pid == 0:
        _, hello = _open(options)
        protocol.Frames(connection).send(hello)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if status != 0:
        forks.end_like(status)
    asked = forks.serve(connection)
    if asked["blocking"]:
        os.environ.update({"ASCEND_LAUNCH_BLOCKING": "1", "CUDA_LAUNCH_BLOCKING": "1"})
    options.index, options.memory, options.inspect = asked["device"], asked["memory"], False
    return socket.socket(fileno=protocol.CONTROL_DESCRIPTOR)


def main(words):
    options = _options(words)
    connection = socket.socket(fileno=protocol.CONTROL_DESCRIPTOR)
    if options.protocol != protocol.VERSION:
        protocol.Frames(connection).send({"v": protocol.VERSION})
        return
    if options.forks:
        connection = _fork_workers(options, connection)
    faulthandler.enable(file=protocol.FAULT_DESCRIPTOR, all_threads=True)
    device, hello = _open(options)
    protocol.Frames(connection).send(hello)
    if device is None or options.inspect:
        # Without the end of the interpreter, at which libraries of devices are known to wait.
        os._exit(0)
    try:
        _control(connection, device)
    except protocol.BadFrame as error:
        _end(str(error))
    os._exit(0)
