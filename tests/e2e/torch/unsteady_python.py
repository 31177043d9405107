"""A Python whose torch.nn.functional.relu is off now and then, as MSRUN_TEST_FAULT says, for tests of --repeat and
--same-on-all: "third", every third run of a lane; "once", the first run that finds no file MSRUN_TEST_ONCE, which it
then makes.
"""

import os
import threading

import worker_program

_runs = threading.local()


def is_turn():
    if os.environ["MSRUN_TEST_FAULT"] == "third":
        _runs.count = getattr(_runs, "count", 0) + 1
        return _runs.count % 3 == 0
    try:
        os.close(os.open(os.environ["MSRUN_TEST_ONCE"], os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def main():
    words = worker_program.words()
    import torch
    sound = torch.nn.functional.relu

    def relu(*args, **kwargs):
        result = sound(*args, **kwargs)
        return result + 1 if is_turn() else result
    torch.nn.functional.relu = relu
    worker_program.run(words)


main()
