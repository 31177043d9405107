"""Runs scripts as the interpreter would, each in a child of a process that has loaded torch: loading it takes longer
than what most scripts do.

    python script_server.py

Reads one JSON list per line, [FOLDER, OUTPUT, SECONDS, SCRIPT, ARGUMENT...]: the folder to run the script in, the file
that takes both streams, the limit of time. A character of a word stands for the byte of its number. Answers each with a line that holds the exit code; 124 stands for a script
that ran out of time, 128 + N for one that signal N ended. Ends with its input.
"""
import io
import json
import os
import runpy
import signal
import sys
import traceback

import torch  # noqa: F401  (what this is for)


def run(script, arguments):
    """The exit code of the interpreter for this script."""
    sys.argv = [script] + arguments
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def child(folder, output, seconds, script, arguments):
    os.chdir(folder)
    null = os.open(os.devnull, os.O_RDONLY)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    for descriptor, place in ((null, 0), (file, 1), (file, 2)):
        os.dup2(descriptor, place)
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False))
    sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb", closefd=False), line_buffering=True)
    signal.signal(signal.SIGALRM, lambda *_: os._exit(124))
    signal.alarm(seconds)
    code = run(script, arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 0xFF)


def main():
    for line in sys.stdin:
        request = [os.fsdecode(word.encode("latin-1")) if isinstance(word, str) else word for word in json.loads(line)]
        folder, output, seconds, script, *arguments = request
        pid = os.fork()
        if pid == 0:
            child(folder, output, seconds, script, arguments)
        _, status = os.waitpid(pid, 0)
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        print(code, flush=True)


if __name__ == "__main__":
    main()
