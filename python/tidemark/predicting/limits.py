"""Limits that end a run on the imagined CUDA, and its progress messages."""

from __future__ import annotations

import dataclasses
import importlib
import os
import pathlib
import re
import signal
import sys
import threading
import time
from typing import Any, Optional, Sequence

from tidemark._format import bytes_text
from tidemark.errors import OptionError

_LOOK = 0.5  # seconds between checks
_SAY = 30  # seconds between progress messages of a long run
_PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(steps?|s|seconds?|min|minutes?|GiB)\s*")


@dataclasses.dataclass
class Limits:
    """The limits of a run; 0 means no limit."""

    steps: int = 0
    seconds: float = 0
    host_bytes: int = 0


def parse(texts: Sequence[str]) -> Limits:
    """Parses --until: "3 steps" of an optimizer, "90 s", "5 min", "16 GiB" of host memory."""
    found = Limits()
    for text in texts:
        match = _PATTERN.fullmatch(text)
        number = float(match.group(1)) if match else 0
        unit = match.group(2) if match else ""
        if number == 0 or (unit.startswith("step") and not number.is_integer()):
            raise OptionError('expected "3 steps", "90 s", "5 min" or "16 GiB"', "--until " + text)
        if unit.startswith("step"):
            found.steps = int(number)
        elif unit == "GiB":
            found.host_bytes = int(number * 2**30)
        else:
            found.seconds = number * (60 if unit.startswith("m") else 1)
    return found


class Enough(SystemExit):
    """The program has reached a limit of --until."""


def _host_bytes() -> int:
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def free_host_bytes() -> int:
    """The host's memory that new processes can have."""
    found = re.search(r"MemAvailable:\s*(\d+) kB", pathlib.Path("/proc/meminfo").read_text())
    return int(found.group(1)) << 10 if found else 0


class Watch:
    """Counts steps, and checks the limits on a thread of its own, which prints progress messages
    from time to time."""

    def __init__(self, limits: Limits, rank: Optional[int] = None) -> None:
        self.limits = limits
        self.rank = rank
        self.steps = 0
        self.over = False  # a limit has ended the program
        self._begun = time.monotonic()
        self._torch: Optional[Any] = None

    def start(self) -> None:
        # An exception from a signal handler ends the program as its own exit would.
        signal.signal(signal.SIGALRM, self._stop)
        threading.Thread(target=self._look, daemon=True).start()

    def count_steps(self) -> None:
        """Called after PyTorch was imported."""
        self._torch = importlib.import_module("torch")
        optimizers = importlib.import_module("torch.optim.optimizer")
        optimizers.register_optimizer_step_post_hook(self._step)

    def _step(self, *_given: Any) -> None:
        self.steps += 1
        if self.steps == self.limits.steps:
            self.over = True
            raise Enough(0)

    @staticmethod
    def _stop(_signal: int, _frame: Any) -> None:
        raise Enough(0)

    def _look(self) -> None:
        said = 0
        while True:
            time.sleep(_LOOK)
            seconds = time.monotonic() - self._begun
            over = [bool(self.limits.seconds) and seconds > self.limits.seconds,
                    bool(self.limits.host_bytes) and _host_bytes() > self.limits.host_bytes]
            if any(over):
                self.over = True
                os.kill(os.getpid(), signal.SIGALRM)
                return
            if seconds // _SAY > said:
                said = int(seconds // _SAY)
                print(f"tidemark: {self._progress(seconds)}", file=sys.stderr, flush=True)

    def _progress(self, seconds: float) -> str:
        parts = [] if self.rank is None else [f"rank {self.rank}"]
        parts += [f"{seconds:.0f} s", f"{self.steps} optimizer steps"]
        if self._torch is not None and self._torch.cuda.is_initialized():
            # This thread's current GPU is the first one, the program's may be another.
            cuda = self._torch.cuda
            reserved = sum(map(cuda.memory_reserved, range(cuda.device_count())))
            parts.append(f"{bytes_text(reserved)} reserved")
        return ", ".join([*parts, f"{bytes_text(_host_bytes())} of host memory"])
