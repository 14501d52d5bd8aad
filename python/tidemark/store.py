"""Buffers that may leave the GPU: in its memory, in the host's, and in files."""

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
    """A tier at this moment, in bytes, and what moved since the store was opened."""

    capacity: int
    used: int  # by buffers
    reserved: int  # set aside and not used
    copied_out: int  # bytes to slower tiers
    copied_in: int  # bytes from them
    evictions: int  # buffers that left to make room
    hits: int  # accesses that found the buffer here
    misses: int
    failed: int  # copies


@dataclasses.dataclass(frozen=True)
class Pressure:
    """How full a tier is, in bytes, for programs that spill by themselves."""

    used: int
    spill_start: int
    spill_stop: int
    excess: int
    """What has to leave before spilling may stop."""
    should_spill: bool
    """More than `spill_start` is used."""


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A buffer that would leave a tier next."""

    buffer: "StoredBuffer"
    freed: int
    """Bytes that would come free there."""


class _Handle(_library.Handle):
    end = "tm_store_close"

    def __init__(self, value: Optional[int] = None) -> None:
        super().__init__(value)
        self._process = os.getpid()
        self._timeout: Optional[float] = None
        self._failures: Optional[List[BaseException]] = None

    @property
    def is_here(self) -> bool:
        """A child made by fork has none of the store's threads: it leaves it alone."""
        return os is not None and os.getpid() == self._process

    def end_within(self, timeout: Optional[float]) -> List[BaseException]:
        """Its end, by whoever drops it last, takes so long at most; why it has not ended."""
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
        except BaseException as failure:  # it belongs to close()
            self._failures.append(failure)


class _AccessHandle(_library.Handle):
    end = "tm_access_release"


class Access:
    """The right to use a buffer in a tier; released at the end of its `with` block."""

    def __init__(self, handle: _AccessHandle) -> None:
        self._handle: Optional[_AccessHandle] = handle
        self._views: List[memoryview] = []

    def pieces(self) -> "List[tuple[int, int]]":
        """Where the bytes are: (address, bytes), several in host memory."""
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
        """The pieces of an access in host memory, to read and write until it is released. Arrays
        that are made of them put that off until they are gone."""
        views = []
        for address, size in self.pieces():
            array = (ctypes.c_uint8 * size).from_address(address)
            array.access = self._handle  # type: ignore[attr-defined]
            views.append(memoryview(array).cast("B"))
        self._views += views
        return views

    def release(self) -> None:
        """Ends it after the work queued on its stream so far; a second time does nothing."""
        for view in self._views:
            with contextlib.suppress(BufferError):  # an array uses it, and holds what it needs
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
        """The buffer in `tier`, where it stays meanwhile. On a GPU its bytes are there for work
        queued on `stream` from now on.

        Parameters
        ----------
        tier : str
            "gpu", "host" or "disk".
        mode : str
            "read" (shared), "write" (alone), "overwrite" (alone, and its content does not matter)
            or "pin" (it stays there; says nothing about who reads or writes).
        patient : bool
            Wait for room as long as others may let go, rather than being refused (`SpaceError`).
        timeout : float, optional
            Seconds to wait at most (`CancelledError`).
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
        """Brings it there without keeping it, into room that there is, within `timeout` seconds."""
        with limited(timeout):
            _library.library().tm_buffer_prefetch(self._store._open(), self._number,
                                                  _number(tier, TIERS, "tier"))

    def evict(self, tier: str = "gpu", *, timeout: Optional[float] = None) -> int:
        """Has it leave `tier` for a slower one and waits for the copy; the bytes that came free
        there: 0 if it is used, stays or is not there."""
        freed = ctypes.c_uint64()
        with limited(timeout):
            _library.library().tm_buffer_evict(self._store._open(), self._number,
                                               _number(tier, TIERS, "tier"), ctypes.byref(freed))
        return freed.value

    def hint(self, value: int) -> None:
        """Among the victims of a policy that looks at hints, lower ones leave first."""
        _library.library().tm_buffer_hint(self._store._open(), self._number, value)

    def next_use(self, accesses: Optional[int]) -> None:
        """After how many accesses of the store it is used next, for policies that look at that
        ("belady", "cost"). 0: nobody knows; None: never."""
        _library.library().tm_buffer_next_use(
            self._store._open(), self._number,
            2**64 - 1 if accesses is None else whole(accesses, "accesses"))

    def stays(self, stays: bool = True) -> None:
        """Whether it stays in its tier from now on."""
        _library.library().tm_buffer_stays(self._store._open(), self._number, int(stays))

    @property
    def tiers(self) -> Set[str]:
        """Where its content is now."""
        bits = ctypes.c_uint32()
        _library.library().tm_buffer_tiers(self._store._open(), self._number, ctypes.byref(bits))
        return {tier for number, tier in enumerate(TIERS) if bits.value >> number & 1}

    def destroy(self) -> None:
        """Ends it; nobody has an access."""
        _library.library().tm_buffer_destroy(self._store._open(), self._number)


class Store:
    """Buffers in tiers. What is not accessed leaves for slower tiers when room is wanted.

    What waits for room waits as long as somebody may let go: while accesses are open, memory is
    reserved, or copies are under way. Else it fails at once (`SpaceError`), with what holds the
    room. Ctrl-C ends every wait, and so does a `timeout` in seconds (`CancelledError`).

    Parameters
    ----------
    host : int
        Bytes of host memory; pinned if there is a GPU.
    directory : path, optional
        For files, which go when the store is closed.
    disk : int
        Bytes of files at most; 0 = as much as there is.
    gpu : Context, optional
        A context, which is closed after the store; with `gpu_bytes` of its memory. That of a
        simulated one is memory of this process.
    victims : str, optional
        Which buffer leaves: "lru" and others (`tidemark victims`).
    spill_start, spill_stop : float
        Shares of the GPU's memory and, with files, of the host's: while more is used than the
        first, buffers that nobody uses leave before room is wanted, until no more is used than the
        second. 0 = never, and down to the first.
    prefetch : str, optional
        "learned": what the store's past says comes next is brought back before it is asked for;
        "none"; without it as the victims' policy foresees.
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
        """A new buffer of `size` bytes, its content undefined. `stays`: it never leaves its
        tier."""
        number = ctypes.c_uint64()
        flags = (PATIENT if patient else 0) | (STAYS if stays else 0)
        with limited(timeout):
            _library.library().tm_buffer_create(
                self._open(), whole(size, "size"), _number(tier, TIERS, "tier"), flags,
                whole(reservation, "reservation"), ctypes.byref(number))
        return StoredBuffer(self, number.value, size)

    def adopt(self, address: int, size: int) -> StoredBuffer:
        """A buffer over the program's own memory of the GPU, which outlives it. Nothing is charged
        for it there and it doesn't leave; other tiers may have it too."""
        number = ctypes.c_uint64()
        _library.library().tm_buffer_adopt(self._open(), whole(address, "address"),
                                           whole(size, "size"), ctypes.byref(number))
        return StoredBuffer(self, number.value, size)

    def mark(self, label: str) -> None:
        """The program begins something that has a name (a step, a layer): what learns from the
        store's past knows it again."""
        _library.library().tm_store_mark(self._open(), label.encode())

    @contextlib.contextmanager
    def reserve(self, size: int, tier: str = "host", *, patient: bool = True,
                timeout: Optional[float] = None) -> Iterator[int]:
        """Bytes of a tier set aside: `create(..., reservation=...)` pays with them."""
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
        """Has buffers leave `tier` until `size` bytes came free, as far as they may; how many."""
        freed = ctypes.c_uint64()
        with limited(timeout):
            _library.library().tm_store_free_bytes(self._open(), _number(tier, TIERS, "tier"),
                                                   whole(size, "size"), ctypes.byref(freed))
        return freed.value

    def pressure(self, tier: str = "gpu", start: float = 0, stop: float = 0) -> Pressure:
        """Whether a tier is too full, and by how much. `start` and `stop` are shares of its
        capacity, above which spilling is to begin and down to which it is to go on; 0 = the
        store's own."""
        now = _library.tm_tier_pressure()
        _library.library().tm_store_pressure(self._open(), _number(tier, TIERS, "tier"), start,
                                             stop, ctypes.byref(now))
        return Pressure(now.used, now.spill_start, now.spill_stop, now.excess,
                        bool(now.should_spill))

    def candidates(self, size: int, tier: str = "gpu") -> List[Candidate]:
        """The buffers that would leave `tier` for `size` bytes by the store's policy, in order.
        Nothing leaves: `buffer.evict(tier)` does."""
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
        """The tier's figures."""
        all_of_them = _library.tm_tier_counters()
        _library.library().tm_store_counters(self._open(), _number(tier, TIERS, "tier"),
                                             ctypes.byref(all_of_them))
        return TierCounters(**{field.name: getattr(all_of_them, field.name)
                               for field in dataclasses.fields(TierCounters)})

    def close(self, timeout: Optional[float] = None) -> None:
        """Ends all buffers, when accesses that are open and calls of other threads have ended.
        Waits for copies, `timeout` seconds at most (`CancelledError`: it can be closed again then).
        A second time does nothing."""
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
