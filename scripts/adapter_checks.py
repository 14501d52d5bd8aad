"""Shared by the checks of scripts/prove_adapters.py: reporting, and programs in new processes."""
import os
import pathlib
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
MIB = 1 << 20


def check(condition, what):
    print(f"  {'ok  ' if condition else 'FAIL'} {what}", flush=True)
    if not condition:
        raise SystemExit(1)


def raises(kind, function, *given):
    try:
        function(*given)
    except kind as failure:
        return failure
    return None


def program(code, **variables):
    """Runs `code` in a new Python process."""
    return subprocess.run([sys.executable, "-B", "-c", textwrap.dedent(code)], capture_output=True,
                          text=True, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(
                              [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]),
                               **variables})
