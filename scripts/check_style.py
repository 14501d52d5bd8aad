#!/usr/bin/env python3
"""Checks what clang-format and clang-tidy cannot. Prints file:line and the cure; exit 1 if any.

Usage: scripts/check_style.py [--root DIR]
"""
import argparse
import pathlib
import re
import sys

OURS = ["core", "backends", "traces", "replay", "viz", "python", "tests"]
LINES_MAX = 600  # look for a second job in the file at 400
BANNED_NAMES = re.compile(r"(util|helper|misc|common|manager|stuff|v\d+|old|new|priv|tmp)s?$")
BANNED_TEXT = {
    r"std::(rand|random_device)\b|\btime\(nullptr\)": "take a seeded generator from core/base/random.h",
    r"std::(system_clock|steady_clock)": "ask the device: Device::now()",
    r"\bstd::cout\b|\bprintf\(": "return a Report; only replay/cli prints",
    r"\bTODO\b(?! #\d+)": "name the issue: TODO #12",
    r"\bthrow\b": "return an Error (core/base/result.h)",
}
CLOCK_AND_PRINT_HOMES = ("replay/cli", "viz/app", "tests", "backends/cuda", "backends/numa", "python")


def faults(path, text):
    lines = text.splitlines()
    if len(lines) > LINES_MAX:
        yield 1, f"{len(lines)} lines (limit {LINES_MAX}): split by job"
    if BANNED_NAMES.search(pathlib.PurePath(path).stem):
        yield 1, "name the file for what it holds"
    if not path.endswith(".inc") and not lines[0].startswith(("// ", "#!")):
        yield 1, "begin with a comment that says what the file is for"
    for number, line in enumerate(lines, 1):
        code = line.split("//")[0]
        for pattern, cure in BANNED_TEXT.items():
            where = line if "TODO" in pattern else code
            if re.search(pattern, where) and not path.startswith(CLOCK_AND_PRINT_HOMES):
                yield number, cure


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    root, found = parser.parse_args().root, 0
    for source in sorted(root.rglob("*")):
        path = source.relative_to(root).as_posix()
        if source.suffix in {".h", ".cpp", ".inc"} and path.split("/")[0] in OURS:
            for number, cure in faults(path, source.read_text(errors="replace")):
                print(f"{path}:{number}: {cure}")
                found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
