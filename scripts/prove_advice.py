#!/usr/bin/env python3
"""Tests the advice of `tidemark advise` on real runs: does a program reserve the predicted amount with
the printed line, and does nothing help if it says so?

Each program of advice_programs.py is recorded, analyzed, and run again with the best setting, with
each other one that is named (settings, memory allocated at the start), and, if nothing helps, with
five settings that people try. Prints a line per case; writes all as JSON.

Example: scripts/prove_advice.py --tidemark build/release/tidemark --out advice.json
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20
NEAR = 2 * MIB
WORTH = 0.99
TRIED = ("expandable_segments:True", "max_split_size_mb:128", "roundup_power2_divisions:8",
         "garbage_collection_threshold:0.8", "max_split_size_mb:512")
PROGRAMS = ("encoder", "encoder_amp", "encoder_sgd", "growing_batches", "perceptron", "recurrent",
            "attention", "mixture", "serving", "many_small", "evaluation", "constant")


def run_program(name, conf="", prime=0, snapshot=None, empty=False):
    command = [sys.executable, str(HERE / "advice_programs.py"), name, "--prime", str(prime)]
    command += ["--snapshot", str(snapshot)] if snapshot else []
    command += ["--empty"] if empty else []
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, "PYTORCH_ALLOC_CONF": conf,
                               "PYTORCH_CUDA_ALLOC_CONF": conf})
    if done.returncode != 0:
        raise RuntimeError(f"{name} {conf}: {done.stderr[-800:]}")
    return json.loads(done.stdout.splitlines()[-1])["peak_reserved"]


def advice_on(tidemark, snapshot):
    done = subprocess.run([tidemark, "advise", str(snapshot), "--json"], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-800:])
    return json.loads(done.stdout)


def try_program(name, tidemark, folder):
    snapshot = folder / f"{name}.pickle"
    recorded = run_program(name, snapshot=snapshot)
    advice = advice_on(tidemark, snapshot)
    cases = [("now", advice["before"]["peak_reserved_bytes"], recorded)]
    offered = ([advice["best"]] if advice["improves"] else []) + advice["runner_ups"]
    for each in offered:
        if each["policy"].startswith("torch"):
            cases.append((each["name"], each["peak_reserved_bytes"],
                          run_program(name, each["conf"], each["prime_bytes"])))
    idle = [each for each in advice["findings"] if each["kind"] == "idle"]
    emptied = ()
    if name == "evaluation" and idle:
        emptied = (idle[0]["figures"]["new_reserved_bytes"], run_program(name, empty=True))
    helped = []
    if not offered:
        helped = [conf for conf in TRIED if run_program(name, conf) < WORTH * recorded]
    return {"program": name, "verdict": advice["verdict"], "line": advice["best"]["line"],
            "cases": cases, "nothing_helps": not offered, "helped_after_all": helped, "emptied": emptied}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tidemark", default="build/release/tidemark")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="all cases, as JSON")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    words = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    results, misses, total = [], 0, 0
    for name in words.programs or PROGRAMS:
        try:
            result = try_program(name, words.tidemark, folder)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            result = {"program": name, "error": str(error), "cases": [], "helped_after_all": []}
        results.append(result)
        words.out.write_text(json.dumps(results, indent=1))
        print(f"{name}: {result.get('error') or result['verdict']}")
        for what, said, real in result["cases"]:
            total += 1
            misses += abs(said - real) > NEAR
            print(f"  {'as predicted' if abs(said - real) <= NEAR else 'MISS'}  {what or 'defaults'}: "
                  f"{said / MIB:,.0f} MiB predicted, {real / MIB:,.0f} MiB measured", flush=True)
        if result.get("emptied"):  # the script empties it after the step, advise at the point it named
            said, real = result["emptied"]
            print(f"  after the peak, the cache emptied: {said / MIB:,.0f} MiB predicted, "
                  f"{real / MIB:,.0f} MiB measured", flush=True)
        if result.get("nothing_helps"):
            total += 1
            misses += bool(result["helped_after_all"])
            print(f"  {'MISS' if result['helped_after_all'] else 'as predicted'}  nothing helps: "
                  f"{result['helped_after_all'] or 'none of five settings did'}", flush=True)
    failed = sum("error" in result for result in results)
    print(f"\n{len(results)} programs, {total - misses} of {total} as predicted, {failed} not tested")
    return 0 if misses == failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
