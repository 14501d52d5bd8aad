"""Lets Python code decide which deferrable buffers are evicted: one thread fetches the events and
calls a controller's functions. It holds none of the library's locks meanwhile."""

from __future__ import annotations

import ctypes
import threading
import time
import traceback
import warnings
import weakref
from typing import Any, Dict, Iterable, List, Optional, Protocol

from tidemark import _library
from tidemark._buffer_facts import BufferFacts
from tidemark.errors import Error

__all__ = ["Controller", "ControllerWarning"]

EVENTS = ("registered", "deferring", "deferred", "retrieving", "retrieved", "failed", "freed")
PRESSURE = len(EVENTS)
MOST_LATE = 3  # times in a row, before a slow controller is no longer used
LOOK_SECONDS = 0.2


class ControllerWarning(RuntimeWarning):
    """A controller failed or was too slow: the built-in policy decides from now on."""


class Controller:
    """Decides which buffers are evicted. Derive from it and define the functions that you need.
    One thread calls them, one at a time; they may call the memory, but must not wait for a pin."""

    def registered(self, number: int, size: int) -> None:
        """A buffer was created. For buffers that already exist, it is called at the start."""

    def pinned(self, number: int, times: int) -> None:
        """The buffer was pinned that many times since the last call. This is called before
        `choose`, not immediately, because pinning a resident buffer causes no event."""

    def deferred(self, number: int, size: int) -> None:
        """Its bytes have been evicted."""

    def retrieved(self, number: int, size: int) -> None:
        """Its bytes are back on the GPU."""

    def failed(self, number: int, size: int) -> None:
        """A copy of its bytes failed; they are where they were before."""

    def freed(self, number: int, size: int) -> None:
        """The buffer was freed."""

    def choose(self, wanted: int, candidates: List[BufferFacts]) -> Iterable[int]:
        """Returns the numbers of the buffers to evict, in order, until `wanted` bytes are free.
        `candidates` are the buffers on the GPU that aren't pinned. If it returns no numbers, the
        built-in policy decides."""
        return ()


class Memory(Protocol):
    """The parts of a DeferrableMemory that the thread uses."""

    _handle: Any  # None once it has been closed

    def _open(self) -> Any: ...

    def _defer(self, number: int, wait: bool) -> str: ...

    def buffers(self) -> List[BufferFacts]: ...


class ControllerThread:
    """The controller's thread, for one memory."""

    def __init__(self, memory: Memory, controller: Any, patience: float) -> None:
        self.failure: Optional[BaseException] = None
        """The exception that ended it, if there was one."""
        self._memory = weakref.ref(memory)
        self._controller = controller
        self._patience = patience
        self._busy_since: Optional[float] = None
        self._late = 0
        self._over = False
        self._uses: Dict[int, int] = {}
        _library.library().tm_store_watch(memory._open())
        self._thread = threading.Thread(target=self._run, name="tidemark-controller", daemon=True)
        self._thread.start()

    def look(self) -> None:
        """Warns if the controller is stuck. Called by threads that waited for it."""
        since = self._busy_since
        if since is not None and not self._over and time.monotonic() - since > 4 * self._patience:
            self._end("does not return; the built-in policy decides meanwhile")

    def stop(self) -> None:
        """Waits for the thread's end, unless it is stuck or is the caller."""
        self._over = True
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=4 * LOOK_SECONDS)

    def _run(self) -> None:
        events = (_library.tm_store_event * 256)()
        count = ctypes.c_size_t()
        while not self._over:
            memory = self._memory()
            if memory is None:
                return
            try:
                _library.library().tm_store_events(
                    memory._open(), int(LOOK_SECONDS * 1e9), events, len(events),
                    ctypes.byref(count))
                for event in events[:count.value]:
                    if not self._over:
                        self._handle(memory, event)
            except BaseException as failure:
                if not self._over and memory._handle is not None:
                    self.failure = failure
                    self._end("failed; the built-in policy decides from now on:\n"
                              + "".join(traceback.format_exception(failure)))
            finally:
                if self._over:
                    self._unwatch(memory)
                del memory

    def _handle(self, memory: Memory, event: Any) -> None:
        self._busy_since = begun = time.monotonic()
        try:
            if event.kind == PRESSURE:
                self._make_room(memory, event.bytes)
            else:
                function = getattr(self._controller, EVENTS[event.kind], None)
                if function is not None:
                    function(event.buffer, event.bytes)
        finally:
            self._busy_since = None
        if event.kind == PRESSURE:
            self._late = self._late + 1 if time.monotonic() - begun > self._patience else 0
            if self._late == MOST_LATE:
                self._end("is too slow; the built-in policy decides from now on")

    def _make_room(self, memory: Memory, wanted: int) -> None:
        facts = memory.buffers()
        uses = self._uses
        self._uses = {one.number: one.uses for one in facts}
        pinned = getattr(self._controller, "pinned", None)
        for one in facts:
            times = one.uses - uses.get(one.number, 0)
            if times and pinned is not None:
                pinned(one.number, times)
        candidates = [one for one in facts if one.state == "resident"]
        sizes = {one.number: one.size for one in candidates}
        for number in self._controller.choose(wanted, candidates) or ():
            if memory._defer(number, wait=True) == "deferred":
                wanted -= sizes.get(number, 0)
            if wanted <= 0:
                return

    def _end(self, what: str) -> None:
        self._over = True
        warnings.warn(f"the controller {type(self._controller).__qualname__} {what}",
                      ControllerWarning, stacklevel=2)

    def _unwatch(self, memory: Memory) -> None:
        try:
            _library.library().tm_store_unwatch(memory._open())
        except Error:
            pass  # it has been closed
