#!/usr/bin/env python3
"""Puts what the program prints today into README and the pages of docs.

In a page, a block that begins with "$ tidemark ..." shows that command's output. This script runs the
commands in the project's folder and rewrites the blocks. How long a replay took is kept as it was, so
that a page changes only when an answer does.

Usage: scripts/refresh_guide.py [--check] [--program build/release/tidemark] [PAGE...]
  --check   change nothing; print which blocks are not current, and exit with 1 if there are any
"""
import argparse
import pathlib
import re
import shlex
import subprocess
import sys

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
    """The text of a page with every block updated, and the commands whose output changed."""
    changed = []

    def block(match):
        words, before = match.groups()
        now = answer(program, words)
        if TOOK.sub("", now) == TOOK.sub("", before):
            return match.group()
        changed.append(words)
        return f"```\n$ tidemark {words}\n{now}```\n"

    return BLOCK.sub(block, page), changed


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--program", default=ROOT / "build/release/tidemark", type=pathlib.Path)
    parser.add_argument("pages", nargs="*", type=pathlib.Path, metavar="PAGE")
    given = parser.parse_args()
    stale = False
    for path in given.pages or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        new, changed = refreshed(path.read_text(encoding="utf-8"), given.program.resolve())
        stale |= bool(changed)
        if given.check:
            for words in changed:
                print(f"{path}: not what is printed today: tidemark {words}")
        elif changed:
            path.write_text(new, encoding="utf-8")
            print(f"{path}: refreshed")
    if given.check and stale:
        print("scripts/refresh_guide.py rewrites these blocks")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
