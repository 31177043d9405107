#!/usr/bin/env python3
"""Counts the instructions that the forwards of bench_kernels take, by valgrind.

    instructions.py build/bin/bench_kernels [--only NAME]

Every case runs once with one forward and once with two; the difference, divided by its elements or multiply-adds, is
printed. Counts do not depend on what else the machine does, and virtual machines without counters have them, too. The
processor that valgrind shows to programs has vectors of 256 bits.
"""

import argparse
import re
import subprocess
import sys


def counted(words):
    """The instructions of a run, and what it printed."""
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *words],
                          capture_output=True, text=True, check=False)
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr[-400:]}")
    return int(found.group(1).replace(",", "")), done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--only", default="", help="families or cases whose name contains this")
    arguments = parser.parse_args()
    listed = subprocess.run([arguments.program, "--list"], capture_output=True, text=True, check=True).stdout
    for label in listed.splitlines():
        if arguments.only not in label:
            continue
        words = [arguments.program, "--only", label, "--forwards"]
        once, text = counted([*words, "1"])
        twice, _ = counted([*words, "2"])
        amount, unit = text.strip().split("\t")
        print(f"| {label} | {(twice - once) / float(amount):.2f} | {unit} |", flush=True)


main()
