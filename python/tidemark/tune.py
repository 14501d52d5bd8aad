"""`python -m tidemark.tune script.py args`: runs a PyTorch script, asks `tidemark advise` for
settings, runs the script again with them, and compares the runs.

    python -m tidemark.tune train.py --epochs 1
    python -m tidemark.tune -o tuned.sh train.py && . ./tuned.sh
    python -m tidemark.tune --without vmm -m package.train
    torchrun --nproc-per-node 2 -m tidemark.tune train.py

Under torchrun, each rank uses its own recording, and rank 0 writes the line.
The script runs three times on this machine's GPU (recorded, unchanged, and with the line), and once
more with tidemark.torch.use() if that needs less, so the script should be short. `tune` compares
the peak of reserved memory, the time between optimizer steps, and the losses on which the script
calls backward().
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Optional

from tidemark._format import bytes_text, time_text
from tidemark._outputs import OTHER, whole_file
from tidemark.torch._allocator import CONF
from tidemark.torch._launch import run_script
from tidemark.torch._measured import measure

__all__ = ["main"]

ALIKE = 0.02  # losses may differ by this share, because kernels add in any order


class _Rank:
    """This process's rank under torchrun; number and name are empty without other ranks."""

    def __init__(self) -> None:
        is_one_of_several = os.environ.get("WORLD_SIZE", "1") != "1"
        self.number = os.environ.get("RANK", "") if is_one_of_several else ""
        self.name = f"rank {self.number}: " if self.number else ""
        self.runs = 0

    def environment(self) -> Dict[str, str]:
        """The environment of the next run. Its ranks must not find the last run's keys in the
        store."""
        environment = dict(os.environ)
        if self.number:
            environment["TORCHELASTIC_RESTART_COUNT"] = str(self.runs)
        self.runs += 1
        return environment


def _run(rank: _Rank, script: List[str], folder: pathlib.Path,
         snapshot: Optional[pathlib.Path] = None, best: Optional[Any] = None,
         policy: Optional[str] = None) -> Dict[str, Any]:
    """Runs the script in a process of its own and returns the measurements. With a policy, returns
    an empty dict if the script could not run."""
    result = folder / "measured.json"
    result.unlink(missing_ok=True)
    environment = rank.environment()
    options = ["--measure", str(result)]
    if snapshot:
        options += ["--snapshot", str(snapshot)]
    if policy is not None:
        options += ["--policy", policy]
    if best is not None:
        options += ["--prime", str(best.prime_bytes)]
        for name in CONF:
            environment.pop(name, None)
            if best.conf:
                environment[name] = best.conf
    done = subprocess.run([sys.executable, "-m", "tidemark.tune", *options, *script],
                          env=environment, check=False)
    if policy is not None and (done.returncode != 0 or not result.exists()):
        return {}
    if done.returncode != 0:
        sys.exit(f"tidemark.tune: the script ended with exit code {done.returncode}; nothing to "
                 "compare")
    if not result.exists():
        sys.exit("tidemark.tune: the script used no GPU through PyTorch; if it starts other "
                 "processes that do, start it as `torchrun ... -m tidemark.tune SCRIPT`")
    return json.loads(result.read_text())  # type: ignore[no-any-return]


def _step_time(run: Dict[str, Any]) -> Optional[float]:
    """The median ns between optimizer steps: the first steps compile and fill caches."""
    steps = run["steps"]
    return statistics.median(b - a for a, b in zip(steps, steps[1:])) if len(steps) > 2 else None


def _losses_text(before: List[float], after: List[float]) -> str:
    count = min(len(before), len(after))
    if count == 0:
        return "the script computed no losses"
    matching = sum(abs(a - b) <= ALIKE * max(abs(a), abs(b), 1e-12)
                   for a, b in zip(before, after))
    if matching == count and len(before) == len(after):
        return f"all {count} losses match"
    return (f"{matching} of {count} losses match; without fixed seeds, losses differ between runs "
            "anyway")


def _outcome(before: Dict[str, Any], after: Dict[str, Any], best: Any) -> str:
    lines = [f"  peak reserved  {bytes_text(before['peak_reserved'])} -> "
             f"{bytes_text(after['peak_reserved'])} "
             f"(predicted: {bytes_text(best.peak_reserved_bytes)})"]
    old, new = _step_time(before), _step_time(after)
    if old and new:
        lines.append(f"  step           {time_text(old)} -> {time_text(new)} "
                     f"({100 * (new / old - 1):+.1f} %)")
    lines.append("  " + _losses_text(before["losses"], after["losses"]))
    return "\n".join(lines)


def _drop_in(answer: Any) -> Optional[Any]:
    """The row of tidemark.torch.use(), if it is predicted to need less than the best setting."""
    least = answer.best.peak_reserved_bytes if answer.improves else \
        answer.before.peak_reserved_bytes
    for row in answer.runner_ups:
        if "tidemark.torch.use" in row.line and row.peak_reserved_bytes < least:
            return row
    return None


def _try_drop_in(rank: _Rank, script: List[str], folder: pathlib.Path, before: Dict[str, Any],
                 row: Optional[Any]) -> None:
    if row is None:
        if rank.number:  # other ranks may have one, and need this rank to run
            _run(rank, script, folder, policy="extent")
        return
    after = _run(rank, script, folder, policy=row.policy)
    outcome = _outcome(before, after, row) if after else "  the script did not run with it"
    print(f"{rank.name}{row.line}\n{outcome}", flush=True)


def _tune(options: argparse.Namespace) -> None:
    import tidemark

    rank = _Rank()
    with tempfile.TemporaryDirectory(prefix="tidemark-tune-") as name:
        folder = pathlib.Path(name)
        snapshot = pathlib.Path(options.recording or folder / "run.pickle")
        if rank.number:
            snapshot = snapshot.with_suffix(f".{rank.number}{snapshot.suffix}")
        recorded = _run(rank, options.script, folder, snapshot)
        answer = tidemark.advise(snapshot, without=options.without)
        print(rank.name + answer.verdict, flush=True)
        drop_in = _drop_in(answer)
        if not answer.improves:
            print(f"  peak reserved  {bytes_text(recorded['peak_reserved'])}", flush=True)
            if rank.number or drop_in:
                before = _run(rank, options.script, folder)
                if rank.number:  # other ranks may go on, and need this rank in every run
                    _run(rank, options.script, folder)
                _try_drop_in(rank, options.script, folder, before, drop_in)
            return
        print(f"  {answer.best.line}", flush=True)
        before = _run(rank, options.script, folder)  # without a recording, which takes time
        after = _run(rank, options.script, folder, best=answer.best)
        outcome = _outcome(before, after, answer.best)
        print(f"{rank.name}result\n{outcome}" if rank.name else outcome, flush=True)
        _try_drop_in(rank, options.script, folder, before, drop_in)
        if after["peak_reserved"] >= before["peak_reserved"]:
            sys.exit("tidemark.tune: the line doesn't help here, so it isn't written")
        if options.output and rank.number in ("", "0"):
            with whole_file(options.output, OTHER, options.force) as path:
                pathlib.Path(path).write_text(answer.best.line + "\n")


def main(arguments: Optional[List[str]] = None) -> None:
    """`python -m tidemark.tune`."""
    parser = argparse.ArgumentParser(prog="python -m tidemark.tune", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", metavar="FILE", help="write the line to a file")
    parser.add_argument("--force", action="store_true", help="overwrite a file of another kind")
    parser.add_argument("--recording", metavar="RUN.pickle", help="keep the recording there")
    parser.add_argument("--without", choices=["vmm"],
                        help="leave out settings that need virtual memory")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--snapshot", help=argparse.SUPPRESS)
    parser.add_argument("--prime", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--policy", help=argparse.SUPPRESS)
    parser.add_argument("script", nargs=argparse.REMAINDER, help="SCRIPT ARGS... or -m MODULE ...")
    options = parser.parse_args(arguments)
    if not options.script or options.script == ["-m"]:
        parser.error("name the script to run")
    if options.measure:
        measure(options.measure, options.snapshot, options.prime, options.policy)
        run_script(options.script)
    else:
        _tune(options)


if __name__ == "__main__":
    main()
