"""CuPy's device memory from Tidemark.

    import tidemark.cupy
    tidemark.cupy.use()

Memory is granted on the stream that is CuPy's current one, and freed on the same, as by CuPy's own
pool, whether that stream is still there or not. `memory_pool()` is CuPy's MemoryPool above
Tidemark's memory: with its hooks, and its caching.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

from tidemark import _pools
from tidemark.context import STREAM_OF_REQUEST
from tidemark.errors import Error, OutOfMemoryError

__all__ = ["Allocator", "allocator", "memory_pool", "use"]

NAME = "cupy"


class Block:
    """Owns one allocation: CuPy drops it when no array uses the memory any more."""

    __slots__ = ("client", "address", "size", "stream", "current", "failures")

    def __init__(self, client: _pools.Client, size: int, current: Callable[[], Any]) -> None:
        self.client = client
        self.size = size
        self.stream = current().ptr
        self.current = current
        self.failures = Error  # the module may be gone when the last array goes
        self.address = 0
        self.address = client.alloc(size, self.stream)

    def __del__(self, gone: int = STREAM_OF_REQUEST) -> None:
        if self.address:
            # CuPy keeps the current stream; any other may be destroyed by now.
            is_there = self.stream <= 1 or self.current().ptr == self.stream
            try:
                self.client.free(self.address, self.size, self.stream if is_there else gone)
            except self.failures:
                pass


class Allocator:
    """What cupy.cuda.set_allocator takes; its functions are those of CuPy's MemoryPool, for the
    current device."""

    def __init__(self) -> None:
        from cupy import cuda

        self._cuda = cuda
        self._clients: Dict[int, _pools.Client] = {}

    def malloc(self, size: int) -> Any:
        """A cupy.cuda.MemoryPointer. Raises CuPy's OutOfMemoryError."""
        cuda = self._cuda
        device = cuda.runtime.getDevice()
        client = self._clients.get(device) or self._client()
        try:
            block = Block(client, size, cuda.get_current_stream)
        except OutOfMemoryError:
            held = client.holder()
            raise cuda.memory.OutOfMemoryError(size, held.bytes, held.quota) from None
        memory = cuda.UnownedMemory(block.address, size, block, device)
        return cuda.MemoryPointer(memory, 0)

    __call__ = malloc

    def used_bytes(self) -> int:
        """What CuPy's arrays hold."""
        return self._client().holder().bytes

    def total_bytes(self) -> int:
        """What the pool, which other libraries may share, holds of the device."""
        return self._client().context.statistics().reserved

    def free_bytes(self) -> int:
        """Of that, what nobody uses."""
        now = self._client().context.statistics()
        return now.reserved - now.active

    def free_all_blocks(self, stream: Any = None) -> None:
        """Gives back to the device what nobody uses."""
        self._client().context.trim(wait=True)

    def set_limit(self, size: Optional[int] = None, fraction: Optional[float] = None) -> None:
        """On what CuPy's arrays hold: bytes, or of the device's memory. 0: none."""
        client = self._client()
        if fraction is not None:
            size = int(fraction * client.context.statistics().device_total)
        client.set_quota(size or 0)

    def get_limit(self) -> int:
        return self._client().holder().quota

    def _client(self) -> _pools.Client:
        device = self._cuda.runtime.getDevice()
        return self._clients.setdefault(device, _pools.client(NAME, device))


def allocator() -> Allocator:
    """A function for cupy.cuda.set_allocator and using_allocator."""
    return Allocator()


def memory_pool() -> Any:
    """CuPy's MemoryPool above it: `cupy.cuda.set_allocator(memory_pool().malloc)`."""
    from cupy import cuda

    return cuda.MemoryPool(Allocator())


def use() -> Allocator:
    """Has CuPy take its memory from Tidemark from now on."""
    from cupy import cuda

    made = Allocator()
    cuda.set_allocator(made.malloc)
    return made
