#!/usr/bin/env python3
"""Proves that the simulator and a real device agree: decisions, line by line, and driver time.

Usage: scripts/prove_device.py TRACE... [--tidemark PROGRAM] [--device cuda:0] [--policy P]...
           [--profile FILE] [--tolerance 0.15] [--scale F] [--keep FOLDER]

Calibrates the device first (unless --profile names a calibration of it), then replays each trace
under each policy on both and prints a table: whether all decisions are equal, what the driver took
and what the simulator says, and the kinds of calls that differ most in time. Exit code 1 if a
decision differs, a driver time is off by more than the tolerance, or memory does not come back.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LEAK_MAX = 2 << 20


def say(program, words):
    """The object that `tidemark WORDS --json` prints; refusals of a policy are an ordinary end."""
    done = subprocess.run([program, *words, "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 4):
        raise RuntimeError(f"tidemark {' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def policies_of(program):
    return [policy["name"] for policy in say(program, ["policies"])["policies"]]


def first_difference(left, right):
    """The first lines that differ of two files, with their number; None if there is none."""
    with open(left) as ours, open(right) as theirs:
        number = 0
        while True:
            number += 1
            mine, other = ours.readline(), theirs.readline()
            if mine != other:
                return number, mine.strip() or "(end)", other.strip() or "(end)"
            if not mine:
                return None


def kinds(real, simulated):
    """Kinds of calls by how much of the real driver time their difference is."""
    found = []
    for key in real:
        if key.startswith("calls_") and key.endswith("_ns") and real[key] + simulated[key] > 0:
            share = (simulated[key] - real[key]) / max(real["driver_ns"], 1)
            found.append((abs(share), f"{key[6:-3]} {real[key]}/{simulated[key]} ns {share:+.1%}"))
    return [text for share, text in sorted(found, reverse=True)[:3] if share >= 0.01]


def prove(options, trace, policy, folder):
    """One line of the table, and what is wrong with it."""
    name = f"{pathlib.Path(trace).name.split('.')[0]}-{policy.replace(':', '_')}"
    lines = [folder / f"{name}.{where}.txt" for where in ("device", "sim")]
    common = ["replay", trace, "-p", policy, "--scale", str(options.scale)]
    real = say(options.tidemark,
               common + ["--device", options.device, "--decisions", str(lines[0])])
    simulated = say(options.tidemark,
                    common + ["--profile", options.profile, "--memory", str(real["memory_bytes"]),
                              "--decisions", str(lines[1])])
    faults = []
    difference = first_difference(*lines)
    if difference:
        faults.append("decision {}: device '{}', simulator '{}'".format(*difference))
    ratio = simulated["driver_ns"] / max(real["driver_ns"], 1)
    if abs(ratio - 1) > options.tolerance:
        faults.append("driver time: " + ", ".join(kinds(real, simulated)))
    if real["device_leak_bytes"] > LEAK_MAX:
        faults.append(f"{real['device_leak_bytes']} bytes did not come back")
    print(f"{name:40} {real['decisions']:>10,} {'no' if difference else 'yes':>6} "
          f"{real['driver_ns'] / 1e6:>11.3f} {simulated['driver_ns'] / 1e6:>11.3f} {ratio:>7.3f} "
          f"{real['device_peak_bytes'] - real['peak_reserved_bytes']:>+14,}", flush=True)
    for fault in faults:
        print(f"    {fault}", flush=True)
    return not faults


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", metavar="TRACE")
    parser.add_argument("--tidemark", default="build/release/tidemark")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--policy", action="append", default=[])
    parser.add_argument("--profile", default="")
    parser.add_argument("--tolerance", type=float, default=0.15)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="keep profile and decisions there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        os.makedirs(folder, exist_ok=True)
        try:
            if not options.profile:
                options.profile = str(folder / "device.json")
                done = say(options.tidemark,
                           ["calibrate", "-o", options.profile, "--device", options.device])
                print(f"calibrated {done['device_name']} in "
                      f"{done['device_elapsed_ns'] / 1e9:.1f} s", flush=True)
            print(f"{'trace and policy':40} {'decisions':>10} {'equal':>6} {'device ms':>11} "
                  f"{'sim ms':>11} {'ratio':>7} {'peak-reserved':>14}", flush=True)
            policies = options.policy or policies_of(options.tidemark)
            good = [prove(options, trace, policy, folder)
                    for trace in options.traces for policy in policies]
        except (OSError, RuntimeError, ValueError) as error:
            print(error, file=sys.stderr)
            return 2
    print(f"{sum(good)} of {len(good)} agree")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
