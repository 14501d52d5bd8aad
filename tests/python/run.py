#!/usr/bin/env python3
"""Runs the tests of the Python package with the first Python here that has NumPy and pytest.

Usage: tests/python/run.py --build FOLDER [PYTEST-OPTION ...]

FOLDER holds libtidemark.so and the programs. Exit code 77, and a message, where no Python has both:
the test counts as skipped then. `scripts/setup --checks` installs them.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
SKIPPED = 77


def interpreter():
    """A Python with NumPy and pytest, or None."""
    for python in (sys.executable, shutil.which("python3"), "/usr/bin/python3"):
        if python and os.access(python, os.X_OK) and subprocess.run(
                [python, "-c", "import numpy, pytest"], stderr=subprocess.DEVNULL,
                check=False).returncode == 0:
            return python
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    given, options = parser.parse_known_args()
    python = interpreter()
    if python is None:
        print("test_python skipped: no Python here has NumPy and pytest; "
              "install python3-numpy and python3-pytest, or run scripts/setup --checks")
        return SKIPPED
    build = given.build.resolve()
    environment = {**os.environ, "TIDEMARK_LIBRARY": str(build / "libtidemark.so.1"),
                   "TIDEMARK_PROGRAMS": str(build), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(FOLDER),
                           *options], cwd=FOLDER.parents[1], env=environment,
                          check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
