#!/usr/bin/env python3
"""Proves on several GPUs that what Tidemark says about training jobs of several ranks is true.

Usage: scripts/prove-on-gpu ranks [--gpus N] [--jobs N] [--out FOLDER] [--checks LIST] [NAME ...]

Runs the programs of ranks_programs.py with torchrun on N GPUs (by default, all) and checks for each:

  predicted   `python -m tidemark.predict --world-size N`, before the run: each rank within 2 %
  recorded    a run with its recordings, which the next two read: the same peaks
  verify      the recording of each rank: no decision differs from PyTorch's
  info        `tidemark info run/` names the rank that reserves most, and the planted difference
  replayed    what the recordings say of expandable segments, large_segment_size_mb=1024 and extent:
              each rank's real peak within 2 MiB, or inside the range that `replay --spread` gives;
              not comparable (--) where the real run requested something else than the recorded one
  extent      tidemark.torch.use("extent") on all ranks: the same losses
  scale       `tidemark scale run/ --tokens x4`: each rank's real peak with four times the batch, 1 %

and alone on the GPUs, one after the other (prove_ranks_alone.py):

  account     PyTorch, what `tidemark record` says others hold, and the context: what NVML says
  pace        steps and NCCL's bandwidth without Tidemark, recorded, and with extent, in turn

--checks names some of them, separated by commas (verify and info come with recorded). --jobs runs that
many programs at the same time (default 4; peaks don't depend on it). With --out, the recordings and
what was found are kept there: results.jsonl grows with each program. Exit code 1 if a check failed or a
run did not end well.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "ranks_programs.py"
MIB = 1 << 20
SETTINGS = {"expandable": "expandable_segments:True", "large": "large_segment_size_mb:1024"}
POLICIES = {"expandable": "torch:expandable_segments=true", "large": "torch:large_segment_size_mb=1024",
            "extent": "extent"}
CHECKS = ("predicted", "recorded", "replayed", "extent", "scale", "account", "pace")
SECONDS = 110  # after which a run counts as failed
sys.path.insert(0, str(HERE.parent / "python"))


def environment(conf=""):
    given = {**os.environ, "PYTHONPATH": str(HERE.parent / "python")}
    for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        given.pop(name, None)
        if conf:
            given[name] = conf
    return given


def run(command, log, conf=""):
    """The lines of JSON that a command prints, by rank; None if it failed."""
    with open(log, "w", encoding="utf-8") as file:
        try:
            code = subprocess.run([*map(str, command)], env=environment(conf), stdout=file,
                                  stderr=subprocess.STDOUT, timeout=SECONDS, check=False).returncode
        except subprocess.TimeoutExpired:
            code = 124
    text = pathlib.Path(log).read_text(encoding="utf-8", errors="replace")
    lines = [json.loads(line) for line in re.findall(r'\{"rank"[^}]*\}', text)]
    return sorted(lines, key=lambda line: line["rank"]) if code == 0 and lines else None


def torchrun(gpus, name, log, *options, conf=""):
    return run([sys.executable, "-B", "-m", "torch.distributed.run", "--standalone",
                "--nproc-per-node", gpus, PROGRAMS, name, *options], log, conf)


def tidemark(*words):
    """The answer of a command as an object; None if there is none."""
    from tidemark.programs import program

    done = subprocess.run([program("tidemark"), *map(str, words), "--json"], capture_output=True,
                          text=True, check=False)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        return None


class Checks:
    """What was found of one program: (check, passed, what it says)."""

    def __init__(self, name):
        self.name, self.rows = name, []

    def add(self, check, passed, text):
        """`passed` None: it can't be compared."""
        self.rows.append({"program": self.name, "check": check, "text": text,
                          "passed": None if passed is None else bool(passed)})


RESULTS = {True: "ok  ", False: "FAIL", None: "--  "}


class Results:
    """Prints what was found, and keeps it in a file of `out` if there is one."""

    def __init__(self, out):
        self.failed, self.not_comparable, self._file = 0, 0, None
        if out:
            out.mkdir(parents=True, exist_ok=True)
            self._file = out / "results.jsonl"

    def take(self, checks):
        for row in checks.rows:
            self.failed += row["passed"] is False
            self.not_comparable += row["passed"] is None
            print(f"{RESULTS[row['passed']]} {row['program']:<21} {row['check']:<10}"
                  f" {row['text']}", flush=True)
            if self._file:
                with open(self._file, "a", encoding="utf-8") as lines:
                    lines.write(json.dumps(row) + "\n")


def mib(value):
    return f"{value / MIB:,.0f}"


def predict(gpus, name, log):
    """What `tidemark.predict` prints."""
    with open(log, "w", encoding="utf-8") as file:
        done = subprocess.run([sys.executable, "-B", "-m", "tidemark.predict", "--world-size", str(gpus),
                               "--json", str(PROGRAMS), name], env=environment(), check=False,
                              stdout=subprocess.PIPE, stderr=file, text=True)
    return done.stdout


def compare_prediction(checks, text, real):
    try:
        answers = json.loads(text)
    except json.JSONDecodeError:
        checks.add("predicted", False, "no answer")
        return
    answers = answers if isinstance(answers, list) else [answers]
    for answer, rank in zip(answers, real):
        low, high = answer["peak_reserved_bytes_least"], answer["peak_reserved_bytes_most"]
        nearest = min(max(rank["reserved"], low), high)
        off = nearest / rank["reserved"] - 1
        checks.add("predicted", abs(off) <= 0.02,
                   f"rank {rank['rank']}: {mib(low)} to {mib(high)} MiB, real {mib(rank['reserved'])} "
                   f"({off:+.1%})")


def rank_of(recordings, trace):
    """The rank whose recording an answer names."""
    return next(index for index, path in enumerate(recordings) if path.name == trace)


def check_recordings(checks, name, recordings, real):
    for path, rank in zip(recordings, real):
        report = tidemark("verify", path)
        differ = None if report is None else report["mismatches"]
        checks.add("verify", differ == 0, f"rank {rank['rank']}: {differ} differences")
    info = tidemark("info", *recordings)
    ranks = info and info.get("ranks")
    if not ranks:
        checks.add("info", False, "no ranks found")
        return
    highest = max(rank["reserved"] for rank in real)
    limits = rank_of(recordings, ranks["sets_limit"])
    checks.add("info", real[limits]["reserved"] == highest,
               f"rank {limits} sets the limit; the highest real peak is {mib(highest)} MiB")
    diverge, last = ranks["diverge"], len(real) - 1
    planted = {"longer": 1, "leaks": last}.get(name)
    if planted is not None:
        # Of two ranks either may be called the one that differs.
        checks.add("info", diverge and (len(real) == 2 or
                                        rank_of(recordings, diverge["trace"]) == planted),
                   f"diverges: {json.dumps(diverge)}")
    elif name in ("slow", "checkpointed"):
        checks.add("info", not diverge, f"diverges: {json.dumps(diverge)}")


def check_replays(checks, recordings, recorded, real_by_setting):
    for setting, policy in POLICIES.items():
        real = real_by_setting[setting]
        if real is None:
            checks.add("replayed", False, f"{setting}: the real run failed")
            continue
        for path, rank, of_recording in zip(recordings, real, recorded):
            if abs(rank["requested"] - of_recording["requested"]) > 2 * MIB:
                checks.add("replayed", None, f"{setting}, rank {rank['rank']}: it requested "
                           f"{mib(rank['requested'])} MiB, when recorded {mib(of_recording['requested'])}")
                continue
            figures = tidemark("replay", path, "-p", policy, "--spread", "32")
            if figures is None:
                checks.add("replayed", False, f"{setting}, rank {rank['rank']}: no answer")
                continue
            peak = figures["peak_reserved_bytes"]
            spread = figures.get("peak_reserved_spread") or {}
            low, high = spread.get("p5", peak), spread.get("p95", peak)
            exact = abs(peak - rank["reserved"]) <= 2 * MIB
            inside = low - 2 * MIB <= rank["reserved"] <= high + 2 * MIB
            checks.add("replayed", exact or inside,
                       f"{setting}, rank {rank['rank']}: {mib(peak)} MiB, real {mib(rank['reserved'])}"
                       + ("" if exact else f", range {mib(low)} to {mib(high)}"))


def check_scale(checks, recordings, real):
    if real is None:
        checks.add("scale", False, "the real run failed")
        return
    for path, rank in zip(recordings, real):
        figures = tidemark("scale", path, "--tokens", "x4")
        if figures is None:
            checks.add("scale", False, f"rank {rank['rank']}: no answer")
            continue
        row = figures["rows"][0]
        low, high = row["peak_reserved_least_bytes"], row["peak_reserved_most_bytes"]
        checks.add("scale", 0.99 * low <= rank["reserved"] <= 1.01 * high,
                   f"rank {rank['rank']}: {mib(low)} to {mib(high)} MiB, real {mib(rank['reserved'])}")


def record(checks, name, gpus, folder):
    """A recorded run: its recordings, and what its ranks print; None if there is none."""
    recorded = torchrun(gpus, name, folder / "recorded.log", "--record", folder / "run.tml")
    recordings = [folder / "run" / f"rank{rank}.tml" for rank in range(gpus)]
    if recorded is None or not all(path.exists() for path in recordings):
        found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.tml"))
        checks.add("recorded", False, f"recordings: {found}; "
                   + (folder / "recorded.log").read_text(errors="replace")[-700:])
        return None
    return recordings, recorded


def check_losses(checks, native, recorded, extent):
    if not extent:
        return
    losses = [[rank["losses"] for rank in one] for one in (native, recorded, extent)]
    text = "losses the same" if losses[0] == losses[2] else "losses differ; between two runs of " \
        f"PyTorch {'not' if losses[0] == losses[1] else 'also'}"
    checks.add("extent", losses[0] == losses[2], text)


def prove(name, gpus, folder, chosen):
    checks = Checks(name)
    folder.mkdir(parents=True, exist_ok=True)
    # Before the program runs.
    predicted = predict(gpus, name, folder / "predict.log") if "predicted" in chosen else None
    native = torchrun(gpus, name, folder / "native.log")
    if native is None:
        checks.add("run", False, (folder / "native.log").read_text(errors="replace")[-700:])
        return checks
    if predicted is not None:
        compare_prediction(checks, predicted, native)
    found = record(checks, name, gpus, folder) if {"recorded", "replayed", "extent", "scale"} & chosen \
        else None
    if found is None:
        return checks
    recordings, recorded = found
    checks.add("recorded", [r["reserved"] for r in recorded] == [r["reserved"] for r in native],
               f"peaks {[mib(r['reserved']) for r in recorded]}, not recorded "
               f"{[mib(r['reserved']) for r in native]}")
    if "recorded" in chosen:
        check_recordings(checks, name, recordings, recorded)
    real = {}
    if "replayed" in chosen:
        real = {setting: torchrun(gpus, name, folder / f"{setting}.log", conf=conf)
                for setting, conf in SETTINGS.items()}
    if {"replayed", "extent"} & chosen:
        real["extent"] = torchrun(gpus, name, folder / "extent.log", "--use", "extent")
        check_losses(checks, native, recorded, real["extent"])
    if "replayed" in chosen:
        check_replays(checks, recordings, recorded, real)
    if "scale" in chosen:
        check_scale(checks, recordings,
                    torchrun(gpus, name, folder / "larger.log", "--growth", 4))
    return checks


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--checks", type=lambda text: set(text.split(",")), default=set(CHECKS),
                        metavar="LIST")
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    import torch

    from ranks_programs import PROGRAMS as known

    gpus = given.gpus or torch.cuda.device_count()
    if gpus < 2 or gpus > torch.cuda.device_count() or gpus % 2:
        parser.error(f"this needs an even number of GPUs, at least 2; here are "
                     f"{torch.cuda.device_count()}")
    for what, names, all_names in (("program", given.names, known), ("check", given.checks, CHECKS)):
        unknown = sorted(set(names) - set(all_names))
        if unknown:
            parser.error(f"there is no {what} {unknown[0]}; there are: {', '.join(all_names)}")
    names = given.names or [name for name in known if name != "bandwidth"]
    results, begun = Results(given.out), time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, \
            concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        folder = given.out or pathlib.Path(scratch)
        if given.checks - {"account", "pace"}:
            waiting = [pool.submit(prove, name, gpus, folder / name, given.checks) for name in names]
            for done in concurrent.futures.as_completed(waiting):
                results.take(done.result())
        import prove_ranks_alone

        for check in prove_ranks_alone.CHECKS:
            if check in given.checks:
                for name in names:
                    checks = Checks(name)
                    prove_ranks_alone.CHECKS[check](checks, name, gpus, folder / f"{name}-{check}")
                    results.take(checks)
    print(f"{gpus} GPUs, {results.failed} checks failed, {results.not_comparable} not comparable, "
          f"{time.monotonic() - begun:.0f} s")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
