"""Derives the Python types of answers from what the program prints for a few samples.

For scripts/make_catalogue.py. A figure's type is that of its value. If the value is null, a name
that ends with a unit is a number or None, and any other name can be anything.
"""
import json
import keyword
import subprocess

SAMPLE = "traces/samples/streams/fsdp-1.1.pickle.xz"
ASKED = {
    "Info": ["info", SAMPLE],
    "Replay": ["replay", SAMPLE, "-p", "torch", "--spread", "2"],
    "Compare": ["compare", SAMPLE, "-p", "torch", "-p", "extent"],
    "Advice": ["advise", SAMPLE, "--budget", "4", "--spread", "2"],
    "Fit": ["fit", SAMPLE, "--memory", "8GiB", "-p", "torch"],
    "Bound": ["bound", SAMPLE, "--capacity", "8GiB", "--time", "1"],
    "Verified": ["verify", SAMPLE],
}
UNITS = ("_bytes", "_ns", "_event", "_events", "_step")
DEEPEST = 1  # nesting of objects within an answer
PLAIN = {"provenance", "options", "settings", "kinds"}  # their names depend on the trace or build

HEAD = '''\
"""The figures of answers with their types, for editors and type checkers; nothing imports it when
programs run. Sizes are bytes, times ns; docs/json.md explains each figure.

Written by scripts/make_catalogue.py from what `tidemark COMMAND --json` prints: don't edit it.
"""

from __future__ import annotations

from typing import Any, List, Optional

from tidemark.answers import Answer, Record
'''


def plain_type(name, value):
    if isinstance(value, bool):
        return "bool"
    if value is None:
        return "Optional[int]" if name.endswith(UNITS) else "Any"
    return type(value).__name__ if isinstance(value, (int, float, str)) else "Any"


def class_name(owner, name):
    return owner + "".join(part.capitalize() for part in name.split("_"))


class Writer:
    def __init__(self, taken):
        self.taken = taken  # names that answers have already: methods
        self.classes = []
        self.known = {}  # by figures: all objects with the same figures share a name

    def type_of(self, owner, name, value, depth):
        of_objects = isinstance(value, list) and value and isinstance(value[0], dict)
        if isinstance(value, dict) or of_objects:
            kept = value[0] if of_objects else value
            inner = "Record"
            if depth < DEEPEST and name not in PLAIN and any(key.isidentifier() for key in kept):
                singular = name.rstrip("s") if of_objects else name
                inner = self.write(class_name(owner, singular), "Record", kept, depth + 1)
            return f"List[{inner}]" if of_objects else inner
        return "List[Any]" if isinstance(value, list) else plain_type(name, value)

    def write(self, name, base, values, depth=0):
        """Writes the class, unless there is an identical one; returns the name."""
        lines = []
        for key, value in sorted(values.items()):
            if key.isidentifier() and not keyword.iskeyword(key) and key not in self.taken:
                lines.append(f"    {key}: {self.type_of(name, key, value, depth)}")
        body = "\n".join(lines or ["    pass"]) + "\n"
        if body not in self.known:
            self.known[body] = name
            self.classes.append(f"class {name}({base}):\n{body}")
        return self.known[body]


def figures_module(program, root, taken):
    """The text of python/tidemark/_figures.py. `taken`: names that Answer has."""
    writer = Writer(taken)
    for name, command in ASKED.items():
        said = subprocess.run([program, *command, "--json"], stdout=subprocess.PIPE, check=False,
                              cwd=root).stdout
        writer.write(name, "Answer", json.loads(said))
    return HEAD + "\n\n" + "\n\n".join(writer.classes)
