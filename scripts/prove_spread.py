#!/usr/bin/env python3
"""Runs programs with several streams repeatedly, and records what each run reserved.

For each program (scripts/spread_programs.py), one after the other, it makes recordings under the
default settings, and --runs unrecorded runs under the default settings, under expandable segments,
and under a third setting. DIR/runs.json has the measurements; the recordings are in the same folder.
`scripts/prove_spread.py --judge DIR` then compares the ranges that `tidemark replay --spread` predicts
from the first recording of each program with the measured peaks, on any machine.

Every run is a process of its own, forked after torch was imported and before it used the device. No
two runs share the GPU, because that would change the measurements.

Examples:
  scripts/prove-on-gpu spread --out out/spread
  scripts/prove-on-gpu spread --only fsdp --runs 2 --out out/spread
  scripts/prove_spread.py --judge out/spread --tidemark build/release/tidemark
"""
import argparse
import gc
import json
import lzma
import os
import pathlib
import pickle
import random
import subprocess
import sys
import time
import traceback

from spread_programs import PROGRAMS

EXPANDABLE = "expandable_segments:True"
STATS = ["reserved_bytes.all.peak", "allocated_bytes.all.peak", "active_bytes.all.peak",
         "num_device_alloc", "num_alloc_retries"]
CHOSEN = ["expandable_segments", "max_split_size", "roundup_power2_divisions"]


def child(torch, name, conf, seed, snapshot, limit=0):
    """One run, in a process of its own: what it reserved, or the error that ended it. `limit`: the
    most that it may reserve, in bytes; 0 = no limit."""
    os.environ["PYTORCH_ALLOC_CONF"] = os.environ["PYTORCH_CUDA_ALLOC_CONF"] = conf
    if conf:
        torch._C._accelerator_setAllocatorSettings(conf)
    torch.cuda.init()
    if limit:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(limit / total)
    if snapshot:
        torch.cuda.memory._record_memory_history("all", context=None, max_entries=10_000_000)
    torch.manual_seed(seed)
    gc.disable()
    program, started = PROGRAMS[name], time.perf_counter()
    program.run(torch, program.steps, random.Random(seed))
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    result = {each: stats.get(each, 0) for each in STATS}
    result["seconds"] = round(time.perf_counter() - started, 3)
    settings = torch.cuda.memory._snapshot()["allocator_settings"]
    result["settings"] = {each: settings.get(each) for each in CHOSEN}
    if snapshot:
        data = pickle.dumps(torch.cuda.memory._snapshot())
        pathlib.Path(snapshot).write_bytes(lzma.compress(data))
    return result


def forked(torch, *arguments):
    """Runs child(...) in a forked process, for at most a minute."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            result = child(torch, *arguments)
        except BaseException:
            result = {"error": traceback.format_exc()[-600:]}
        os.write(writer, json.dumps(result).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read()
    os.waitpid(process, 0)
    return json.loads(text) if text else {"error": "the process died"}


def plan(names, runs, recordings):
    """(program, setting, number, recorded?), so that a run cut short has all programs."""
    for name in names:
        yield name, "", 0, True
    for number in range(max(runs, recordings)):
        for name in names:
            for conf in ["", EXPANDABLE, PROGRAMS[name].third]:
                if number < runs:
                    yield name, conf, number, False
        for name in names:
            for conf in ["", EXPANDABLE, PROGRAMS[name].third]:
                if 0 < number < recordings if conf == "" else number < recordings - 1:
                    yield name, conf, number, True


def measure(options, names):
    import torch

    deadline = time.monotonic() + options.seconds
    options.out.mkdir(parents=True, exist_ok=True)
    table = {"torch": torch.__version__, "seed": options.seed, "runs": []}
    for name, conf, number, recorded in plan(names, options.runs, options.recordings):
        if time.monotonic() > deadline:
            print("out of time")
            break
        label = {"": "default", EXPANDABLE: "expandable"}.get(conf, "third")
        file = options.out / f"{name}.{label}.{number}.pickle.xz" if recorded else None
        started = time.monotonic()
        result = forked(torch, name, conf, options.seed, str(file) if file else None)
        result.update(program=name, conf=conf, recorded=recorded, number=number)
        table["runs"].append(result)
        print(f"{name:18} {label:10} {number} {'recorded' if recorded else '':8} "
              f"{result.get('reserved_bytes.all.peak', 0) >> 20:6} MiB  {result.get('seconds')} s of "
              f"{time.monotonic() - started:.2f}  {result.get('error', '')}", flush=True)
        (options.out / "runs.json").write_text(json.dumps(table, indent=0) + "\n")


def policy_of(conf):
    """Tidemark's name for torch under these settings."""
    return "torch:" + conf.replace(":", "=") if conf else "torch"


def judge(options):
    """Prints real and predicted peaks of each program and setting. 1 if too many are missed."""
    runs = json.loads((options.judge / "runs.json").read_text())["runs"]
    peaks = {}
    for run in runs:
        if not run["recorded"] and "error" not in run:
            peaks.setdefault(run["program"], {}).setdefault(run["conf"], []).append(
                run["reserved_bytes.all.peak"])
    inside = total = cases = 0
    predicted = measured = 0  # sums of widths, as shares of the peak
    print(f"{'program':17}{'setting':27}{'real MiB':>13}{'predicted MiB':>17}  inside  width")
    for program, real in peaks.items():
        recording = options.judge / f"{program}.default.0.pickle.xz"
        for conf, values in real.items():
            output = subprocess.run(
                [options.tidemark, "replay", recording, "--json", "--spread", str(options.spread),
                 "-p", policy_of(conf)], check=True, capture_output=True).stdout
            run = json.loads(output)
            point = run["peak_reserved_bytes"]
            found = run["peak_reserved_spread"] or {"p5": point, "p95": point}
            low, high = found["p5"], found["p95"]
            hits = sum(low <= value <= high for value in values)
            width = max(values) - min(values)
            inside, total, cases = inside + hits, total + len(values), cases + 1
            predicted, measured = predicted + (high - low) / high, measured + width / max(values)
            print(f"{program:17}{conf or 'default':27}{min(values) >> 20:6}..{max(values) >> 20:5}"
                  f"{low >> 20:10}..{high >> 20:5}{hits:5}/{len(values)}"
                  f"{(high - low) / width if width else float(high > low):8.1f}x")
    predicted, measured = predicted / cases, measured / cases
    print(f"{inside} of {total} real peaks are within the range ({inside / total:.1%}); its width is "
          f"{predicted:.1%} of the peak in the mean, that of the runs {measured:.1%}")
    return 0 if inside >= 0.9 * total and predicted <= 3 * measured + 0.01 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/spread"))
    parser.add_argument("--only", action="append", choices=PROGRAMS, metavar="PROGRAM")
    parser.add_argument("--runs", type=int, default=5, help="of each program and setting")
    parser.add_argument("--recordings", type=int, default=1,
                        help="of each program under the default settings")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600, help="start no run after them")
    parser.add_argument("--judge", type=pathlib.Path, metavar="DIR", help="measured before")
    parser.add_argument("--tidemark", default="build/release/tidemark", metavar="PROGRAM")
    parser.add_argument("--spread", type=int, default=64, help="replays of each setting")
    options = parser.parse_args()
    if options.judge:
        return judge(options)
    measure(options, options.only or list(PROGRAMS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
