#!/usr/bin/env python3
"""Looks at the assembly of the innermost loops of products: they must keep their sums in registers.

    tile_loops.py [--compiler aarch64-linux-gnu-g++] [--march x86-64-v3]

Compiles the sources that include kernels/numeric/tiles.h as kernels/CMakeLists.txt does, to assembly only, and looks at
every innermost loop with at least four multiply-adds of vectors (where there are none, additions). In such a loop no
vector may go to the stack or come from there, and in the largest loop of each source there must be at least eight sums,
so that they need not wait for each other. Prints one line a loop with --list; exits with 1 if a loop is not so, and
with 77 where there is no such compiler.
"""

import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = [
    "gemm.cpp",
    "direct_convolution.cpp",
    "direct_convolution_input.cpp",
]
LEAST_SUMS = 8

# The sums that an instruction adds to; what moves a vector to or from the stack.
AARCH64 = (re.compile(r"\s+fmla\s+(v\d+)\.(?:4s|2d)"), re.compile(r"\s+(?:ldr|str|ldp|stp)\s+q\d+.*\[sp"))
X86_FMA = (re.compile(r"\s+vfn?madd\d+p[sd]\s.*%([xyz]mm\d+)$"), re.compile(r"\s+v?mov[au]p[sd]\s.*\(%r[sb]p\)"))
X86 = (re.compile(r"\s+v?addp[sd]\s.*%([xyz]mm\d+)$"), X86_FMA[1])

LABEL = re.compile(r"^(\.L\w+):")
JUMP = re.compile(r"\s+(?:b\.?\w\w|cbn?z|tbn?z|j\w+)\s+(?:.*,\s*)?(\.L\w+)$")
FUNCTION = re.compile(r"^(_Z\w+)(?:\.\w+)*:")


def assembly(compiler, options, source):
    command = [compiler, "-O2", "-O3", "-DNDEBUG", "-std=c++20", f"-I{ROOT}", *options, "-S", "-o", "-", str(source)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")


def innermost_loops(lines):
    """(function, lines) of every loop in which no other begins or ends."""
    function, begins, loops = "", {}, []
    for number, line in enumerate(lines):
        if found := FUNCTION.match(line):
            function = found.group(1)
        elif found := LABEL.match(line):
            begins[found.group(1)] = number
        elif (found := JUMP.match(line)) and found.group(1) in begins:
            loops.append((begins[found.group(1)], number, function))
    for first, last, function in loops:
        if not any(first <= a and b < last or first < a and b <= last for a, b, _ in loops):
            yield function, lines[first : last + 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--march")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if shutil.which(arguments.compiler) is None:
        print(f"There is no {arguments.compiler}.")
        return 77
    options = [f"-march={arguments.march}"] if arguments.march else []
    if arguments.march == "x86-64-v4":
        options.append("-mprefer-vector-width=512")
    patterns = AARCH64
    if "aarch64" not in arguments.compiler:
        patterns = X86_FMA if arguments.march in ("x86-64-v3", "x86-64-v4") else X86
    sum_of, of_stack = patterns

    sources = [ROOT / "kernels/numeric" / name for name in SOURCES]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        texts = list(pool.map(lambda source: assembly(arguments.compiler, options, source), sources))
    wrong = 0
    for source, lines in zip(sources, texts):
        most = 0
        for function, body in innermost_loops(lines):
            sums = [found.group(1) for line in body if (found := sum_of.match(line))]
            if len(sums) < 4:
                continue
            spills = sum(1 for line in body if of_stack.match(line))
            most = max(most, len(set(sums)))
            wrong += spills > 0
            if spills or arguments.list:
                print(f"{source.name}: {len(sums)} multiply-adds to {len(set(sums))} sums, {spills} of the stack, {function}")
        if most < LEAST_SUMS:
            print(f"{source.name}: at most {most} sums in a loop")
            wrong += 1
    return 1 if wrong else 0


sys.exit(main())
