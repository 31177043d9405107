"""The process that has imported the framework and forks workers: one is there in milliseconds, shares its pages with the
others, and as many devices as there are cost one import. It never touches a device, which a forked process could not
use then. Several runs may ask it at once: what they are answered with comes on descriptors of their own.
"""

import contextlib
import errno
import fcntl
import os
import resource
import select
import signal
import struct

from msrun_worker import protocol

_F_SETSIG = 10
_NUMBER = struct.Struct("<i")
# How many come with each request (protocol.py).
_DESCRIPTORS = {"hello": 1, "fork": 4}


# The process that is forked now is a worker, or one that inspects.
_forks_own = False


def _end_as_usual():
    if not _forks_own:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def outlive_termination():
    """Whoever ends a job sends SIGTERM to all of its processes: what that means for the calls in flight is msrun's to
    say, which kills this process or closes its sockets. What libraries start or fork is ended by it as ever."""
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    os.register_at_fork(after_in_child=_end_as_usual)


def _fork():
    global _forks_own  # pylint: disable=global-statement
    _forks_own = True
    try:
        return os.fork()
    finally:
        _forks_own = False


def live_with(lifeline):
    """Has the kernel kill this process when the other end of the pipe closes, whatever it is at: its parent need not be
    the runner, whose end would be told otherwise."""
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, _F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    if poll.poll(0):
        os._exit(0)


def live_on(lifeline):
    """Undoes that, before the other end closes because there is nothing more to be told."""
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) & ~os.O_ASYNC)


def _become_worker(descriptors):
    control, fault, status, lifeline = descriptors
    live_with(lifeline)
    os.close(status)
    os.dup2(control, protocol.CONTROL_DESCRIPTOR)
    os.dup2(fault, protocol.FAULT_DESCRIPTOR)
    os.close(control)
    os.close(fault)


def _end_like(status):
    """Ends this process as the one ended that was to speak for it: msrun waits for what neither will say."""
    if os.WIFSIGNALED(status):
        # The core of the process that crashed is enough.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):  # SIGKILL has no handler to be set
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))


def _reap(statuses, inspections):
    """Tells whoever asked for them how workers ended. An inspection that crashed takes this process with it, which tells
    msrun: no worker would fare better."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except OSError as error:
            if error.errno == errno.EINTR:
                continue
            return
        if pid == 0:
            return
        if pid in inspections:
            inspections.discard(pid)
            if status != 0:
                _end_like(status)
        descriptor = statuses.pop(pid, None)
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.write(descriptor, _NUMBER.pack(status))
            os.close(descriptor)


def serve(connection, inspect):
    """Forks a process for each request: one that inspects the host and ends, or a worker. Returns what was asked for, in
    the worker alone; the server ends within. inspect(asked, descriptor) says what there is."""
    statuses = {}
    inspections = set()
    ended, wake = os.pipe()
    os.set_blocking(ended, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    while True:
        ready, _, _ = select.select([connection, ended], [], [])
        if ended in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(ended, 4096)
        _reap(statuses, inspections)
        if connection not in ready:
            continue
        message, descriptors = protocol.receive_control(connection)
        if message is None:
            os._exit(0)
        if _DESCRIPTORS.get(next(iter(message), None)) != len(descriptors):
            raise protocol.BadFrame("what is asked of the process that forks is not known")
        pid = _fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for descriptor in (ended, wake, *statuses.values()):
                os.close(descriptor)
            connection.detach()
            if "hello" in message:
                # A framework that hangs while it is asked outlives nobody who asked.
                live_with(descriptors[0])
                inspect(message["hello"], descriptors[0])
                os._exit(0)
            _become_worker(descriptors)
            return message["fork"]
        if "hello" in message:
            inspections.add(pid)
            os.close(descriptors[0])
            continue
        control, fault, status, lifeline = descriptors
        statuses[pid] = status
        for descriptor in (control, fault, lifeline):
            os.close(descriptor)
        with contextlib.suppress(OSError):
            os.write(status, _NUMBER.pack(pid))
