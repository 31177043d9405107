#!/usr/bin/env python3
"""Every file that uses precompiled headers is compiled with the options that optimise and generate code as they were made with.

Compilers differ in which of these they take for different headers: what one release passes over, the next refuses.
    precompiled_options.py BUILD
ends with 1 and names the targets where an option differs, and with 77 where no headers are precompiled."""

import json
import pathlib
import re
import shlex
import sys


def options(words):
    """The options that decide about code; of -O the last one counts."""
    level = [word for word in words if re.fullmatch(r"-O\w*", word)][-1:]
    return set(level + [word for word in words if re.match(r"-[fm]|-std=", word)])


def main():
    commands = json.loads((pathlib.Path(sys.argv[1]) / "compile_commands.json").read_text())
    made, used = {}, []
    for entry in commands:
        words = shlex.split(entry["command"])
        headers = [word for word in words if word.endswith("cmake_pch.hxx")]
        if not headers:
            continue
        if "c++-header" in words:
            made[headers[0]] = options(words)
        else:
            used.append((headers[0], words[words.index("-o") + 1], options(words)))
    if not used:
        print("skipped: no headers are precompiled")
        return 77
    wrong = set()
    for headers, output, own in used:
        difference = own ^ made[headers]
        if difference:
            target = re.search(r"CMakeFiles/(.+?)\.dir", output).group(1)
            wrong.add(f"{target}: {' '.join(sorted(difference))} differs from {pathlib.Path(headers).parent.name}")
    for line in sorted(wrong):
        print(line)
    print(f"{len(used)} files looked at")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
