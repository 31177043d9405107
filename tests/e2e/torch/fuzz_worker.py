"""Frames, requests and control messages with errors in them, of a fixed seed: the worker whose folder is the argument
answers each, or says that nothing can be understood any more."""

import array
import importlib
import json
import os
import random
import socket
import struct
import sys
import threading

sys.path.insert(0, os.path.dirname(sys.argv[1]))

from msrun_worker import protocol  # noqa: E402

PACKAGE = os.path.basename(sys.argv[1])
calls, devices, tensors = (importlib.import_module(PACKAGE + "." + name) for name in ("calls", "devices", "tensors"))

ROUNDS = 3000
REQUEST = {"id": 1, "n": "Torch" if "torch" in PACKAGE else "Mint", "f": "add", "op": "add",
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


def damaged_bytes(payload, generator):
    if generator.random() < 0.1:
        return payload[:generator.randint(0, len(payload))]
    payload = bytearray(payload)
    for _ in range(generator.choice((0, 0, 0, 0, 1, 2))):
        payload[generator.randrange(len(payload))] = generator.randrange(256)
    return bytes(payload)


def framed(payload, generator):
    """As a frame, whose length may be wrong."""
    size = len(payload) if generator.random() < 0.9 else generator.randrange(1 << 32)
    return struct.pack("<I", size) + payload


def send_in_pieces(connection, data, generator):
    """From a thread of its own the bytes would come at any time; a reader sees the same pieces this way."""
    at = 0
    while at < len(data):
        size = generator.choice((1, 3, 4, 5, 64, len(data)))
        connection.send(data[at:at + size])
        at += size


def fuzz_requests(generator):
    device = devices.Cpu("cpu", 0)
    descriptor = os.memfd_create("arena")
    os.ftruncate(descriptor, 4096)
    arena = tensors.Arena(descriptor)
    text = json.dumps(REQUEST)
    answered = refused = 0
    for _ in range(ROUNDS):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET if generator.random() < 0.3
                                         else socket.SOCK_STREAM)
        payload = damaged_bytes(damaged(text, generator).encode(), generator)
        send_in_pieces(theirs, framed(payload, generator), generator)
        theirs.close()
        try:
            request = protocol.Frames(ours).receive()
            reply = calls.answer(request, arena, device)
            json.dumps(reply)
            assert "out" in reply or reply["status"] in ("unsupported", "arguments", "failed", "oom", "large"), reply
            answered += 1
        except (protocol.BadFrame, tensors.BadRequest):
            refused += 1
        ours.close()
    assert answered > 100 and refused > 100, (answered, refused)


def fuzz_control(generator):
    understood = refused = 0
    # The descriptors that come with what is refused stay open, as the worker ends then.
    for _ in range(ROUNDS // 10):
        ours, theirs = socket.socketpair()
        text = generator.choice(('{"lane":3}', '{"trim":1}', '{"bye":1}',
                                 '{"fork":{"device":0,"memory":0,"blocking":false}}'))
        payload = text.encode() if generator.random() < 0.3 else damaged(text, generator).encode()
        sent = [os.memfd_create("sent") for _ in range(generator.randint(0, 4))]
        theirs.sendmsg([framed(damaged_bytes(payload, generator), generator)],
                       [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", sent))] if sent else [])
        theirs.close()
        for descriptor in sent:
            os.close(descriptor)
        try:
            message, received = protocol.receive_control(ours)
            assert isinstance(message, dict) and len(received) == len(sent), (message, received)
            for descriptor in received:
                os.close(descriptor)
            understood += 1
        except protocol.BadFrame:
            refused += 1
        ours.close()
    assert understood > 20 and refused > 20, (understood, refused)


def fuzz_lengths():
    """Frames of any length are read whole, and leave nothing behind for the next one."""
    ours, theirs = socket.socketpair()
    frames = protocol.Frames(ours)
    for size in (2, 100, 65530, 65536, 1 << 20, 7, 200000):
        text = json.dumps({"a": "x" * size}).encode()
        sender = threading.Thread(target=theirs.sendall, args=(struct.pack("<I", len(text)) + text,))
        sender.start()
        assert frames.receive() == {"a": "x" * size}, size
        sender.join()
    theirs.close()
    assert frames.receive() is None


def main():
    generator = random.Random(20261122)
    fuzz_requests(generator)
    fuzz_control(generator)
    fuzz_lengths()


main()
