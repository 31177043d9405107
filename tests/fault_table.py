#!/usr/bin/env python3
"""The table of docs/evidence.md: of the float outputs that a fault of the simulated device changes, how many are found.

    tests/fault_table.py build/bin/msrun [--faults acc-fp16,hf32] [--rows 20]

Runs every sample recording without a fault and with each fault on all calls, and prints one line per fault and dtype:
outputs whose metrics the fault changed; of these the suspicious ones, and those whose Message names a cause or a place;
and found of changed for each family of operators (the folder of kernels that declares them). What is changed and not
found is within what rounding explains; with --rows such outputs are listed. Takes some minutes on two cores. Needs the
tests' data, which any build of them unpacks into build/data.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Too large to be computed again with another arithmetic quickly.
LEFT_OUT = {"unet_fp32", "llama_mid_bf16"}
FAMILIES = ["linalg", "nn", "elementwise", "reduce", "fused", "other"]
FAULTS = ["acc-fp16", "acc-bf16", "dropped-term", "round-to-zero", "hf32", "scale=1.001", "wrong-element",
          "wrong-block", "wrong-tail", "wrong-core=3/8", "nan-tail", "uninitialised", "stale", "transposed",
          "swapped-rows", "gradient-sign", "missing-gradient-term"]


def families():
    """Operator name -> its family."""
    found = {}
    for folder, _, files in os.walk(os.path.join(ROOT, "kernels")):
        for name in files:
            if not name.endswith(".cpp"):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                for operator in re.findall(r'^NAMES\("([^"]+)"', file.read(), re.M):
                    family = os.path.basename(folder)
                    found[operator] = family if family in FAMILIES else "other"
    return found


def operators(msrun):
    """API name without its index -> operator."""
    text = subprocess.run([msrun, "--list-apis"], capture_output=True, text=True, check=True).stdout
    return dict(line.split()[:2] for line in text.splitlines() if len(line.split()) >= 2)


def outputs(msrun, dump, words):
    """(call, direction, index) -> row of the journal's export, for outputs in a floating dtype."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([msrun, "-api_info", dump, "-n", "2", "--backend", "sim", "-o", folder] + words,
                       capture_output=True, check=True)
        journal = next(name for name in os.listdir(folder) if name.endswith(".journal"))
        text = subprocess.run([msrun, "journal", os.path.join(folder, journal), "--export", "-"],
                              capture_output=True, text=True, check=True).stdout
    rows = {}
    for line in text.splitlines():
        result = json.loads(line)
        for row in result["rows"]:
            if "float" in row["device_dtype"]:
                rows[result["name"], row["direction"], row["output"]] = row
    return rows


def is_suspicious(row):
    return row["beyond_rounding"] or "Not explained by rounding" in row["message"]


def names_a_cause(row):
    after = row["message"].split("Not explained by rounding", 1)
    return len(after) == 2 and after[1].strip().count("\n") > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("msrun")
    parser.add_argument("--data", default=os.path.join(ROOT, "build", "data", "dumps"))
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--rows", type=int, default=0, help="list so many outputs that are not found, per fault")
    options = parser.parse_args()
    family_of = families()
    operator_of = operators(options.msrun)
    dumps = sorted(name for name in os.listdir(options.data)
                   if name not in LEFT_OUT and os.path.exists(os.path.join(options.data, name, "dump.json")))
    path = {name: os.path.join(options.data, name, "dump.json") for name in dumps}
    clean = {name: outputs(options.msrun, path[name], []) for name in dumps}
    accused = [(name,) + key for name in dumps for key, row in clean[name].items() if is_suspicious(row)]
    if accused:
        sys.exit("Suspicious without a fault: " + ", ".join(map(str, accused)))
    print("| fault | output dtype | changed | suspicious | of these with a cause | %s |" % " | ".join(FAMILIES))
    print("|---" * (5 + len(FAMILIES)) + "|")
    for fault in options.faults.split(","):
        counts = collections.defaultdict(collections.Counter)
        missed = []
        for name in dumps:
            for key, row in outputs(options.msrun, path[name], ["--sim-fault", "*=" + fault]).items():
                before = clean[name].get(key)
                if before is None or row["metrics"] == before["metrics"]:
                    continue
                operator = operator_of.get(key[0].rsplit(".", 1)[0], "?")
                family = family_of.get(operator, "other")
                count = counts[row["device_dtype"].replace("torch.", "")]
                for group in ("", family):
                    count["changed", group] += 1
                    count["found", group] += is_suspicious(row)
                count["named"] += is_suspicious(row) and names_a_cause(row)
                if not is_suspicious(row):
                    missed.append((name,) + key + (row["shape"],))
        for dtype, count in sorted(counts.items()):
            shares = ["%d/%d" % (count["found", family], count["changed", family]) if count["changed", family] else ""
                      for family in FAMILIES]
            found = count["found", ""]
            changed = count["changed", ""]
            print("| %s | %s | %d | %d (%.1f %%) | %d | %s |" % (
                fault, dtype, changed, found, 100 * found / changed, count["named"], " | ".join(shares)), flush=True)
        for row in missed[:options.rows]:
            print("   ", *row, file=sys.stderr)


if __name__ == "__main__":
    main()
