"""Prints the names of `msrun --list-apis --json` (on standard input) in torch's own namespaces that the worker, whose
folder is the argument, finds nothing for in this torch."""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(sys.argv[1]))

from msrun_torch_worker import names  # noqa: E402

for entry in json.load(sys.stdin)["apis"]:
    namespace, api = entry["name"].split(".", 1)
    if namespace not in ("Functional", "Tensor", "Torch", "Aten", "VF"):
        continue
    try:
        names.resolve(namespace, api, entry["operator"])
    except names.Unresolved:
        print(entry["name"])
