"""Tensors in deferrable memory: their address never changes, and they are on the GPU while used."""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from typing import Any, Callable, Iterable, Iterator, List, Optional, Sequence

import torch

from tidemark.deferrable import DeferrableBuffer, DeferrableMemory

MINIMUM = 1 << 20  # bytes of the smallest tensor that is worth moving

# By address, while their tensors exist.
_buffers: "weakref.WeakValueDictionary[int, DeferrableBuffer]" = weakref.WeakValueDictionary()


class _Shown:
    """Shows a buffer's bytes to torch as a CUDA array. It keeps the buffer alive, but unpinned."""

    def __init__(self, buffer: DeferrableBuffer) -> None:
        self._buffer = buffer
        self.__cuda_array_interface__ = {
            "version": 3, "shape": (buffer.size,), "typestr": "|u1", "strides": None,
            "data": (buffer.address, False)}


def tensor_of(buffer: DeferrableBuffer, dtype: Any, shape: Any) -> Any:
    """A tensor at the buffer's address, to use while the buffer is pinned; it keeps the buffer."""
    if buffer.memory.is_simulated:
        owner = (ctypes.c_uint8 * buffer.size).from_address(buffer.address)
        owner.buffer = buffer  # type: ignore[attr-defined]
        flat = torch.frombuffer(owner, dtype=torch.uint8)
    else:
        flat = torch.as_tensor(_Shown(buffer), device=f"cuda:{buffer.memory._device[1]}")
    return flat.view(dtype).view(shape)


def buffer_of(tensor: Any) -> Optional[DeferrableBuffer]:
    """The buffer that has the tensor's bytes, if there is one."""
    return _buffers.get(tensor.data_ptr())


def buffers_of(tensors: Iterable[Any]) -> List[DeferrableBuffer]:
    """The buffers of the tensors, without repetitions."""
    found = (buffer_of(tensor) for tensor in tensors)
    return list({one.number: one for one in found if one is not None}.values())


def adopt(memory: DeferrableMemory, tensor: Any, minimum: int) -> bool:
    """Moves a tensor's content into deferrable memory; the tensor object stays the same. From now
    on, its buffer must be pinned while it is used. Returns False if the tensor is already there,
    too small, not contiguous, or on another device than this memory."""
    of_kind = not tensor.is_cuda if memory.is_simulated else \
        tensor.is_cuda and tensor.device.index == memory._device[1]
    size = tensor.numel() * tensor.element_size()
    if not of_kind or size < max(1, minimum) or not tensor.is_contiguous() \
            or buffer_of(tensor) is not None:
        return False
    buffer = memory.empty(size)
    with buffer.pin(stream_of(memory)):
        moved = tensor_of(buffer, tensor.dtype, tuple(tensor.shape))
        moved.copy_(tensor.detach())
        tensor.data = moved
    _buffers[buffer.address] = buffer
    return True


def host_copy(tensor: Any) -> Any:
    """A copy in host memory, read from wherever the bytes are; it needs no room on the GPU."""
    buffer = buffer_of(tensor)
    assert buffer is not None
    flat = torch.frombuffer(bytearray(buffer.tobytes()), dtype=torch.uint8)
    return flat.view(tensor.dtype).view(tuple(tensor.shape))


def stream_of(memory: DeferrableMemory) -> int:
    """The handle of the current stream."""
    if memory.is_simulated:
        return 0
    return int(torch.cuda.current_stream(memory._device[1]).cuda_stream)


class Held:
    """Buffers that are pinned together until `release`. An eviction then waits for the work of the
    stream that was current when they were pinned."""

    def __init__(self, memory: DeferrableMemory, buffers: Sequence[DeferrableBuffer],
                 mode: str = "pin", stream: Optional[int] = None) -> None:
        on = stream_of(memory) if stream is None else stream
        self._pins = memory._pin(tuple(buffers), mode, on, None) if buffers else []

    def release(self) -> None:
        while self._pins:
            self._pins.pop().release()


class DeferredTensors:
    """Tensors of an optimizer or a module whose bytes are off the GPU between their uses.

    Attributes
    ----------
    memory : DeferrableMemory
    """

    def __init__(self, memory: DeferrableMemory) -> None:
        self.memory = memory
        self._hooks: List[Any] = []
        self._endless: Optional[Held] = None

    def tensors(self) -> Iterator[Any]:
        """Yields all tensors that could be deferred."""
        raise NotImplementedError

    def buffers(self) -> List[DeferrableBuffer]:
        """The buffers that have their bytes."""
        return buffers_of(self.tensors())

    @property
    def size(self) -> int:
        """The bytes of those tensors that are in deferrable memory."""
        return sum(buffer.size for buffer in self.buffers())

    @contextlib.contextmanager
    def pinned(self) -> Iterator[None]:
        """Keeps all of them on the GPU during the block, for code that uses them outside of a step
        or a module's call. They must fit together (SpaceError)."""
        held = Held(self.memory, self.buffers())
        try:
            yield
        finally:
            held.release()

    def close(self) -> None:
        """Stops deferring. The tensors stay at their addresses, pinned. If they don't fit together,
        it raises SpaceError, and nothing changes."""
        if self._endless is None:
            self._endless = Held(self.memory, self.buffers())
        while self._hooks:
            self._hooks.pop().remove()


def defer_on_oom(memory: DeferrableMemory, function: Callable[..., Any], *arguments: Any,
                 **named: Any) -> Any:
    """See tidemark.torch.defer_on_oom."""
    try:
        return function(*arguments, **named)
    except torch.OutOfMemoryError as refusal:
        first = refusal.with_traceback(None)  # the traceback keeps the failed call's tensors
    if memory.free_bytes(memory.counters("gpu").capacity) == 0:
        raise first
    torch.cuda.empty_cache()
    return function(*arguments, **named)
