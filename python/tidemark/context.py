"""Allocators for programs: a policy that serves requests on a GPU or a simulated device."""

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
"""The stream is unknown: this is slower than a known one, but always correct."""

Stream = Any  # an int, or an object with __cuda_stream__(): of torch, CuPy, Numba, cuda.core


@dataclasses.dataclass(frozen=True)
class Statistics:
    """All figures of a context at one moment: bytes and counts."""

    reserved: int  # from the device
    allocated: int  # in live blocks, after rounding
    active: int  # allocated or pending free: freed, but the device may still use it
    requested: int
    cached: int  # freed, and kept in thread caches
    live: int  # number of live allocations
    peak_reserved: int
    peak_allocated_least: int  # with thread caches, a peak is only known as a range
    peak_allocated_most: int
    peak_requested_least: int
    peak_requested_most: int
    granted: int  # requests that succeeded
    hits: int  # of those, served from a thread's cache
    refused: int  # requests that failed
    freed: int
    retries: int  # times that all caches were emptied to try the device again
    segments_created: int
    segments_released: int
    device_free: int  # as the device reports it now
    device_total: int
    deferred: int  # bytes whose frees wait for a batch (unknown streams, option defer_frees)
    deferred_peak: int
    flushes: int  # batches of such frees
    plan_deviations: int  # requests of pools that differed from plan_pool


@dataclasses.dataclass(frozen=True)
class PlannedRequest:
    """One request of a pool, known from an earlier run. `begin` and `end` are positions in the
    sequence of the pool's requests and frees, which are counted together."""

    bytes: int
    begin: int
    end: Optional[int]  # None: the block outlives the capture
    stream: int = 0
    alignment: int = 0  # 0: 512


@dataclasses.dataclass(frozen=True)
class Block:
    """A live allocation."""

    address: int  # where it starts
    requested: int  # bytes
    granted: int  # bytes, after rounding
    stream: int
    pool: int  # 0: not in a private pool
    tag: int
    number: int  # of its request, rising in each thread


REGION_STATES = ("allocated", "waiting", "free", "hole")


@dataclasses.dataclass(frozen=True)
class Region:
    """A piece of the memory that a context holds on the device."""

    address: int
    bytes: int
    requested: int  # bytes, if it is allocated
    state: str
    """"allocated", "waiting" (pending free: freed, but the device may still use it), "free", or
    "hole" (no request can be served from it before a trim)."""
    segment: int  # where its segment starts
    segment_bytes: int
    stream: int
    pool: int
    expandable: bool  # its segment consists of mapped pages


@dataclasses.dataclass(frozen=True)
class IpcHandle:
    """A handle for another process on the same GPU to map this memory; it can be pickled."""

    offset: int  # within the piece of memory that `handle` belongs to
    handle: bytes  # 64 of them


@dataclasses.dataclass(frozen=True)
class OwnStream:
    """A stream for libraries that support __cuda_stream__(): CuPy, Numba, cuda.core. In PyTorch,
    use torch.cuda.ExternalStream(stream.handle)."""

    handle: int

    def __cuda_stream__(self) -> Tuple[int, int]:
        return 0, self.handle


class _Handle(_library.Handle):
    end = "tm_context_close"

    def ending(self) -> List[Any]:
        return [None]


class _Request:
    """A thread's request, reused because creating one costs more than the call."""

    def __init__(self) -> None:
        self.request = _library.tm_request()
        self.address = ctypes.c_uint64()
        self.arguments = ctypes.byref(self.request), ctypes.byref(self.address), None
        self.rest: Any = None


class Context:
    """An allocator: serves memory requests on a device under a policy.

    Parameters
    ----------
    machine : str, optional
        "cuda:0", "sim" or "sim:h200". By default, cuda:0 if it exists, else a simulated device.
    policy : str, optional
        "extent", "torch:max_split_size_mb=64", or one from tidemark.policies.
    memory : int
        Memory of a simulated device in bytes; 0: as much as its card has.
    limit : int
        The most bytes that may be requested and not yet freed; 0: no limit.
    thread_cache : int, optional
        Bytes that each thread may cache; None: a default for the device; 0: no caches.
    record : str, optional
        Publishes a live recording under that name (`tidemark view --attach NAME`), or writes it to
        that file ("run.tml", "/data/run.tml"), until the context is closed or the process ends.
    overwrite : bool
        Overwrites an existing file of that name. Without it, an existing file is an OptionError.
    streams : int
        How many streams of its own `acquire_stream` creates before it waits; 0 = 16.

    Raises NotFoundError for an unknown machine or policy, OptionError for a wrong option. Any
    thread may call any function; `close` must be the last call.
    """

    def __init__(self, machine: Optional[str] = None,
                 policy: Union[None, str, OwnPolicy[Any]] = None,
                 memory: int = 0, limit: int = 0, thread_cache: Optional[int] = None,
                 record: Optional[str] = None, overwrite: bool = False,
                 streams: int = 0) -> None:
        self._handle: Optional[_Handle] = None
        self._oom_handler: Any = None
        self._library = _library.library()
        # C uses another number for "no cache": there 0 stands for the default.
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
        """Whether the device is simulated: its addresses are numbers without memory."""
        return not self.machine.startswith("cuda")

    def alloc(self, bytes: int, stream: Stream = 0, alignment: int = 0, pool: int = 0,
              tag: int = 0, unique_empty: bool = False) -> int:
        """Allocates `bytes` and returns their address. For 0 bytes it returns 0, or with
        `unique_empty` an odd address that no other allocation has.

        `stream` is the stream that uses the memory first, `alignment` a power of two in bytes
        (0 = 512), `pool` a private pool, and `tag` a number that base_of returns. Raises
        OutOfMemoryError if the request fails.
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
        if rest != query.rest:  # it usually equals that of the last request
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
        """Frees the block at `address`, after the work queued on `stream` and on the streams of
        record_use. With STREAM_OF_REQUEST it is the stream of the request; that stream may already
        be destroyed, because its handle isn't used. `bytes` is the size as requested, or 0 if it
        isn't known. Raises AddressError if no live block starts at `address`."""
        if type(address) is not int or not 0 <= address <= MOST:
            address = whole(address, "address")
        if type(bytes) is not int or not 0 <= bytes <= MOST:
            bytes = whole(bytes, "bytes")
        status = self._library.tm_free(self._handle or self._open(), address, bytes,
                                       stream if type(stream) is int else stream_number(stream))
        if status:
            raise self._library.last_error(status)

    def record_use(self, address: int, stream: Stream) -> None:
        """Says that `stream` uses the allocation at `address` too, as PyTorch's record_stream."""
        self._library.tm_record_use(self._open(), whole(address, "address"),
                                    stream_number(stream))

    def name_tag(self, tag: int, name: str) -> None:
        """Sets the name that recordings give to requests of `tag` from now on."""
        self._library.tm_name_tag(self._open(), whole(tag, "tag", 32), name.encode())

    def end_recording(self) -> None:
        """Ends the recording that `record` started; the context continues to serve requests.
        Closing the context or the end of the process ends it too. Without a recording, or if it has
        ended, this does nothing."""
        self._library.tm_end_recording(self._open())

    def on_oom(self, handler: Optional[Callable[[int, int], bool]]) -> None:
        """Sets a function that is called before a request fails: `handler(bytes, attempt)`.

        It is called on the request's thread, with no lock held. It may free memory, here or
        elsewhere, and returns True to have the request repeated. `attempt` counts from 0 for each
        request. None removes the handler. An exception in it is printed, and the request fails.

        ::

            context.on_oom(lambda bytes, attempt: store.free_bytes(bytes) > 0)
        """
        if handler is None:
            raw = _library.OOM_HANDLER(0)
        else:
            ask = handler
            raw = _library.OOM_HANDLER(lambda _user, bytes, attempt: int(bool(ask(bytes, attempt))))
        self._library.tm_set_oom_handler(self._open(), raw, None)
        self._oom_handler = raw  # replaced last: the previous handler may still be running

    @contextlib.contextmanager
    def acquire_stream(self, *, grow: bool = False,
                       timeout: Optional[float] = None) -> Iterator["OwnStream"]:
        """Lends one of the context's own streams to one user at a time. If all are in use, it
        waits, for at most `timeout` seconds (CancelledError), or creates another one with `grow`.
        The next user gets the stream together with the work that is still queued on it."""
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
        """Releases unused memory to the device; with `wait`, it synchronizes the device first."""
        self._library.tm_trim(self._open(), int(wait))

    def base_of(self, address: int) -> Block:
        """Returns the live allocation that contains `address`. Raises AddressError."""
        raw = _library.tm_block()
        self._library.tm_base_of(self._open(), whole(address, "address"), ctypes.byref(raw))
        return Block(**_fields(Block, raw))

    def statistics(self) -> Statistics:
        """Returns all figures of one moment; other calls wait meanwhile."""
        raw = _library.tm_statistics()
        self._library.tm_statistics_of(self._open(), ctypes.byref(raw))
        return Statistics(**_fields(Statistics, raw))

    def regions(self) -> List[Region]:
        """Returns all regions that the context holds, by address within each segment."""
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
        """Lets the GPU `device` read and write all of the context's memory from now on."""
        self._library.tm_peer_access(self._open(), whole(device, "device", 31))

    def reset_peaks(self) -> None:
        """Resets all peaks to the current values."""
        self._library.tm_reset_peaks(self._open())

    def set_limit(self, bytes: int) -> None:
        """Sets the limit on bytes that are requested and not yet freed; 0 removes it."""
        self._library.tm_set_limit(self._open(), whole(bytes, "limit"))

    @contextlib.contextmanager
    def pool(self, number: int) -> Iterator[int]:
        """Opens a scope of the private pool `number` (any but 0): `with context.pool(1) as pool:`
        and requests with pool=pool. Scopes may be nested and repeated."""
        self._library.tm_pool_begin(self._open(), whole(number, "pool", 32))
        try:
            yield number
        finally:
            self._library.tm_pool_end(self._open(), number)

    def close_pool(self, number: int) -> None:
        """Closes a pool; the next trim releases its memory."""
        self._library.tm_pool_close(self._open(), whole(number, "pool", 32))

    def plan_pool(self, number: int, requests: Sequence[PlannedRequest]) -> None:
        """Announces the pool's requests, in order, before the first of them. With the policy
        arena:mode=planned, blocks that aren't live at the same time then share memory within the
        pool. Requests that differ from the plan get memory of their own and are counted. Raises
        UnsupportedError for policies that can't plan pools."""
        raw = (_library.tm_planned * len(requests))(*[
            _library.tm_planned(one.bytes, one.alignment, one.stream, one.begin, one.end or 0,
                                one.end is None) for one in requests])
        self._library.tm_pool_plan(self._open(), whole(number, "pool", 32), raw, len(requests))

    def export(self, address: int) -> IpcHandle:
        """Returns a handle with which another process maps the memory at `address`. Raises
        UnsupportedError on simulated devices and for policies on virtual memory."""
        raw = _library.tm_ipc_handle()
        self._library.tm_ipc_export(self._open(), whole(address, "address"), ctypes.byref(raw))
        return IpcHandle(int(raw.offset), bytes(raw.bytes))

    def open_ipc(self, handle: IpcHandle) -> int:
        """Maps another process's memory; returns its address, which is valid until close_ipc."""
        raw = _library.tm_ipc_handle(offset=handle.offset)
        ctypes.memmove(raw.bytes, handle.handle, min(len(handle.handle), len(raw.bytes)))
        address = ctypes.c_uint64()
        self._library.tm_ipc_open(self._open(), ctypes.byref(raw), ctypes.byref(address))
        return int(address.value)

    def close_ipc(self, address: int) -> None:
        """Unmaps what open_ipc mapped."""
        self._library.tm_ipc_close(self._open(), whole(address, "address"))

    def buffer(self, bytes: int, stream: Stream = 0, **options: Any) -> "Buffer":
        """Returns a Buffer of `bytes`, freed with its object; `options` are those of alloc."""
        return Buffer(self, bytes, stream, **options)

    def close(self) -> int:
        """Releases unused memory, after calls of other threads and stores on this GPU have ended.
        Live blocks stay valid until the process ends; returns how many there are. Closing it again
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
    """Memory on the device, allocated with the object and freed by `free` or with the object.

    On a GPU it is an array of uint8 for libraries that support __cuda_array_interface__ (version
    3): CuPy, Numba, torch. On a simulated device there is no memory behind it, so it lacks that
    attribute.
    """

    def __init__(self, context: Context, bytes: int, stream: Stream = 0, **options: Any) -> None:
        self.context = context
        self.bytes = bytes
        self.stream = stream_number(stream)
        self._live = False
        self.address = context.alloc(bytes, self.stream, **options)
        self._live = True

    def free(self, stream: Stream = None) -> None:
        """Frees it after the work queued on `stream` (by default, its own stream). Raises
        AddressError if it was already freed."""
        if not self._live:
            raise AddressError("it was already freed", repr(self))
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
        # The memory of a closed context stays until the process ends.
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
    """A stream as an integer: the int itself, __cuda_stream__()'s, or a torch stream's handle."""
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
    raise OptionError(f"{stream!r} isn't a stream", "stream",
                      "an integer, or an object with __cuda_stream__()")


def _fields(kind: Union[Type[Block], Type[Statistics]], raw: Any) -> Dict[str, int]:
    return {field.name: int(getattr(raw, field.name)) for field in dataclasses.fields(kind)}
