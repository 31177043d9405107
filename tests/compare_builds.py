#!/usr/bin/env python3
"""Runs two builds of msrun over every sample recording and compares all that they write, byte by byte.

    tests/compare_builds.py OLD_BIN NEW_BIN [FILTER] [--quick] [--jobs N] [--keep FOLDER] [--list]

OLD_BIN and NEW_BIN are folders that hold msrun and its tools (build/bin). FILTER is a part of a case's name, such as
"llama_bf16", "/recorded" or "torchair". --quick leaves out the recordings that take seconds each. --keep leaves the
outputs in FOLDER instead of removing them. One line per difference goes to stdout, a count at the end; the exit code is 0
if nothing differs, 1 if something does, 2 for wrong usage.

Recordings are the dump.json files below tests/data (archives there are unpacked first) and, if it is there, below
../shared/fixtures/pytorch; those that are equal are run once. Both builds are started through links of equal names, so
that paths in what they print are equal. What cannot be equal is replaced before comparing: times, process ids and time
stamps in names, sizes of memory, and, if several threads share the calls, the device and the order of results. Journals
are compared by what `msrun journal --export` says, not by their bytes, so their format may differ.

Python's standard library only. An old against an old build must show no difference.
"""

import argparse
import concurrent.futures
import difflib
import hashlib
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SLOW = ("llama_mid_bf16",)
SECONDS_PER_COMMAND = 300


# ---------------------------------------------------------------------------------------------------------------------
# What is replaced before a comparison

STAMP = re.compile(r"(?<![0-9])20[0-9]{12}(?![0-9])")
TEXT_RULES = [
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?"), "TIME"),
    (re.compile(r"TIME \(\d+\)"), "TIME (PID)"),
    (re.compile(r"\bpid \d+"), "pid PID"),
    (re.compile(r"\bprocess \d+"), "process PID"),
    (re.compile(r"in \d+:\d\d(:\d\d)?\b"), "in DURATION"),
    (re.compile(r"in \d+\.\d+ s \(.* per second\)"), "in DURATION"),
    (re.compile(r'"pid":\d+'), '"pid":PID'),
    (re.compile(r'"elapsed_seconds":[0-9.e+-]+'), '"elapsed_seconds":SECONDS'),
    (re.compile(r'"seconds":\{[^}]*\}'), '"seconds":{}'),
    (re.compile(r'"peak_bytes":\{[^}]*\}'), '"peak_bytes":{}'),
    (re.compile(r'"(begun|started|first_result|last_result)": ?[0-9.e+-]+'), r'"\1":TIME'),
]
DEVICE_RULES = [
    (re.compile(r'"device":\d+'), '"device":DEVICE'),
    (re.compile(r"\b[Dd]evice \d\b"), "device DEVICE"),
]
# Lines that tell how far a run was at some moment.
MOMENTARY = re.compile(r'^\{"type":"progress"|^progress \d+/\d+ ')
# While a run goes on the first few calls of an API are named: which these are the threads decide.
FIRST_OF_A_KIND = re.compile(r"\[WARNING\] Suspicious: |\[ERROR\] Run \S+ acc_check Error: ")


class Side:
    """One of the two builds at work on one case, in a working folder of its own."""

    def __init__(self, name, binaries, folder):
        self.name = name
        self.folder = folder
        self.artefacts = {}
        folder.mkdir(parents=True)
        self.real_binaries = str(binaries)
        (folder / "bin").symlink_to(binaries)

    def plain(self, text, shared_by_threads=False):
        """The text without what differs between any two runs."""
        text = text.replace(self.real_binaries, "bin").replace(str(self.folder), "WORK")
        text = STAMP.sub("STAMP", text)
        for pattern, replacement in TEXT_RULES + (DEVICE_RULES if shared_by_threads else []):
            text = pattern.sub(replacement, text)
        lines = [line for line in text.splitlines()
                 if not MOMENTARY.match(line) and not (shared_by_threads and FIRST_OF_A_KIND.search(line))]
        return "\n".join(sorted(lines) if shared_by_threads else lines) + "\n"

    def start(self, words):
        program = words[0] if "/" in words[0] else f"bin/{words[0]}"
        return subprocess.Popen([program] + [str(word) for word in words[1:]], cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, words, label="", shared_by_threads=False, keep=True):
        """Runs a program of this build to its end and keeps exit code, stdout and stderr as artefacts."""
        process = self.start(words)
        try:
            out, err = process.communicate(timeout=SECONDS_PER_COMMAND)
            code = str(process.returncode)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            code = f"none after {SECONDS_PER_COMMAND} s"
        if keep:
            self.artefacts[f"{label}exit code"] = code.encode()
            for name, data in (("stdout", out), ("stderr", err)):
                text = data.decode("utf-8", "surrogateescape")
                self.artefacts[label + name] = self.plain(text, shared_by_threads).encode("utf-8", "surrogateescape")
        return out.decode("utf-8", "surrogateescape")

    def collect(self, below, shared_by_threads=False, label=""):
        """Keeps every file below a folder. Rows that several devices shared are put together."""
        shared = {}
        root = self.folder / below
        for path in sorted(root.rglob("*")) if root.is_dir() else []:
            name = STAMP.sub("STAMP", str(path.relative_to(root)))
            if path.suffix == ".journal":
                self.artefacts[f"{label}{below}/{name}"] = b"(a journal)"
            elif path.name.startswith("accuracy_checking_report_"):
                self.artefacts[f"{label}{below}/{name}"] = b"(a report, which holds times)"
            elif path.is_file():
                data = path.read_bytes()
                if shared_by_threads and name.startswith("device"):
                    shared.setdefault(path.name[:-len("_20261122030554.csv")], []).append(data)
                else:
                    self.artefacts[f"{label}{below}/{name}"] = data
            elif path.is_dir():
                self.artefacts[f"{label}{below}/{name}/"] = b""
        for name, parts in shared.items():
            rows = sorted(line for part in parts for line in part.split(b"\n"))
            self.artefacts[f"{label}{below}/device*/{name}"] = b"\n".join(rows)

    def only(self, pattern):
        """The one file of this side's folder that matches; none if there is none."""
        return next(iter(sorted(self.folder.glob(pattern))), None)


# ---------------------------------------------------------------------------------------------------------------------
# Cases: a name and a function that runs one side and leaves its artefacts

ON_TWO = ["-n", "2", "-d", "0", "1"]
ON_ONE = ["-n", "1", "-d", "0"]


def check(side, recording, options, shared_by_threads, below="out", label=""):
    """One pre-check, and what its journal holds."""
    words = ["msrun", *recording, "-o", below, *options]
    side.run(words, label, shared_by_threads)
    side.collect(below, shared_by_threads, label)
    journal = side.only(f"{below}/*.journal")
    if journal:
        relative = str(journal.relative_to(side.folder))
        side.run(["msrun", "journal", relative, "--export", "-"], f"{label}export: ", shared_by_threads)


def precheck(recording, *options, threads=ON_TWO):
    return lambda side: check(side, recording, [*threads, *options], threads is ON_TWO)


def saving_errors(recording, *options):
    """A run with -save_error_data, which writes where it was started."""

    def case(side):
        check(side, recording, [*ON_TWO, "-save_error_data", *options], True)
        for path in side.folder.glob("ut_error_data*"):
            side.collect(path.name)
        side.artefacts = {STAMP.sub("STAMP", name): data for name, data in side.artefacts.items()}

    return case


def overflow(recording):
    def case(side):
        side.run(["msrun", "run_overflow_check", *recording, "-o", "out", "--backend", "sim"])
        side.collect("out")

    return case


def plan_resumed(old_binaries, recording, cut):
    """A run of the old build, of which cut leaves a part, continued by this side."""

    def case(side):
        first = Side("first", old_binaries, side.folder / "first")
        options = [*ON_TWO, "--backend", "sim"]
        cut(first, ["msrun", *recording, "-o", "out", *options], recording)
        result = first.only("out/accuracy_checking_result_*.csv")
        if result is None:
            side.artefacts["started"] = b"nothing to continue"
            return
        shutil.copytree(first.folder / "out", side.folder / "out")
        relative = f"out/{result.name}"
        # Counts of what was finished before, and which device it was on, depend on when the old run was cut.
        side.run(["msrun", *recording, "-csv_path", relative, *options, "--summary"], "", True, keep=False)
        for kind in ("result", "details"):
            path = side.only(f"out/accuracy_checking_{kind}_*.csv")
            side.artefacts[kind] = path.read_bytes() if path else b"(none)"
        # An undisturbed run must have written the same.
        side.run(["msrun", *recording, "-o", "whole", *options], "whole: ", True, keep=False)
        for kind in ("result", "details"):
            path = side.only(f"whole/accuracy_checking_{kind}_*.csv")
            if side.artefacts[kind] != (path.read_bytes() if path else b"(none)"):
                side.artefacts[f"{kind} as if undisturbed"] = side.name.encode()

    return case


def killed(side, words, recording):
    """SIGKILL when most rows are written; one call hangs, so that the run cannot end first."""
    names = [name for name in recorded_names(recording[1]) if name.count(".") >= 2]
    hanging = names[len(names) // 2]
    process = side.start(words + ["--sim-fault", hanging + "=hang"])
    enough = time.monotonic() + 4
    while time.monotonic() < enough and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    time.sleep(0.3)


def truncated(share):
    """The journal's first part, as a torn write leaves it, and the CSVs as they were."""

    def cut(side, words, recording):
        side.run(words, keep=False)
        journal = side.only("out/*.journal")
        if journal:
            data = journal.read_bytes()
            journal.write_bytes(data[: int(len(data) * share)])

    return cut


def without_journal(side, words, recording):
    """Half the rows of both CSVs and no journal, as the Python tool leaves it."""
    side.run(words, keep=False)
    for path in side.folder.glob("out/*"):
        if path.suffix == ".journal":
            path.unlink()
    result = side.only("out/accuracy_checking_result_*.csv")
    if result is None:
        return
    lines = result.read_bytes().split(b"\n")
    result.write_bytes(b"\n".join(lines[: len(lines) // 2]) + b"\n")


def recorded_names(dump):
    """Names of the calls of a dump, without their direction."""
    with open(dump, encoding="utf-8") as file:
        data = json.load(file)["data"]
    return sorted({name.rsplit(".", 1)[0] for name in data if name.endswith(".forward")})


def tool(*words, collected=(), inputs=None):
    """A program that is started once. inputs are copied to in/ first, and collected with what it made of them."""

    def case(side):
        if inputs:
            shutil.copytree(inputs, side.folder / "in")
        side.run(list(words), "", True)
        for below in (*collected, *(["in"] if inputs else [])):
            side.collect(below)
        side.artefacts = {STAMP.sub("STAMP", name): data for name, data in side.artefacts.items()}

    return case


def is_tensor_mode(dump):
    with open(dump, "rb") as file:
        return re.search(rb'"task"\s*:\s*"tensor"', file.read(4096)) is not None


def recording_cases(name, dump, old):
    recording = ["-api_info", str(dump)]
    sim = ["--backend", "sim"]
    yield "default", precheck(recording, *sim, "--summary")
    yield "one-thread", precheck(recording, *sim, "--summary", threads=ON_ONE)
    yield "events", precheck(recording, *sim, "--message-format", "json", threads=ON_ONE)
    yield "english", precheck(recording, *sim, "--titles", "en", "--fail-on", "warning")
    yield "compat", precheck(recording, *sim, "--compat", "msprobe", "--summary")
    yield "current", precheck(recording, *sim, "--standard", "current", "--summary")
    yield "compat-current", precheck(recording, *sim, "--compat", "msprobe", "--standard", "current")
    yield "stream", precheck(recording, *sim, "--seed-mode", "stream", threads=ON_ONE)
    yield "seed", precheck(recording, *sim, "--seed", "7")
    yield "filter", precheck(recording, *sim, "-f", "--summary")
    yield "filter-compat", precheck(recording, *sim, "-f", "--filter-compat")
    yield "auto", precheck(recording, "--summary", "--message-format", "json", threads=ON_ONE)
    # What is wrong beyond rounding is computed again to find out why: a few calls of each kind are enough.
    for fault, calls in (("acc-fp16", "*.0"), ("hf32", "*"), ("ftz", "*"), ("wrong-element", "*.0"), ("wrong-block", "*.1")):
        yield fault, precheck(recording, *sim, "--sim-fault", f"{calls}={fault}", "--summary", "--fail-on", "suspicious")
    yield "oom", precheck(recording, *sim, "--sim-fault", "Torch.*.0=oom", "--retries", "0", threads=ON_ONE)
    yield "crash", precheck(recording, *sim, "--sim-fault", "Torch.*.0=crash", "--retries", "0", threads=ON_ONE)
    yield "saved", saving_errors(recording, *sim, "--sim-fault", "Torch.*.0=wrong-element")
    if is_tensor_mode(dump):
        recorded = ["--backend", "recorded"]
        yield "recorded", precheck(recording, *recorded, "--summary", "--message-format", "json", threads=ON_ONE)
        yield "recorded-compat", precheck(recording, *recorded, "--compat", "msprobe", "--summary")
        yield "recorded-current", precheck(recording, *recorded, "--standard", "current", "-f")
    yield "overflow", overflow(recording)
    yield "resume-half", plan_resumed(old, recording, truncated(0.5))
    yield "resume-most", plan_resumed(old, recording, truncated(0.9))
    yield "resume-all", plan_resumed(old, recording, truncated(1))
    yield "resume-csv", plan_resumed(old, recording, without_journal)
    if name.endswith(("llama_bf16", "cnn_fp32", "zoo_stat")):
        yield "resume-killed", plan_resumed(old, recording, killed)


def older_recorder_cases(folder):
    pair = ["-forward", str(folder / "forward_info_0.json"), "-backward", str(folder / "backward_info_0.json")]
    for name, options in (("default", []), ("compat", ["--compat", "msprobe"])):
        yield name, precheck(pair, "--backend", "sim", "--summary", *options)


def precision_cases(data):
    folders = [data / "api_precision_compare", *sorted((data / "api_precision_compare" / "cases").glob("*"))]
    options = {"default": [], "compat": ["--compat", "msprobe"], "current": ["--standard", "current"], "english": ["--titles", "en"],
               "compat-current": ["--compat", "msprobe", "--standard", "current", "--fail-on", "error"]}
    for folder in folders:
        for name, words in options.items():
            files = ["-npu", folder / "npu_details.csv", "-gpu", folder / "gpu_details.csv", "-o", "out"]
            yield f"{folder.name}/{name}", tool("api_precision_compare", *files, *words, collected=["out"])


def tensor_cases(data):
    golden = data / "metrics_golden.json"
    options = {"default": [], "compat": ["--compat", "msprobe"], "current": ["--standard", "current"],
               "compat-current": ["--compat", "msprobe", "--standard", "current"],
               "table": ["--format", "table", "--titles", "en"], "fail": ["--fail-on", "error", "--precision", "4"]}
    for name, words in options.items():
        yield f"golden/{name}", tool("tensor_compare", "--cases", golden, *words)
    files = sorted((data / "tensors").glob("*.npy")) + sorted((data / "dumps/zoo_tensor_small/dump_tensor_data").glob("*.pt"))
    for first, second in zip(files, files[1:]):
        yield f"{first.stem}/itself", tool("tensor_compare", first, first, "--api", "add")
        yield f"{first.stem}/next", tool("tensor_compare", first, second)


def torchair_cases(data):
    pairs = {"on_fx": ("trees", "ge_on/msprobe_ge_dump", "fx_post710/msprobe_fx_dump"),
             "on_off": ("trees", "ge_on/msprobe_ge_dump", "ge_off/msprobe_ge_dump"),
             "old_fx_pre710": ("trees", "ge_on_old/msprobe_ge_dump", "fx_pre710/data_dump"),
             "quirks": ("trees", "ge_quirks/msprobe_ge_dump", "fx_quirks/msprobe_fx_dump"),
             "conv_on_fx": ("converted", "ge_on/msprobe_ge_dump", "fx_post710/msprobe_fx_dump"),
             "conv_on_off": ("converted", "ge_on/msprobe_ge_dump", "ge_off/msprobe_ge_dump")}
    options = {"default": [], "html": ["--html", "--verbose"], "legacy": ["--legacy_columns", "--threads", "1"], "md5": ["--md5"]}
    for pair, (kind, target, golden) in pairs.items():
        root = data / "torchair" / kind
        for name, words in options.items():
            yield f"{pair}/{name}", tool("torchair_compare", "-tp", root / target, "-gp", root / golden, "-o", "out", *words,
                                         collected=["out"])
    for tree in sorted((data / "torchair" / "trees").iterdir()):
        for name, words in {"minmax": [], "full": ["--stats", "full"]}.items():
            yield f"convert/{tree.name}/{name}", tool("torchair_convert", "in", "--once", "--settle", "0", "--workers", "1", *words,
                                                      inputs=tree)


def command_cases(data):
    dump = data / "dumps/llama_bf16/dump.json"
    yield "list-apis", tool("msrun", "--list-apis")
    yield "list-standards", tool("msrun", "--list-standards")
    yield "nothing", tool("msrun")
    yield "no-file", tool("msrun", "-api_info", "none.json")
    yield "no-option", tool("msrun", "-api_info", dump, "--bacend", "sim")
    yield "no-backend", tool("msrun", "-api_info", dump, "--backend", "smi")
    yield "torch", tool("msrun", "-api_info", dump, "--backend", "torch")
    yield "recorded-without-tensors", tool("msrun", "-api_info", dump, "--backend", "recorded", "-o", "out", collected=["out"])
    yield "no-journal", tool("msrun", "journal", "none.journal")


# ---------------------------------------------------------------------------------------------------------------------
# Recordings

def unpacked(data, scratch):
    """tests/data as the build unpacks it; trees from before it was packed are taken as they are."""
    if not (data / "unpack.cmake").is_file():
        return data
    target = scratch / "data"
    subprocess.run(["cmake", f"-DFROM={data}", f"-DTO={target}", "-P", data / "unpack.cmake"], check=True)
    return target


def digest(folder):
    """Of every file below a folder but those that only some copies of a recording have."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in ("stack.json", "construct.json", "README.md"):
            total.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return total.digest()


def all_cases(old, data, shared):
    seen = set()
    for root in (data, shared / "pytorch"):
        for dump in sorted(root.rglob("dump.json")) if root.is_dir() else []:
            content = digest(dump.parent)
            if content in seen or "torchair" in dump.parts:
                continue
            seen.add(content)
            below = dump.parent.relative_to(root)
            name = str(below if root == data else pathlib.Path("shared") / below)
            for variant, case in recording_cases(name, dump, old):
                yield f"{name}/{variant}", case
    for folder in sorted((shared / "att").glob("*")):
        if (folder / "forward_info_0.json").is_file() and (folder / "backward_info_0.json").is_file():
            for variant, case in older_recorder_cases(folder):
                yield f"older/{folder.name}/{variant}", case
    for group, cases in (("api_precision_compare", precision_cases), ("tensor_compare", tensor_cases), ("torchair", torchair_cases),
                         ("msrun", command_cases)):
        for name, case in cases(data):
            yield f"{group}/{name}", case


# ---------------------------------------------------------------------------------------------------------------------
# Comparison

def first_difference(old, new):
    """The first lines that differ, cut to what fits a screen."""
    if b"\0" in old[:4096] or b"\0" in new[:4096]:
        return f"{len(old)} and {len(new)} bytes that differ"
    before = old.decode("utf-8", "replace").splitlines()
    after = new.decode("utf-8", "replace").splitlines()
    for number, (a, b) in enumerate(zip(before, after), 1):
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            start = max(0, at - 60)
            return f"line {number}: {a[start:at + 100]!r} became {b[start:at + 100]!r}"
    extra = (before if len(before) > len(after) else after)[min(len(before), len(after)):]
    return f"{len(before)} and {len(after)} lines, first extra {extra[0][:150]!r}" if extra else "line ends differ"


def differences(old, new):
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            yield f"{name}: only the old build has it"
        elif name not in old:
            yield f"{name}: only the new build has it"
        elif old[name] != new[name]:
            yield f"{name}: {first_difference(old[name], new[name])}"


def compare_case(name, case, old, new, scratch, keep):
    folder = scratch / re.sub(r"[^\w.-]", "_", name)
    sides = []
    for side_name, binaries in (("old", old), ("new", new)):
        side = Side(side_name, binaries, folder / side_name)
        try:
            case(side)
        except Exception as error:  # what one case cannot do must not end the others
            side.artefacts["this script"] = f"{side_name}: {error!r}".encode()
        sides.append(side)
    found = [f"{name}: {line}" for line in differences(sides[0].artefacts, sides[1].artefacts)]
    files = sum(1 for artefact in sides[0].artefacts if not artefact.endswith("/"))
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
    return found, files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old_bin", type=pathlib.Path)
    parser.add_argument("new_bin", type=pathlib.Path)
    parser.add_argument("filter", nargs="?", default="")
    parser.add_argument("--quick", action="store_true", help="leave out the recordings that take seconds each")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time (default 2)")
    parser.add_argument("--keep", type=pathlib.Path, help="leave all outputs here")
    parser.add_argument("--list", action="store_true", help="print the names of the cases and end")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "tests" / "data")
    parser.add_argument("--shared", type=pathlib.Path, default=ROOT.parent / "shared" / "fixtures")
    given = parser.parse_args()
    old, new = given.old_bin.resolve(), given.new_bin.resolve()
    for binaries in (old, new):
        if not (binaries / "msrun").is_file():
            parser.error(f"there is no msrun in {binaries}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="compare_builds_") as temporary:
        scratch = given.keep.resolve() if given.keep else pathlib.Path(temporary)
        data = unpacked(given.data.resolve(), pathlib.Path(temporary))
        chosen = [(name, case) for name, case in all_cases(old, data, given.shared.resolve())
                  if given.filter in name and not (given.quick and any(slow in name for slow in SLOW))]
        # Each case has a folder of its name.
        if len({name for name, _ in chosen}) != len(chosen):
            raise SystemExit("two cases have the same name")
        if given.list:
            print("\n".join(name for name, case in chosen))
            return 0
        count = files = 0
        with concurrent.futures.ThreadPoolExecutor(max(1, given.jobs)) as pool:
            waiting = [pool.submit(compare_case, name, case, old, new, scratch, given.keep) for name, case in chosen]
            for finished in concurrent.futures.as_completed(waiting):
                found, compared = finished.result()
                count += len(found)
                files += compared
                for line in found:
                    print(line, flush=True)
    print(f"{count} differences in {files} outputs of {len(chosen)} cases, {time.monotonic() - began:.0f} s")
    return 1 if count or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
