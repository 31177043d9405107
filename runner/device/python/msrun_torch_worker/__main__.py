import os
import sys

# Python put this folder first, whose modules are not to be found under their short names.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from msrun_worker.server import main  # noqa: E402

main(sys.argv[1:], "msrun_torch_worker", "torch")
