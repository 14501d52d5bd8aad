"""The programs that come along."""

import importlib.metadata
import json
import os
import subprocess
import sys

import pytest

import tidemark
from tidemark import programs


def test_the_entry_point_becomes_the_program():
    package = os.path.dirname(os.path.dirname(tidemark.__file__))
    said = subprocess.check_output(
        [sys.executable, "-c", "import sys; from tidemark.programs import run_tidemark; "
         "sys.argv = ['tidemark', '--version']; run_tidemark()"], text=True,
        env={**os.environ, "PYTHONPATH": package})
    assert tidemark.__version__ in said


def test_the_doctor_looks_into_this_python():
    package = os.path.dirname(os.path.dirname(tidemark.__file__))
    environment = {key: value for key, value in os.environ.items() if key != "TIDEMARK_PYTHON"}
    said = json.loads(subprocess.check_output(
        [sys.executable, "-m", "tidemark", "doctor", "--json"], text=True,
        env={**environment, "PYTHONPATH": package, "PATH": "/nowhere"}))
    found = {each["name"]: each for each in said["capabilities"]}
    assert sys.executable in found["python"]["what"]
    assert not found["compiler"]["here"]
    for name in ("torch", "cupy", "numba-cuda", "cuda-core", "rmm"):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        assert version in found[name]["what"]


def test_an_entry_point_is_not_taken_for_the_program(monkeypatch, tmp_path):
    entry = tmp_path / "nosuch"
    entry.write_text("#!/bin/sh\n")
    entry.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(tidemark.NotFoundError):
        programs.program("nosuch")


def test_types():
    pytest.importorskip("mypy")
    from conftest import ROOT

    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", os.devnull], cwd=ROOT,
                          stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stdout
