"""Frames between msrun and the worker, version 1: the length of the text (u32, little endian), then JSON, in which the
bare words NaN and Infinity are numbers. A control frame that brings a lane carries two descriptors: its socket and its
arena. Of the process that forks, one that asks what there is carries the socket for the answer; one that asks for a
worker four: the worker's two below, the pipe for its number and how it ended, and the pipe whose end is its own.

Descriptors that the worker is started with: 3, the socket for control; 4, the pipe for what faulthandler writes; 5, the
pipe whose end is its own, for it need not be msrun's child: the interpreter may be a script that starts another one.
"""

import array
import json
import socket
import struct

VERSION = 1
CONTROL_DESCRIPTOR = 3
FAULT_DESCRIPTOR = 4
LIFELINE_DESCRIPTOR = 5
LONGEST_FRAME = 64 << 20
_MOST_DESCRIPTORS = 4
# Room for frames that a lane keeps between calls.
_USUAL_BYTES = 65536

_LENGTH = struct.Struct("<I")
_encoder = json.JSONEncoder(separators=(",", ":"))
# What json.loads does, but for white space around the value, which msrun does not send.
_scan = json.JSONDecoder().scan_once


class BadFrame(Exception):
    """What arrived is no frame. Nothing that follows it can be understood."""


def _parse(text):
    try:
        text = str(text, "utf-8")
        message, end = _scan(text, 0)
    except (ValueError, RecursionError, StopIteration) as error:
        raise BadFrame("the text of a frame is no JSON: %s" % error) from None
    if end != len(text):
        raise BadFrame("something follows the object in a frame")
    if not isinstance(message, dict):
        raise BadFrame("a frame holds %s, not an object" % type(message).__name__)
    return message


def encoded(message):
    """The text of a frame."""
    return _encoder.encode(message).encode("utf-8", "replace")


class Frames:
    """The frames of one socket, which is used by one thread."""

    def __init__(self, connection):
        self._connection = connection
        self._reserve(_USUAL_BYTES, 0)

    def _reserve(self, size, received):
        """Makes room for that many bytes, of which so many are there."""
        buffer = memoryview(bytearray(size))
        if received:
            buffer[:received] = self._buffer[:received]
        self._buffer = buffer

    def receive(self):
        """The next message; None at the end of the stream."""
        received = 0
        end = _LENGTH.size
        # Nothing follows a frame before it is answered, so that whatever comes belongs to it.
        while received < end:
            count = self._connection.recv_into(self._buffer[received:])
            if count == 0:
                if received == 0:
                    return None
                raise BadFrame("the stream ends within a frame")
            if received < _LENGTH.size <= received + count:
                (size,) = _LENGTH.unpack_from(self._buffer)
                if size > LONGEST_FRAME:
                    raise BadFrame("a frame of %d bytes is too long" % size)
                end = _LENGTH.size + size
                if end > len(self._buffer):
                    self._reserve(end, received + count)
            received += count
        if received > end:
            raise BadFrame("a frame follows another one that is not answered")
        text = self._buffer[_LENGTH.size:end]
        if end > _USUAL_BYTES:
            self._reserve(_USUAL_BYTES, 0)
        return _parse(text)

    def send(self, message):
        self.send_text(encoded(message))

    def send_text(self, text):
        """text: an encoded message of at most LONGEST_FRAME bytes."""
        self._connection.sendall(_LENGTH.pack(len(text)) + text)


def receive_control(connection):
    """The next control message and the descriptors that came with it; (None, []) at the end of the stream.

    msrun sends each of these with one call, and they are small.
    """
    item = array.array("i").itemsize
    header, ancillary, _, _ = connection.recvmsg(_LENGTH.size, socket.CMSG_SPACE(_MOST_DESCRIPTORS * item))
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data[:len(data) - len(data) % item])
    if not header:
        return None, []
    while len(header) < _LENGTH.size:
        more = connection.recv(_LENGTH.size - len(header))
        if not more:
            raise BadFrame("the stream ends within a frame")
        header += more
    (size,) = _LENGTH.unpack(header)
    if size > LONGEST_FRAME:
        raise BadFrame("a frame of %d bytes is too long" % size)
    text = b""
    while len(text) < size:
        more = connection.recv(size - len(text))
        if not more:
            raise BadFrame("the stream ends within a frame")
        text += more
    return _parse(text), list(descriptors)
