"""The memory of all libraries of this process: one context for each device, and who holds what."""

from __future__ import annotations

import ctypes
import dataclasses
import threading
from typing import Any, Dict, List, Optional, Tuple, Type

from tidemark.context import Context, Stream
from tidemark.errors import OptionError, OutOfMemoryError

__all__ = ["Client", "Holder", "ProcessContext", "chosen", "client", "context", "holders",
           "set_quota", "use"]

MACHINE = "cuda"


@dataclasses.dataclass(frozen=True)
class Holder:
    """What one library holds of one device. Bytes are as requested."""

    client: str
    device: int
    bytes: int
    count: int
    peak: int
    quota: int  # 0: none


class ProcessContext(Context):
    """Never closed: libraries free into it until the process is gone."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._handle))

    def close(self) -> int:
        return 0

    def retire(self) -> None:
        """Closes it after all: the device is about to be reset."""
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(self._handle))
        super().close()


class Client:
    """One library on one device: takes memory from a context and counts what it holds."""

    def __init__(self, name: str, device: int, policy: Optional[str], tag: int) -> None:
        self.name = name
        self.device = device
        self.policy = policy
        self.tag = tag
        self._context: Optional[Context] = None
        self.granted = 0
        """Requests, since the process began."""
        self._quota = 0
        self._lock = threading.RLock()  # collecting garbage in the midst of it may free
        self._bytes = self._count = self._peak = 0

    @property
    def context(self) -> Context:
        """Where its memory is from: opened when it is first needed, and again after retire()."""
        if self._context is None:
            self._context = context(self.device, self.policy)
            self._context.name_tag(self.tag, self.name)
        return self._context

    def retire(self) -> None:
        """Closes the context, unless others take memory from it too."""
        key = (self.device, self.policy)
        with _lock:
            if any(each is not self and (each.device, each.policy) == key
                   for each in _clients.values()):
                return
            closing = _contexts.pop(key, None)
            self._context = None
        if closing is not None:
            closing.retire()

    def alloc(self, bytes: int, stream: Stream = 0, unique_empty: bool = False) -> int:
        """As Context.alloc. Raises OutOfMemoryError."""
        limited = self._quota != 0
        if limited:  # charged before it is granted: others ask at the same time
            with self._lock:
                if self._bytes + bytes > self._quota:
                    raise OutOfMemoryError(
                        f"{bytes:,} bytes beside the {self._bytes:,} that it holds are beyond its "
                        f"quota of {self._quota:,}", self.name)
                self._bytes += bytes
        try:
            source = self._context or self.context
            address = source.alloc(bytes, stream, 0, 0, self.tag, unique_empty)
        except BaseException:
            if limited:
                with self._lock:
                    self._bytes -= bytes
            raise
        with self._lock:
            self._count += 1
            self.granted += 1
            if not limited:
                self._bytes += bytes
            if self._bytes > self._peak:
                self._peak = self._bytes
        return address

    def free(self, address: int, bytes: int, stream: Stream = 0) -> None:
        """As Context.free; `bytes` as requested."""
        (self._context or self.context).free(address, bytes, stream)
        with self._lock:
            self._bytes -= bytes
            self._count -= 1

    def set_quota(self, bytes: int) -> None:
        """On what it holds; 0: none. A request beyond it is out of memory."""
        self._quota = bytes

    def holder(self) -> Holder:
        with self._lock:
            return Holder(self.name, self.device, self._bytes, self._count, self._peak, self._quota)


_lock = threading.RLock()
_plan: Dict[str, Any] = {"policy": None, "machine": MACHINE, "thread_cache": 0}
_chosen = False
_contexts: Dict[Tuple[int, Optional[str]], ProcessContext] = {}
_clients: Dict[Tuple[str, int], Client] = {}


def use(policy: Any = None, machine: str = MACHINE, **options: Any) -> None:
    """Says what serves the libraries of this process (tidemark.numba, tidemark.cupy, ...), before
    the first of them takes memory: `policy` and `options` as of Context, on each device.

    `machine` is "cuda", for the GPU that a library names, or a simulated one. Without a call it is
    Context's default policy, without caches of threads, so that figures are exact.
    """
    global _plan, _chosen
    plan = {"policy": None if policy is None else str(policy), "machine": machine,
            "thread_cache": 0, **options}
    with _lock:
        if any(key[1] is None for key in _contexts) and plan != _plan:
            raise OptionError("memory was taken already under another policy", "tidemark.use",
                              "call it before a library takes memory")
        _plan = plan
        _chosen = True


def chosen() -> bool:
    """Whether use() was called."""
    return _chosen


def context(device: int = 0, policy: Optional[str] = None) -> Context:
    """The context of a device: that of all libraries, or one of its own `policy`."""
    key = (device, policy)
    found = _contexts.get(key)
    if found is None:
        with _lock:
            plan = dict(_plan)
            if policy is not None:
                plan["policy"] = policy
                plan.pop("record", None)  # a process has one recorder
            if plan["machine"] == MACHINE:
                plan["machine"] = f"cuda:{device}"
            found = _contexts.get(key) or ProcessContext(**plan)
            _contexts[key] = found
    return found


def client(name: str, device: int = 0, policy: Optional[str] = None,
           kind: Type[Client] = Client) -> Client:
    """The library `name` on a device; the first call decides from which context."""
    with _lock:
        found = _clients.get((name, device))
        if found is None:
            found = kind(name, device, policy, len(_clients) + 1)
            found.context
            _clients[name, device] = found
        return found


def set_quota(name: str, bytes: int, device: int = 0) -> None:
    """Lets a library hold at most `bytes` of a device; 0 lifts it. A request beyond it is that
    library's ordinary out-of-memory error."""
    with _lock:
        found = _clients.get((name, device))
    if found is None:
        raise OptionError(f"{name!r} takes no memory of device {device} from here", "quota",
                          "known are " + (", ".join(sorted({n for n, _ in _clients})) or "none"))
    found.set_quota(bytes)


def holders() -> List[Holder]:
    """Who holds what: each library on each device, who holds most first."""
    with _lock:
        clients = list(_clients.values())
    return sorted((each.holder() for each in clients), key=lambda each: -each.bytes)
