"""GPU memory whose bytes may be elsewhere while nobody uses it.

    memory = tidemark.DeferrableMemory(tidemark.Context(), gpu_bytes=8 << 30, host=64 << 30)
    weights = memory.from_array(cupy_array)
    with weights.pin(stream) as pin:      # brought back if it was evicted
        kernel(pin.address)               # or cupy.asarray(pin), torch.from_dlpack(pin)
    weights.defer()                       # or automatically, when others need the room

A buffer keeps its address for its whole lifetime; its bytes are there while it is pinned
(docs/deferrable.md). On a simulated GPU the bytes are memory of this process: NumPy sees a pin as
an array.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import (Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Type, TypeVar,
                    Union)

from tidemark import _arrays, _library
from tidemark._arrays import Shape
from tidemark._buffer_facts import BufferFacts
from tidemark._controller import Controller, ControllerThread, ControllerWarning
from tidemark._pin_recording import PinRecording
from tidemark._spec import whole
from tidemark._waits import limited, stop_with
from tidemark.context import Context, Stream, stream_number
from tidemark.errors import NotFoundError, OptionError
from tidemark.store import MODES, PATIENT, TIERS, Store, StoredBuffer, _AccessHandle

__all__ = ["BufferFacts", "Controller", "ControllerWarning", "DeferrableBuffer",
           "DeferrableMemory", "DeferrableStatistics", "Pin"]

STATES = ("resident", "pinned", "deferring", "deferred", "retrieving", "freed")
ANSWERS = ("deferred", "busy", "away", "no room")
PATIENT, KEEPS_ADDRESS, MAKE_ROOM = 1, 4, 8
CONTROLLER_PATIENCE = 0.05  # seconds, as the library's default
COPIES_AT_ONCE = 4

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class DeferrableStatistics:
    """Figures of all buffers at one moment, and counts since the memory was opened."""

    buffers: int
    bytes: int
    resident: int  # of the buffers
    resident_bytes: int
    pins: int  # currently
    uses: int  # pins in total, of the buffers that exist
    waited: int  # pins that had to wait
    deferrals: int
    retrievals: int
    failures: int
    pressures: int  # reported to the controller
    unrelieved: int  # of these, how many left too little room
    lost_events: int


class Pin:
    """The right to use a buffer at its address, until its `with` block ends, `release` is called,
    or the object is deleted.

    Arrays over its memory keep the pin: arrays from NumPy (on a simulated GPU) and DLPack until
    they are deleted; an array from `__cuda_array_interface__` holds the pin itself, which lasts
    until both are deleted.
    """

    def __init__(self, buffer: "DeferrableBuffer", handle: _AccessHandle, address: int) -> None:
        self.buffer = buffer
        self._handle: Optional[_AccessHandle] = handle
        self._address = address
        self._shown = False

    @property
    def address(self) -> int:
        """Where its bytes are. Raises OptionError if the pin has ended."""
        self._held()
        return self._address

    def release(self) -> None:
        """Ends the pin after the work queued on its stream so far, even if arrays still use it."""
        handle, self._handle = self._handle, None
        stream = handle.__dict__.pop("recorded_on", None) if handle is not None else None
        recording = self.buffer.memory._recording
        if stream is not None and recording is not None:
            recording.unpinned(stream)

    def view(self) -> memoryview:
        """Returns its bytes, on a simulated GPU: memory of this process. The view keeps the pin.
        Raises OptionError on a real GPU."""
        if not self.buffer.memory.is_simulated:
            raise OptionError("the process can't access a GPU's memory", "tidemark.Pin.view",
                              "use DLPack or __cuda_array_interface__")
        owner = (ctypes.c_uint8 * self.buffer.size).from_address(self.address)
        owner.pin = self._held()  # type: ignore[attr-defined]
        return memoryview(owner).cast("B")

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        import numpy

        array = numpy.frombuffer(self.view(), self.buffer.typestr,
                                 _arrays.count_of(self.buffer.shape))
        array = array.reshape(self.buffer.shape)
        if dtype is not None and dtype != array.dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        if self.buffer.memory.is_simulated or self._handle is None:
            raise AttributeError("a simulated GPU has no CUDA memory, and this pin may have ended")
        self._shown = True
        return {"version": 3, "shape": self.buffer.shape, "typestr": self.buffer.typestr,
                "strides": None, "data": (self.address, False), "stream": None}

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self.buffer.memory._device

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
                   copy: Optional[bool] = None) -> Any:
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("a pin can't copy its memory to make a DLPack capsule")
        source = _arrays.Source(self.address, self.buffer.shape, self.buffer.typestr,
                                self._held())
        return _arrays.capsule_of(source, self.__dlpack_device__())

    def _held(self) -> _AccessHandle:
        handle = self._handle
        if handle is None:
            raise OptionError("this pin has ended", repr(self.buffer), "pin it again")
        return handle

    def __enter__(self) -> "Pin":
        return self

    def __exit__(self, _kind: Optional[Type[BaseException]], _error: Optional[BaseException],
                 _trace: Optional[TracebackType]) -> None:
        if not self._shown:
            self.release()


class DeferrableBuffer(StoredBuffer):
    """A buffer of a `DeferrableMemory`, freed by `destroy` or with its object.

    Attributes
    ----------
    memory : DeferrableMemory
    number : int
        Identifies the buffer; the memory never reuses it.
    size : int
        Bytes.
    shape, typestr
        Shape and element type of arrays over it.
    address : int
        The same for its whole lifetime; its bytes are there while it is pinned.
    tag : object
        A value for the program's own purposes.
    """

    def __init__(self, memory: "DeferrableMemory", number: int, shape: Shape, typestr: str,
                 tag: Any) -> None:
        super().__init__(memory, number,
                         _arrays.count_of(shape) * _arrays.item_size(typestr))
        self.memory = memory
        self.number = number
        self.shape = shape
        self.typestr = typestr
        self.tag = tag
        self.address = memory._look(number).address

    def pin(self, stream: Stream = 0, mode: str = "pin", *,
            patience: Optional[float] = None) -> Pin:
        """Pins this buffer, as `DeferrableMemory.pin` does."""
        return self.memory._pin((self,), mode, stream, patience)[0]

    def facts(self) -> BufferFacts:
        """Returns the buffer's current state. Raises NotFoundError if it was freed."""
        return self.memory._facts(self.memory._look(self.number))

    @property
    def state(self) -> str:
        """"resident", "pinned", "deferring", "deferred", "retrieving" or "freed"."""
        try:
            return self.facts().state
        except NotFoundError:
            return "freed"

    def defer(self, wait: bool = True, *, timeout: Optional[float] = None) -> str:
        """Moves the buffer's bytes off the GPU and waits for the copy. Returns "deferred"; "busy"
        if it is pinned, or if without `wait` work on it is still running; "away" if it wasn't on
        the GPU; or "no room" if the slower tiers are full."""
        self._note_move("host")
        with limited(timeout):
            return self.memory._defer(self.number, wait)

    def begin_defer(self) -> "Future[str]":
        """Starts `defer` in the background; returns a Future with its result."""
        self._note_move("host")
        return self.memory._submit(_defer, self.memory._open(), self.number)

    def retrieve(self, make_room: bool = True) -> "Future[None]":
        """Brings it back in the background, without keeping it there; returns a Future. Without
        `make_room`, it uses only room that is already free."""
        self._note_move("gpu")
        return self.memory._submit(_retrieve, self.memory._open(), self.number, make_room)

    def tobytes(self) -> bytes:
        """Returns its bytes. A deferred buffer isn't brought back to the GPU for this."""
        if self.facts().pins == 0:
            with self.access("host", "read", patient=False) as access:
                return b"".join(bytes(view) for view in access.views())[:self.size]
        with self.pin(mode="read") as pin:
            target = ctypes.create_string_buffer(self.size)
            self.memory._copy(ctypes.addressof(target), pin.address, self.size, 0)
            return target.raw

    def write(self, array: Any, stream: Stream = 0) -> None:
        """Copies an array's bytes, or a bytes object, to the start of the buffer. Raises
        OptionError if they don't fit."""
        source = _arrays.source_of(array)
        size = _arrays.count_of(source.shape) * _arrays.item_size(source.typestr)
        if size > self.size:
            raise OptionError(f"{size} bytes don't fit", repr(self), f"it has {self.size}")
        with self.pin(stream) as pin:
            self.memory._copy(pin.address, source.address, size, stream_number(stream))

    def __reduce__(self) -> Any:
        return _unpickled, (self.tobytes(), self.shape, self.typestr, self.tag)

    def __del__(self) -> None:
        memory = self.__dict__.get("memory")
        handle = memory._handle if memory is not None else None
        if handle is not None and handle.is_here and not self._ended:
            with contextlib.suppress(NotFoundError, OptionError):
                self.destroy()

    _ended = False

    def destroy(self) -> None:
        """Frees the buffer, or, if it is pinned, frees it when its last pin ends."""
        super().destroy()
        self._ended = True
        if self.memory._recording is not None:
            self.memory._recording.freed(self.number)

    def _note_move(self, tier: str) -> None:
        if self.memory._recording is not None:
            self.memory._recording.moved(self.number, tier)

    def __repr__(self) -> str:
        return (f"<tidemark.DeferrableBuffer {self.number} {self.typestr}{list(self.shape)} at "
                f"{self.address:#x}>")


class DeferrableMemory(Store):
    """Buffers on a GPU that move to host memory and files while nobody uses them.

    Parameters
    ----------
    gpu : Context
        A GPU, or a simulated one.
    gpu_bytes : int
        Bytes of its memory that the buffers may use.
    host : int
        Bytes of pinned host memory.
    directory : path, optional
        For files, which are deleted when the memory is closed.
    disk : int
        The most bytes of files; 0 = as much as the disk has.
    victims : str or Controller, optional
        Chooses which buffer is evicted: a policy's name ("lru" and others, `tidemark victims`), an
        object with the functions of `Controller`, or a class of such objects that is created
        without arguments.
    controller_patience : float
        Seconds that a controller has to make room before the built-in policy does.
    spill_start, spill_stop : float
        As for `Store`.
    """

    def __init__(self, gpu: Context, gpu_bytes: int, host: int,
                 directory: Union[None, str, "os.PathLike[str]"] = None, *, disk: int = 0,
                 victims: Union[None, str, Controller, Type[Controller]] = None,
                 controller_patience: float = CONTROLLER_PATIENCE,
                 spill_start: float = 0, spill_stop: float = 0) -> None:
        self._known: "weakref.WeakValueDictionary[int, DeferrableBuffer]" = \
            weakref.WeakValueDictionary()
        self._executor: Optional[ThreadPoolExecutor] = None
        self._executor_lock = threading.Lock()
        self._stopping = threading.Event()
        self._at_close: List[Callable[[], object]] = []
        self._recording: Optional[PinRecording] = None
        self._machine = gpu.machine
        self._controller: Optional[ControllerThread] = None
        named = victims if isinstance(victims, str) or victims is None else None
        super().__init__(host, directory, disk=disk, gpu=gpu, gpu_bytes=gpu_bytes, victims=named,
                         controller_patience=controller_patience, spill_start=spill_start,
                         spill_stop=spill_stop)
        self.is_simulated = gpu.is_simulated
        """Whether the GPU is simulated, so that its memory is memory of this process."""
        self.has_files = directory is not None
        """Whether buffers that are evicted from host memory go to files."""
        ordinal = 0 if self.is_simulated else int(gpu.machine.partition(":")[2] or 0)
        self._device = (_arrays.CPU, 0) if self.is_simulated else (_arrays.CUDA, ordinal)
        if named is None and victims is not None:
            controller = victims() if isinstance(victims, type) else victims
            self._controller = ControllerThread(self, controller, controller_patience)

    # Buffers.

    def empty(self, shape: Union[int, Sequence[int]], dtype: Any = "|u1", *,
              tag: Any = None, timeout: Optional[float] = None) -> DeferrableBuffer:
        """Returns a new buffer for an array, with undefined content. If no other buffer can be
        evicted for it, the call waits until pins end, for at most `timeout` seconds
        (CancelledError); the default is 30."""
        extents = (shape,) if isinstance(shape, int) else tuple(int(one) for one in shape)
        typestr = _arrays.typestr_of(dtype)
        size = whole(_arrays.count_of(extents) * _arrays.item_size(typestr), "shape")
        number = ctypes.c_uint64()
        with limited(timeout):
            _library.library().tm_buffer_create(self._open(), size, TIERS.index("gpu"),
                                                KEEPS_ADDRESS | PATIENT, 0, ctypes.byref(number))
        made = DeferrableBuffer(self, number.value, extents, typestr, tag)
        self._known[made.number] = made
        if self._recording is not None:
            self._recording.created(made.number, made.size, made.tag)
        return made

    def from_array(self, array: Any, *, stream: Stream = 0, tag: Any = None) -> DeferrableBuffer:
        """Returns a new buffer with a copy of an array of CuPy, Numba, torch or NumPy, or of a
        bytes object."""
        source = _arrays.source_of(array)
        made = self.empty(source.shape, source.typestr, tag=tag)
        made.write(array, stream)
        return made

    def buffer(self, number: int) -> DeferrableBuffer:
        """Returns the buffer with that number. Raises NotFoundError."""
        try:
            return self._known[number]
        except KeyError:
            raise NotFoundError(f"there is no buffer {number}", "tidemark.DeferrableMemory") \
                from None

    def at(self, address: int) -> DeferrableBuffer:
        """Returns the buffer whose addresses include `address`, wherever its bytes are."""
        number = ctypes.c_uint64()
        _library.library().tm_buffer_at(self._open(), whole(address, "address"),
                                        ctypes.byref(number))
        return self.buffer(number.value)

    def buffers(self) -> List[BufferFacts]:
        """Returns the states of all buffers at one moment."""
        count = ctypes.c_size_t()
        handle = self._open()
        _library.library().tm_store_deferrables(handle, None, 0, ctypes.byref(count))
        while True:
            facts = (_library.tm_buffer_facts * max(1, count.value))()
            _library.library().tm_store_deferrables(handle, facts, len(facts),
                                                    ctypes.byref(count))
            if count.value <= len(facts):
                return [self._facts(one) for one in facts[:count.value]]

    # Pins.

    @contextlib.contextmanager
    def pin(self, *buffers: DeferrableBuffer, stream: Stream = 0, mode: str = "pin",
            patience: Optional[float] = None) -> Iterator[List[Pin]]:
        """Pins all of the buffers at their addresses, or none of them; deferred ones are brought
        back. After the block they may be evicted, as soon as the work that is queued on `stream` by
        then is done.

        Parameters
        ----------
        mode : str
            "read" keeps the copies in other tiers valid, so that the next eviction may need no
            copy; "pin" and "write" don't. In every mode, others can pin the buffers too.
        patience : float, optional
            Seconds to wait until others make room (CancelledError); the default is 30.
        """
        pins = self._pin(buffers, mode, stream, patience)
        try:
            yield pins
        finally:
            for pin in pins:
                pin.__exit__(None, None, None)

    def prefetch(self, *buffers: DeferrableBuffer,
                 budget: Optional[int] = None) -> "List[Future[None]]":
        """Brings buffers back in the background, in order, into room that is free, and at most
        `budget` bytes of them. Returns a Future for each buffer that it started."""
        begun = []
        for buffer in buffers:
            if budget is not None and (budget := budget - buffer.size) < 0:
                break
            begun.append(buffer.retrieve(make_room=False))
        return begun

    @contextlib.contextmanager
    def record(self, path: Union[str, "os.PathLike[str]"],
               overwrite: bool = False) -> Iterator[None]:
        """Records which buffers are created, pinned, deferred and freed during the block, as JSON
        Lines: a trace whose kernels are the pins. `tidemark replay FILE --gpu-memory 8GiB --spill
        lru` says what less memory or another policy would have cost. Pins that are made from other
        languages aren't recorded. An existing file is overwritten only with `overwrite`."""
        if self._recording is not None:
            raise OptionError("it is already being recorded", "tidemark.DeferrableMemory.record",
                              "end that recording first")
        self._recording = PinRecording(path, self._machine, self.buffers(), overwrite)
        try:
            yield
        finally:
            recording, self._recording = self._recording, None
            recording.close()

    def stream_ended(self, stream: Stream) -> None:
        """Says that the stream gets no more work; its handle may be reused for another stream."""
        _library.library().tm_stream_ended(self._open(), stream_number(stream))

    def statistics(self) -> DeferrableStatistics:
        """Returns all figures of one moment."""
        raw = _library.tm_deferrable_statistics()
        _library.library().tm_store_statistics(self._open(), ctypes.byref(raw))
        return DeferrableStatistics(**{field.name: int(getattr(raw, field.name))
                                       for field in dataclasses.fields(DeferrableStatistics)})

    @property
    def controller_failure(self) -> Optional[BaseException]:
        """The exception that ended the controller, if it failed."""
        return self._controller.failure if self._controller is not None else None

    def close(self, timeout: Optional[float] = None) -> None:
        """Cancels waiting pins (CancelledError), and frees all buffers when their pins and arrays
        have ended, as `Store.close` does. Closing it again does nothing."""
        while self._at_close:
            self._at_close.pop()()
        handle = self._handle
        if handle is not None:
            _library.library().tm_store_stop(handle)
            del handle
        if self._controller is not None:
            self._controller.stop()
            self._controller = None
        with self._executor_lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            self._stopping.set()  # the executor's threads might otherwise wait without end
            executor.shutdown(wait=True, cancel_futures=True)
        super().close(timeout)

    def make_default(self) -> None:
        """Makes this the memory in which unpickled buffers of this process are created."""
        global _default
        _default = weakref.ref(self)

    # What the objects call.

    def _pin(self, buffers: Sequence[DeferrableBuffer], mode: str, stream: Stream,
             patience: Optional[float]) -> List[Pin]:
        if mode not in MODES or mode == "overwrite":
            raise OptionError(f"there is no pin to '{mode}'", "mode", "read, write or pin")
        numbers = (ctypes.c_uint64 * len(buffers))(*(one.number for one in buffers))
        handle = _AccessHandle()
        try:
            with limited():
                _library.library().tm_buffer_pin(
                    self._open(), numbers, len(buffers), MODES.index(mode), stream_number(stream),
                    0 if patience is None else max(1, int(patience * 1e9)), ctypes.byref(handle))
        finally:
            if self._controller is not None:
                self._controller.look()
        if self._recording is not None:
            self._recording.pinned([one.number for one in buffers], mode,
                                   stream_number(stream))
            handle.__dict__["recorded_on"] = stream_number(stream)
        return [Pin(one, handle, one.address) for one in buffers]

    def _look(self, number: int) -> Any:
        raw = _library.tm_buffer_facts()
        _library.library().tm_buffer_look(self._open(), number, ctypes.byref(raw))
        return raw

    def _facts(self, raw: Any) -> BufferFacts:
        known = self._known.get(raw.buffer)
        return BufferFacts(int(raw.buffer), int(raw.bytes), int(raw.address), STATES[raw.state],
                           TIERS[raw.tier] if raw.tier >= 0 else None, int(raw.pins),
                           int(raw.uses), known.tag if known is not None else None)

    def _defer(self, number: int, wait: bool) -> str:
        return _defer(self._open(), number, wait)

    def _submit(self, function: "Callable[..., T]", *arguments: Any) -> "Future[T]":
        with self._executor_lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(COPIES_AT_ONCE, "tidemark-deferrable",
                                                    stop_with, (self._stopping,))
            return self._executor.submit(function, *arguments)

    def _copy(self, target: int, source: int, size: int, stream: int) -> None:
        _library.library().tm_store_copy(self._open(), target, source, size, stream, 1)


_default: "Optional[weakref.ref[DeferrableMemory]]" = None


def _defer(handle: Any, number: int, wait: bool = True) -> str:
    answer = ctypes.c_int()
    _library.library().tm_buffer_defer(handle, number, PATIENT if wait else 0,
                                       ctypes.byref(answer))
    return ANSWERS[answer.value]


def _retrieve(handle: Any, number: int, make_room: bool) -> None:
    _library.library().tm_buffer_retrieve(handle, number, MAKE_ROOM if make_room else 0)


def _unpickled(content: bytes, shape: Shape, typestr: str, tag: Any) -> DeferrableBuffer:
    memory = _default() if _default is not None else None
    if memory is None:
        raise OptionError("this process has no default memory for it", "tidemark.DeferrableBuffer",
                          "call make_default() of a DeferrableMemory first")
    made = memory.empty(shape, typestr, tag=tag)
    made.write(content)
    return made
