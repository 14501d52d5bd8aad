#!/usr/bin/env python3
"""Writes the Python modules of policies, machines and figures from the program's own output.

Usage: scripts/make_catalogue.py [--program FILE] [--check]

  --program FILE   the program `tidemark` (default: build/release/tidemark)
  --check          changes nothing; exit code 1 if a file is out of date

So an editor completes tidemark.policies.torch(expandable_segments=True), and a new policy or option
of the program appears there too.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import textwrap

from figure_types import figures_module

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "tidemark"
WIDTH = 100
KINDS = {"boolean": "bool", "bytes": "Union[int, str]", "count": "int", "real": "float",
         "text": "Union[int, str]", "file": "str"}

POLICIES_HEAD = '''\
"""The policies as functions, which return values for `policy` arguments:
torch(expandable_segments=True) is "torch:expandable_segments=true".

Options that are left out have their defaults. Sizes are bytes, or texts with a unit: "32MiB".
scripts/make_catalogue.py writes this file from `tidemark policies --json`: don't edit it.
"""

from __future__ import annotations

from typing import Literal, Optional, Union

from tidemark._spec import size as _size, spec

'''
MACHINES_HEAD = '''\
"""The simulated machines, for `machine` arguments.

scripts/make_catalogue.py writes this file from `tidemark devices` and `tidemark machines`: don't
edit it.
"""

from __future__ import annotations

from typing import Final

'''


def ask(program, command):
    """What `tidemark COMMAND --json` prints."""
    return json.loads(subprocess.run([program, command, "--json"], stdout=subprocess.PIPE,
                                     check=True).stdout)


def identifier(name):
    return name.replace("-", "_").replace(":", "_")


def literal(option):
    return "Literal[" + ", ".join(f'"{choice}"' for choice in option["choices"]) + "]"


def alias(policy, option):
    """The alias of a long list of choices; "" for a short one."""
    if option["type"] in KINDS or len(literal(option)) <= 60:
        return ""
    return "".join(part.capitalize() for part in
                   identifier(f"{policy['name']}_{option['name']}").split("_"))


def type_of(policy, option):
    kind = KINDS.get(option["type"]) or alias(policy, option) or literal(option)
    return f"Optional[{kind}]"


def signature(policy):
    """`def name(*, option: type = None, ...) -> str:`, wrapped at WIDTH."""
    head = f"def {identifier(policy['name'])}("
    options = policy["options"]
    if not options:
        return f"{head}) -> str:\n"
    lines = [f"{head}*,"]
    for option in options:
        part = f" {option['name']}: {type_of(policy, option)} = None"
        part += ") -> str:" if option is options[-1] else ","
        if len(lines[-1]) + len(part) > WIDTH:
            lines.append(" " * (len(head) - 1))
        lines[-1] += part
    return "\n".join(lines) + "\n"


def sentence(option):
    """A line about an option: its name, summary, unit, default and range."""
    facts = [f"default {option['default'] or 'none'}"]
    if option["unit"] and option["type"] != "bytes":
        facts.insert(0, option["unit"])
    if option["minimum"] or option["maximum"]:
        facts.append(f"{option['minimum'] or '0'} to {option['maximum'] or 'any'}")
    return f"{option['name']}: {option['summary']} ({'; '.join(facts)})"


def function(policy):
    options = policy["options"]
    text = signature(policy)
    first = f'    """{policy["summary"][0].upper()}{policy["summary"][1:]}.'
    text += textwrap.fill(first, WIDTH, subsequent_indent="    ") + "\n"
    if options:
        text += "\n    Parameters\n    ----------\n"
        for option in options:
            text += textwrap.fill(sentence(option), WIDTH, initial_indent="    ",
                                  subsequent_indent="        ", break_on_hyphens=False) + "\n"
        text += "    "
    else:
        text = text.rstrip("\n")
    text += '"""\n'
    values = [f'"{option["name"]}": ' + (f"_size({option['name']})" if option["type"] == "bytes"
                                         else option["name"]) for option in options]
    call = f'    return spec("{policy["name"]}", {{'
    body = ", ".join(values) + "})"
    if len(call + body) <= WIDTH:
        return text + call + body + "\n"
    return text + call + "\n" + "\n".join(
        f"        {value}," for value in values) + "\n    })\n"


def policies_module(policies):
    functions = [function(policy) for policy in policies]
    names = ", ".join(f'"{identifier(policy["name"])}"' for policy in policies)
    exported = textwrap.fill(f"__all__ = [{names}]", WIDTH, subsequent_indent=" " * 11)
    aliases = [textwrap.fill(f"{alias(policy, option)} = {literal(option)}", WIDTH,
                             subsequent_indent="    ") + "\n"
               for policy in policies for option in policy["options"] if alias(policy, option)]
    return "\n".join([POLICIES_HEAD + exported + "\n", *aliases, "\n" + "\n\n".join(functions)])


def machines_module(devices, machines):
    lines = [f'{identifier(device["device"])}: Final = "{device["device"]}"\n'
             f'"""{device["name"]}, {device["memory_bytes"] / 2**30:.1f} GiB."""'
             for device in devices]
    for machine in machines:
        spaces = ", ".join(space["space"] for space in machine["spaces"])
        lines.append(f'{identifier(machine["name"])}: Final = "{machine["name"]}"\n'
                     f'"""A machine with tiers: {spaces}."""')
    return MACHINES_HEAD + "\n".join(lines) + "\n"


def names_of_answers():
    """The attributes of an answer that aren't figures."""
    sys.path.insert(0, str(PACKAGE.parent))
    from tidemark.answers import Answer

    return set(dir(Answer))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build" / "release" / "tidemark",
                        type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    files = {
        PACKAGE / "policies.py": policies_module(ask(given.program, "policies")["policies"]),
        PACKAGE / "machines.py": machines_module(ask(given.program, "devices")["simulated"],
                                                 ask(given.program, "machines")["machines"]),
        PACKAGE / "_figures.py": figures_module(given.program, ROOT, names_of_answers()),
    }
    stale = [path for path, text in files.items()
             if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if given.check:
            print(f"{path.relative_to(ROOT)}: out of date; "
                  "run scripts/make_catalogue.py")
        else:
            path.write_text(files[path], encoding="utf-8")
    return 1 if given.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
