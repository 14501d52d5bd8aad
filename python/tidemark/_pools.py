"""The memory of all libraries of this process: one context per device, and what each one holds."""

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
    """What one library holds on one device. Bytes are as requested, before rounding."""

    client: str
    device: int
    bytes: int
    count: int
    peak: int
    quota: int  # 0: none


class ProcessContext(Context):
    """A context that is never closed: libraries free memory until the process ends."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._handle))

    def close(self) -> int:
        return 0

    def retire(self) -> None:
        """Closes it anyway, because the device is about to be reset."""
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(self._handle))
        super().close()


class Client:
    """One library on one device: it takes memory from a context and counts what it holds."""

    def __init__(self, name: str, device: int, policy: Optional[str], tag: int) -> None:
        self.name = name
        self.device = device
        self.policy = policy
        self.tag = tag
        self._context: Optional[Context] = None
        self.granted = 0
        """Requests that succeeded since the process started."""
        self._quota = 0
        self._lock = threading.RLock()  # reentrant: garbage collection inside it may free
        self._bytes = self._count = self._peak = 0

    @property
    def context(self) -> Context:
        """The source of its memory: opened when first needed, and again after retire()."""
        if self._context is None:
            self._context = context(self.device, self.policy)
            self._context.name_tag(self.tag, self.name)
        return self._context

    def retire(self) -> None:
        """Closes the context, unless other clients take memory from it too."""
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
        """Allocates as Context.alloc does. Raises OutOfMemoryError, also beyond the quota."""
        limited = self._quota != 0
        if limited:  # charged before it is allocated: others allocate at the same time
            with self._lock:
                if self._bytes + bytes > self._quota:
                    raise OutOfMemoryError(
                        f"{bytes:,} bytes in addition to the {self._bytes:,} that it holds exceed "
                        f"its quota of {self._quota:,}", self.name)
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
        """Frees as Context.free does; `bytes` is the size as requested."""
        (self._context or self.context).free(address, bytes, stream)
        with self._lock:
            self._bytes -= bytes
            self._count -= 1

    def set_quota(self, bytes: int) -> None:
        """Limits the bytes that it holds; 0: no limit. A request beyond it runs out of memory."""
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
    """Chooses what serves the libraries of this process (tidemark.numba, tidemark.cupy, ...).

    Call it before the first of them allocates memory. `policy` and `options` are those of Context,
    for each device. `machine` is "cuda", which stands for the GPU that a library uses, or a
    simulated one. If it isn't called, the libraries get Context's default policy, without thread
    caches, so that figures are exact. Raises OptionError if memory was already allocated under
    another policy.
    """
    global _plan, _chosen
    plan = {"policy": None if policy is None else str(policy), "machine": machine,
            "thread_cache": 0, **options}
    with _lock:
        if any(key[1] is None for key in _contexts) and plan != _plan:
            raise OptionError("memory was already allocated under another policy", "tidemark.use",
                              "call it before a library allocates memory")
        _plan = plan
        _chosen = True


def chosen() -> bool:
    """Whether use() was called."""
    return _chosen


def context(device: int = 0, policy: Optional[str] = None) -> Context:
    """The context of a device: the one that all libraries share, or a separate one of `policy`."""
    key = (device, policy)
    found = _contexts.get(key)
    if found is None:
        with _lock:
            plan = dict(_plan)
            if policy is not None:
                plan["policy"] = policy
                plan.pop("record", None)  # a process can have only one recorder
            if plan["machine"] == MACHINE:
                plan["machine"] = f"cuda:{device}"
            found = _contexts.get(key) or ProcessContext(**plan)
            _contexts[key] = found
    return found


def client(name: str, device: int = 0, policy: Optional[str] = None,
           kind: Type[Client] = Client) -> Client:
    """The client for the library `name` on a device; the first call decides on its context."""
    with _lock:
        found = _clients.get((name, device))
        if found is None:
            found = kind(name, device, policy, len(_clients) + 1)
            found.context
            _clients[name, device] = found
        return found


def set_quota(name: str, bytes: int, device: int = 0) -> None:
    """Lets a library hold at most `bytes` on a device; 0 removes the quota. A request beyond it
    raises that library's usual out-of-memory error. Raises OptionError for an unknown library."""
    with _lock:
        found = _clients.get((name, device))
    if found is None:
        raise OptionError(f"{name!r} takes no memory on device {device} from Tidemark", "quota",
                          "known are " + (", ".join(sorted({n for n, _ in _clients})) or "none"))
    found.set_quota(bytes)


def holders() -> List[Holder]:
    """Returns a Holder for each library on each device, sorted by bytes, largest first."""
    with _lock:
        clients = list(_clients.values())
    return sorted((each.holder() for each in clients), key=lambda each: -each.bytes)
