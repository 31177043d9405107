"""A Python whose torch.nn.functional.relu is wrong in the fourth column, for tests that shrink such a call."""

import runpy
import sys


def damaged(function):
    def relu(*args, **kwargs):
        result = function(*args, **kwargs).clone()
        if result.dim() == 2 and result.shape[1] > 3:
            result[:, 3] += 1
        return result
    return relu


def main():
    words = sys.argv[1:]
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] == "-W" else words[1:]
    import torch
    torch.nn.functional.relu = damaged(torch.nn.functional.relu)
    sys.argv = words
    runpy.run_path(words[0], run_name="__main__")


main()
