"""Tensors in deferrable memory: at one address for life, on the GPU while they are used."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Dict, Iterator, List, Optional

import torch

from tidemark._arrays import typestr_of
from tidemark.deferrable import DeferrableBuffer, DeferrableMemory, Pin

MINIMUM = 1 << 20  # bytes of a tensor that is worth its pages


class _Shown:
    """Bytes on a GPU for torch, which keeps the buffer and not a pin."""

    def __init__(self, buffer: DeferrableBuffer) -> None:
        self._buffer = buffer
        self.__cuda_array_interface__ = {
            "version": 3, "shape": (buffer.size,), "typestr": "|u1", "strides": None,
            "data": (buffer.address, False)}


def tensor_of(buffer: DeferrableBuffer, dtype: Any) -> Any:
    """A tensor at the buffer's address, to be used while it is pinned; it keeps the buffer."""
    if buffer.memory.is_simulated:
        owner = (ctypes.c_uint8 * buffer.size).from_address(buffer.address)
        owner.buffer = buffer  # type: ignore[attr-defined]
        flat = torch.frombuffer(owner, dtype=torch.uint8)
    else:
        flat = torch.as_tensor(_Shown(buffer), device=f"cuda:{buffer.memory._device[1]}")
    return flat.view(dtype).view(buffer.shape)


class DeferredTensors:
    """Tensors whose bytes leave the GPU between their uses.

    Parameters
    ----------
    memory : DeferrableMemory
    minimum : int
        Bytes of a tensor that is worth it; smaller ones stay as they are.
    """

    def __init__(self, memory: DeferrableMemory, minimum: int = MINIMUM) -> None:
        self.memory = memory
        self._minimum = minimum
        self._buffers: Dict[int, DeferrableBuffer] = {}  # by their addresses
        self._pins: List[Pin] = []
        self._hooks: List[Any] = []

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return sum(buffer.size for buffer in self._buffers.values())

    def adopt(self, tensor: Any) -> bool:
        """Moves a tensor's content into deferrable memory; the object stays the same. From here on
        it is used between `pin` and `unpin`, or in `pinned`. False: it is there already, too small,
        or not of this memory's kind."""
        of_kind = tensor.is_cuda != self.memory.is_simulated
        size = tensor.numel() * tensor.element_size()
        if not of_kind or size < self._minimum or tensor.data_ptr() in self._buffers:
            return False
        buffer = self.memory.empty(tuple(tensor.shape), typestr_of(tensor.dtype))
        with buffer.pin(self._stream()):
            moved = tensor_of(buffer, tensor.dtype)
            moved.copy_(tensor.detach())
            tensor.data = moved
        self._buffers[buffer.address] = buffer
        return True

    def pin(self) -> None:
        """All of them are on the GPU from here on, for work of the current stream; they must fit
        together."""
        if self._buffers and not self._pins:
            self._pins = self.memory._pin(tuple(self._buffers.values()), "pin", self._stream(),
                                          None)

    def unpin(self) -> None:
        """They leave in the background, after the work that is queued on the stream of `pin`."""
        pinned = bool(self._pins)
        while self._pins:
            self._pins.pop().release()
        if pinned:
            for buffer in self._buffers.values():
                buffer.begin_defer()

    @contextlib.contextmanager
    def pinned(self) -> Iterator[None]:
        """They are on the GPU meanwhile: for saving and loading."""
        held = bool(self._pins)
        self.pin()
        try:
            yield
        finally:
            if not held:
                self.unpin()

    def follow(self, optimizer: Any) -> None:
        """Pins around each step of an optimizer, and adopts its state after the first."""

        def before(*_arguments: Any) -> None:
            self.pin()

        def after(*_arguments: Any) -> None:
            for state in optimizer.state.values():
                for value in state.values():
                    if isinstance(value, torch.Tensor):
                        self.adopt(value)
            self.unpin()

        self._hooks += [optimizer.register_step_pre_hook(before),
                        optimizer.register_step_post_hook(after)]

    def close(self) -> None:
        """Follows optimizers no more. The tensors stay where they are, pinned."""
        while self._hooks:
            self._hooks.pop().remove()
        self.pin()

    def _stream(self) -> int:
        if self.memory.is_simulated:
            return 0
        return int(torch.cuda.current_stream(self.memory._device[1]).cuda_stream)


def defer_optimizer(optimizer: Any, memory: DeferrableMemory,
                    minimum: Optional[int] = None) -> DeferredTensors:
    """See tidemark.torch.defer_optimizer."""
    deferred = DeferredTensors(memory, MINIMUM if minimum is None else minimum)
    deferred.follow(optimizer)
    return deferred
