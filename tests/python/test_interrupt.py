"""Ctrl-C: a real signal, once the work has begun, ends every function."""

import os
import pathlib
import subprocess
import sys

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"

# Sends itself the signal when the library says that it is at it; the work takes much longer than
# the test may.
PROGRAM = """
import os, signal, sys
import tidemark
from tidemark import _waiting

class Signal:
    sent = False
    def __call__(self, label, done, total):
        if not self.sent and label.startswith(sys.argv[1]):
            self.sent = True
            os.kill(os.getpid(), signal.SIGINT)

begun = Signal()
try:
    eval(sys.argv[2], {"tidemark": tidemark, "begun": begun, "out": sys.argv[3]})
except KeyboardInterrupt:
    print("interrupted" if begun.sent else "too soon")
"""

LONG = "'generate:mix:events=100000000'"
CALLS = [
    ("", f"tidemark.load({LONG}, progress=begun)"),
    ("", f"tidemark.info({LONG}, progress=begun)"),
    ("", f"tidemark.replay({LONG}, 'torch', progress=begun)"),
    ("", f"tidemark.compare({LONG}, policies=['torch', 'extent'], progress=begun)"),
    ("", f"tidemark.fit({LONG}, policies=['torch'], progress=begun)"),
    ("", f"tidemark.report({LONG}, policies=['torch'], out=out, progress=begun)"),
    ("", "tidemark.run('generate', 'mix:events=100000000', '-o', out, progress=begun)"),
    ("replaying", "tidemark.replay('generate:mix:events=3000000', 'extent', check=True, "
                  "progress=begun)"),
    ("trying", "tidemark.advise('generate:mix:events=1000000', policy='torch', progress=begun)"),
    ("trying", "tidemark.report('generate:mix:events=1000000', policies=['torch'], out=out, "
               "progress=begun)"),
]


@pytest.mark.parametrize("label, call", CALLS)
def test_ctrl_c_ends_it(label, call, tmp_path):
    done = subprocess.run([sys.executable, "-c", PROGRAM, label, call, str(tmp_path / "out.html")],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE)}, check=False)
    assert done.stdout == "interrupted\n", f"it ended before: {done.stderr}"
    assert not (tmp_path / "out.html").exists()
