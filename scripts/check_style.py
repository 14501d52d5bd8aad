#!/usr/bin/env python3
"""Checks what clang-format and clang-tidy cannot. Prints file:line and the cure.

Usage: scripts/check_style.py [--root DIR]

Its list of phrases that aren't the field's English is scripts/plain_english.py.

Sizes of files, functions and classes are hints: where one is passed, look for a second job; a thing
with one job may stay as it is. Exit code 1 if anything else is found.
"""
import argparse
import io
import pathlib
import re
import sys
import tokenize

import plain_english

OURS = ["core", "backends", "traces", "replay", "viz", "tests"]
PYTHON = ["python", "tests/python"]
PROSE = ["core", "backends", "traces", "replay", "viz", "python", "scripts", "examples", "docs"]
PHRASES_LISTED_IN = "scripts/plain_english.py"
LINES_MAX = 600  # look for a second job in the file at 400
FUNCTION_LINES_MAX = 70
WIDTH_MAX = 100
METHODS_MAX = 45  # of its own, without overrides: an object does one job
BANNED_NAMES = re.compile(r"(^|_)(util|helper|misc|common|manager|stuff|v\d+|old|new|priv|tmp)s?$")

# (what, cure, where it is allowed). Searched in code, comments and strings taken out.
BANNED = [
    (r"\b(std::rand\b|random_device\b|time\(nullptr\))",
     "take a seeded generator from core/base/random.h", ()),
    (r"\b(system|steady|high_resolution)_clock\b",
     "ask the device: Device::now(); for our own speed, core/base/stopwatch.h",
     ("core/base/stopwatch.h", "traces/live/clock.h", "replay/cli_support/", "replay/cli/", "viz/app/",
      "backends/cuda/", "tests/")),
    (r"\bstd::(cout|cerr)\b|\b(f?printf|f?puts)\(",
     "return text or an Error; only replay/cli prints",
     ("core/base/check.cpp", "traces/live/recorder.cpp", "replay/cli_support/", "replay/cli/",
      "viz/app/", "tests/")),
    (r"\bSTD(OUT|ERR)_FILENO\b",
     "print by replay/cli_support/terminal.h: names pass printable() there (core/base/printable.h)",
     ("traces/io/output_file.cpp", "backends/topology/program_output.cpp", "replay/cli_support/",
      "replay/inject/injection.cpp", "tests/")),
    (r"\bstd::(j?thread|async)\b", "start it by core/base/threads.h, which has no exceptions",
     ("core/base/threads.", "tests/")),
    (r"\bthrow\b", "return an Error (core/base/result.h)",
     ("traces/io/growing_block.cpp", "traces/io/block_by_realloc.cpp",  # no memory: as operator new
      "core/base/caught.h", "replay/c_api/memory_resource.h", "tests/")),  # for programs that
                                                                           # expect it
]
BANNED_ANYWHERE = [
    (r"\b(TODO|FIXME|XXX)\b", "do it, or open an issue and say why in a sentence"),
]
# Private words, which a newcomer would have to learn, and the field's words for them
# (docs/glossary.md). Searched in the parts of identifiers: "tell" is in tell_room, not in intellect.
BANNED_PARTS = {
    "asked": "requested, query", "bury": "retire", "buried": "retired", "crew": "encoder, workers",
    "departure": "eviction", "departures": "evictions", "doing": "action, handler",
    "hear": "receive", "heard": "received", "hears": "receives", "lane": "track, stream, device",
    "lanes": "tracks, streams, devices", "lent": "leased, borrowed",
    "picture": "chart, bitmap, heatmap", "pictures": "charts, bitmaps, heatmaps",
    "place": "location, position, site", "places": "locations, positions, sites", "purse": "source",
    "stand": "position, state", "stands": "is, waits", "story": "details", "teller": "emitter",
    "tell": "report, emit", "tells": "reports, emits", "told": "reported, emitted",
    "voice": "emitter", "wish": "request", "wishes": "requests", "words": "text, names",
    "yard": "retired",
}
PYTHON_NAMES = {"picture", "pictures"}  # the name that notebooks use
JSON_NAMES = "_figures.py"  # the module of --json's names, which stay as they are
FOREIGN_NAMES = re.compile(r"\bstd::in_place\w*|\bIMGUI?_\w+|\bImGui\w*::\w+")
RAW_STRING = re.compile(r'R"(\w*)\(.*?\)\1"', re.DOTALL)
IDENTIFIER_PART = re.compile(r"[A-Z]?[a-z]+")
NO_FUNCTION = re.compile(
    r"^\s*(if|else|for|while|switch|do|catch|try|namespace|class|struct|enum|union|extern|return)\b")
FUNCTION = re.compile(r"^( *)\S.*\)( const| noexcept| override| final| ->.*)* \{$")


def code_of(line):
    """`line` without its comment and with empty string literals."""
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return line.split("//")[0]


def long_functions(lines):
    """Relies on clang-format's layout: a body ends at the brace in its first line's column."""
    for start, line in enumerate(lines):
        match = FUNCTION.match(line)
        if not match or NO_FUNCTION.match(line):
            continue
        first = start  # where a signature of several lines, with initializers, begins
        while first > 0 and lines[first - 1].strip() and \
                not lines[first - 1].rstrip().endswith((";", "{", "}", ":")):
            first -= 1
        indent = len(lines[first]) - len(lines[first].lstrip())
        if indent > 4 or NO_FUNCTION.match(lines[first]):
            continue
        end = next((i for i in range(start + 1, len(lines))
                    if re.match(rf" {{{indent}}}\}}", lines[i])), start)
        if end - start + 1 > FUNCTION_LINES_MAX:
            yield start + 1, Hint(f"a function of {end - start + 1} lines: more than one step?")


class Hint(str):
    """What is worth a look, and no fault."""


def class_sizes(lines):
    """(line, class, methods of its own) by clang-format's layout; overrides aren't counted."""
    code = [code_of(line) for line in lines]
    for start, line in enumerate(code):
        match = re.match(r"^( *)(?:class|struct) (\w+)\b[^;]*$", line)
        opening = match and next((i for i in range(start, len(code)) if re.search(r"[{;]", code[i])), None)
        if opening is None or not code[opening].endswith("{"):
            continue
        indent = len(match.group(1))
        end = next((i for i in range(opening, len(code))
                    if re.match(rf" {{{indent}}}\}}", code[i])), len(code))
        members = re.sub(r"\n {%d,}" % (indent + 5), " ", "\n".join(code[opening + 1:end]))
        methods = 0
        for member in members.splitlines():
            name = re.match(rf" {{{indent + 4}}}[\w\[~].*?(~?\w+|operator\S+)\(", member)
            field = re.search(r"<[^<>]*\(.*\)>+ \w+( = .*|\{{.*)?;$", member)
            if name and not field and not re.search(r"\b(override|friend|using|TM_\w+)\b", member) \
                    and name.group(1).lstrip("~") != match.group(2):
                methods += 1
        yield start + 1, match.group(2), methods


def types_defined(text):
    """(line, name with its namespaces) of the types that other files may see."""
    spaces = []
    for number, line in enumerate(text.splitlines(), 1):
        opened = re.match(r"(?:inline )?namespace ?([\w:]*) ?\{$", line)
        if opened:
            spaces.append(opened.group(1))
        elif line.startswith("}  // namespace") and spaces:
            spaces.pop()
        found = re.match(r"(?:class|struct|union|enum class) (\w+)\b(?!::)[^;]*$", line)
        if found and "" not in spaces:
            yield number, "::".join([*spaces, found.group(1)])


def private_words(line):
    """The banned parts of the identifiers in a line of code."""
    code = FOREIGN_NAMES.sub("", code_of(line))
    if "#include" in code:
        return []
    return [part for part in (found.lower() for found in IDENTIFIER_PART.findall(code))
            if part in BANNED_PARTS]


def faults(path, text):
    lines = text.splitlines()
    without_raw = RAW_STRING.sub(lambda found: "\n" * found.group().count("\n"), text).splitlines()
    if not lines:
        yield 1, "an empty file"
        return
    if len(lines) > LINES_MAX:
        yield 1, Hint(f"{len(lines)} lines: more than one job?")
    if BANNED_NAMES.search(pathlib.PurePath(path).stem):
        yield 1, "name the file for what it holds"
    if not lines[0].startswith("// "):
        yield 1, "begin with a comment that says what the file is and promises"
    if path.endswith(".h") and "#pragma once" not in lines:
        yield 1, "a header needs #pragma once"
    for number, line in enumerate(lines, 1):
        if len(line) > WIDTH_MAX and "R\"" not in line:
            yield number, f"{len(line)} columns (limit {WIDTH_MAX})"
        for pattern, cure, homes in BANNED:
            if not path.startswith(homes) and re.search(pattern, code_of(line)):
                yield number, cure
        for word in private_words(without_raw[number - 1]):
            yield number, f"'{word}' is a word of ours: {BANNED_PARTS[word]} (docs/glossary.md)"
        for pattern, cure in BANNED_ANYWHERE:
            if re.search(pattern, line):
                yield number, cure
    if not path.startswith("tests/"):
        for number, name, methods in class_sizes(lines):
            if methods > METHODS_MAX:
                yield number, Hint(f"{name} has {methods} methods: an object with an invariant of "
                                   "its own in it?")
    if path.endswith(".cpp") and not path.startswith("tests/"):
        yield from long_functions(lines)


def python_faults(text, any_name=False):
    lines = text.splitlines()
    if not lines:
        yield 1, "an empty file"
        return
    if not re.match(r'(#!.*\n)?"""', text):
        yield 1, "begin with a docstring that says what the file is and promises"
    if len(lines) > LINES_MAX:
        yield 1, Hint(f"{len(lines)} lines: more than one job?")
    for number, line in enumerate(lines, 1):
        if len(line) > WIDTH_MAX:
            yield number, f"{len(line)} columns (limit {WIDTH_MAX})"
        if line != line.rstrip():
            yield number, "blanks at the end"
        for pattern, cure in BANNED_ANYWHERE:
            if re.search(pattern, line):
                yield number, cure
    if any_name:
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            for word in (found.lower() for found in IDENTIFIER_PART.findall(token.string)):
                if word in BANNED_PARTS and word not in PYTHON_NAMES:
                    yield token.start[0], (f"'{word}' is a word of ours: {BANNED_PARTS[word]} "
                                           "(docs/glossary.md)")


def check(root):
    """Yields (path, line, cure) for the tree under `root`."""
    for folder in PYTHON:
        for source in sorted((root / folder).rglob("*.py")):
            for number, cure in python_faults(source.read_text(errors="replace"),
                                              source.name == JSON_NAMES):
                yield source.relative_to(root).as_posix(), number, cure
    types = {}  # name -> where it is defined first
    for folder in OURS:
        for source in sorted((root / folder).rglob("*")):
            if source.suffix in {".h", ".cpp", ".inc"}:
                path = source.relative_to(root).as_posix()
                text = source.read_text(errors="replace")
                for number, cure in faults(path, text):
                    yield path, number, cure
                for number, name in () if folder == "tests" else types_defined(text):
                    first = types.setdefault(name, path)
                    if first != path:  # the linker keeps one of each function, of either type
                        yield path, number, f"{name} is defined in {first}, too: another name"


def phrases(root):
    """Yields (path, line, cure) for what isn't the field's English, in sources and pages."""
    for source in sorted([*root.glob("*.md"), *(path for folder in PROSE
                                                for path in (root / folder).rglob("*"))]):
        path = source.relative_to(root).as_posix()
        if source.suffix in plain_english.READERS and path != PHRASES_LISTED_IN:
            for number, cure in plain_english.faults(source.suffix,
                                                     source.read_text(errors="replace")):
                yield path, number, cure


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    found = 0
    root = parser.parse_args().root
    for path, number, cure in [*check(root), *phrases(root)]:
        is_hint = isinstance(cure, Hint)
        print(f"{path}:{number}: {'hint: ' if is_hint else ''}{cure}")
        found += not is_hint
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
