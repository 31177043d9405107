"""The process: says what it is, then runs the calls of its lanes, each in a thread, until msrun closes the control
socket or kills it."""

import argparse
import contextlib
import faulthandler
import importlib
import os
import platform
import socket
import sys
import threading
import traceback
import warnings

from msrun_worker import answers, forks, protocol


class _Framework:
    """What is run: the name of the package that users import, and the folder of the worker's own modules."""

    def __init__(self, package, name):
        self.package = package
        self.name = name

    def load(self):
        """The framework; its worker's modules can be had after that."""
        return importlib.import_module(self.name)

    def module(self, name):
        return importlib.import_module(self.package + "." + name)


def _options(words, package):
    parser = argparse.ArgumentParser(package)
    parser.add_argument("--protocol", type=int, required=True)
    parser.add_argument("--device", choices=("cpu", "cuda", "npu"), required=True)
    parser.add_argument("--index", type=int, default=0)
    parser.add_argument("--jit", action="store_true")
    parser.add_argument("--memory", type=int, default=0, help="bytes of the host that calls may take")
    parser.add_argument("--inspect", action="store_true", help="say what there is, and end")
    parser.add_argument("--forks", action="store_true", help="say what there is and fork workers, when asked to")
    return parser.parse_args(words)


def _import_error(package, error):
    return {"v": protocol.VERSION, "error": str(error) or type(error).__name__, "cause": "import", "missing": package,
            "python": platform.python_version(), "program": sys.executable}


def _open(options, framework):
    """The device and what hello says of it; of one that cannot be had, None and why."""
    # Libraries that are not there are an ImportError or an OSError, and more than these were seen.
    try:
        root = framework.load()
        devices = framework.module("devices")
    except Exception as error:  # pylint: disable=broad-except
        return None, _import_error(framework.name, error)
    try:
        device = devices.KINDS[options.device](options.device, options.index)
    except Exception as error:  # pylint: disable=broad-except
        return None, _import_error(devices.PACKAGES.get(options.device, framework.name), error)
    hello = {"v": protocol.VERSION, framework.name: root.__version__, "python": platform.python_version(),
             "program": sys.executable}
    try:
        if options.inspect:
            hello["devices"] = device.devices()
            known = [entry["id"] for entry in hello["devices"]]
            # msrun says so itself of what is not there; the settings are those of one that is.
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


def _end(framework, message):
    """Nothing else can be understood: msrun sees the end of the sockets."""
    print(framework.package + ": " + message, file=sys.stderr)
    sys.stderr.flush()
    os._exit(70)


def _serve_lane(framework, number, connection, descriptor, device, memory):
    try:
        calls = framework.module("calls")
        frames = protocol.Frames(connection)
        arena = framework.module("tensors").Arena(descriptor, memory)
        device.attach()
        frames.send({"lane": number, "ident": threading.get_ident()})
        while True:
            request = frames.receive()
            if request is None:
                return
            text = protocol.encoded(calls.answer(request, arena, device))
            if len(text) > protocol.LONGEST_FRAME:
                text = protocol.encoded(answers.too_long(request))
            frames.send_text(text)
    except (ConnectionError, BrokenPipeError):
        return
    except protocol.BadFrame as error:
        _end(framework, str(error))
    except BaseException:  # pylint: disable=broad-except
        _end(framework, traceback.format_exc())


def _control(framework, connection, device, memory):
    while True:
        message, descriptors = protocol.receive_control(connection)
        if message is None or "bye" in message:
            return
        if "lane" in message:
            if len(descriptors) != 2:
                raise protocol.BadFrame("a lane came with %d descriptors" % len(descriptors))
            lane = socket.socket(fileno=descriptors[0])
            threading.Thread(target=_serve_lane, args=(framework, message["lane"], lane, descriptors[1], device, memory),
                             daemon=True).start()
        elif "trim" in message:
            with contextlib.suppress(Exception):
                device.give_back()
            protocol.Frames(connection).send({"trimmed": 1})
        else:
            raise protocol.BadFrame("the control message %r is not known" % sorted(message))


def _fork_workers(options, framework, connection):
    """Says what there is and forks, as often as it is asked to. Returns in the workers alone."""
    def inspect(asked, descriptor):
        # In a process of its own: devices are touched.
        options.index, options.inspect = asked["device"], True
        _, hello = _open(options, framework)
        forks.live_on(descriptor)
        protocol.Frames(socket.socket(fileno=descriptor)).send(hello)

    with contextlib.suppress(Exception):
        framework.load()
        framework.module("calls")
    asked = forks.serve(connection, inspect)
    if asked["blocking"]:
        os.environ.update({"ASCEND_LAUNCH_BLOCKING": "1", "CUDA_LAUNCH_BLOCKING": "1"})
    options.index, options.memory = asked["device"], asked["memory"]
    return socket.socket(fileno=protocol.CONTROL_DESCRIPTOR)


def _silence_warnings():
    """What the framework warns of is the recorded program's doing, whose author was told when it ran. Filters alone are
    not enough: libraries change them, and lanes that do so at once undo each other's."""
    warnings.simplefilter("ignore")
    warnings.showwarning = lambda *words, **more: None


def main(words, package, name):
    """package: that of the worker, with the modules names, tensors, devices and calls; name: the framework's."""
    forks.live_with(protocol.LIFELINE_DESCRIPTOR)
    forks.outlive_termination()
    _silence_warnings()
    framework = _Framework(package, name)
    options = _options(words, package)
    connection = socket.socket(fileno=protocol.CONTROL_DESCRIPTOR)
    if options.protocol != protocol.VERSION:
        protocol.Frames(connection).send({"v": protocol.VERSION})
        return
    if options.forks:
        connection = _fork_workers(options, framework, connection)
    faulthandler.enable(file=protocol.FAULT_DESCRIPTOR, all_threads=True)
    device, hello = _open(options, framework)
    protocol.Frames(connection).send(hello)
    if device is None or options.inspect:
        # Without the end of the interpreter, at which libraries of devices are known to wait.
        os._exit(0)
    try:
        _control(framework, connection, device, options.memory)
    except protocol.BadFrame as error:
        _end(framework, str(error))
    os._exit(0)
