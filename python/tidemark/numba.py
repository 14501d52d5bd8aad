"""Makes Tidemark the source of Numba's device memory.

    NUMBA_CUDA_MEMORY_MANAGER=tidemark.numba python program.py

or call `tidemark.numba.use()` before Numba creates its first context. The default policy is torch,
whose memory comes from cudaMalloc, so that other processes can open it. TIDEMARK_NUMBA_POLICY sets
another policy, and after `tidemark.use(...)` Numba shares the pool of the other libraries. Under
policies on virtual memory, `get_ipc_handle` raises an error.

Frees are made in batches of 512 frees or 256 MiB, each after a wait for the device. With
TIDEMARK_NUMBA_POLICY=torch:defer_frees=10, the batches are as small as those of Numba's own memory
manager. `statistics().deferred` of the context has the bytes that wait for a batch.

`SimulatedMemory` lets you try a policy without a GPU and without Numba.

Numba passes no stream, so memory is allocated and freed as on an unknown stream. While a
`cuda.defer_cleanup()` is open, nothing is freed unless a request would run out of memory.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from typing import Any, Dict, Iterator, List, Optional, Protocol, Tuple

from tidemark import _pools
from tidemark.context import STREAM_UNKNOWN, Context
from tidemark.errors import Error, OptionError, OutOfMemoryError

__all__ = ["SimulatedMemory", "use"]

NAME = "numba"
POLICY = "TIDEMARK_NUMBA_POLICY"
OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY

_plugin: Optional[type] = None


def policy() -> Optional[str]:
    """The policy of Numba's own context; None: it shares the context of all libraries."""
    return os.environ.get(POLICY) or (None if _pools.chosen() else "torch")


class Source(Protocol):
    """Where memory comes from: a `_pools.Client`, or a simulated device."""

    def alloc(self, bytes: int, stream: Any = 0, *, unique_empty: bool = False) -> int: ...

    def free(self, address: int, bytes: int, stream: Any = 0) -> None: ...


class Holding:
    """The blocks of one Numba context, from one reset to the next."""

    def __init__(self, client: Source) -> None:
        self.client = client
        self.deferred = 0
        self._live: Dict[int, int] = {}  # address -> bytes
        self._waiting: List[Tuple[int, int]] = []

    def alloc(self, size: int) -> int:
        address = self.client.alloc(size, STREAM_UNKNOWN, unique_empty=True)
        self._live[address] = size
        return address

    def free(self, address: int) -> None:
        """Does nothing after a reset. It never raises, because the process may be ending and the
        driver gone."""
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

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Nothing is freed during the block."""
        self.deferred += 1
        try:
            yield
        finally:
            self.deferred -= 1
            if not self.deferred:
                self.flush()

    def clear(self) -> None:
        while self._live:
            self._waiting.append(self._live.popitem())
        self.flush()


class SimulatedPointer:
    """Frees its memory when it is deleted, as Numba's pointers do."""

    def __init__(self, holding: Holding, address: int, size: int) -> None:
        self.address = address
        self.size = size
        self._finalizer = weakref.finalize(self, holding.free, address)

    def free(self) -> None:
        """Frees the memory now; calling it again does nothing."""
        self._finalizer()


class SimulatedMemory:
    """Simulates the memory that Numba's arrays would have on a GPU. It follows the rules of the
    plugin, but needs neither a GPU nor Numba.

    ::

        memory = tidemark.numba.SimulatedMemory("torch:defer_frees=10")
        pointer = memory.memalloc(1 << 20)
        del pointer
        memory.context.statistics().deferred

    Parameters
    ----------
    policy : str, optional
        As TIDEMARK_NUMBA_POLICY.
    machine : str
        "sim", "sim:h200".
    bytes : int
        The device's memory; 0: as much as its card has.
    """

    def __init__(self, policy: Optional[str] = None, machine: str = "sim", bytes: int = 0) -> None:
        if machine.partition(":")[0] != "sim":
            raise OptionError(f"'{machine}' isn't a simulated device", "machine",
                              "sim, or sim:CARD")
        self.context = Context(machine, policy or "torch", memory=bytes)
        self._holding = Holding(self.context)

    def memalloc(self, size: int) -> SimulatedPointer:
        """Allocates `size` bytes. If that fails, it makes the waiting frees and tries again before
        it raises OutOfMemoryError."""
        try:
            address = self._holding.alloc(size)
        except OutOfMemoryError:
            self._holding.flush()
            address = self._holding.alloc(size)
        return SimulatedPointer(self._holding, address, size)

    def get_memory_info(self) -> Tuple[int, int]:
        """Returns (free, total) in bytes; unused memory of the pool counts as free."""
        return memory_info(self.context)

    @contextlib.contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """Frees nothing during the block, unless a request would run out of memory."""
        with self._holding.kept():
            yield

    def reset(self) -> None:
        """Frees all memory; pointers that still exist free nothing afterwards."""
        self._holding.clear()


def memory_info(context: Context) -> Tuple[int, int]:
    """(free, total) in bytes: unused memory of the pool counts as free."""
    now = context.statistics()
    return now.device_free + now.reserved - now.active, now.device_total


def make_plugin() -> type:
    """Creates the memory manager class that Numba needs, for the installed Numba."""
    from numba import cuda
    from numba.cuda.cudadrv import driver

    class TidemarkMemory(driver.GetIpcHandleMixin,  # type: ignore[misc]
                         cuda.HostOnlyCUDAMemoryManager):  # type: ignore[misc]
        """The device memory of one Numba context."""

        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self._holding: Optional[Holding] = None  # Numba makes one to ask for its version
            self._client: _pools.Client  # when there is a holding

        @property
        def holding(self) -> Holding:
            if self._holding is None:
                device = getattr(self.context.device, "id", None)  # foreign ones may have none
                if device is None:
                    device = int(driver.driver.cuCtxGetDevice())
                self._client = _pools.client(NAME, device, policy())
                self._holding = Holding(self._client)
            return self._holding

        @property
        def pool(self) -> Context:
            """Where its memory comes from."""
            assert self.holding
            return self._client.context

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
            """What Numba could still allocate: unused memory of the pool counts as free."""
            free, total = memory_info(self.pool)
            return cuda.MemoryInfo(free=free, total=total)

        def get_ipc_handle(self, memory: Any) -> Any:
            context = self.pool
            try:
                context.export(int(memory.handle))
            except Error as failure:
                raise RuntimeError(f"other processes cannot open memory under {context.policy}: "
                                   f"{failure}; {POLICY}=torch allows it") from None
            return super().get_ipc_handle(memory)

        def reset(self) -> None:
            super().reset()
            if self._holding is not None:
                self._holding.clear()
                self._client.retire()  # cuda.close() resets the device next
                self._holding = None

        @contextlib.contextmanager
        def defer_cleanup(self) -> Iterator[None]:
            with super().defer_cleanup(), self.holding.kept():
                yield

        @property
        def interface_version(self) -> int:
            return 1

    return TidemarkMemory


def plugin() -> type:
    """The class that NUMBA_CUDA_MEMORY_MANAGER finds here as `_numba_memory_manager`."""
    global _plugin
    if _plugin is None:
        _plugin = make_plugin()
    return _plugin


def use() -> None:
    """Makes Numba contexts that are created from now on take their memory from Tidemark."""
    from numba import cuda

    cuda.set_memory_manager(plugin())


def __getattr__(name: str) -> Any:
    if name == "_numba_memory_manager":
        return plugin()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
