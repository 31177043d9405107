"""For programs that stand in for the interpreter of a worker: what they were started with, and how they go on."""

import runpy
import sys


def words():
    """The file of the worker and its arguments, without the interpreter's own options in front."""
    given = sys.argv[1:]
    while given and given[0].startswith("-"):
        given = given[2:] if given[0] == "-W" else given[1:]
    return given


def run(worker_words):
    """Becomes the worker."""
    sys.argv = worker_words
    runpy.run_path(worker_words[0], run_name="__main__")
