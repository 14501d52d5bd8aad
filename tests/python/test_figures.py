"""Figures of answers have types: a checker knows them, and they are what answers have."""

import ast
import subprocess
import sys

import pytest
from conftest import ROOT, SAMPLES

import tidemark

SCRIPT = """
import tidemark
answer = tidemark.advise("run.pickle")
line: str = answer.best.line
peak: int = tidemark.replay("run.pickle").peak_reserved_bytes
first: float = tidemark.compare("run.pickle").runs[0].overhead_ratio
fits: bool = tidemark.bound("run.pickle", capacity="8GiB").fits
wrong: str = tidemark.replay("run.pickle").peak_reserved_bytes
"""


def test_a_checker_knows_the_types(tmp_path):
    pytest.importorskip("mypy")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"),
         "--ignore-missing-imports", str(script)], capture_output=True, text=True, check=False,
        env={"MYPYPATH": str(ROOT / "python"), "PATH": ""})
    errors = [line for line in done.stdout.splitlines() if "script.py" in line]
    assert len(errors) == 1 and errors[0].partition("script.py:")[2].startswith("8:"), done.stdout


def test_answers_have_the_figures_that_are_written():
    module = ast.parse((ROOT / "python" / "tidemark" / "_figures.py").read_text())
    replay = next(each for each in module.body
                  if isinstance(each, ast.ClassDef) and each.name == "Replay")
    written = {each.target.id: each.annotation.id for each in replay.body
               if isinstance(each.annotation, ast.Name)}
    answer = tidemark.replay(SAMPLES / "torch" / "graphs.pickle.xz", "torch")
    for name, kind in written.items():
        if kind in ("int", "float", "str", "bool"):
            assert type(getattr(answer, name)).__name__ == kind, name
