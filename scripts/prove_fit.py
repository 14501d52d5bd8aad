#!/usr/bin/env python3
"""Compares the smallest limit that `tidemark fit` predicts with programs that run under it.

For each program with several streams (scripts/spread_programs.py), it makes one recording without a
limit, asks `fit`, and then runs the program under limits around the predicted one. Prints a line per
limit: how many runs survived, and how often they had to empty their caches. Exit code 1 if a run died
under a limit of at least --above times the predicted one, which `fit` promises to be enough.

Examples:
  scripts/prove-on-gpu fit --tidemark build/release/tidemark
  scripts/prove-on-gpu fit --only fsdp --runs 3 --tidemark build/release/tidemark
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from prove_spread import forked
from spread_programs import PROGRAMS

SHARES = [1.1, 1.0, 0.9]  # of the predicted limit
MIB = 1 << 20


def fit(tidemark, snapshot):
    done = subprocess.run([tidemark, "fit", snapshot, "--json"], capture_output=True, text=True,
                          check=False)
    if done.returncode > 1:
        sys.exit(f"scripts/prove_fit.py: tidemark fit {snapshot}: {done.stderr}")
    return json.loads(done.stdout)["candidates"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tidemark", default="build/release/tidemark", help="the program to judge")
    parser.add_argument("--only", nargs="*", choices=sorted(PROGRAMS), help="not all programs")
    parser.add_argument("--runs", type=int, default=2, help="for each limit (default: 2)")
    parser.add_argument("--above", type=float, default=1.1, help="see above (default: 1.1)")
    parser.add_argument("--seconds", type=float, default=500, help="start no program after these")
    options = parser.parse_args()
    import torch

    deadline = time.monotonic() + options.seconds
    died = 0
    print("program             limit MiB  of predicted  survived  retries  peak MiB")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only or sorted(PROGRAMS):
            if time.monotonic() > deadline:
                print("out of time")
                break
            snapshot = str(pathlib.Path(folder) / f"{name}.pickle.xz")
            free = forked(torch, name, "", 1, snapshot)
            if "error" in free:
                print(f"{name}: {free['error']}")
                continue
            found = fit(options.tidemark, snapshot)
            limit = found["smallest_limit_bytes"]
            print(f"{name:18} {'none':>10}  predicted {limit // MIB} MiB; peak "
                  f"{free['reserved_bytes.all.peak'] // MIB} MiB, allocated "
                  f"{free['allocated_bytes.all.peak'] // MIB} MiB", flush=True)
            for share in SHARES:
                runs = [forked(torch, name, "", 1, None, int(limit * share))
                        for _ in range(options.runs)]
                odd = [run["error"] for run in runs
                       if "error" in run and "ut of memory" not in run["error"]]
                survived = sum("error" not in run for run in runs)
                died += len(runs) - survived if share >= options.above else 0
                retries = [run["num_alloc_retries"] for run in runs if "error" not in run]
                peaks = [run["reserved_bytes.all.peak"] // MIB for run in runs if "error" not in run]
                print(f"{name:18} {int(limit * share) // MIB:10} {share:13.2f} {survived:5} of "
                      f"{len(runs)}  {retries} {peaks} {odd[:1] or ''}", flush=True)
    return 1 if died else 0


if __name__ == "__main__":
    sys.exit(main())
