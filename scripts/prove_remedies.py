#!/usr/bin/env python3
"""Tests the answers of `tidemark advise` and `fit` about programs that ran out of memory.

Each program of remedy_programs.py is recorded, from its start and from its middle, until it dies. The
answers about the recording are then tested on the same GPU: each remedy (the setting, an emptied
cache, more memory), other settings, and the smallest limit that `fit` predicts, at 1.00 and 0.97 of
it. Prints a line per case, and whether the outcome was the predicted one; writes all as JSON.

Example: scripts/prove_remedies.py --tidemark build/release/tidemark --out remedies.json
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from remedy_programs import GIB, PROGRAMS

HERE = pathlib.Path(__file__).resolve().parent
SETTINGS = ("", "expandable_segments:True", "max_split_size_mb:64", "roundup_power2_divisions:4")
LEFT = 12 * GIB  # what a second process leaves of the card


def run_program(name, conf="", **words):
    limit = words.pop("limit", PROGRAMS[name][1])
    command = [sys.executable, str(HERE / "remedy_programs.py"), name]
    if limit is None:
        command += ["--left", str(LEFT)]
    else:
        command += ["--limit", str(limit)]
    for word, value in words.items():
        command += [f"--{word.replace('_', '-')}", str(value)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, "PYTORCH_ALLOC_CONF": conf})
    if done.returncode != 0:
        raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def ask(words, *arguments):
    done = subprocess.run([words.tidemark, *arguments, "--json"], capture_output=True, text=True,
                          check=False)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        raise RuntimeError(f"{arguments}: {done.stderr[-2000:]}") from None


def policy_of(conf):
    return "torch" + (":" + conf.replace(":", "=").replace("True", "true") if conf else "")


def granted(run, request):
    return None in (run["died_at"], request) or run["died_at"] > request


def try_case(name, record, words, folder):
    """(what, said, real) of one recording; said and real: whether the request succeeds."""
    snapshot = folder / f"{name}-{record}.pickle"
    recorded = run_program(name, record=record, snapshot=snapshot)
    request = recorded["died_at"]
    found = []
    advice = ask(words, "advise", str(snapshot), "--budget", "60")
    cases = advice["out_of_memory_cases"]
    found.append(("it ran out of memory", bool(cases), request is not None))
    for remedy in cases[0]["remedies"] if cases else []:
        if remedy["kind"] == "setting":
            real = run_program(name, conf=advice["best"]["conf"])
        elif remedy["kind"] == "empty_cache":
            real = run_program(name, empty_at=request)
        elif remedy["kind"] == "more_memory":
            real = run_program(name, limit=remedy["bytes"])
        else:
            continue
        what = advice["best"]["conf"] if remedy["kind"] == "setting" else remedy["kind"]
        if not remedy["certain"]:
            what, remedy["helps"] = f"{what} (perhaps)", granted(real, request)
        found.append((what, remedy["helps"], granted(real, request)))
    for conf in SETTINGS:
        said = ask(words, "replay", str(snapshot), "-p", policy_of(conf))["out_of_memory"] == 0
        found.append((f"replay {conf or 'as recorded'}", said,
                      granted(run_program(name, conf=conf), request)))
    if record == "start":
        rows = ask(words, "fit", str(snapshot))["candidates"]
        limit = rows[0]["smallest_limit_bytes"]
        if limit:
            for share in (1.0, 0.97):
                real = run_program(name, limit=int(limit * share))
                found.append((f"fit: {share:.2f} of {limit / GIB:.2f} GiB", share == 1.0,
                              granted(real, request)))
    return {"program": name, "record": record, "torch": recorded["version"],
            "limit_said": advice["limit_source"],
            "recorded_run": advice["recorded_run"], "tried": found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tidemark", default="build/release/tidemark")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="all cases, as JSON")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the recordings")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    words = parser.parse_args()
    folder = words.keep or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    names = words.programs or list(PROGRAMS)
    results = []

    def attempt(case):
        try:
            results.append(try_case(*case, words, folder))
        except (RuntimeError, subprocess.TimeoutExpired, KeyError, IndexError, TypeError) as error:
            results.append({"program": case[0], "record": case[1], "error": str(error), "tried": []})
        words.out.write_text(json.dumps(results, indent=1))
        last = results[-1]
        print(f"{last['program']}, {last['record']}: {last.get('error', last.get('limit_said'))}")
        for what, said, real in last["tried"]:
            print(f"  {'as predicted' if said == real else 'OTHERWISE'}  {what}: "
                  f"{'success' if said else 'out of memory'} predicted, "
                  f"{'success' if real else 'out of memory'} in the real run", flush=True)

    # Programs with a limit of their own run in parallel; those with a second process need the card.
    alone = [(name, record) for name in names if PROGRAMS[name][1] is None
             for record in ("start", "middle")]
    beside = [(name, record) for name in names if PROGRAMS[name][1] is not None
              for record in ("start", "middle")]
    with concurrent.futures.ThreadPoolExecutor(words.jobs) as pool:
        list(pool.map(attempt, beside))
    for case in alone:
        attempt(case)
    tried = [each for result in results for each in result["tried"]]
    right = sum(said == real for _, said, real in tried)
    print(f"\n{len(results)} recordings, {right} of {len(tried)} outcomes as predicted;  "
          f"{sum('error' in result for result in results)} not tested")
    return 0 if right == len(tried) else 1


if __name__ == "__main__":
    sys.exit(main())
