#!/usr/bin/env python3
"""Checks that users reach every source of the product, and that the product names every enumerator
and virtual function somewhere other than in its declaration, and sets every option. Prints the
exceptions.

Usage: scripts/check_reach.py [--root DIR]

It starts with what users have: the sources of the programs and of the C library, and the headers
that the examples name. A header is reached if a reached file includes it. A source is reached if its
own header is (the header with its name, or else any header of its folder that it includes, because a
class may be spread over several sources), or if a reached list (.inc) names it. Exit code 1 if
anything is out of reach: ship it, merge it with what is used, or delete it.
"""
import argparse
import collections
import pathlib
import re
import sys

PRODUCT = ["core", "backends", "traces", "replay", "viz"]
PROGRAMS = ["replay/app", "replay/c_api", "replay/inject", "backends/imagined", "viz/app", "viz/page"]
C_LIBRARY = "replay/c_api"  # its headers are installed by their names alone
INCLUDE = re.compile(r'^\s*#\s*include\s*["<](?:tidemark/)?([^">]+)[">]', re.MULTILINE)
MIRRORS = ("backends/cuda/driver_api.h", "replay/inject/cupti_api.h", "replay/c_api/tidemark")  # complete, as others name it
ENUM = re.compile(r"\benum\b[^{;()]*\{([^}]*)\}")
ENUMERATOR = re.compile(r"(?:^|,)\s*([A-Za-z_]\w*)")
VIRTUAL = re.compile(r"\bvirtual\s[^;{(]*?\b(\w+)\s*\(")
NO_CODE = re.compile(r'''//.*|/\*(?:.|\n)*?\*/|'(?:[^'\\\n]|\\.)'|"(?:[^"\\\n]|\\.)*"''')
OPTIONS = re.compile(r"^struct (\w*(?:Options|Setup|Question|Limits|Config|Settings)) \{\n(.*?)^\};",
                     re.MULTILINE | re.DOTALL)
MEMBER = re.compile(r"^    (?!static|using|friend|struct|enum)[^\s()][^()=;{]*?(\w+)(?: = [^;]*|\{[^;]*\})?;",
                    re.MULTILINE)
ENTRY = re.compile(r"^\s*TIDEMARK_\w+\((\w+)", re.MULTILINE)


def texts_of(root):
    """The product's sources and headers under `root`, by path."""
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8", errors="replace")
            for folder in PRODUCT for path in (root / folder).rglob("*")
            if path.suffix in (".h", ".cpp", ".inc", ".in")}


def unreached(root, texts):
    """Those of `texts` that users can't reach."""
    headers = {name for name in texts if not name.endswith((".cpp", ".in"))}
    includes = {name: [found for found in INCLUDE.findall(text) if found in headers]
                for name, text in texts.items()}
    waiting = {}  # header -> sources that come with it
    for name in texts:
        if not name.endswith((".cpp", ".in")):
            continue
        own = re.sub(r"\.cpp(\.in)?$", ".h", name)
        folder = name.rsplit("/", 1)[0]
        for header in [own] if own in headers else includes[name]:
            if header.rsplit("/", 1)[0] == folder or header == includes[name][0]:
                waiting.setdefault(header, []).append(name)
    todo = [name for name in texts if name.startswith(tuple(f"{one}/" for one in PROGRAMS))
            and name.endswith(".cpp")]
    for example in (root / "examples").glob("*.cpp"):
        for name in INCLUDE.findall(example.read_text(encoding="utf-8")):
            todo += [found for found in (name, f"{C_LIBRARY}/{name}") if found in headers]
    reached = set()
    while todo:
        name = todo.pop()
        if name in reached:
            continue
        reached.add(name)
        todo += includes[name] + waiting.get(name, [])
        if name.endswith(".inc"):
            folder = name.rsplit("/", 1)[0]
            todo += [source for entry in ENTRY.findall(texts[name])
                     for source in texts if source.startswith(f"{folder}/")
                     and source.endswith(f"/{entry}.cpp")]
    return sorted(name for name in texts if name not in reached and not name.endswith(".in"))


def unnamed(texts):
    """Enumerators and virtual functions that the product names only once, as (header, name). Every
    `{}` names the first enumerator."""
    code = {name: NO_CODE.sub("", text) for name, text in texts.items()}
    named = collections.Counter(word for text in code.values()
                                for word in re.findall(r"[A-Za-z_]\w*", text))
    found = []
    for name, text in code.items():
        if name.startswith(MIRRORS):
            continue
        declared = [one for body in ENUM.findall(text) for one in ENUMERATOR.findall(body)[1:]]
        declared += VIRTUAL.findall(text)
        found += [(name, one) for one in declared if named[one] == 1]
    return sorted(found)


def unset(root, texts):
    """Members of options, setups and similar structs that the product never sets, as (header,
    name). Users set those of installed headers, and of headers that these include."""
    lists = " ".join((root / folder / "CMakeLists.txt").read_text(encoding="utf-8")
                     for folder in PRODUCT if (root / folder / "CMakeLists.txt").exists())
    installed = set()
    todo = [name for name in texts if name in lists and name.endswith(".h")]
    while todo:
        name = todo.pop()
        if name not in installed:
            installed.add(name)
            todo += [found for found in INCLUDE.findall(texts[name]) if found in texts]
    code = {name: NO_CODE.sub("", text) for name, text in texts.items()}
    everything = "\n".join(code.values())
    found = []
    for name, text in code.items():
        if name in installed or name.startswith(MIRRORS) or not name.endswith(".h"):
            continue
        for struct, body in OPTIONS.findall(text):
            if re.search(rf"\b{struct}( \w+)?\{{\s*[^.}}\s]", everything):
                continue  # of those without names, all
            found += [(name, f"{struct}::{one}") for one in MEMBER.findall(body)
                      if not re.search(rf"(\.|->){one}\s*(=[^=]|\.\w+|\+=|\||\))|::{one}\b|[.>]{one}\{{",
                                       everything)]
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    texts = texts_of(root)
    names, unused, options = unreached(root, texts), unnamed(texts), unset(root, texts)
    for name in names:
        print(f"{name}: no program and no example uses it; ship it, merge it or delete it")
    for name, one in unused:
        print(f"{name}: nothing in the product names {one}; use it or delete it")
    for name, one in options:
        print(f"{name}: nothing in the product sets {one}; let users set it or make it a constant")
    return 1 if names or unused or options else 0


if __name__ == "__main__":
    sys.exit(main())
