#!/usr/bin/env python3
"""Updates the program output in the pages of docs/guide.

In a page, a block that starts with "$ tidemark ..." shows that command's output. A test compares them
(tests/cli); this script runs the commands and rewrites the pages. It keeps the times that replays took,
so that a page only changes if an answer does.

Usage: scripts/refresh_guide.py [--program build/release/tidemark] [PAGE...]
"""
import argparse
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"```\n\$ tidemark ([^\n]*)\n(.*?)```\n", re.S)
TOOK = re.compile(r"replayed in [^\n]*")


def answer(program, words):
    """The program's output, run in the project's folder as the guide's commands are."""
    done = subprocess.run(
        [program, *shlex.split(words)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    if done.stderr:
        raise SystemExit(f"tidemark {words}: {done.stderr}")
    return done.stdout


def refreshed(page, program):
    """The text of a page with every block updated."""

    def block(match):
        words, before = match.groups()
        now = answer(program, words)
        if TOOK.sub("", now) == TOOK.sub("", before):
            now = before
        return f"```\n$ tidemark {words}\n{now}```\n"

    return BLOCK.sub(block, page)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=ROOT / "build/release/tidemark", type=pathlib.Path)
    parser.add_argument("pages", nargs="*", type=pathlib.Path, metavar="PAGE")
    given = parser.parse_args()
    for path in given.pages or sorted((ROOT / "docs/guide").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        new = refreshed(text, given.program.resolve())
        if new != text:
            path.write_text(new, encoding="utf-8")
            print(f"{path}: refreshed")


if __name__ == "__main__":
    main()
