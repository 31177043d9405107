#!/usr/bin/env python3
"""Runs the judge's tests against its mutants, which the target `mutants` built, and says which test fails for each.

The exit code is 1 if a mutant survives that is not listed as one no test can find, or the other way round.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import mutate

# Programs of the tests that look at the judge, in the order in which they are tried.
PROGRAMS = ["kernels_tests", "runner_tests"]


@dataclass
class Program:
    path: Path
    seconds: float = 0  # that its tests take without a mutant
    reached: bytes = b""  # by mutant: whether its tests come to it


class Run:
    def __init__(self, build):
        self.place = build / "mutants"
        built = json.loads((self.place / "sources" / "mutants.json").read_text())
        self.mutants, _ = mutate.read_lists()
        self.deadline = float("inf")
        if built != [asdict(mutant) for mutant in self.mutants]:
            raise mutate.Mistake("the lists have changed since: build the target mutants again")

    def fails(self, program, number=None, reached=None, limit=1800):
        """The test of a program that fails with a mutant; none if all pass."""
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.place / "lib")}
        if number is not None:
            environment["MSRUN_MUTANT"] = str(number)
        if reached is not None:
            environment["MSRUN_MUTANTS_REACHED"] = reached
        command = [program.path] + ([] if number is None else ["--gtest_fail_fast"])
        try:
            done = subprocess.run(command, env=environment, capture_output=True, timeout=limit, errors="replace", check=False)
        except subprocess.TimeoutExpired:
            return "(does not end)"
        if done.returncode == 0:
            return None
        failed = re.search(r"^\[  FAILED  \] (\S+?),? ", done.stdout + " ", re.M) or re.search(
            r"^\[  FAILED  \] (\S+)", done.stdout, re.M)
        started = re.findall(r"^\[ RUN      \] (\S+)", done.stdout, re.M)
        return failed[1] if failed else f"{started[-1]} (crash)" if started else f"{program.path}: {done.stderr[-500:]}"

    def measure(self, program):
        """Runs a program without a mutant: it has to pass."""
        with tempfile.NamedTemporaryFile(dir=self.place) as reached:
            reached.write(bytes(len(self.mutants) + 1))
            reached.flush()
            begin = time.monotonic()
            failed = self.fails(program, reached=reached.name)
            program.seconds = time.monotonic() - begin
            program.reached = Path(reached.name).read_bytes()
        if failed:
            raise mutate.Mistake(f"{program.path.name} fails without a mutant: {failed}")
        if not any(program.reached):
            raise mutate.Mistake(f"{program.path.name} comes to no mutant: it has not the tests of the judge")
        print(f"{program.path.name}: {program.seconds:.1f} s, comes to {sum(program.reached)} of {len(self.mutants)} mutants", flush=True)

    def judge(self, programs, mutant):
        """The mutant, whether a test comes to it, and the test that fails; nothing if there is no time left."""
        if time.monotonic() > self.deadline:
            return None
        reaching = [program for program in programs if program.reached[mutant.number]]
        for program in reaching:
            if failed := self.fails(program, mutant.number, limit=30 + 10 * program.seconds):
                return mutant, True, failed
        return mutant, bool(reaching), None


def chosen(mutants, arguments):
    """The mutants that are asked for, in the order in which they are tried."""
    if arguments.only:
        wanted = arguments.only.split(",")
        mutants = [m for m in mutants if m.name in wanted or m.name.split(".")[0] in wanted]
    if arguments.seconds:
        seed = int(time.time()) if arguments.seed is None else arguments.seed
        print(f"as many of {len(mutants)} mutants as {arguments.seconds} seconds allow, --seed {seed}")
        mutants = random.Random(seed).sample(mutants, len(mutants))
    return mutants


def report(results, table):
    wrong = 0
    for mutant, reached, failed in sorted(results, key=lambda result: result[0].number):
        if not failed:
            verdict = f"survives: {mutant.survives}" if mutant.survives else "SURVIVES" + ("" if reached else ": no test comes to it")
        else:
            verdict = failed if not mutant.survives else f"KILLED by {failed}, but listed as a survivor"
        wrong += bool(failed) == bool(mutant.survives)
        if table or (bool(failed) == bool(mutant.survives)):
            print(f"{mutant.name:22} {mutant.weakens}\n{'':22} {verdict}")
    killed = sum(bool(failed) for _, _, failed in results)
    print(f"{len(results)} mutants: {killed} killed, {len(results) - killed} survive, {wrong} not as listed")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="the folder of the build")
    parser.add_argument("--seconds", type=float, metavar="N", help="as many mutants, at random, as so long allows")
    parser.add_argument("--seed", type=int, help="of their order; by default another one each time, which is printed")
    parser.add_argument("--only", metavar="NAMES", help='"rounding" or "rounding.3", separated by commas')
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="tests at a time")
    parser.add_argument("--table", action="store_true", help="every mutant with the test that fails")
    arguments = parser.parse_args()
    begin = time.monotonic()
    try:
        run = Run(arguments.build.resolve())
        mutants = chosen(run.mutants, arguments)
        programs = [Program(run.place / "bin" / name) for name in PROGRAMS]
        for program in programs:
            run.measure(program)
        # Where the programs themselves take nearly all of the time, some is left for mutants all the same.
        seconds = arguments.seconds or float("inf")
        run.deadline = max(begin + seconds, time.monotonic() + seconds / 4)
        with ThreadPoolExecutor(arguments.jobs) as pool:
            results = [result for result in pool.map(lambda mutant: run.judge(programs, mutant), mutants) if result]
    except (mutate.Mistake, OSError) as mistake:
        print(mistake, file=sys.stderr)
        return 2
    if not results:
        print("no mutant was tried", file=sys.stderr)
        return 2
    wrong = report(results, arguments.table)
    print(f"{time.monotonic() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
