#!/usr/bin/env python3
"""Compares predictions, made with PyTorch's own wheel but no NVIDIA package, with peaks on an H100.

Usage: scripts/check_predict.py [--patience SECONDS]

Installs torch 2.11 without the NVIDIA packages that it depends on (half a GB, kept in the user's
cache), if the download succeeds within the patience (120 s), and predicts programs whose peaks were
recorded on an H100. If the wheel isn't available, it prints a message and succeeds. Needs a build:
scripts/test --programs.
"""
import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TORCH = "torch==2.11.0"
OTHERS = ("filelock", "typing_extensions", "sympy", "networkx", "jinja2", "fsspec", "numpy")
# Program -> (most reserved, most requested), bytes, under PyTorch 2.11 on an H100.
RECORDED = {"captured": (255852544, 214245400), "lstm": (895483904, 437570340)}
VALUES = 4272  # expressions of predict_values.py with the CPU's results


def wheel(patience):
    """The folder that torch is in; None if it isn't available."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    version = ".".join(platform.python_version_tuple()[:2])
    folder = pathlib.Path(base) / "tidemark" / f"{TORCH.replace('==', '-')}-python{version}"
    if folder.exists():
        return folder
    scratch = folder.with_name(f"{folder.name}.{os.getpid()}")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
           "--target", str(scratch)]
    try:
        for what in ([*pip, "--no-deps", TORCH], [*pip, *OTHERS]):
            subprocess.run(what, check=True, timeout=patience, stderr=subprocess.PIPE)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failure:
        shutil.rmtree(scratch, ignore_errors=True)
        print(f"check_predict: skipped: {TORCH} isn't available: {type(failure).__name__}")
        return None
    scratch.rename(folder)
    return folder


def predict(folder, *script):
    build = ROOT / "build" / "release"
    environment = {**os.environ, "TIDEMARK_LIBRARY": str(build / "libtidemark.so.1"),
                   "TIDEMARK_PROGRAMS": str(build),
                   "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "python")])}
    done = subprocess.run([sys.executable, "-B", "-m", "tidemark.predict", "--once", "--json",
                           *script], env=environment, capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout), done.stderr
    except ValueError:
        sys.exit(f"check_predict: {' '.join(script)}: {done.stderr[-2000:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patience", type=float, default=120, metavar="SECONDS")
    folder = wheel(parser.parse_args().patience)
    if folder is None:
        return
    wrong = 0
    for name, recorded in RECORDED.items():
        answer, _ = predict(folder, str(ROOT / "scripts" / "predict_programs.py"), name)
        found = answer["peak_reserved_bytes"], answer["peak_requested_bytes"]
        wrong += found != recorded
        print(f"{name}: reserved, requested {found}; recorded {recorded}")
    _, said = predict(folder, str(ROOT / "scripts" / "predict_values.py"))
    as_on_cpu = next((int(line.split()[0]) for line in said.splitlines()
                      if line.endswith("as on the CPU")), 0)
    wrong += as_on_cpu < VALUES
    print(f"values: {as_on_cpu} as on the CPU; at least {VALUES}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
