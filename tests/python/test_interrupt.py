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


# What each of these waits for never comes: another access is open, of the same thread.
STORE = """
import os, signal, sys, threading, time
import tidemark

MIB = 1 << 20
store = tidemark.Store(8 * MIB)
buffer = store.create(8 * MIB)
gpu = tidemark.Context(machine="sim")
memory = tidemark.DeferrableMemory(gpu, gpu_bytes=4 * MIB, host=8 * MIB)
pinned = memory.empty(4 * MIB)
seen = []
signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))

def signals():
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGUSR1)  # whose handler raises nothing: the wait goes on
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)

with buffer.access("host", "write"), pinned.pin():
    wait = eval("lambda: " + sys.argv[1])  # within eval() KeyboardInterrupt would end Python
    threading.Thread(target=signals, daemon=True).start()
    try:
        wait()
    except KeyboardInterrupt:
        print("interrupted" if seen else "too soon")
"""

WAITS = [
    "store.create(MIB)",
    "store.reserve(MIB).__enter__()",
    "buffer.access('host', 'read').__enter__()",
    "pinned.access('gpu', 'overwrite').__enter__()",
]


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_what_waits_in_a_store(wait):
    done = subprocess.run([sys.executable, "-c", STORE, wait], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE)}, check=False)
    assert done.stdout == "interrupted\n", f"it ended before: {done.stderr}"
    assert done.returncode == 0, done.stderr
