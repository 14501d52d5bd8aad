"""Measures a training run's GPU memory at the end of each step, and checks it against limits."""

from __future__ import annotations

import itertools
import math
import os
import re
import statistics
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

from tidemark._format import bytes_text
from tidemark.errors import Error, OptionError
from tidemark.torch import _ranks, _recording

Size = Union[int, str, None]  # bytes, or "70GiB"

FEWEST_STEPS = 8  # after the warm-up, to report growth
MOST_SAMPLES = 256  # beyond that, every second one is dropped
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def size_of(name: str, size: Size) -> Optional[int]:
    """Converts "70GiB" or a number to bytes; None stays None."""
    if size is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGT]iB)?", str(size).strip())
    if found is None:
        raise OptionError(f"expected bytes or a size as 70GiB, not {size!r}", name)
    return int(float(found[1]) * UNITS[found[2] or ""])


class Growth(NamedTuple):
    """Bytes by which allocated memory grows per step: an estimate, and its 95 % confidence
    interval."""

    bytes_per_step: float
    low: float
    high: float

    def __str__(self) -> str:
        low, high = (("-" if end < 0 else "") + bytes_text(round(abs(end)))
                     for end in (self.low, self.high))
        if self.low <= 0 <= self.high:
            return f"no growth is certain ({low} to {high} a step)"
        verb = "grows" if self.bytes_per_step > 0 else "shrinks"
        return (f"it {verb} by {bytes_text(round(abs(self.bytes_per_step)))} a step (95 % sure: "
                f"{low} to {high})")


def find_growth(samples: List[Tuple[int, int]]) -> Optional[Growth]:
    """The median of the slopes between all pairs of (step, bytes), with its interval from Kendall's
    statistic (Sen 1968); single unusual steps don't affect it. None for too few samples."""
    count = len(samples)
    if count < FEWEST_STEPS:
        return None
    slopes = sorted((after - before) / (end - begin)
                    for (begin, before), (end, after) in itertools.combinations(samples, 2))
    width = 1.96 * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    low = max(math.floor((len(slopes) - width) / 2) - 1, 0)
    high = min(math.ceil((len(slopes) + width) / 2), len(slopes) - 1)
    return Growth(statistics.median(slopes), slopes[low], slopes[high])


class _Device:
    """The figures of one GPU's allocator at the ends of steps."""

    def __init__(self) -> None:
        self.reserved = 0  # at its peak
        self.allocated = 0
        self.peak_step = 0
        self.samples: List[Tuple[int, int]] = []
        self.stride = 1

    def look(self, figures: Any, step: int, sampled: bool) -> None:
        reserved = figures["reserved_bytes"]["all"]["peak"]
        if reserved > self.reserved:
            self.reserved, self.peak_step = reserved, step
        self.allocated = max(self.allocated, figures["allocated_bytes"]["all"]["peak"])
        if sampled and step % self.stride == 0:
            self.samples.append((step, figures["allocated_bytes"]["all"]["current"]))
            if len(self.samples) > MOST_SAMPLES:
                self.stride *= 2
                self.samples = [one for one in self.samples if one[0] % self.stride == 0]


class TrainingMemory:
    """Measures the GPU memory of a training run, and records it if a path is given.

    Without a GPU, nothing is measured; a message at the end says so, and the run isn't affected.

    Parameters
    ----------
    path : path, optional
        Of a recording (tidemark.torch.record). A recording that is already running gets the steps
        too.
    max_peak : int or str, optional
        "70GiB": the most reserved memory on each GPU. A run that needed more ends with an Error.
    max_growth_per_step : int or str, optional
        "1MiB": the largest growth of allocated memory at the ends of steps. A run that grows by
        more, with 95 % confidence, ends with an Error.
    warmup_steps : int
        First steps that don't count for the growth: they allocate what all other steps use.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]", None] = None, max_peak: Size = None,
                 max_growth_per_step: Size = None, warmup_steps: int = 5) -> None:
        super().__init__()
        self.path = path
        self.max_peak = size_of("max_peak", max_peak)
        self.max_growth_per_step = size_of("max_growth_per_step", max_growth_per_step)
        self.warmup_steps = warmup_steps
        self.steps = 0
        self._devices: Dict[int, _Device] = {}
        self._recording: Optional[_recording.Recording] = None
        self._in_step: Optional[_recording.Recording] = None

    def begin_training(self) -> None:
        self.steps = 0
        self._devices = {}
        if self.path is not None:
            self._recording = _recording.record(self.path)
        self._look()

    def begin_step(self) -> None:
        self._end_range()  # of a step that the framework abandoned
        self._in_step = _recording.current()
        if self._in_step is not None:
            self._in_step.begin_range("step")

    def end_step(self) -> None:
        self.steps += 1
        self._look()
        self._end_range()

    def stop_recording(self) -> None:
        self._end_range()
        if self._recording is not None:
            self._recording.stop()
            self._recording = None

    def end_training(self) -> None:
        """Ends the recording and prints the figures. Raises Error if one exceeds its limit."""
        recorded = self._recording
        self.stop_recording()
        rank = _ranks.find_rank()
        where = f" rank {rank.number}:" if rank.of > 1 else ""
        print(f"tidemark:{where} {self}", file=sys.stderr)
        self._check(recorded.path if recorded is not None else "")

    def figures(self) -> Dict[str, float]:
        """The figures so far, of the GPU that needs most; empty if nothing was measured."""
        if not self._devices:
            return {}
        of_all = self._devices.values()
        figures = {"tidemark/peak_reserved_bytes": float(max(one.reserved for one in of_all)),
                   "tidemark/peak_allocated_bytes": float(max(one.allocated for one in of_all))}
        growth = self.growth()
        if growth is not None:
            figures["tidemark/growth_per_step_bytes"] = growth.bytes_per_step
        return figures

    def growth(self) -> Optional[Growth]:
        """The growth of the GPU that grows most; None before there are enough steps."""
        found = [find_growth(one.samples) for one in self._devices.values()]
        return max((one for one in found if one is not None), default=None)

    def __str__(self) -> str:
        if not self._devices:
            return "no GPU memory was measured: PyTorch used no GPU"
        devices = "; ".join(
            f"cuda:{index} reserved {bytes_text(one.reserved)} at its peak (step {one.peak_step}), "
            f"allocated {bytes_text(one.allocated)}"
            for index, one in sorted(self._devices.items()))
        growth = self.growth()
        return (f"{self.steps} steps: {devices}; " +
                (f"at the ends of steps {growth}" if growth is not None else
                 f"too few steps after {self.warmup_steps} of warm-up to say whether it grows"))

    def _end_range(self) -> None:
        if self._in_step is not None:
            self._in_step.end_range("step")
            self._in_step = None

    def _look(self) -> None:
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_initialized():
            return
        for index in range(torch.cuda.device_count()):
            figures = torch.cuda.memory_stats_as_nested_dict(index)
            if figures and figures["reserved_bytes"]["all"]["peak"]:
                device = self._devices.setdefault(index, _Device())
                device.look(figures, self.steps, self.steps > self.warmup_steps)

    def _check(self, path: str) -> None:
        hint = (f"tidemark advise {path} says what would need less" if path else
                "use path=\"run.tml\" to record the run, so that tidemark advise can explain it")
        for index, one in sorted(self._devices.items()):
            if self.max_peak is not None and one.reserved > self.max_peak:
                raise Error(f"the run reserved {bytes_text(one.reserved)} in step "
                            f"{one.peak_step}, but only {bytes_text(self.max_peak)} are allowed",
                            f"max_peak of cuda:{index}", hint)
        growth = self.growth()
        if self.max_growth_per_step is not None and growth is not None \
                and growth.low > self.max_growth_per_step:
            raise Error(f"{growth}, but only {bytes_text(self.max_growth_per_step)} are allowed",
                        "max_growth_per_step", hint)
