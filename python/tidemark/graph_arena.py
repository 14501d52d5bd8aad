"""Memory of captured graphs: at addresses that nobody else gets while the graph may run."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any, Iterator, List, Optional, Tuple

from tidemark._spec import whole
from tidemark.context import Context, Stream, stream_number
from tidemark.errors import Error, OptionError, OutOfMemoryError

__all__ = ["CapturedGraph", "GraphArena"]


class _ArenaContext(Context):
    """A driver must not be asked of a stream that was captured and is gone: those live as long as
    their context, whose handle is an attribute before them."""

    def __init__(self, machine: Optional[str], policy: str) -> None:
        super().__init__(machine, policy, thread_cache=0)
        self.captured_streams: List[Any] = []


class _Granted:
    """Owns one allocation; its address is the pool's until the graph is closed."""

    __slots__ = ("context", "address", "size", "stream", "failures")

    def __init__(self, context: Context, size: int, stream: int, pool: int) -> None:
        self.context = context
        self.size = size
        self.stream = stream
        self.failures = Error  # the module may be gone when the last array goes
        self.address = 0
        self.address = context.alloc(size, stream, pool=pool)

    def __del__(self) -> None:
        if self.address:
            try:
                self.context.free(self.address, self.size, self.stream)
            except self.failures:
                pass


class CapturedGraph:
    """A graph with the memory that its nodes name.

    What the graph reads and writes from outside of its capture must live as long as it does, at its
    address."""

    def __init__(self, arena: "GraphArena", pool: int) -> None:
        self.graph: Any = None
        """CuPy's graph; None until the capture has ended."""
        self.granted: List[Tuple[int, int]] = []
        """(address, bytes) of each request in the capture, in order."""
        self._arena: Optional[GraphArena] = arena
        self._pool = pool

    @property
    def bytes(self) -> int:
        """What was requested in the capture."""
        return sum(size for _, size in self.granted)

    def launch(self, stream: Any = None) -> None:
        """Runs it after what is queued on the stream (of CuPy), and does not wait."""
        if self.graph is None:
            raise OptionError("this graph is closed, or its capture has not ended",
                              "tidemark.GraphArena")
        self.graph.launch(stream)

    def close(self) -> None:
        """Ends the graph. Its memory goes back at the arena's next trim, when no array that was
        made in the capture lives any more. A second time does nothing."""
        arena, self._arena, self.graph = self._arena, None, None
        if arena is not None:
            arena.context.close_pool(self._pool)

    def __enter__(self) -> "CapturedGraph":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class GraphArena:
    """Memory for captured graphs. A capture's requests get their addresses once: no two arrays of
    it overlap, and nobody else is given them while the graph may run. Memory is taken in one piece
    that grows in place, so a capture needs no warm allocator.

    ::

        arena = tidemark.GraphArena()
        with arena.capture(stream) as captured:
            y = cupy.sqrt(x) + 1          # x and out were made before
            cupy.sum(y, out=out)
        captured.launch(stream)

    Parameters
    ----------
    machine : str, optional
        As of `Context`.
    bytes : int
        Of each capture, taken at its first request; 0 = it grows.
    in_turn : bool
        Graphs never run together: they share their memory, which is then that of the largest.
    """

    def __init__(self, machine: Optional[str] = None, *, bytes: int = 0,
                 in_turn: bool = False) -> None:
        share = "sequence" if in_turn else "none"
        self.context = _ArenaContext(machine,
                                     f"arena:arena={whole(bytes, 'bytes')},share={share}")
        """Where its memory is from."""
        self._pools = itertools.count(1)

    @contextlib.contextmanager
    def scope(self, stream: Stream = 0) -> Iterator["Scope"]:
        """Requests for a capture that another library makes: `scope.alloc(bytes)` gives addresses
        for work on `stream`. The memory is kept after it, until `scope.captured.close()`."""
        number = next(self._pools)
        with self.context.pool(number):
            yield Scope(self, number, stream_number(stream))

    @contextlib.contextmanager
    def capture(self, stream: Any) -> Iterator[CapturedGraph]:
        """Captures what CuPy queues on `stream`, one of its streams but the default one. Arrays
        that are made meanwhile are the graph's. An exception ends the capture without a graph."""
        from cupy import cuda

        device = cuda.runtime.getDevice()
        with self.scope(stream.ptr) as scope:

            def malloc(size: int) -> Any:
                try:
                    granted = scope.alloc(size)
                except OutOfMemoryError:
                    raise cuda.memory.OutOfMemoryError(size, scope.captured.bytes) from None
                return cuda.MemoryPointer(
                    cuda.UnownedMemory(granted.address, size, granted, device), 0)

            captured = scope.captured
            if not any(known is stream for known in self.context.captured_streams):
                self.context.captured_streams.append(stream)
            stream.begin_capture()
            try:
                with stream, cuda.using_allocator(malloc):
                    yield captured
                captured.graph = stream.end_capture()
            except BaseException:
                with contextlib.suppress(Exception):  # the first error says what was wrong
                    stream.end_capture()
                captured.close()
                raise

    def trim(self) -> None:
        """Gives back the memory of graphs that are closed, after waiting for the device."""
        self.context.trim(wait=True)

    def close(self) -> None:
        """Closes its context: graphs have been closed, and nothing of their captures lives."""
        self.context.close()

    def __enter__(self) -> "GraphArena":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class Scope:
    """Requests of one capture."""

    def __init__(self, arena: GraphArena, pool: int, stream: int) -> None:
        self.captured = CapturedGraph(arena, pool)
        self._context = arena.context
        self._pool = pool
        self._stream = stream

    def alloc(self, bytes: int) -> Any:
        """An owner with `address`: the program is done with it when that is gone, and the address
        stays the graph's. Raises OutOfMemoryError."""
        granted = _Granted(self._context, whole(bytes, "bytes"), self._stream, self._pool)
        self.captured.granted.append((granted.address, bytes))
        return granted
