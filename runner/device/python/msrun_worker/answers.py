"""The reply to one recorded call, and what went wrong with it."""

import re

from msrun_worker.values import BadRequest, TooLarge, Unsupported

# What a call is answered with that could not be run. All but the last concern this call alone.
UNSUPPORTED = "unsupported"  # this framework or this device does not have it
ARGUMENTS = "arguments"  # it does not take these arguments
FAILED = "failed"
OOM = "oom"
LARGE = "large"  # its results take more bytes than a call may take; how many stands beside it
LOST = "lost"  # the device is of no more use to this process

# Error codes of the runtime of Ascend (CANN), as regular expressions.
LOST_CODES = r"5070\d\d"
MEMORY_CODES = r"20700[12]"


# What an allocator of the host says it was asked for.
_ASKED_FOR = re.compile(r"tried to allocate (\d+) bytes", re.I)


def code(number):
    """A regular expression for an error code of the device's runtime (CANN). The number alone may as well be a size or
    an index that a text is about: it is a code where the text calls it one."""
    return (r"(?:acl_error\w*|err|error|errno|code|ret|return|result|status|fail|failed|failure)"
            r"(?:\W+(?:code|is|was|no|value|ret|returned))*\W{1,4}(?:%s)\b" % number)


def too_long(request):
    """The reply to a call whose results are too many values for a frame."""
    return {"id": request.get("id"), "status": FAILED, "error": "its result has more values than can be sent to msrun"}


class Unresolved(Exception):
    """The framework has nothing of the recorded name. Its text is for the user."""


def _first_line(text):
    """What is wrong. The lines below it are traces, and advice on how to debug a program of one's own."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


class Failures:
    """What a framework's errors mean, by words in their texts (regular expressions, in any case of letters). What is
    from `aside` on does not concern the call."""

    def __init__(self, lost, out_of_memory, unsupported, aside=r"(?!)"):
        self._lost = re.compile(lost, re.I)
        self._out_of_memory = re.compile(out_of_memory, re.I)
        self._unsupported = re.compile(unsupported, re.I)
        self._aside = re.compile(aside, re.I)

    def _of_the_call(self, text):
        return self._aside.split(text, 1)[0].rstrip()

    def status_of(self, error):
        text = self._of_the_call(str(error))
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" \
                or self._out_of_memory.search(text):
            return OOM
        if isinstance(error, RuntimeError) and self._lost.search(text):
            return LOST
        if isinstance(error, (Unresolved, Unsupported, NotImplementedError)):
            return UNSUPPORTED
        if isinstance(error, (TypeError, ValueError, IndexError, KeyError, AttributeError)):
            return ARGUMENTS
        return UNSUPPORTED if self._unsupported.search(text) else FAILED

    def text_of(self, error):
        text = self._of_the_call(_first_line(str(error)))
        if isinstance(error, (Unresolved, Unsupported)):
            return text
        return "%s: %s" % (type(error).__name__, text) if text else type(error).__name__

    def add_gradients(self, reply, gradients, write):
        """Adds what gradients() returns to the reply, or why it cannot be had."""
        try:
            found = gradients()
        except BadRequest:
            raise
        except Exception as error:  # pylint: disable=broad-except
            if self.status_of(error) in (OOM, LOST):
                raise
            reply["bp"] = self.text_of(error)
            return
        reply["g"] = [write(gradient) for gradient in found]

    def _asked_for(self, error):
        """The bytes of the tensor that was refused; 0 where the error does not say."""
        found = _ASKED_FOR.search(self._of_the_call(str(error)))
        return int(found.group(1)) if found else 0

    def answer(self, request, run, device, limit):
        """The reply that run() returns, or that of its error. limit: bytes that calls may take; 0: as many as there
        are."""
        try:
            return run()
        except BadRequest:
            raise
        except TooLarge as error:
            return {"id": request.get("id"), "status": LARGE, "bytes": error.size}
        except BaseException as error:  # pylint: disable=broad-except
            status = self.status_of(error)
            if status == OOM and 0 < limit < self._asked_for(error):
                # No other call is to blame, and waiting for it would be in vain.
                return {"id": request.get("id"), "status": LARGE, "bytes": self._asked_for(error)}
            reply = {"id": request.get("id"), "status": status, "error": self.text_of(error)}
        if reply["status"] == OOM:
            device.give_back()
        return reply
