"""Prints the recording of one rank, of small calls: some APIs, forward and backward, of several shapes.

    many_calls.py CALLS [RANK [half|none]]

How much it has in common with other ranks of as many calls: half of them, which all ranks have, or none. The number of
the rank is in the shapes of the others.
"""

import json
import sys


def tensor(shape, dtype, grad):
    return {"type": "torch.Tensor", "dtype": dtype, "shape": shape, "Max": 1.5, "Min": -1.5, "Mean": 0.1, "Norm": 2.0,
            "requires_grad": grad}


def main():
    apis = [("Torch.matmul", 2), ("Torch.mul", 2), ("Torch.add", 2), ("Functional.relu", 1), ("Functional.gelu", 1),
            ("Torch.exp", 1), ("Tensor.sum", 1), ("Functional.softplus", 1)]
    data = {}
    rank = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    common = sys.argv[3] if len(sys.argv) > 3 else "half"
    if common not in ("half", "none"):
        sys.exit(f"many_calls.py: half or none, not {common}")
    for call in range(int(sys.argv[1])):
        name, inputs = apis[call % len(apis)]
        size = 4 + call // len(apis) % 13
        # A matrix product, which is among the calls with even numbers, is of square matrices, one or several.
        shape = [rank + 1, size, size] if common == "none" else [size, size + (rank if call % 2 else 0)]
        dtype = ("torch.float32", "torch.bfloat16")[call % 3 == 0]
        args = [tensor(shape, dtype, True) for _ in range(inputs)]
        data[f"{name}.{call}.forward"] = {"input_args": args, "input_kwargs": {},
                                          "output": [tensor(shape, dtype, True)]}
        if call % 5 == 0 and name != "Tensor.sum":
            data[f"{name}.{call}.backward"] = {"input": [tensor(shape, dtype, False)],
                                               "output": [tensor(shape, dtype, False)] * inputs}
    json.dump({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": data},
              sys.stdout)


if __name__ == "__main__":
    main()
