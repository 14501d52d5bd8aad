#!/usr/bin/env python3
"""Checks the C library's interface against replay/c_api/abi.txt, so that it can't change by accident.

Usage: scripts/check_abi.py [--library LIBTIDEMARK.SO] [--update] [--root DIR]

The list has every function with its types, every number, and every struct with its size and the
offset of each field, as the C compiler lays them out. With --library, it also checks what that file
exports: the header's functions and no others. --update rewrites the list. That is right for new
functions, new numbers, and new fields at the end of structs; for any other change, TM_ABI_VERSION
must grow too. Exit code 1 if anything differs.
"""
import argparse
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

HEADER = "replay/c_api/tidemark.h"  # and what it includes
LIST = "replay/c_api/abi.txt"


def text_of(header):
    """The header, with the headers that it includes in place."""
    return re.sub(r'^#include "replay/c_api/(\w+\.h)"$',
                  lambda part: "" if part[1] == header.name
                  else (header.parent / part[1]).read_text(encoding="utf-8"),
                  header.read_text(encoding="utf-8"), flags=re.MULTILINE)


def code_of(text):
    """The header without comments and directives, on one line."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    text = re.sub(r"^\s*#(.*\\\n)*.*$", " ", text, flags=re.MULTILINE)
    return re.sub(r"\s+", " ", text)


def functions(code):
    """name -> declaration."""
    found = {}
    for declaration in re.findall(r"TM_API ([^;]+);", code):
        name = re.search(r"(\w+)\s*\(", declaration).group(1)
        found[name] = declaration.strip()
    return found


def field_of(declaration):
    pointer = re.search(r"\(\*(\w+)\)", declaration)
    return (pointer or re.search(r"(\w+)\s*(?:\[[^\]]*\])?$", declaration)).group(1)


def structs(code):
    """name -> its fields."""
    return {name: [field_of(part.strip()) for part in body.split(";") if part.strip()]
            for name, body in re.findall(r"typedef struct (\w+) \{([^{}]*)\} \1;", code)}


def numbers(text, code):
    """Names of enumerators and of macros that are numbers."""
    inside = [part.split("=")[0].strip()
              for body in re.findall(r"typedef enum \w+ \{([^{}]*)\}", code)
              for part in body.split(",") if part.strip()]
    return inside + re.findall(r"^#define (TM_\w+) (?:\d|U?INT\d+_MAX|\(?-?\d)", text, re.MULTILINE)


def laid_out(header, lines):
    """The output of a C program whose main() consists of `lines`."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "abi.c"
        source.write_text(f'#include <stdio.h>\n#include "{header}"\nint main(void) {{\n'
                          + "\n".join(lines) + "\nreturn 0;\n}\n")
        program = pathlib.Path(folder) / "abi"
        subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                        "-I", header.parents[2], source, "-o", program], check=True)
        return subprocess.run([program], check=True, stdout=subprocess.PIPE,
                              text=True).stdout.splitlines()


def described(header):
    """The lines of the list."""
    text = text_of(header)
    code = code_of(text)
    lines = [f'printf("{name} = %llu\\n", (unsigned long long){name});'
             for name in numbers(text, code)]
    for name, fields in structs(code).items():
        lines.append(f'printf("struct {name}: %zu bytes\\n", sizeof({name}));')
        lines += [f'printf("    %3zu %-3zu {field}\\n", offsetof({name}, {field}), '
                  f"sizeof((({name}*)0)->{field}));" for field in fields]
    return sorted(functions(code).values()) + laid_out(header.resolve(), lines)


def export_faults(header, library):
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in listed.splitlines()
                if line.split()[-2] != "A"}
    declared = set(functions(code_of(text_of(header))))
    for name in sorted(exported - declared):
        yield f"{library}: exports {name}, which {HEADER} doesn't declare"
    for name in sorted(declared - exported):
        yield f"{library}: doesn't export {name}, which {HEADER} declares"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--library", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    header = options.root / HEADER
    kept = options.root / LIST
    now = described(header)
    if options.update:
        kept.write_text("\n".join(now) + "\n", encoding="utf-8")
    before = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    faults = [line for line in difflib.unified_diff(before, now, LIST, HEADER, lineterm="", n=1)]
    if faults:
        faults.append("if that is intended: scripts/check_abi.py --update; and if it would break "
                      "callers that are already compiled, increase TM_ABI_VERSION")
    if options.library:
        faults += export_faults(header, options.library)
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
