"""A Python for --python that writes down what a device answered, or answers with what was written down, so that the
results of an accelerator can be judged again on a host without one.

MSRUN_ANSWERS_TO=FOLDER: the worker runs as always and appends each reply to a file of its own in FOLDER; what the device
says of itself goes to hello.json there.
MSRUN_ANSWERS_FROM=FOLDER: nothing is computed, and the device need not be there: a call with the same inputs has the reply
that was written down, and one that is not there is SKIP. MSRUN_ANSWERS_MOST: replies with more bytes of tensors than this
are not written (default 1 MiB).

A file is a sequence of records: the bytes of a record's description (u32, little endian), the description (JSON: key,
reply), the tensors' bytes. The offsets of tensors in the reply count from the record's own data.
"""

import glob
import hashlib
import json
import os
import struct
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "torch"))
import worker_program  # noqa: E402

_LENGTH = struct.Struct("<I")
_MOST = int(os.environ.get("MSRUN_ANSWERS_MOST", 1 << 20))


def _walk(value, at_tensor):
    """The value with each description of a tensor replaced by what at_tensor makes of it."""
    if isinstance(value, list):
        return [_walk(item, at_tensor) for item in value]
    if isinstance(value, dict):
        if list(value) == ["t"]:
            return {"t": at_tensor(value["t"])}
        return {key: _walk(item, at_tensor) for key, item in value.items()}
    return value


def _bytes(arena, offset, size):
    arena._show(offset, size, [])
    return bytes(arena._memory[offset:offset + size])


def _key(request, arena):
    """Of two requests for the same call with the same inputs it is the same."""
    digest = hashlib.sha1()

    def at_tensor(tensor):
        offset, size = tensor[:2]
        if size:
            digest.update(_bytes(arena, offset, size))
        return [size] + tensor[2:]
    plain = {name: _walk(value, at_tensor) for name, value in sorted(request.items()) if name not in ("id", "o")}
    digest.update(json.dumps(plain, sort_keys=True).encode())
    return digest.hexdigest()


class Recorder:
    def __init__(self, folder, answer):
        self._folder = folder
        self._answer = answer
        self._lock = threading.Lock()
        self._file = None

    def __call__(self, request, arena, device):
        key = _key(request, arena)
        reply = self._answer(request, arena, device)
        data = []
        used = 0

        def at_tensor(tensor):
            nonlocal used
            offset, size = tensor[:2]
            place = used
            used += size
            if size and used <= _MOST:
                data.append(_bytes(arena, offset, size))
            return [place, size] + tensor[2:]
        kept = _walk({name: value for name, value in reply.items() if name != "id"}, at_tensor)
        if used <= _MOST:
            description = json.dumps({"key": key, "reply": kept}).encode()
            with self._lock:
                if self._file is None:
                    self._file = open(os.path.join(self._folder, "%d.answers" % os.getpid()), "ab", buffering=0)
                self._file.write(_LENGTH.pack(len(description)) + description + b"".join(data))
        return reply


def _size(reply):
    size = 0

    def at_tensor(tensor):
        nonlocal size
        size = max(size, tensor[0] + tensor[1])
        return tensor
    _walk(reply, at_tensor)
    return size


class Player:
    def __init__(self, folder):
        self._known = {}
        for name in sorted(glob.glob(os.path.join(folder, "*.answers"))):
            with open(name, "rb") as file:
                content = file.read()
            at = 0
            while at + _LENGTH.size <= len(content):
                (length,) = _LENGTH.unpack_from(content, at)
                start = at + _LENGTH.size
                try:
                    record = json.loads(content[start:start + length])
                except ValueError:  # the end of a worker that was killed
                    break
                start += length
                at = start + _size(record["reply"])
                if at > len(content):
                    break
                self._known.setdefault(record["key"], (record["reply"], content[start:at]))

    def __call__(self, request, arena, device):
        found = self._known.get(_key(request, arena))
        if found is None:
            return {"id": request["id"], "status": "unsupported", "error": "No answer to this call was written down."}
        reply, data = found
        arena.begin(request.get("o", 0))

        def at_tensor(tensor):
            place, size = tensor[:2]
            offset = arena._reserve(size) if size else 0
            arena._memory[offset:offset + size] = data[place:place + size]
            return [offset, size] + tensor[2:]
        return dict(_walk(reply, at_tensor), id=request["id"])


def _write_hello(folder, server):
    open_device = server._open

    def opened(options, framework):
        device, hello = open_device(options, framework)
        if device is not None:
            content = {"devices": device.devices(), "versions": device.versions(), "settings": device.settings()}
            with open(os.path.join(folder, "hello.json"), "w") as file:
                json.dump(content, file)
        return device, hello
    server._open = opened


def _stand_in(folder, devices):
    """The processor, which says of itself what the device said."""
    with open(os.path.join(folder, "hello.json")) as file:
        hello = json.load(file)

    class Absent(devices.Cpu):
        def __init__(self, kind, index):
            super().__init__("cpu", 0)

        def devices(self):
            return hello["devices"]

        def versions(self):
            return hello["versions"]

        def settings(self):
            return hello["settings"]
    devices.KINDS = {kind: Absent for kind in devices.KINDS}
    devices.PACKAGES = {}


def main():
    words = worker_program.words()
    sys.path.insert(0, os.path.dirname(words[0]))
    from msrun_torch_worker import calls, devices
    from msrun_worker import server
    folder = os.environ.get("MSRUN_ANSWERS_TO")
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
        _write_hello(folder, server)
        calls.answer = Recorder(folder, calls.answer)
    else:
        folder = os.environ["MSRUN_ANSWERS_FROM"]
        _stand_in(folder, devices)
        calls.answer = Player(folder)
    worker_program.run(words)


if __name__ == "__main__":
    main()
