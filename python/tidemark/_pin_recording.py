"""Records a program's deferrable buffers as a trace (docs/format-jsonl.md): a pin is a use of all
of its buffers by one kernel, which lasts until the pin ends."""

from __future__ import annotations

import collections
import itertools
import json
import os
import threading
import time
from typing import Any, Deque, Dict, Iterable, Set, Union

from tidemark import _outputs
from tidemark._buffer_facts import BufferFacts

MODES = {"read": "r", "write": "rw", "pin": "rw"}  # a pin keeps the bytes that it doesn't write


class PinRecording:
    """Records one memory into one file. Thread-safe."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], device: str,
                 there: Iterable[BufferFacts], overwrite: bool = False) -> None:
        _outputs.check(path, _outputs.RECORDING, overwrite)
        self._file = open(path, "w", encoding="utf-8")
        self._lock = threading.Lock()
        self._begun = time.monotonic_ns()
        self._streams: Dict[int, int] = {}
        self._kernels = itertools.count(1)
        self._living: Set[int] = set()
        self._ended: Deque[int] = collections.deque()
        with self._lock:
            self._write({"type": "header", "version": 1, "unit": "ns",
                         "source": "tidemark.DeferrableMemory", "device": device})
            for one in there:
                self._allocate(one.number, one.size, one.tag, preamble=True)

    def created(self, number: int, size: int, tag: Any) -> None:
        with self._lock:
            if number not in self._living:
                self._allocate(number, size, tag)

    def freed(self, number: int) -> None:
        """May be called from a finalizer, while this thread already has the lock."""
        self._ended.append(number)
        if self._lock.acquire(blocking=False):
            try:
                self._write_ended()
            finally:
                self._lock.release()

    def pinned(self, numbers: Iterable[int], mode: str, stream: int) -> None:
        with self._lock:
            kernel = next(self._kernels)
            on = self._streams.setdefault(stream, len(self._streams))
            for number in {one: None for one in numbers if one in self._living}:
                self._event("use", id=number, stream=on, mode=MODES[mode], kernel=kernel)

    def unpinned(self, stream: int) -> None:
        with self._lock:
            self._event("mark", name="unpin", stream=self._streams.get(stream, 0))

    def moved(self, number: int, tier: str) -> None:
        with self._lock:
            if number in self._living:
                self._event("move", id=number, to=tier)

    def close(self) -> None:
        with self._lock:
            self._ended.extend(sorted(self._living))
            self._write_ended()
            self._file.close()

    def _allocate(self, number: int, size: int, tag: Any, **more: Any) -> None:
        self._living.add(number)
        if isinstance(tag, (str, int)):
            more["tag"] = str(tag)
        self._event("alloc", id=number, bytes=size, **more)

    def _write_ended(self) -> None:
        while self._ended:
            number = self._ended.popleft()
            if number in self._living:
                self._living.remove(number)
                self._event("free", id=number)

    def _event(self, kind: str, **more: Any) -> None:
        if not self._file.closed:
            self._write({"t": time.monotonic_ns() - self._begun, "op": kind, **more})

    def _write(self, line: Dict[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
