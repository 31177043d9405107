#!/usr/bin/env python3
"""Weakens the judge at one place after the other and shows that a test fails each time (README.md).

  mutate.py sources         the files that have mutants, and those that include them, for CMake
  mutate.py check           whether every mutant finds its text once
  mutate.py generate OUT    mutated copies of these files; run.py runs the tests against them
"""

import argparse
import json
import re
import sys
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LISTS = HERE / "lists"


class Mistake(Exception):
    """The list of mutants does not fit the sources."""


@dataclass
class Mutant:
    number: int  # that MSRUN_MUTANT takes
    name: str  # its list and its place there: "rounding.3"
    file: str
    text: str
    by: str
    weakens: str
    where: str | None = None  # a longer text of the file around `text`
    statement: bool = False  # text and by are statements, not expressions
    survives: str | None = None  # why no test can fail


@dataclass
class Preparation:
    """A change that does not depend on the mutant: constants that mutants change are no longer known to the compiler."""

    file: str
    text: str
    by: str


def read_lists():
    """All mutants, numbered from 1, and the preparations."""
    mutants, preparations = [], []
    for path in sorted(LISTS.glob("*.toml")):
        content = tomllib.loads(path.read_text())
        for entry in content.get("prepare", []):
            preparations.append(Preparation(entry.get("file", content["file"]), entry["text"], entry["by"]))
        for place, entry in enumerate(content["mutant"], 1):
            values = {"file": content["file"], **entry}
            mutants.append(Mutant(number=len(mutants) + 1, name=f"{path.stem}.{place}", **values))
    return mutants, preparations


def affected_files(mutants):
    """The files with mutants, and those of the same folders of the tree's second level that include one of them, directly
    or not."""
    affected = {mutant.file for mutant in mutants}
    folders = {Path(*Path(f).parts[:2]) for f in affected}
    candidates = [p for folder in folders for p in sorted((ROOT / folder).rglob("*")) if p.is_file()]
    includes = {str(p.relative_to(ROOT)): re.findall(r'^#include "(.*)"', p.read_text(), re.M) for p in candidates}
    while more := {f for f, headers in includes.items() if f not in affected and affected.intersection(headers)}:
        affected |= more
    return sorted(affected)


def find_once(text, wanted, what):
    """The place (begin, end) of `wanted`, which breaks lines as it likes, in text."""
    pattern = r"\s+".join(re.escape(word) for word in wanted.split())
    pattern = ("" if re.match(r"\W", wanted) else r"(?<![\w.])") + pattern + ("" if re.search(r"\W\s*$", wanted) else r"(?![\w.])")
    found = [match.span() for match in re.finditer(pattern, text)]
    if len(found) != 1:
        raise Mistake(f"{what}: {'not found' if not found else f'found {len(found)} times'}: {' '.join(wanted.split())}")
    return found[0]


def place_of(mutant, text):
    what = f"{mutant.name} in {mutant.file}"
    begin, end = find_once(text, mutant.where, what) if mutant.where else (0, len(text))
    first, last = find_once(text[begin:end], mutant.text, what)
    return begin + first, begin + last


def switched(text, begin, end, places):
    """text[begin:end] with its mutants; places are ((begin, end), mutant), outer ones first."""
    result, at = "", begin
    while places:
        span = places[0][0]
        here = [mutant for place, mutant in places if place == span]
        inside = [(place, m) for place, m in places if place != span and span[0] <= place[0] and place[1] <= span[1]]
        rest = [(place, m) for place, m in places if place[0] >= span[1]]
        if len(here) + len(inside) + len(rest) != len(places):
            raise Mistake(f"{here[0].name} overlaps another mutant of {here[0].file}")
        original = switched(text, *span, inside)
        for mutant in reversed(here):
            form = "if (::msrun::mutant({})) {{ {} }} else {{ {} }}" if mutant.statement else "(::msrun::mutant({}) ? ({}) : ({}))"
            original = form.format(mutant.number, mutant.by.strip(), original)
        result += text[at:span[0]] + original
        at, places = span[1], rest
    return result + text[at:end]


def mutated(file, mutants, preparations):
    """The text of a file with all its mutants."""
    text = (ROOT / file).read_text()
    for preparation in preparations:
        begin, end = find_once(text, preparation.text, f"preparation of {file}")
        text = text[:begin] + preparation.by + text[end:]
    places, mistakes = [], []
    for mutant in mutants:
        try:
            places.append((place_of(mutant, text), mutant))
        except Mistake as mistake:
            mistakes.append(str(mistake))
    if mistakes:
        raise Mistake("\n".join(mistakes))
    places.sort(key=lambda p: (p[0][0], -p[0][1]))
    head = '#include "tests/mutation/mutant.h"\n' if mutants else ""
    line = f'#line 1 "{ROOT / file}"\n'
    if "#pragma once" in text:
        return "#pragma once\n" + head + line + switched(text, 0, len(text), places).replace("#pragma once", "")
    return head + line + switched(text, 0, len(text), places)


def mutated_texts():
    """The mutants, and the text of each file with those of it."""
    mutants, preparations = read_lists()
    texts, mistakes = {}, []
    for file in affected_files(mutants):
        of_file = [m for m in mutants if m.file == file], [p for p in preparations if p.file == file]
        try:
            texts[file] = mutated(file, *of_file)
        except Mistake as mistake:
            mistakes.append(str(mistake))
    if mistakes:
        raise Mistake("\n".join(mistakes))
    return mutants, texts


def generate(out):
    """Writes the mutated copies below out, and the list that they were made from; files that are as they were stay."""
    mutants, texts = mutated_texts()
    texts["mutants.json"] = json.dumps([asdict(mutant) for mutant in mutants], indent=1)
    for file, text in texts.items():
        path = out / file
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("sources")
    commands.add_parser("check")
    commands.add_parser("generate").add_argument("out", type=Path)
    arguments = parser.parse_args()
    try:
        if arguments.command == "sources":
            print("\n".join(affected_files(read_lists()[0])))
        elif arguments.command == "check":
            mutated_texts()
        else:
            generate(arguments.out)
    except Mistake as mistake:
        print(mistake, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
