"""Checks the recordings of kernels.py or named_faults.py, and counts what is accused, missed and named.

    kernel_verdicts.py MSRUN FOLDER [option of msrun ...]

Prints the sound calls that are suspicious, the faulty ones that are not, and, of those in NAMES of named_faults.py and below, which Messages
lack the cause or name another. Needs no torch."""

import ast
import collections
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

# Of the kernels of kernels.py. Of others whatever is said of a cause is wrong.
NAMES = {
    "the other formula": ["approximate='tanh'"],
    "sums in the half type": ["accumulation"],
    "positive, sums in the half type": ["accumulation"],
    "in the half type": ["accumulation"],
    "biased variance": ["unbiased=False"],
    "epsilon missing": ["epsilon=0 "],
    "epsilon of 1e-3": ["0.001"],
    "one element": ["One element"],
    "scale of another size": ["With scale="],
    "mean of half of the row": ["Half of each row"],
    "sum of half of the row": ["Half of each row"],
    "Torch.mean: half of the row": ["half"],
}
CAUSES = ("gives this result", "accumulation", "truncated", "rounded to", "cut to TF32", "One of K products", "flushed", "opposite sign", "transposed",
          "swapped", "another order", "Memory that")


def named_faults():
    """NAMES of named_faults.py, which cannot be imported without torch."""
    tree = ast.parse((pathlib.Path(__file__).parent / "named_faults.py").read_text())
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and statement.targets[0].id == "NAMES":
            return ast.literal_eval(statement.value)
    return {}


def check(msrun, folder, side, options):
    """Suspicious or not, and the Message, of each call."""
    with tempfile.TemporaryDirectory() as out:
        run = subprocess.run([msrun, "-api_info", folder / side / "dump.json", "-o", out, "--message-format", "json", "--backend", "recorded", *options],
                             capture_output=True, text=True, check=False)
        if run.returncode:
            sys.exit(run.stderr)
        events = [json.loads(line) for line in run.stdout.splitlines()]
        suspicious = {e["name"]: e["suspicious"] for e in events if e["type"] == "api_result"}
        [results] = pathlib.Path(out).glob("*result_*.csv")
        with open(results, encoding="utf-8-sig") as file:
            return {row["API name"]: (suspicious[row["API name"]], row["Message"] or "") for row in csv.DictReader(file)}


def main():
    msrun, folder, options = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    labels = json.loads((folder / "labels.json").read_text())
    phrases = named_faults()
    for name, more in NAMES.items():
        phrases[name] = phrases.get(name, []) + more
    counts = collections.Counter()
    for side in ("sound", "faulty"):
        for name, (suspicious, message) in check(msrun, folder, side, options).items():
            label = labels[f"{side}/{name}"]
            counts[side] += 1
            if suspicious == (side == "sound"):
                counts["accused" if suspicious else "missed"] += 1
                print("accused" if suspicious else "missed", name, "|", label, "|", message)
            if not suspicious or side == "sound":
                continue
            fault = label.split(": ", 1)[1]
            expected = phrases.get(fault, phrases.get(f"{name.rsplit('.', 1)[0]}: {fault}"))
            named = expected is not None and any(phrase in message for phrase in expected)
            says = [cause for cause in CAUSES if cause in message]
            counts["expected"] += expected is not None
            counts["named"] += named
            if says and not named:
                counts["wrong"] += 1
                print("wrong", name, "|", label, "|", message)
            elif expected is not None and not named:
                print("unnamed", name, "|", label, "|", message)
    print(f"{counts['accused']} of {counts['sound']} sound calls accused, {counts['missed']} of {counts['faulty']} faults missed, "
          f"{counts['named']} of {counts['expected']} named, {counts['wrong']} by another cause")


if __name__ == "__main__":
    main()
