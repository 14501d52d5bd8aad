"""The programs that come along."""

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
