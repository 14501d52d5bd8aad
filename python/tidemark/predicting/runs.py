"""One run of a script on the imagined CUDA, in a process of its own."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

from tidemark.predicting import cards
from tidemark.predicting.book import Book
from tidemark.predicting.limits import Limits
from tidemark.predicting.stubs import Stubs
from tidemark.torch._allocator import CONF


# The shares that reads from the device get if the value isn't known: the share of elements that
# nonzero() and unique() find, of GradScaler's checks that find an overflow, and of conditions that
# are true.
SHARES = {"nonzero": 1.0, "unique": 1.0, "overflow": 0.0, "flag": 0.0}
COUNTS = ("nonzero", "unique")
FIRST = "first"  # the kinds of runs
REPEATED = ("whole", "slow", "nonzero", "overflow", "flag")


@dataclasses.dataclass
class Plan:
    """What to run, and on which imagined machine."""

    script: List[str]
    card: Dict[str, Any]
    gpus: int
    conf: Optional[str]
    core: pathlib.Path
    stubs: Stubs
    assumed: Dict[str, float]
    limits: Limits
    stacks: bool
    modules: bool
    no_weights: bool = False
    ranks: Optional[Tuple[int, int]] = None  # this rank, and the number of ranks
    together: Optional[pathlib.Path] = None  # where ranks that run at the same time meet
    to_stderr: bool = False  # redirects the script's output, since stdout is for the answer
    book: Book = dataclasses.field(default_factory=Book)  # workspaces that were measured
    log: str = ""  # a file for how often each function of CUDA was called
    late: bool = False  # queued work is done when the program waits for it, not immediately

    def on(self, card: Dict[str, Any], late: bool = False) -> "Plan":
        return dataclasses.replace(self, card=card, late=late)

    def otherwise(self, *kinds: str) -> "Plan":
        """The plan with the opposite assumption for these kinds, unless --assume gave a value."""
        opposite = {kind: 1 - SHARES[kind] for kind in kinds}
        return dataclasses.replace(self, assumed={**opposite, **self.assumed})

    def ending_after(self, seconds: float) -> "Plan":
        least = min(filter(None, (self.limits.seconds, seconds)))
        return dataclasses.replace(self, limits=dataclasses.replace(self.limits, seconds=least))

    def facts(self) -> Dict[str, str]:
        """Facts for the recording, in addition to those from PyTorch."""
        found = {"predicted": f"on an imagined {self.card['name']}"}
        if self.ranks is not None:
            found["rank"] = "{} of {}".format(*self.ranks)
        for what, number in self.assumed.items():
            found[f"assumed {what}"] = f"{number:g}"
        return found

    def meeting(self, kind: str) -> Optional[Dict[str, Any]]:
        """Where the ranks' runs of this kind meet."""
        if self.together is None or self.ranks is None:
            return None
        folder = self.together / kind
        folder.mkdir(exist_ok=True)
        return {"folder": str(folder), "rank": self.ranks[0], "ranks": self.ranks[1]}

    def leave(self, *kinds: str) -> None:
        """Says to the others that this rank's runs of these kinds have ended."""
        for meeting in filter(None, map(self.meeting, kinds)):
            (pathlib.Path(meeting["folder"]) / f"ended-{meeting['rank']}").touch()

    def settings(self, journal: pathlib.Path, output: pathlib.Path, kind: str) -> Dict[str, Any]:
        stubs = self.stubs
        name = self.script[1] if self.script[0] == "-m" else os.path.basename(self.script[0])
        return {
            "card": self.card, "gpus": self.gpus, "cuda": stubs.cuda, "late": self.late,
            **{what: self.assumed.get(what, SHARES[what]) for what in COUNTS},
            "journal": str(journal), "exchange": self.meeting(kind), "book": self.book.for_run(),
            "cudnn": str(stubs.cudnn or ""),
            "cudnn_device": cards.for_cudnn(self.card) if stubs.cudnn else "",
            "run": {"core": str(self.core), "output": str(output), "stacks": self.stacks,
                    "annotations": "modules" if self.modules else True, "name": name,
                    "assumed": self.assumed, "facts": self.facts(), "ranks": self.ranks,
                    "limits": dataclasses.asdict(self.limits), "no_weights": self.no_weights,
                    "log": self.log, "libraries": self._stub_files()}}

    def _stub_files(self) -> List[str]:
        return [str(self.stubs.folder / one) for one in self.stubs.libraries]

    def environment(self, settings: pathlib.Path) -> Dict[str, str]:
        environment = dict(os.environ)
        # Preloaded, so that their names are taken: a PyTorch with installed NVIDIA packages would
        # otherwise find those by a path inside its own files.
        libraries = [str(self.core), *self._stub_files()]
        before = environment.get("LD_PRELOAD")
        environment["LD_PRELOAD"] = ":".join(libraries + ([before] if before else []))
        environment["TIDEMARK_IMAGINED"] = str(settings)
        environment["TRITON_LIBCUDA_PATH"] = str(self.stubs.folder)
        environment.pop("CUDA_VISIBLE_DEVICES", None)
        # torch.compile's worker processes may hang for five minutes if a program ends soon after it
        # found all its kernels in the cache, as a program that runs twice does.
        environment.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
        package = str(pathlib.Path(__file__).resolve().parents[2])
        environment["PYTHONPATH"] = os.pathsep.join(
            [package, *filter(None, [environment.get("PYTHONPATH")])])
        if self.ranks is not None:
            rank, ranks = self.ranks
            environment.update(
                RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank % self.gpus),
                LOCAL_WORLD_SIZE=str(min(ranks, self.gpus)), MASTER_ADDR="127.0.0.1",
                MASTER_PORT="29500")
        if self.conf is not None:
            environment.update(dict.fromkeys(CONF, self.conf))
        return environment


def is_open(read: Dict[str, Any], *kinds: str) -> bool:
    """Whether the read is of one of these kinds and its value isn't known."""
    return read["kind"] in kinds and not read["known"] and not read["assumed"]


@dataclasses.dataclass
class Run:
    """The result of a run."""

    path: Optional[str]  # the recording, if there is one
    exit_code: int
    reads: List[Dict[str, Any]]
    refused_calls: Dict[str, str]
    streams: int
    refused_memory: int
    held: int  # bytes of the card that PyTorch's allocator doesn't know of
    seconds: float  # how long it took
    cut: bool  # whether a limit ended it
    workspaces: Tuple[int, int]  # of cuDNN: how many are in the book, and how many aren't
    others: int  # other processes than the script's own that used the GPU


def wait(process: "subprocess.Popen[bytes]") -> int:
    """Waits for the process. Ctrl-C reaches the script too: it ends as usual, and the recording is
    kept."""
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)


def _lines(journal: pathlib.Path) -> List[Dict[str, Any]]:
    if not journal.exists():
        return []
    found = []
    for line in journal.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:  # the process was killed while it wrote
            break
    return found


def _recording(output: pathlib.Path) -> Optional[str]:
    """The recording may be PyTorch's own history: see tidemark.torch.record."""
    for path in (output, output.with_suffix(".pickle")):
        if path.exists():
            return str(path)
    return None


def run(plan: Plan, folder: pathlib.Path, output: pathlib.Path, again: str = "") -> Run:
    """Runs the script; `folder` is for temporary files. `again` is the reason for a repeated run,
    whose own output is discarded."""
    if again:
        print(f"tidemark: the script runs once more, {again}", file=sys.stderr, flush=True)
    silent = subprocess.DEVNULL if again else None
    of_script = subprocess.DEVNULL if again else sys.stderr if plan.to_stderr else None
    journal = folder / f"{output.name}.journal"
    settings = folder / f"{output.name}.settings.json"
    if again:
        plan = dataclasses.replace(plan, log="")
    kind = output.stem if again else FIRST
    settings.write_text(json.dumps(plan.settings(journal, output, kind)))
    begun = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "tidemark.predicting.child", str(settings), *plan.script],
        env=plan.environment(settings), stdout=of_script, stderr=silent)
    code = wait(process)
    plan.leave(kind)
    lines = _lines(journal)
    end: Dict[str, int] = next((line["end"] for line in lines if "end" in line), {})
    return Run(_recording(output), code, [line["read"] for line in lines if "read" in line],
               {line["refused_at"]["function"]: line["refused_at"]["location"] for line in lines
                if "refused_at" in line}, end.get("streams", 0), end.get("refused", 0),
               end.get("held", plan.card["context"]), time.monotonic() - begun,
               bool(end.get("cut")), (end.get("measured", 0), end.get("unmeasured", 0)),
               len({line["process"] for line in lines if "process" in line} - {process.pid}))
