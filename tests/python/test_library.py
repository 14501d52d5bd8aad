"""The declarations against the header and the library."""

import ctypes
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import ROOT

import tidemark
from tidemark import _library

HEADER = ROOT / "replay" / "c_api" / "tidemark.h"
TEXT = HEADER.read_text() + (HEADER.parent / "tidemark_store.h").read_text()
STRUCTS = [value for name, value in vars(_library).items()
           if name.startswith("tm_") and isinstance(value, type)]


def header_functions():
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", TEXT, flags=re.DOTALL)
    for name, arguments in re.findall(r"TM_API[^;(]*?(\w+)\(([^;]*)\);", text):
        yield name, 0 if arguments.strip() == "void" else arguments.count(",") + 1


def test_every_function_is_declared_with_its_arguments():
    assert dict(header_functions()) == {name: len(arguments)
                         for name, (_, arguments) in _library.FUNCTIONS.items()}


def test_structs_have_the_layout_that_a_c_compiler_gives_them(tmp_path):
    compiler = shutil.which("cc") or shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C compiler")
    lines = []
    for struct in STRUCTS:
        name = struct.__name__
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));'
                  for field, _ in struct._fields_]
    source = tmp_path / "layout.c"
    source.write_text(f'#include <stdio.h>\n#include "{HEADER}"\nint main(void) {{\n'
                      + "\n".join(lines) + "\nreturn 0; }\n")
    program = tmp_path / "layout"
    subprocess.run([compiler, "-I", str(ROOT), str(source), "-o", str(program)], check=True)
    said = dict(line.split() for line in subprocess.check_output([str(program)], text=True)
                .splitlines())
    ours = {}
    for struct in STRUCTS:
        ours[struct.__name__] = str(ctypes.sizeof(struct))
        for field, _ in struct._fields_:
            ours[f"{struct.__name__}.{field}"] = str(getattr(struct, field).offset)
    assert ours == said


def test_structs_are_as_large_as_the_librarys():
    declared = set(re.findall(r"typedef struct (\w+) \{", TEXT))
    assert {struct.__name__ for struct in STRUCTS} == declared
    for struct in STRUCTS:
        assert ctypes.sizeof(struct) == _library.library().tm_struct_size(
            struct.__name__.encode()), struct


def test_constants_are_those_of_the_header():
    text = TEXT
    assert f"#define TM_ABI_VERSION {_library.ABI_VERSION}\n" in text
    for name in ("TM_STREAM_UNKNOWN", "TM_CACHE_NONE"):
        assert f"#define {name} UINT64_MAX" in text
        assert getattr(_library, name[3:]) == 2**64 - 1


def test_versions_agree():
    project = re.search(r"project\(tidemark VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    package = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert tidemark.__version__ == project.group(1) == package.group(1)
    assert tidemark.library_version() == tidemark.__version__


def test_a_library_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv("TIDEMARK_LIBRARY", "/nowhere/libtidemark.so")
    with pytest.raises(tidemark.NotFoundError, match="/nowhere/libtidemark.so"):
        _library._load()


def test_what_is_no_library_is_refused(monkeypatch, tmp_path):
    file = tmp_path / "libtidemark.so"
    file.write_text("no library")
    monkeypatch.setenv("TIDEMARK_LIBRARY", str(file))
    with pytest.raises(tidemark.NotFoundError):
        _library._load()


def test_another_interface_is_refused(monkeypatch):
    monkeypatch.setattr(_library, "ABI_VERSION", 99)
    with pytest.raises(tidemark.InternalError, match="version 1"):
        _library.Library(_library.candidates()[0])


def test_the_package_is_typed():
    assert (pathlib.Path(tidemark.__file__).parent / "py.typed").exists()
