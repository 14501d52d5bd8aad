"""Memory for captured graphs, at addresses that nobody else gets while the graph may run."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any, Callable, Iterator, List, Optional, Tuple

from tidemark._spec import whole
from tidemark.context import Context, PlannedRequest, Stream, stream_number
from tidemark.errors import Error, OptionError

__all__ = ["CapturedGraph", "DryRun", "GraphArena"]


class _ArenaContext(Context):
    """Keeps captured streams as long as the context exists, because the driver must not be asked
    about a destroyed one. (The handle is an attribute before them.)"""

    def __init__(self, machine: Optional[str], policy: str) -> None:
        super().__init__(machine, policy, thread_cache=0)
        self.captured_streams: List[Any] = []


class Granted:
    """Owns one allocation; its address belongs to the pool until the graph is closed."""

    __slots__ = ("context", "address", "size", "stream", "failures", "ended")

    def __init__(self, context: Context, size: int, stream: int, pool: int,
                 ended: Optional[Callable[[], None]] = None) -> None:
        self.context = context
        self.size = size
        self.stream = stream
        self.failures = Error  # the module may be gone when the last array is deleted
        self.ended = ended
        self.address = 0
        self.address = context.alloc(size, stream, pool=pool)

    def __del__(self) -> None:
        if self.address:
            try:
                self.context.free(self.address, self.size, self.stream)
            except self.failures:
                pass
            if self.ended is not None:
                self.ended()


class DryRun:
    """The allocations of one uncaptured run of what a graph will do."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._requests: List[PlannedRequest] = []
        self._positions = itertools.count()
        self._open = True

    @property
    def requests(self) -> int:
        return len(self._requests)

    @property
    def bytes(self) -> int:
        """The sum of the requested bytes: an arena without a plan needs that much."""
        return sum(one.bytes for one in self._requests)

    def alloc(self, bytes: int, stream: Stream = 0) -> Any:
        """Allocates like Scope.alloc, but from the program's memory."""
        number = len(self._requests)
        granted = Granted(self._context, whole(bytes, "bytes"), stream_number(stream), 0,
                          lambda: self._ended(number))
        if self._open:
            self._requests.append(PlannedRequest(bytes, next(self._positions), None))
        return granted

    def close(self) -> None:
        """Ends the dry run. Blocks that are still live are assumed to live as long as the graph."""
        self._open = False

    def planned(self, stream: int) -> List[PlannedRequest]:
        """Returns the requests for a capture on `stream`."""
        return [PlannedRequest(one.bytes, one.begin, one.end, stream) for one in self._requests]

    def _ended(self, number: int) -> None:
        if self._open and number < len(self._requests):
            one = self._requests[number]
            self._requests[number] = PlannedRequest(one.bytes, one.begin, next(self._positions))


class CapturedGraph:
    """A graph with the memory that its nodes use.

    Memory outside of its capture that the graph reads or writes must stay allocated, at the same
    address, as long as the graph exists."""

    def __init__(self, end: Callable[[], None]) -> None:
        self.graph: Any = None
        """The graph object of CuPy or PyTorch; None until the capture has ended."""
        self.granted: List[Tuple[int, int]] = []
        """(address, bytes) of each request in the capture, in order; with PyTorch, of each of its
        segments."""
        self._end: Optional[Callable[[], None]] = end
        self._launch: Callable[[Any], Any] = lambda stream: self.graph.launch(stream)

    @property
    def bytes(self) -> int:
        """The bytes that were requested in the capture."""
        return sum(size for _, size in self.granted)

    def launch(self, stream: Any = None) -> None:
        """Launches the graph after the work queued on its library's stream; doesn't wait. Raises
        OptionError if the graph is closed or its capture has not ended."""
        if self.graph is None:
            raise OptionError("this graph is closed, or its capture has not ended",
                              "tidemark.GraphArena")
        self._launch(stream)

    def close(self) -> None:
        """Closes the graph. The arena's next trim releases its memory, once all arrays from the
        capture are deleted. Closing it again does nothing."""
        end, self._end, self.graph = self._end, None, None
        if end is not None:
            end()

    def __enter__(self) -> "CapturedGraph":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class GraphArena:
    """Memory for captured graphs. Each request of a capture gets its own addresses: no two arrays
    of it overlap, and nobody else gets them while the graph may run. The memory is one piece that
    grows in place, so a capture needs no warm allocator.

    ::

        arena = tidemark.GraphArena()
        with arena.capture(stream) as captured:   # a stream of CuPy or PyTorch
            y = cupy.sqrt(x) + 1                  # x and out were made before
            cupy.sum(y, out=out)
        captured.launch(stream)

    With a dry run, arrays of one graph that aren't live at the same time share memory::

        with arena.dry_run(stream) as seen:
            body()
        with arena.capture(stream, planned=seen) as captured:
            body()

    PyTorch's own allocator already does that inside a capture; the arena provides its segments.

    Parameters
    ----------
    machine : str, optional
        As for `Context`.
    bytes : int
        Memory of each capture, reserved at its first request; 0 = it grows as needed.
    in_turn : bool
        Whether graphs never run at the same time: they then share memory, as much as the largest
        needs.
    """

    def __init__(self, machine: Optional[str] = None, *, bytes: int = 0,
                 in_turn: bool = False) -> None:
        share = "sequence" if in_turn else "none"
        size = whole(bytes, "bytes")
        self.context = _ArenaContext(machine, f"arena:mode=planned,arena={size},share={share}")
        """The context that its memory comes from."""
        self.in_turn = in_turn
        self._pools = itertools.count(1)
        self._at_close: List[Callable[[], None]] = []

    @contextlib.contextmanager
    def scope(self, stream: Stream = 0, planned: Optional[DryRun] = None) -> Iterator["Scope"]:
        """Opens a scope for a capture that another library makes: `scope.alloc(bytes)` returns
        memory for work on `stream`. The memory is kept afterwards, until
        `scope.captured.close()`."""
        number = self._new_pool()
        handle = stream_number(stream)
        if planned is not None:
            planned.close()
            self.context.plan_pool(number, planned.planned(handle))
        with self.context.pool(number):
            yield Scope(self, number, handle)

    @contextlib.contextmanager
    def dry_run(self, stream: Any = None) -> Iterator[DryRun]:
        """Records what CuPy allocates on `stream` while the body runs uncaptured, as a plan for
        `capture`. Other libraries call `alloc` of the yielded object."""
        seen = DryRun(self.context)
        try:
            if stream is None:
                yield seen
            elif _is_pytorchs(stream):
                raise OptionError("PyTorch's allocator already reuses memory inside a capture",
                                  "tidemark.GraphArena.dry_run", "capture without it")
            else:
                from tidemark import _cupy_capture

                with stream, _cupy_capture.allocating(
                        lambda size: seen.alloc(size, stream.ptr), lambda: seen.bytes):
                    yield seen
        finally:
            seen.close()

    @contextlib.contextmanager
    def capture(self, stream: Any, planned: Optional[DryRun] = None) -> Iterator[CapturedGraph]:
        """Captures the work that CuPy or PyTorch queue on `stream`, which must be one of their
        streams, but not the default one. Arrays that are created meanwhile belong to the graph. An
        exception ends the capture without a graph."""
        if _is_pytorchs(stream):
            from tidemark.torch import _graph_capture as _torch_capture

            if planned is not None:
                raise OptionError("PyTorch's allocator makes its own plan",
                                  "tidemark.GraphArena.capture", "capture without `planned`")
            with _torch_capture.capture(self, stream) as captured:
                yield captured
            return
        from tidemark import _cupy_capture

        with self.scope(stream.ptr, planned) as scope:
            if not any(known is stream for known in self.context.captured_streams):
                self.context.captured_streams.append(stream)
            with _cupy_capture.capture(scope, stream):
                yield scope.captured

    @property
    def deviations(self) -> int:
        """How many requests of captures differed from their dry runs; these share no memory."""
        return self.context.statistics().plan_deviations

    def trim(self) -> None:
        """Releases the memory of closed graphs, after waiting for the device."""
        self.context.trim(wait=True)

    def close(self) -> None:
        """Closes its context. All graphs must be closed, and all arrays of captures deleted."""
        while self._at_close:
            self._at_close.pop()()
        self.context.close()

    def __enter__(self) -> "GraphArena":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _new_pool(self) -> int:
        return next(self._pools)


class Scope:
    """The requests of one capture."""

    def __init__(self, arena: GraphArena, pool: int, stream: int) -> None:
        self._context = arena.context
        self._pool = pool
        self._stream = stream
        self.captured = CapturedGraph(lambda: arena.context.close_pool(pool))

    def alloc(self, bytes: int) -> Any:
        """Returns an owner with an `address`. Deleting it frees the memory for the program, but the
        address still belongs to the graph. Raises OutOfMemoryError."""
        granted = Granted(self._context, whole(bytes, "bytes"), self._stream, self._pool)
        self.captured.granted.append((granted.address, bytes))
        return granted


def _is_pytorchs(stream: Any) -> bool:
    return any(kind.__module__.partition(".")[0] == "torch" for kind in type(stream).__mro__)
