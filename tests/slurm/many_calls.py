"""Prints a recording of so many small calls: some APIs, forward and backward, of several shapes.

Every other call is that of no other rank: the number of the rank, a second argument, is in its shape.
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
    for call in range(int(sys.argv[1])):
        name, inputs = apis[call % len(apis)]
        size = 4 + call // len(apis) % 13
        shape = [size, size + (rank if call % 2 else 0)]
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
