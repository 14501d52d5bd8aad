#!/usr/bin/env python3
"""Checks every #include against the arrows in docs/architecture.md. Prints file:line and the fix.

Usage: scripts/check_layers.py [--root DIR]

Six rules: a folder includes only what its arrow allows, and declares no types of other folders; no
arrow leads to a program; a policy includes no other policy; a foreign header is included only in its
own folder; a face computes no figures. Exit code 1 if it finds anything, 2 if the table itself is
wrong.
"""
import argparse
import pathlib
import re
import sys

TABLE = "docs/architecture.md"
OURS = ["core", "backends", "traces", "replay", "viz", "tests"]
DEFINITION = re.compile(r"^(?:class|struct) (\w+)\b[^;{]*\{", re.MULTILINE)
DECLARATION = re.compile(r"^(?:class|struct) (\w+);")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


class BadTable(Exception):
    pass


def read_table(text, name):
    """The lines `left -> right right` of the block ```NAME, as a dict of lists."""
    block = re.search(rf"^```{name}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    if not block:
        raise BadTable(f"{TABLE}: there is no block ```{name}")
    table = {}
    for line in block.group(1).splitlines():
        if "->" not in line:
            raise BadTable(f"{TABLE}: '{line}' isn't an arrow")
        left, right = line.split("->")
        table[left.strip()] = right.split()
    return table


def reachable(arrows):
    """For each folder, everything it may include. Unknown folders and cycles are errors."""
    result = {}

    def visit(folder, path):
        if folder in path:
            raise BadTable(f"{TABLE}: a circle: {' -> '.join(path[path.index(folder):] + [folder])}")
        if folder not in arrows:
            raise BadTable(f"{TABLE}: {path[-1]} -> {folder}, which has no line of its own")
        if folder not in result:
            allowed = {folder}
            for target in arrows[folder]:
                allowed |= visit(target, path + [folder])
            result[folder] = allowed
        return result[folder]

    for folder in arrows:
        visit(folder, [])
    return result


def check_programs(arrows, programs):
    """No folder may include a program's folder."""
    for folder, targets in arrows.items():
        for target in targets:
            if target in programs:
                raise BadTable(f"{TABLE}: {folder} -> {target}, which is the program "
                               f"{programs[target][0]}: move shared code below it")


def layer_of(path, arrows):
    """The line of the table for `path`: the longest folder that contains it."""
    parts = pathlib.PurePosixPath(path).parts[:-1]
    for length in range(len(parts), 0, -1):
        if "/".join(parts[:length]) in arrows:
            return "/".join(parts[:length])
    return None


def policy_of(stem, policies):
    """The policy that the file `stem` belongs to ("torch_settings" is torch's), or None."""
    fitting = [name for name in policies if stem == name or stem.startswith(name + "_")]
    return max(fitting, key=len, default=None)


def fault(path, kind, target, table):
    """The fault of `#include target` in the file `path`, or None."""
    arrows, allowed, homes, policies = table
    here = layer_of(path, arrows)
    if here is None:
        return f"this folder has no arrow: give it a line in {TABLE}"
    if kind == "<" or not target.startswith(tuple(folder + "/" for folder in OURS)):
        for prefix, folders in homes.items():
            if target.startswith(prefix) and not path.startswith(tuple(f + "/" for f in folders)):
                return f"<{target}> belongs to {', '.join(folders)}: use what is defined there instead"
        return None if kind == "<" else f'write "{target}" from the root of the project'
    there = layer_of(target, arrows)
    if there is None:
        return f"{target}: that folder has no arrow: give it a line in {TABLE}"
    if there not in allowed[here]:
        return f"{here} may not include {there} ({target}): move shared code down, or reverse the dependency"
    if here == there == "core/policies":
        mine = policy_of(pathlib.PurePosixPath(path).stem, policies)
        other = policy_of(pathlib.PurePosixPath(target).stem, policies)
        if mine and other and mine != other:
            return f"policy {mine} includes policy {other}: move what both need into core/regions"
    return None


def read_policies(root):
    catalogue = root / "core/policies/policies.inc"
    text = catalogue.read_text() if catalogue.exists() else ""
    return re.findall(r"TIDEMARK_POLICY\((\w+)\)", text)


def sources_of(root):
    """The texts of all files to check, by path."""
    return {source.relative_to(root).as_posix(): source.read_text(errors="replace")
            for folder in OURS for source in sorted((root / folder).rglob("*"))
            if source.suffix in {".h", ".cpp", ".inc"}}


def declared_above(sources, table):
    """Yields (path, line, fault) of types that are declared below the folder that defines them."""
    arrows, allowed = table[:2]
    homes = {}
    for path, text in sources.items():
        for name in DEFINITION.findall(text):
            homes.setdefault(name, set()).add(layer_of(path, arrows))
    for path, text in sources.items():
        here = layer_of(path, arrows)
        for number, line in enumerate(text.splitlines(), 1):
            declared = DECLARATION.match(line)
            there = homes.get(declared.group(1)) if declared else None
            if there and here and not there & allowed[here]:
                yield path, number, (f"{here} may not know {declared.group(1)} of "
                                     f"{', '.join(sorted(map(str, there)))}: reverse the dependency")


def computed_in_faces(sources, faces):
    """Yields (path, line, fault) of calls that a face may not make."""
    for path, text in sources.items():
        face = layer_of(path, faces)
        if not face or not faces[face]:
            continue
        call = re.compile(rf"\b({'|'.join(faces[face])})\(")
        for number, line in enumerate(text.splitlines(), 1):
            called = call.search(line.partition("//")[0])
            if called:
                yield path, number, (f"{face} only formats and draws, but {called.group(1)}() computes "
                                     "figures: call it in a lower layer that all faces can use")


def check(root):
    """Yields (path, line, fault) for the tree under `root`."""
    text = (root / TABLE).read_text()
    arrows = read_table(text, "arrows")
    check_programs(arrows, read_table(text, "programs"))
    table = (arrows, reachable(arrows), read_table(text, "homes"), read_policies(root))
    sources = sources_of(root)
    yield from declared_above(sources, table)
    yield from computed_in_faces(sources, read_table(text, "faces"))
    for path, text in sources.items():
        for number, line in enumerate(text.splitlines(), 1):
            include = INCLUDE.match(line)
            what = include and fault(path, include.group(1), include.group(2), table)
            if what:
                yield path, number, what


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    root = parser.parse_args().root
    found = 0
    try:
        for path, number, what in check(root):
            print(f"{path}:{number}: {what}")
            found += 1
    except (BadTable, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
