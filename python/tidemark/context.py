"""Allocators for programs: a policy on a GPU or on a simulated device."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import dataclasses
import threading
import weakref
from types import TracebackType
from typing import (Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Type,
                    Union)

from tidemark import _library
from tidemark._spec import name, whole
from tidemark._waits import limited
from tidemark.errors import AddressError, OptionError
from tidemark.own_policy import OwnPolicy

__all__ = ["Block", "Buffer", "Context", "IpcHandle", "OwnStream", "PlannedRequest", "Region",
           "STREAM_OF_REQUEST", "STREAM_UNKNOWN", "Statistics"]

MOST = (1 << 64) - 1
GROW = 16
STREAM_UNKNOWN = _library.STREAM_UNKNOWN
STREAM_OF_REQUEST = _library.STREAM_OF_REQUEST
"""Nobody knows on which stream: slower than a known one, and always correct."""

Stream = Any  # an int, or what has __cuda_stream__(): streams of torch, CuPy, Numba, cuda.core


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Everything of one moment. Bytes, and numbers of what is counted."""

    reserved: int  # held from the device
    allocated: int  # granted, after rounding
    active: int  # allocated, or freed and awaited by the device
    requested: int
    cached: int  # freed, and kept by threads
    live: int  # allocations
    peak_reserved: int
    peak_allocated_least: int  # with thread caches a peak is known as a range
    peak_allocated_most: int
    peak_requested_least: int
    peak_requested_most: int
    granted: int  # requests
    hits: int  # of those, from a thread's cache
    refused: int
    freed: int
    retries: int  # caches emptied, and the device tried again
    segments_created: int
    segments_released: int
    device_free: int  # what the device says at this moment
    device_total: int
    deferred: int  # bytes whose free waits to be made (unknown streams, option defer_frees)
    deferred_peak: int
    flushes: int  # batches of such frees
    plan_deviations: int  # requests of pools that came otherwise than plan_pool said


@dataclasses.dataclass(frozen=True)
class PlannedRequest:
    """One request of a pool, known from a run before. `begin` and `end` are positions: requests
    and frees of the pool, counted together."""

    bytes: int
    begin: int
    end: Optional[int]  # None: it outlives the capture
    stream: int = 0
    alignment: int = 0  # 0: 512


@dataclasses.dataclass(frozen=True)
class Block:
    """A living allocation."""

    address: int  # where it begins
    requested: int  # bytes
    granted: int  # bytes
    stream: int
    pool: int  # 0: the program's memory
    tag: int
    number: int  # of its request, rising for each thread


REGION_STATES = ("allocated", "waiting", "free", "hole")


@dataclasses.dataclass(frozen=True)
class Region:
    """A piece of what a context holds of the device."""

    address: int
    bytes: int
    requested: int  # bytes of an allocated one
    state: str
    """"allocated", "waiting" (let go, and the device is not done with it), "free", or "hole" (can't
    be granted before a trim)."""
    segment: int  # where its segment begins
    segment_bytes: int
    stream: int
    pool: int
    expandable: bool  # the segment is pages that are mapped


@dataclasses.dataclass(frozen=True)
class IpcHandle:
    """Memory for another process on the same GPU; it can be pickled."""

    offset: int  # in the piece of memory that `handle` is of
    handle: bytes  # 64 of them


@dataclasses.dataclass(frozen=True)
class OwnStream:
    """A stream for all that know __cuda_stream__(): CuPy, Numba, cuda.core; for PyTorch
    torch.cuda.ExternalStream(stream.handle)."""

    handle: int

    def __cuda_stream__(self) -> Tuple[int, int]:
        return 0, self.handle


class _Handle(_library.Handle):
    end = "tm_context_close"

    def ending(self) -> List[Any]:
        return [None]


class _Request:
    """A thread's request: making one costs more than the call."""

    def __init__(self) -> None:
        self.request = _library.tm_request()
        self.address = ctypes.c_uint64()
        self.arguments = ctypes.byref(self.request), ctypes.byref(self.address), None
        self.rest: Any = None


class Context:
    """An allocator: grants addresses on a device under a policy.

    Parameters
    ----------
    machine : str, optional
        "cuda:0", "sim", "sim:h200"; without it cuda:0 if there is one, else a simulated device.
    policy : str, optional
        "extent", "torch:max_split_size_mb=64", or from tidemark.policies.
    memory : int
        Bytes of a simulated device; 0: as large as its card.
    limit : int
        On the bytes requested and not freed; 0: none.
    thread_cache : int, optional
        Bytes that each thread keeps for itself; None: as fits the device; 0: none.
    record : str, optional
        Publishes a live recording of that name (`tidemark view --attach NAME`), or into that file
        ("run.tml", "/data/run.tml"), until the context is closed or the process ends.
    overwrite : bool
        What is there under that file's name; without it, that is an OptionError.
    streams : int
        Of its own, that `acquire_stream` makes before it waits; 0 = 16.

    All functions may be called from any thread; `close` must be the last.
    """

    def __init__(self, machine: Optional[str] = None,
                 policy: Union[None, str, OwnPolicy[Any]] = None,
                 memory: int = 0, limit: int = 0, thread_cache: Optional[int] = None,
                 record: Optional[str] = None, overwrite: bool = False,
                 streams: int = 0) -> None:
        self._handle: Optional[_Handle] = None
        self._oom_handler: Any = None
        self._library = _library.library()
        # 0 bytes for each thread is another number in C, where 0 stands for the default.
        cache = 0 if thread_cache is None else thread_cache or _library.CACHE_NONE
        options = _library.tm_context_options(
            machine=name(machine, "machine"),
            policy=name(str(policy) if isinstance(policy, OwnPolicy) else policy, "policy"),
            memory=whole(memory, "memory"),
            limit=whole(limit, "limit"), thread_cache=whole(cache, "thread_cache"),
            record=name(record, "record"), overwrite=int(overwrite),
            streams=whole(streams, "streams", 32))
        handle = _Handle()
        self._library.tm_context_open(ctypes.byref(options), ctypes.byref(handle))
        self._handle = handle
        if record is not None:
            atexit.register(_end_recording, weakref.ref(self))
        self._requests = threading.local()
        self.machine = _library.text(self._library.tm_context_machine(handle))
        """"cuda:0", "sim:h200"."""
        self.device_name = _library.text(self._library.tm_context_device_name(handle))
        """"NVIDIA H200"."""
        self.policy = _library.text(self._library.tm_context_policy(handle))
        """The policy with its options."""

    @property
    def is_simulated(self) -> bool:
        """Addresses are numbers only: there is no memory behind them."""
        return not self.machine.startswith("cuda")

    def alloc(self, bytes: int, stream: Stream = 0, alignment: int = 0, pool: int = 0,
              tag: int = 0, unique_empty: bool = False) -> int:
        """Grants `bytes` and gives their address; 0 for 0 bytes, or with `unique_empty` an odd
        address that no other has.

        `alignment` is a power of two (0 = 512), `pool` a private pool, `tag` a number that base_of
        gives again. Raises OutOfMemoryError.
        """
        local = self._requests
        try:
            query = local.query
        except AttributeError:
            query = local.query = _Request()
        request = query.request
        if type(bytes) is not int or not 0 <= bytes <= MOST:
            bytes = whole(bytes, "bytes")
        request.bytes = bytes
        request.stream = stream if type(stream) is int else stream_number(stream)
        rest = alignment, pool, tag, unique_empty
        if rest != query.rest:  # as a rule it is what it was
            request.alignment = whole(alignment, "alignment")
            request.pool = whole(pool, "pool", 32)
            request.tag = whole(tag, "tag", 32)
            request.flags = _library.UNIQUE_EMPTY if unique_empty else 0
            query.rest = rest
        status = self._library.tm_alloc(self._handle or self._open(), *query.arguments)
        if status:
            raise self._library.last_error(status)
        return query.address.value  # type: ignore[no-any-return]

    def free(self, address: int, bytes: int = 0, stream: Stream = 0) -> None:
        """Takes back what was granted at `address`, after the work queued on `stream` and on those
        of record_use. STREAM_OF_REQUEST: that of its request, which may be destroyed by now; its
        handle is not used. `bytes`: as requested, or 0 if not known. Raises AddressError."""
        if type(address) is not int or not 0 <= address <= MOST:
            address = whole(address, "address")
        if type(bytes) is not int or not 0 <= bytes <= MOST:
            bytes = whole(bytes, "bytes")
        status = self._library.tm_free(self._handle or self._open(), address, bytes,
                                       stream if type(stream) is int else stream_number(stream))
        if status:
            raise self._library.last_error(status)

    def record_use(self, address: int, stream: Stream) -> None:
        """`stream` uses the allocation at `address` too."""
        self._library.tm_record_use(self._open(), whole(address, "address"),
                                    stream_number(stream))

    def name_tag(self, tag: int, name: str) -> None:
        """What recordings call the requests of `tag` from now on."""
        self._library.tm_name_tag(self._open(), whole(tag, "tag", 32), name.encode())

    def end_recording(self) -> None:
        """Ends the recording that `record` began; memory is granted as before. Closing does so too,
        and so does the end of the process. Without a recording, or again: nothing."""
        self._library.tm_end_recording(self._open())

    def on_oom(self, handler: Optional[Callable[[int, int], bool]]) -> None:
        """Where a request would be refused, `handler(bytes, attempt)` is called on its thread, with
        no lock held: it may free memory, here or elsewhere, and gives True to have the request made
        again. `attempt` counts from 0 for each request. None: no handler any more. An exception is
        printed, and refuses the request.

        ::

            context.on_oom(lambda bytes, attempt: store.free_bytes(bytes) > 0)
        """
        if handler is None:
            raw = _library.OOM_HANDLER(0)
        else:
            ask = handler
            raw = _library.OOM_HANDLER(lambda _user, bytes, attempt: int(bool(ask(bytes, attempt))))
        self._library.tm_set_oom_handler(self._open(), raw, None)
        self._oom_handler = raw  # the one before may still run: it ends with its call

    @contextlib.contextmanager
    def acquire_stream(self, *, grow: bool = False,
                       timeout: Optional[float] = None) -> Iterator["OwnStream"]:
        """A stream of the context's own, for one user at a time. Where all are in use it waits,
        `timeout` seconds at most (CancelledError), or with `grow` makes one more. The next user
        gets it with the work that is queued on it."""
        number = ctypes.c_uint64()
        with limited(timeout):
            self._library.tm_stream_acquire(self._open(), GROW if grow else 0,
                                            ctypes.byref(number))
        try:
            yield OwnStream(number.value)
        finally:
            if self._handle is not None:
                self._library.tm_stream_release(self._handle, number.value)

    def trim(self, wait: bool = False) -> None:
        """Gives unused memory back to the device: without waiting for it, or after that."""
        self._library.tm_trim(self._open(), int(wait))

    def base_of(self, address: int) -> Block:
        """The living allocation that `address` is in. Raises AddressError."""
        raw = _library.tm_block()
        self._library.tm_base_of(self._open(), whole(address, "address"), ctypes.byref(raw))
        return Block(**_fields(Block, raw))

    def statistics(self) -> Statistics:
        """Everything of one moment; all other calls wait for it."""
        raw = _library.tm_statistics()
        self._library.tm_statistics_of(self._open(), ctypes.byref(raw))
        return Statistics(**_fields(Statistics, raw))

    def regions(self) -> List[Region]:
        """All that it holds, by address within each segment."""
        count, found = ctypes.c_size_t(), 0
        while True:
            rows = (_library.tm_region * found)()
            self._library.tm_context_regions(self._open(), rows, found, ctypes.byref(count))
            if count.value <= found:
                return [Region(row.address, row.bytes, row.requested, REGION_STATES[row.state],
                               row.segment, row.segment_bytes, row.stream, row.pool,
                               bool(row.expandable)) for row in rows[:count.value]]
            found = count.value

    def allow_peer(self, device: int) -> None:
        """From now on the GPU `device` reads and writes all of its memory."""
        self._library.tm_peer_access(self._open(), whole(device, "device", 31))

    def reset_peaks(self) -> None:
        """Peaks begin anew with what is there now."""
        self._library.tm_reset_peaks(self._open())

    def set_limit(self, bytes: int) -> None:
        """On the bytes requested and not freed; 0 lifts it."""
        self._library.tm_set_limit(self._open(), whole(bytes, "limit"))

    @contextlib.contextmanager
    def pool(self, number: int) -> Iterator[int]:
        """A scope of the private pool `number` (any but 0): `with context.pool(1) as pool:` and
        requests with pool=pool. Scopes nest and repeat."""
        self._library.tm_pool_begin(self._open(), whole(number, "pool", 32))
        try:
            yield number
        finally:
            self._library.tm_pool_end(self._open(), number)

    def close_pool(self, number: int) -> None:
        """A closed pool's memory goes back with the next trim."""
        self._library.tm_pool_close(self._open(), whole(number, "pool", 32))

    def plan_pool(self, number: int, requests: Sequence[PlannedRequest]) -> None:
        """What the pool is going to be asked for, in order, before its first request. With the
        policy arena:mode=planned it then uses bytes again within the pool; what comes otherwise is
        served apart and counted. Raises UnsupportedError for policies that plan no pools."""
        raw = (_library.tm_planned * len(requests))(*[
            _library.tm_planned(one.bytes, one.alignment, one.stream, one.begin, one.end or 0,
                                one.end is None) for one in requests])
        self._library.tm_pool_plan(self._open(), whole(number, "pool", 32), raw, len(requests))

    def export(self, address: int) -> IpcHandle:
        """The memory at `address` for another process. Raises UnsupportedError on simulated devices
        and for policies on virtual memory."""
        raw = _library.tm_ipc_handle()
        self._library.tm_ipc_export(self._open(), whole(address, "address"), ctypes.byref(raw))
        return IpcHandle(int(raw.offset), bytes(raw.bytes))

    def open_ipc(self, handle: IpcHandle) -> int:
        """Maps another process's memory here; its address, valid until close_ipc."""
        raw = _library.tm_ipc_handle(offset=handle.offset)
        ctypes.memmove(raw.bytes, handle.handle, min(len(handle.handle), len(raw.bytes)))
        address = ctypes.c_uint64()
        self._library.tm_ipc_open(self._open(), ctypes.byref(raw), ctypes.byref(address))
        return int(address.value)

    def close_ipc(self, address: int) -> None:
        """Ends a mapping of open_ipc."""
        self._library.tm_ipc_close(self._open(), whole(address, "address"))

    def buffer(self, bytes: int, stream: Stream = 0, **options: Any) -> "Buffer":
        """A device buffer that is freed with its object; `options` as of alloc."""
        return Buffer(self, bytes, stream, **options)

    def close(self) -> int:
        """Gives unused memory back, when the calls of other threads and stores on this GPU have
        ended. What still lives stays valid until the process ends; gives its number. Closing twice
        does nothing."""
        if self._handle is None:
            return 0
        leaked = self.statistics().live
        self._handle = None
        return leaked

    def _open(self) -> _Handle:
        handle = self._handle
        if handle is None:
            raise OptionError("this context is closed", "tidemark.Context")
        return handle

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], failure: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._handle is None:
            return "<tidemark.Context closed>"
        return f"<tidemark.Context {self.policy} on {self.machine} ({self.device_name})>"


class Buffer:
    """Bytes on the device: granted when made, freed by `free` or with the object.

    On a GPU it is an array of uint8 for all that know __cuda_array_interface__ (version 3): CuPy,
    Numba, torch. On a simulated device there is no memory behind it, and no such attribute.
    """

    def __init__(self, context: Context, bytes: int, stream: Stream = 0, **options: Any) -> None:
        self.context = context
        self.bytes = bytes
        self.stream = stream_number(stream)
        self._live = False
        self.address = context.alloc(bytes, self.stream, **options)
        self._live = True

    def free(self, stream: Stream = None) -> None:
        """Frees it after the work queued on `stream` (its own without one). Twice is an error."""
        if not self._live:
            raise AddressError("it was freed already", repr(self))
        self._live = False
        self.context.free(self.address, self.bytes,
                          STREAM_OF_REQUEST if stream is None else stream_number(stream))

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        if self.context.is_simulated or not self._live:
            raise AttributeError("a simulated device has no memory to show, nor has a freed buffer")
        # 0 is forbidden here: 1 is the legacy default stream. None: nothing to wait for.
        stream = None if self.stream == STREAM_UNKNOWN else self.stream or 1
        return {"version": 3, "shape": (self.bytes,), "typestr": "|u1", "strides": None,
                "data": (self.address if self.bytes else 0, False), "stream": stream}

    def __len__(self) -> int:
        return self.bytes

    def __enter__(self) -> "Buffer":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], failure: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        if self._live:
            self.free()

    def __del__(self) -> None:
        # A closed context's memory stays until the process ends.
        if self.__dict__.get("_live") and self.context._handle is not None:
            self.free()

    def __repr__(self) -> str:
        state = f"at {self.address:#x}" if self._live else "freed"
        return f"<tidemark.Buffer of {self.bytes:,} bytes {state}>"


def _end_recording(reference: "weakref.ref[Context]") -> None:
    context = reference()
    if context is not None and context._handle is not None:
        context.end_recording()


def stream_number(stream: Stream) -> int:
    """A stream as an integer: itself, that of __cuda_stream__(), or a torch stream's handle."""
    if isinstance(stream, int):
        return stream
    if stream is None:
        return 0
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    handle = getattr(stream, "cuda_stream", None)  # torch
    if handle is not None:
        return int(handle)
    raise OptionError(f"{stream!r} is no stream", "stream",
                      "an integer, or an object with __cuda_stream__()")


def _fields(kind: Union[Type[Block], Type[Statistics]], raw: Any) -> Dict[str, int]:
    return {field.name: int(getattr(raw, field.name)) for field in dataclasses.fields(kind)}
