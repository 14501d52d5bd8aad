#!/usr/bin/env python3
"""Tests the lines that `tidemark advise` prints for users of RMM and of CuPy: does each one run, and
does the program then use as much of the device's memory as predicted?

A seeded program of buffers runs under RMM's pool with RMM's log, and under CuPy's pool with CuPy's
DebugPrintHook. Each line in the answer is then run before the same program, in a process of its own.
The program's use is the most by which the free memory of cudaMemGetInfo falls below its value before
the first buffer.

Example: scripts/prove_lines.py --tidemark build/release/tidemark --out lines.json
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

MIB = 1 << 20
ROUNDED = 2 * MIB  # the driver rounds up to such units, which no pool counts
PIECES = 24        # at most, at a time
STEPS = 600


def buffers(allocate, look):
    """Blocks of changing sizes and lifetimes; calls `look` after each."""
    chosen, live = random.Random(3), []
    for step in range(STEPS):
        live.append(allocate(chosen.choice((1, 3, 9, 20, 44)) * MIB + chosen.randrange(MIB)))
        look()
        while len(live) > 12 + step % 9:
            live.pop(chosen.randrange(len(live)))


def taken(prepare, allocate_of):
    """The most device memory that the program uses, after `prepare`."""
    import cupy

    get = cupy.cuda.runtime.memGetInfo
    get()
    before, least = get()[0], [get()[0]]

    def look():
        least[0] = min(least[0], get()[0])

    prepare()
    look()
    buffers(allocate_of(), look)
    return before - least[0]


def run_rmm(line, log):
    import rmm
    import rmm.mr

    def prepare():
        if line:
            exec(line, {"rmm": rmm})
        else:
            pool = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=0)
            rmm.mr.set_current_device_resource(pool)
        if log:
            logged = rmm.mr.LoggingResourceAdaptor(rmm.mr.get_current_device_resource(), log)
            rmm.mr.set_current_device_resource(logged)

    result = taken(prepare, lambda: lambda size: rmm.DeviceBuffer(size=size))
    if log:
        rmm.mr.get_current_device_resource().flush()
    return result


def run_cupy(line, log):
    import cupy
    from cupy.cuda import memory_hooks

    def prepare():
        if line:
            exec(line, {"cupy": cupy})

    if not log:
        return taken(prepare, lambda: cupy.cuda.alloc)
    with open(log, "w", encoding="utf-8") as file, memory_hooks.DebugPrintHook(file=file):
        return taken(prepare, lambda: cupy.cuda.alloc)


RUNS = {"rmm": (run_rmm, "csv"), "cupy": (run_cupy, "jsonl")}


def in_process(kind, line, log=""):
    done = subprocess.run([sys.executable, "-B", __file__, "--run", kind, "--line", line, "--log", log],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"error": done.stderr[-600:]}
    return {"taken": int(done.stdout.splitlines()[-1])}


def prove(kind, tidemark, folder):
    log = folder / f"{kind}.{RUNS[kind][1]}"
    cases = [{"line": "", **in_process(kind, "", str(log))}]
    found = sorted(folder.glob(f"{kind}*.{RUNS[kind][1]}"))  # RMM adds the device's number
    if not found:
        return cases
    done = subprocess.run([tidemark, "advise", str(found[0]), "--json", "--top", "12"],
                          capture_output=True, text=True, check=True)
    advice = json.loads(done.stdout)
    cases[0]["predicted"] = advice["before"]["peak_reserved_bytes"]
    for each in ([advice["best"]] if advice["improves"] else []) + advice["runner_ups"]:
        if each["line"]:
            cases.append({"line": each["line"], "predicted": each["peak_reserved_bytes"],
                          **in_process(kind, each["line"])})
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tidemark", default="build/release/tidemark")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("lines.json"))
    parser.add_argument("--run", choices=RUNS, help="one program, with --line before it")
    parser.add_argument("--line", default="")
    parser.add_argument("--log", default="")
    options = parser.parse_args()
    if options.run:
        print(RUNS[options.run][0](options.line, options.log))
        return 0
    missed, table = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in RUNS:
            table[kind] = prove(kind, options.tidemark, pathlib.Path(folder))
            for case in table[kind]:
                more = case.get("taken", 0) - case.get("predicted", 0)
                missed += "error" in case or not 0 <= more <= PIECES * ROUNDED
                print(f"{kind:5} {case.get('taken', 0) / MIB:9.1f} MiB used, "
                      f"{case.get('predicted', 0) / MIB:9.1f} predicted  "
                      f"{case['line'] or 'as recorded'}  {case.get('error', '')}", flush=True)
    options.out.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    print(f"{missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
