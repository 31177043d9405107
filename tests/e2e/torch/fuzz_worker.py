"""Frames and requests with errors in them, of a fixed seed: the worker whose folder is the argument answers each, or
says that nothing can be understood any more."""

import json
import os
import random
import socket
import struct
import sys

sys.path.insert(0, os.path.dirname(sys.argv[1]))

from msrun_torch_worker import calls, devices, protocol, tensors  # noqa: E402

ROUNDS = 3000
REQUEST = {"id": 1, "n": "Torch", "f": "add", "op": "add",
           "a": [{"t": [0, 8, "float32", [2], True]}, {"T": [1, {"s": [0, None, 1]}, {"e": 1}, {"d": "int8"}]},
                 {"t": [64, 16, "complex64", [2], False]}, {"c": [1.0, 2.0]}, {"v": "cpu"}, {"m": {"a": [None]}}],
           "k": {"alpha": 2}, "b": True, "only": None, "autocast": None, "gy": [{"t": [128, 8, "float32", [2], False]}],
           "o": 136}
LETTERS = '{}[]",:0123456789-.eNtu '


def damaged(text, generator):
    letters = list(text)
    for _ in range(generator.randint(1, 4)):
        at = generator.randrange(len(letters))
        if generator.random() < 0.3:
            del letters[at:at + generator.randint(1, 8)]
        else:
            letters[at] = generator.choice(LETTERS)
        if not letters:
            letters = [" "]
    return "".join(letters)


def main():
    generator = random.Random(20261122)
    device = devices.Cpu("cpu", 0)
    descriptor = os.memfd_create("arena")
    os.ftruncate(descriptor, 4096)
    arena = tensors.Arena(descriptor)
    text = json.dumps(REQUEST)
    answered = refused = 0
    for _ in range(ROUNDS):
        ours, theirs = socket.socketpair()
        payload = damaged(text, generator).encode()
        size = len(payload) if generator.random() < 0.9 else generator.randrange(1 << 32)
        theirs.sendall(struct.pack("<I", size) + payload)
        theirs.close()
        try:
            request = protocol.Frames(ours).receive()
            reply = calls.answer(request, arena, device)
            json.dumps(reply)
            assert "out" in reply or reply["status"] in ("unsupported", "arguments", "failed", "oom"), reply
            answered += 1
        except (protocol.BadFrame, tensors.BadRequest):
            refused += 1
        ours.close()
    assert answered > 100 and refused > 100, (answered, refused)


main()
