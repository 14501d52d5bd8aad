"""Captures and dry runs of CuPy; meanwhile, its arrays get memory from an arena."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Callable, Iterator

from tidemark.errors import OutOfMemoryError

if TYPE_CHECKING:
    from tidemark.graph_arena import Scope


@contextlib.contextmanager
def allocating(alloc: Callable[[int], Any], held: Callable[[], int]) -> Iterator[None]:
    """CuPy's arrays use memory of `alloc(bytes)`, an owner with `address`; `held()`: its bytes."""
    from cupy import cuda

    device = cuda.runtime.getDevice()

    def malloc(size: int) -> Any:
        try:
            granted = alloc(size)
        except OutOfMemoryError:
            raise cuda.memory.OutOfMemoryError(size, held()) from None
        return cuda.MemoryPointer(cuda.UnownedMemory(granted.address, size, granted, device), 0)

    with cuda.using_allocator(malloc):
        yield


@contextlib.contextmanager
def capture(scope: "Scope", stream: Any) -> Iterator[None]:
    """Captures the work queued on a CuPy stream; `scope.captured` then has the graph."""
    captured = scope.captured
    stream.begin_capture()
    try:
        with stream, allocating(scope.alloc, lambda: captured.bytes):
            yield
        captured.graph = stream.end_capture()
    except BaseException:
        with contextlib.suppress(Exception):  # the first error is the one that counts
            stream.end_capture()
        captured.close()
        raise
