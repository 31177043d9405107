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
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import mutate

# Programs of the tests that look at the judge, in the order in which they are tried.
PROGRAMS = ["kernels_tests", "runner_tests"]

# The test that failed last for a mutant, which is tried first: {"rounding: what it weakens": ["kernels_tests", "Suite.Test"]}.
KILLERS = Path(__file__).parent / "killers.json"


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
        self.programs = {name: Program(self.place / "bin" / name) for name in PROGRAMS}
        self.measured = threading.Lock()
        self.killers = json.loads(KILLERS.read_text())
        self.sound = {}  # tests that pass without a mutant
        if built != [asdict(mutant) for mutant in self.mutants]:
            raise mutate.Mistake("the lists have changed since: build the target mutants again")

    def fails(self, program, number=None, reached=None, limit=1800, test=None):
        """The test of a program that fails with a mutant; none if all pass. Of all its tests, or of that one."""
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.place / "lib")}
        if number is not None:
            environment["MSRUN_MUTANT"] = str(number)
        if reached is not None:
            environment["MSRUN_MUTANTS_REACHED"] = reached
        command = [program.path] + ([] if number is None else ["--gtest_fail_fast"]) + ([f"--gtest_filter={test}"] if test else [])
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

    def measure_all(self):
        """Once: where a mutant needs all tests, those that do not come to it are left out."""
        with self.measured:
            for program in self.programs.values():
                if not program.reached:
                    self.measure(program)

    def passes(self, name, test):
        """Whether a test passes without a mutant: only then does it tell anything. One that is gone kills none."""
        if (name, test) not in self.sound:
            self.sound[name, test] = self.fails(self.programs[name], limit=300, test=test) is None
        return self.sound[name, test]

    def judge(self, mutant):
        """The mutant, whether a test comes to it, and the test that fails; nothing if there is no time left."""
        if time.monotonic() > self.deadline:
            return None
        name, test = self.killers.get(key(mutant), (None, None))
        if name in self.programs and self.passes(name, test):
            if failed := self.fails(self.programs[name], mutant.number, limit=300, test=test):
                return mutant, True, failed
        self.measure_all()
        reaching = [program for program in self.programs.values() if program.reached[mutant.number]]
        for program in reaching:
            if failed := self.fails(program, mutant.number, limit=30 + 10 * program.seconds):
                self.killers[key(mutant)] = [program.path.name, failed]
                return mutant, True, failed
        self.killers.pop(key(mutant), None)
        return mutant, bool(reaching), None

    def remember(self):
        """Writes down which test failed for which mutant."""
        known = {key(mutant) for mutant in self.mutants}
        kept = {name: [program, test.removesuffix(" (crash)")] for name, (program, test) in sorted(self.killers.items())
                if name in known and test != "(does not end)"}
        lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(killer)}" for name, killer in kept.items())
        KILLERS.write_text("{\n" + lines + "\n}\n")


def key(mutant):
    """What tells a mutant from others when lists change."""
    return f"{mutant.name.split('.')[0]}: {mutant.weakens}"


def chosen(mutants, arguments):
    """The mutants that are asked for, in the order in which they are tried."""
    if arguments.only:
        wanted = arguments.only.split(",")
        mutants = [m for m in mutants if m.name in wanted or m.name.split(".")[0] in wanted]
    if arguments.seconds:
        seed = int(time.time()) if arguments.seed is None else arguments.seed
        print(f"as many of {len(mutants)} mutants as {arguments.seconds} seconds allow, --seed {seed}")
        # What survives takes all tests.
        mutants = sorted(random.Random(seed).sample(mutants, len(mutants)), key=lambda mutant: bool(mutant.survives))
    return mutants


def is_wrong(mutant, failed):
    return bool(failed) == bool(mutant.survives)


def show(mutant, reached, failed, table):
    """At once: a run that is stopped has told what it found."""
    if not failed:
        verdict = f"survives: {mutant.survives}" if mutant.survives else "SURVIVES" + ("" if reached else ": no test comes to it")
    else:
        verdict = failed if not mutant.survives else f"KILLED by {failed}, but listed as a survivor"
    if table or is_wrong(mutant, failed):
        print(f"{mutant.name:22} {mutant.weakens}\n{'':22} {verdict}", flush=True)


def report(results):
    wrong = sum(is_wrong(mutant, failed) for mutant, _, failed in results)
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
    parser.add_argument("--remember", action="store_true", help=f"the tests that fail go to {KILLERS.name}")
    arguments = parser.parse_args()
    begin = time.monotonic()
    try:
        run = Run(arguments.build.resolve())
        mutants = chosen(run.mutants, arguments)
        run.deadline = begin + (arguments.seconds or float("inf"))
        results = []
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for result in filter(None, pool.map(run.judge, mutants)):
                results.append(result)
                show(*result, arguments.table)
                if arguments.remember:
                    run.remember()
    except (mutate.Mistake, OSError) as mistake:
        print(mistake, file=sys.stderr)
        return 2
    if not results:
        print("no mutant was tried", file=sys.stderr)
        return 2
    wrong = report(results)
    print(f"{time.monotonic() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
