"""Buffers that move between GPU memory, host memory and files."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
from types import TracebackType
from typing import Iterator, List, Optional, Set, Type, Union

from tidemark import _library
from tidemark._spec import name, whole
from tidemark._waits import limited
from tidemark.context import Context, Stream, stream_number
from tidemark.errors import OptionError

__all__ = ["Access", "Candidate", "Pressure", "Store", "StoredBuffer", "TierCounters"]

TIERS = ("gpu", "host", "disk")
MODES = ("read", "write", "overwrite", "pin")
PATIENT, STAYS = 1, 2


def _number(given: str, names: "tuple[str, ...]", what: str) -> int:
    if given not in names:
        raise OptionError(f"there is no {what} '{given}'", what, f"one of {', '.join(names)}")
    return names.index(given)


@dataclasses.dataclass(frozen=True)
class TierCounters:
    """A tier's current use in bytes, and what was moved since the store was opened."""

    capacity: int
    used: int  # by buffers
    reserved: int  # by reservations, and not used yet
    copied_out: int  # bytes, to slower tiers
    copied_in: int  # bytes, from slower tiers
    evictions: int  # buffers that were evicted to make room
    hits: int  # accesses that found the buffer in this tier
    misses: int
    failed: int  # copies


@dataclasses.dataclass(frozen=True)
class Pressure:
    """How full a tier is, in bytes, for programs that decide themselves when to spill."""

    used: int
    spill_start: int
    spill_stop: int
    excess: int
    """Bytes that must be evicted before spilling may stop."""
    should_spill: bool
    """Whether more than `spill_start` is used."""


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A buffer that would be evicted next."""

    buffer: "StoredBuffer"
    freed: int
    """Bytes that this would free in the tier."""


class _Handle(_library.Handle):
    end = "tm_store_close"

    def __init__(self, value: Optional[int] = None) -> None:
        super().__init__(value)
        self._process = os.getpid()
        self._timeout: Optional[float] = None
        self._failures: Optional[List[BaseException]] = None

    @property
    def is_here(self) -> bool:
        """A forked child has none of the store's threads, so it must not touch the store."""
        return os is not None and os.getpid() == self._process

    def end_within(self, timeout: Optional[float]) -> List[BaseException]:
        """Limits how long the last owner waits when it drops the handle. Returns a list that then
        has the failure, if there was one."""
        self._timeout, self._failures = timeout, []
        return self._failures

    def __del__(self) -> None:
        if not self.is_here:
            return
        if self._failures is None:
            super().__del__()
            return
        try:
            with limited(self._timeout):
                super().__del__()
        except BaseException as failure:  # close() raises it
            self._failures.append(failure)


class _AccessHandle(_library.Handle):
    end = "tm_access_release"


class Access:
    """Access to a buffer in a tier; it is released at the end of its `with` block."""

    def __init__(self, handle: _AccessHandle) -> None:
        self._handle: Optional[_AccessHandle] = handle
        self._views: List[memoryview] = []

    def pieces(self) -> "List[tuple[int, int]]":
        """Returns where the bytes are: (address, bytes) pairs; several in host memory. Raises
        OptionError after the release."""
        library = _library.library()
        handle = self._handle
        if handle is None:
            raise OptionError("this access is released", "tidemark.Access")
        count = ctypes.c_size_t()
        library.tm_access_pieces(handle, None, 0, ctypes.byref(count))
        pieces = (_library.tm_piece * count.value)()
        library.tm_access_pieces(handle, pieces, count.value, None)
        return [(piece.address, piece.bytes) for piece in pieces]

    def views(self) -> List[memoryview]:
        """Returns the pieces of an access in host memory, to read and write until the release.
        Arrays that share their memory delay the release until they are gone."""
        views = []
        for address, size in self.pieces():
            array = (ctypes.c_uint8 * size).from_address(address)
            array.access = self._handle  # type: ignore[attr-defined]
            views.append(memoryview(array).cast("B"))
        self._views += views
        return views

    def release(self) -> None:
        """Ends the access after the work queued on its stream so far; calling it again does
        nothing."""
        for view in self._views:
            with contextlib.suppress(BufferError):  # an array uses it and keeps it alive
                view.release()
        self._views.clear()
        self._handle = None


class StoredBuffer:
    """A buffer of a `Store`."""

    def __init__(self, store: "Store", number: int, size: int) -> None:
        self._store = store
        self._number = number
        self.size = size
        """Bytes."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoredBuffer) and \
            (self._store, self._number) == (other._store, other._number)

    def __hash__(self) -> int:
        return hash((id(self._store), self._number))

    @contextlib.contextmanager
    def access(self, tier: str = "host", mode: str = "read", *, stream: Stream = 0,
               patient: bool = True, timeout: Optional[float] = None) -> Iterator[Access]:
        """Brings the buffer into `tier`, where it stays during the `with` block. On a GPU, its
        bytes are there for work queued on `stream` from now on.

        Parameters
        ----------
        tier : str
            "gpu", "host" or "disk".
        mode : str
            "read" (shared), "write" (exclusive), "overwrite" (exclusive, and the old content is
            lost) or "pin" (it stays in the tier; this says nothing about reading or writing).
        patient : bool
            Wait for room while other accesses may end, rather than fail (`SpaceError`).
        timeout : float, optional
            The longest wait in seconds; then `CancelledError` is raised.
        """
        handle = _AccessHandle()
        with limited(timeout):
            _library.library().tm_buffer_acquire(
                self._store._open(), self._number, _number(tier, TIERS, "tier"),
                _number(mode, MODES, "mode"), stream_number(stream), PATIENT if patient else 0,
                ctypes.byref(handle))
        access = Access(handle)
        del handle
        try:
            yield access
        finally:
            access.release()

    def prefetch(self, tier: str, *, timeout: Optional[float] = None) -> None:
        """Brings the buffer into `tier` if there is free room, without keeping it there. Waits for
        at most `timeout` seconds (`CancelledError`)."""
        with limited(timeout):
            _library.library().tm_buffer_prefetch(self._store._open(), self._number,
                                                  _number(tier, TIERS, "tier"))

    def evict(self, tier: str = "gpu", *, timeout: Optional[float] = None) -> int:
        """Evicts the buffer from `tier` to a slower one and waits for the copy. Returns the bytes
        that this freed in `tier`: 0 if the buffer is in use, stays there, or isn't in `tier`."""
        freed = ctypes.c_uint64()
        with limited(timeout):
            _library.library().tm_buffer_evict(self._store._open(), self._number,
                                               _number(tier, TIERS, "tier"), ctypes.byref(freed))
        return freed.value

    def hint(self, value: int) -> None:
        """Sets a hint for victim policies that use hints: buffers with lower values are evicted
        first."""
        _library.library().tm_buffer_hint(self._store._open(), self._number, value)

    def next_use(self, accesses: Optional[int]) -> None:
        """Says after how many accesses to the store the buffer is used next, for policies that use
        it ("belady", "cost"). 0: unknown; None: never."""
        _library.library().tm_buffer_next_use(
            self._store._open(), self._number,
            2**64 - 1 if accesses is None else whole(accesses, "accesses"))

    def stays(self, stays: bool = True) -> None:
        """Sets whether the buffer stays in its tier from now on."""
        _library.library().tm_buffer_stays(self._store._open(), self._number, int(stays))

    @property
    def tiers(self) -> Set[str]:
        """The tiers that have its content now."""
        bits = ctypes.c_uint32()
        _library.library().tm_buffer_tiers(self._store._open(), self._number, ctypes.byref(bits))
        return {tier for number, tier in enumerate(TIERS) if bits.value >> number & 1}

    def destroy(self) -> None:
        """Destroys the buffer; no access to it may be open."""
        _library.library().tm_buffer_destroy(self._store._open(), self._number)


class Store:
    """Buffers in tiers. Buffers that aren't accessed move to slower tiers when room is needed.

    A call that needs room waits while room may come free: while accesses are open, memory is
    reserved, or copies are under way. Otherwise it fails immediately with a `SpaceError`, which
    names what holds the room. Ctrl-C ends every wait; so does a `timeout` in seconds
    (`CancelledError`).

    Parameters
    ----------
    host : int
        Bytes of host memory; pinned if there is a GPU.
    directory : path, optional
        For files, which are deleted when the store is closed.
    disk : int
        The most bytes of files; 0 = as much as the disk has.
    gpu : Context, optional
        A context to take GPU memory from; close it after the store. The memory of a simulated
        device is memory of this process.
    gpu_bytes : int
        Bytes of the context's memory.
    victims : str, optional
        The policy that chooses which buffer is evicted: "lru" and others (`tidemark victims`).
    spill_start, spill_stop : float
        Shares of the GPU's memory and, with files, of the host's. While more than `spill_start` is
        used, buffers that nobody uses are evicted before room is needed, until at most `spill_stop`
        is used. 0 means never for the first, and down to `spill_start` for the second.
    prefetch : str, optional
        "learned": buffers that are used next according to the store's past are brought back before
        they are accessed; "none"; by default, what the victim policy foresees.
    """

    def __init__(self, host: int, directory: Union[None, str, "os.PathLike[str]"] = None, *,
                 disk: int = 0, gpu: Optional[Context] = None, gpu_bytes: int = 0,
                 victims: Optional[str] = None, controller_patience: float = 0.05,
                 spill_start: float = 0, spill_stop: float = 0,
                 prefetch: Optional[str] = None) -> None:
        options = _library.tm_store_options(
            gpu=None if gpu is None else gpu._open(), gpu_bytes=whole(gpu_bytes, "gpu_bytes"),
            host_bytes=whole(host, "host"),
            directory=None if directory is None else os.fsencode(directory),
            disk_bytes=whole(disk, "disk"), victims=name(victims, "victims"),
            controller_patience=max(1, int(controller_patience * 1e9)),
            spill_start=spill_start, spill_stop=spill_stop, prefetch=name(prefetch, "prefetch"))
        handle = _Handle()
        _library.library().tm_store_open(ctypes.byref(options), ctypes.byref(handle))
        self._handle: Optional[_Handle] = handle

    def create(self, size: int, tier: str = "host", *, patient: bool = True, stays: bool = False,
               reservation: int = 0, timeout: Optional[float] = None) -> StoredBuffer:
        """Returns a new buffer of `size` bytes with undefined content. `stays`: it never leaves its
        tier. Raises SpaceError if there is no room, CancelledError after `timeout` seconds."""
        number = ctypes.c_uint64()
        flags = (PATIENT if patient else 0) | (STAYS if stays else 0)
        with limited(timeout):
            _library.library().tm_buffer_create(
                self._open(), whole(size, "size"), _number(tier, TIERS, "tier"), flags,
                whole(reservation, "reservation"), ctypes.byref(number))
        return StoredBuffer(self, number.value, size)

    def adopt(self, address: int, size: int) -> StoredBuffer:
        """Returns a buffer over the program's own GPU memory, which must outlive the buffer. That
        memory doesn't count against the store, and the buffer isn't evicted from it; other tiers
        may have copies."""
        number = ctypes.c_uint64()
        _library.library().tm_buffer_adopt(self._open(), whole(address, "address"),
                                           whole(size, "size"), ctypes.byref(number))
        return StoredBuffer(self, number.value, size)

    def mark(self, label: str) -> None:
        """Marks the start of a named part of the program (a step, a layer), so that a policy that
        learns from the store's past recognizes it."""
        _library.library().tm_store_mark(self._open(), label.encode())

    @contextlib.contextmanager
    def reserve(self, size: int, tier: str = "host", *, patient: bool = True,
                timeout: Optional[float] = None) -> Iterator[int]:
        """Reserves bytes of a tier: `create(..., reservation=...)` then uses them."""
        number = ctypes.c_uint64()
        with limited(timeout):
            _library.library().tm_reserve(self._open(), _number(tier, TIERS, "tier"),
                                          whole(size, "size"), PATIENT if patient else 0,
                                          ctypes.byref(number))
        try:
            yield number.value
        finally:
            _library.library().tm_reservation_end(self._open(), number.value)

    def free_bytes(self, size: int, tier: str = "gpu", *,
                   timeout: Optional[float] = None) -> int:
        """Evicts buffers from `tier` until `size` bytes are freed, or no more can be evicted.
        Returns how many bytes that freed."""
        freed = ctypes.c_uint64()
        with limited(timeout):
            _library.library().tm_store_free_bytes(self._open(), _number(tier, TIERS, "tier"),
                                                   whole(size, "size"), ctypes.byref(freed))
        return freed.value

    def pressure(self, tier: str = "gpu", start: float = 0, stop: float = 0) -> Pressure:
        """Says whether a tier is too full, and by how much. `start` and `stop` are shares of its
        capacity: spilling should start above the first and continue down to the second. 0 = the
        store's own."""
        now = _library.tm_tier_pressure()
        _library.library().tm_store_pressure(self._open(), _number(tier, TIERS, "tier"), start,
                                             stop, ctypes.byref(now))
        return Pressure(now.used, now.spill_start, now.spill_stop, now.excess,
                        bool(now.should_spill))

    def candidates(self, size: int, tier: str = "gpu") -> List[Candidate]:
        """Returns the buffers that the store's policy would evict from `tier` for `size` bytes, in
        order. It evicts nothing: `buffer.evict(tier)` does."""
        library, handle = _library.library(), self._open()
        number, count, found = _number(tier, TIERS, "tier"), ctypes.c_size_t(), 0
        while True:
            rows = (_library.tm_candidate * found)()
            library.tm_store_candidates(handle, number, whole(size, "size"), rows, found,
                                        ctypes.byref(count))
            if count.value <= found:
                return [Candidate(StoredBuffer(self, row.buffer, row.bytes), row.freed)
                        for row in rows[:count.value]]
            found = count.value

    def counters(self, tier: str = "host") -> TierCounters:
        """Returns the tier's figures."""
        all_of_them = _library.tm_tier_counters()
        _library.library().tm_store_counters(self._open(), _number(tier, TIERS, "tier"),
                                             ctypes.byref(all_of_them))
        return TierCounters(**{field.name: getattr(all_of_them, field.name)
                               for field in dataclasses.fields(TierCounters)})

    def close(self, timeout: Optional[float] = None) -> None:
        """Destroys all buffers, after open accesses and calls of other threads have ended. Waits
        for copies for at most `timeout` seconds; after a `CancelledError`, it can be called again.
        Closing a closed store does nothing."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        number = handle.value
        failures = handle.end_within(timeout)
        del handle
        if failures:
            self._handle = _Handle(number)
            raise failures[0]

    def _open(self) -> _Handle:
        handle = self._handle
        if handle is None:
            raise OptionError("this store is closed", "tidemark.Store")
        return handle

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, _kind: Optional[Type[BaseException]], _error: Optional[BaseException],
                 _trace: Optional[TracebackType]) -> None:
        self.close()
