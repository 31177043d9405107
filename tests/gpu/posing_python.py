"""A Python for --python whose processor poses as the GPU cuda:0, for whoever tries or measures on a host without one
how msrun judges an accelerator: as a device that rounds to half types between its kernels, with calls of any size.

msrun --backend torch:cuda --python tests/gpu/posing_python.py -d 0 ...; the file needs a wrapper that starts it with a
Python that has torch, as bench_judge makes one.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "torch"))
import worker_program  # noqa: E402


def main():
    words = worker_program.words()
    # The worker's packages lie beside its file.
    sys.path.insert(0, os.path.dirname(words[0]))
    from msrun_torch_worker import devices

    class Posing(devices.Cpu):
        def __init__(self, _kind, index):
            super().__init__("cpu", index)

    devices.KINDS = dict(devices.KINDS, cuda=Posing)
    worker_program.run(words)


main()
