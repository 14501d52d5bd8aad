"""Makes Tidemark the source of CuPy's device memory.

    import tidemark.cupy
    tidemark.cupy.use()

Memory is allocated on CuPy's current stream and freed on the same stream, as in CuPy's own pool,
even if that stream has been destroyed by then. `memory_pool()` returns CuPy's MemoryPool on top of
Tidemark's memory, with its hooks and its caching.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

from tidemark import _pools
from tidemark.context import STREAM_OF_REQUEST
from tidemark.errors import Error, OutOfMemoryError

__all__ = ["Allocator", "allocator", "memory_pool", "use"]

NAME = "cupy"


class Block:
    """Owns one allocation: CuPy drops it when no array uses the memory any longer."""

    __slots__ = ("client", "address", "size", "stream", "current", "failures")

    def __init__(self, client: _pools.Client, size: int, current: Callable[[], Any]) -> None:
        self.client = client
        self.size = size
        self.stream = current().ptr
        self.current = current
        self.failures = Error  # the module may be gone when the last array is deleted
        self.address = 0
        self.address = client.alloc(size, self.stream)

    def __del__(self, gone: int = STREAM_OF_REQUEST) -> None:
        if self.address:
            # CuPy keeps the current stream alive; any other may have been destroyed.
            is_there = self.stream <= 1 or self.current().ptr == self.stream
            try:
                self.client.free(self.address, self.size, self.stream if is_there else gone)
            except self.failures:
                pass


class Allocator:
    """An allocator for cupy.cuda.set_allocator. Its functions are those of CuPy's MemoryPool and
    apply to the current device."""

    def __init__(self) -> None:
        from cupy import cuda

        self._cuda = cuda
        self._clients: Dict[int, _pools.Client] = {}

    def malloc(self, size: int) -> Any:
        """Allocates `size` bytes and returns a cupy.cuda.MemoryPointer. Raises CuPy's
        OutOfMemoryError."""
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
        """Returns the bytes that CuPy's arrays hold."""
        return self._client().holder().bytes

    def total_bytes(self) -> int:
        """Returns the bytes that the pool has reserved; other libraries may share the pool."""
        return self._client().context.statistics().reserved

    def free_bytes(self) -> int:
        """Returns the reserved bytes that nobody uses."""
        now = self._client().context.statistics()
        return now.reserved - now.active

    def free_all_blocks(self, stream: Any = None) -> None:
        """Releases unused memory to the device, after waiting for it."""
        self._client().context.trim(wait=True)

    def set_limit(self, size: Optional[int] = None, fraction: Optional[float] = None) -> None:
        """Limits what CuPy's arrays may hold: to `size` bytes, or to a fraction of the device's
        memory. 0 removes the limit."""
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
    """Returns an allocator for cupy.cuda.set_allocator and using_allocator."""
    return Allocator()


def memory_pool() -> Any:
    """Returns CuPy's MemoryPool on top of it: `cupy.cuda.set_allocator(memory_pool().malloc)`."""
    from cupy import cuda

    return cuda.MemoryPool(Allocator())


def use() -> Allocator:
    """Makes CuPy use Tidemark's memory from now on; returns the allocator."""
    from cupy import cuda

    made = Allocator()
    cuda.set_allocator(made.malloc)
    return made
