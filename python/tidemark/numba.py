"""Numba's device memory from Tidemark.

    NUMBA_CUDA_MEMORY_MANAGER=tidemark.numba python program.py

or `tidemark.numba.use()` before Numba makes its first context. Memory lies in pieces of cudaMalloc
then (policy torch), so that other processes can open it; TIDEMARK_NUMBA_POLICY names another
policy, and after `tidemark.use(...)` Numba shares the pool of the other libraries. Under policies
on virtual memory `get_ipc_handle` is refused.

Frees are made at once; TIDEMARK_NUMBA_POLICY=torch:defer_frees=10 makes them in batches, as Numba's
own memory manager does, and the context's `statistics().deferred` says what waits.

Numba names no stream: memory is granted and freed as of a stream that nobody knows. While a
`cuda.defer_cleanup()` is open nothing is freed, unless a request would be out of memory.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from typing import Any, Dict, Iterator, List, Optional, Tuple

from tidemark import _pools
from tidemark.context import STREAM_UNKNOWN
from tidemark.errors import Error, OutOfMemoryError

__all__ = ["use"]

NAME = "numba"
POLICY = "TIDEMARK_NUMBA_POLICY"
OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY

_plugin: Optional[type] = None


def policy() -> Optional[str]:
    """The policy of Numba's own context; None: it shares that of all libraries."""
    return os.environ.get(POLICY) or (None if _pools.chosen() else "torch")


class Holding:
    """What a context of Numba holds, from one reset to the next."""

    def __init__(self, client: _pools.Client) -> None:
        self.client = client
        self.deferred = 0
        self._live: Dict[int, int] = {}  # address -> bytes
        self._waiting: List[Tuple[int, int]] = []

    def alloc(self, size: int) -> int:
        address = self.client.alloc(size, STREAM_UNKNOWN, unique_empty=True)
        self._live[address] = size
        return address

    def free(self, address: int) -> None:
        """Nothing after a reset. It never raises: the process may be at its end, and the driver
        gone."""
        size = self._live.pop(address, None)
        if size is None:
            return
        self._waiting.append((address, size))
        if not self.deferred:
            self.flush()

    def flush(self) -> None:
        while self._waiting:
            address, size = self._waiting.pop()
            with contextlib.suppress(Error):
                self.client.free(address, size, STREAM_UNKNOWN)

    def clear(self) -> None:
        while self._live:
            self._waiting.append(self._live.popitem())
        self.flush()


def make_plugin() -> type:
    """The class that Numba wants, over the Numba that is installed."""
    from numba import cuda
    from numba.cuda.cudadrv import driver

    class TidemarkMemory(driver.GetIpcHandleMixin,  # type: ignore[misc]
                         cuda.HostOnlyCUDAMemoryManager):  # type: ignore[misc]
        """The device memory of one context of Numba."""

        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self._holding: Optional[Holding] = None  # Numba makes one to ask for its version

        @property
        def holding(self) -> Holding:
            if self._holding is None:
                device = getattr(self.context.device, "id", None)  # another's context may have none
                if device is None:
                    device = int(driver.driver.cuCtxGetDevice())
                client = _pools.client(NAME, device, policy())
                self._holding = Holding(client)
            return self._holding

        def initialize(self) -> None:
            if not self.deallocations.memory_capacity:
                self.deallocations.memory_capacity = self.get_memory_info().total

        def memalloc(self, size: int) -> Any:
            holding = self.holding
            try:
                try:
                    address = holding.alloc(size)
                except OutOfMemoryError:
                    holding.flush()
                    self.deallocations.clear()  # mapped memory may be what is missing
                    address = holding.alloc(size)
            except OutOfMemoryError as failure:
                raise driver.CudaAPIError(OUT_OF_MEMORY, str(failure)) from None
            free = holding.free  # not of self: arrays would keep the context alive
            return cuda.MemoryPointer(weakref.proxy(self.context),
                                      driver.binding.CUdeviceptr(address), size,
                                      finalizer=lambda: free(address))

        def get_memory_info(self) -> Any:
            """What Numba could still get: unused memory of the pool counts as free."""
            now = self.holding.client.context.statistics()
            return cuda.MemoryInfo(free=now.device_free + now.reserved - now.active,
                                   total=now.device_total)

        def get_ipc_handle(self, memory: Any) -> Any:
            context = self.holding.client.context
            try:
                context.export(int(memory.handle))
            except Error as failure:
                raise RuntimeError(f"memory under {context.policy} cannot be opened by other "
                                   f"processes: {failure}; {POLICY}=torch can") from None
            return super().get_ipc_handle(memory)

        def reset(self) -> None:
            super().reset()
            if self._holding is not None:
                self._holding.clear()
                self._holding.client.retire()  # cuda.close() resets the device next
                self._holding = None

        @contextlib.contextmanager
        def defer_cleanup(self) -> Iterator[None]:
            holding = self.holding
            with super().defer_cleanup():
                holding.deferred += 1
                try:
                    yield
                finally:
                    holding.deferred -= 1
                    if not holding.deferred:
                        holding.flush()

        @property
        def interface_version(self) -> int:
            return 1

    return TidemarkMemory


def plugin() -> type:
    """What NUMBA_CUDA_MEMORY_MANAGER finds here as `_numba_memory_manager`."""
    global _plugin
    if _plugin is None:
        _plugin = make_plugin()
    return _plugin


def use() -> None:
    """Has contexts that Numba makes from now on take their memory from Tidemark."""
    from numba import cuda

    cuda.set_memory_manager(plugin())


def __getattr__(name: str) -> Any:
    if name == "_numba_memory_manager":
        return plugin()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
