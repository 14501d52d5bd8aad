"""Memory of captured graphs: at addresses that nobody else gets while the graph may run."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any, Callable, Iterator, List, Optional, Tuple

from tidemark._spec import whole
from tidemark.context import Context, PlannedRequest, Stream, stream_number
from tidemark.errors import Error, OptionError

__all__ = ["CapturedGraph", "DryRun", "GraphArena"]


class _ArenaContext(Context):
    """A driver must not be asked of a stream that was captured and is gone: those live as long as
    their context, whose handle is an attribute before them."""

    def __init__(self, machine: Optional[str], policy: str) -> None:
        super().__init__(machine, policy, thread_cache=0)
        self.captured_streams: List[Any] = []


class Granted:
    """Owns one allocation; its address is the pool's until the graph is closed."""

    __slots__ = ("context", "address", "size", "stream", "failures", "ended")

    def __init__(self, context: Context, size: int, stream: int, pool: int,
                 ended: Optional[Callable[[], None]] = None) -> None:
        self.context = context
        self.size = size
        self.stream = stream
        self.failures = Error  # the module may be gone when the last array goes
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
    """What a program allocates while it does once, uncaptured, what a graph shall do."""

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
        """What was requested, together: an arena without a plan is as large."""
        return sum(one.bytes for one in self._requests)

    def alloc(self, bytes: int, stream: Stream = 0) -> Any:
        """As Scope.alloc, of memory that is the program's."""
        number = len(self._requests)
        granted = Granted(self._context, whole(bytes, "bytes"), stream_number(stream), 0,
                          lambda: self._ended(number))
        if self._open:
            self._requests.append(PlannedRequest(bytes, next(self._positions), None))
        return granted

    def close(self) -> None:
        """What still lives is taken to live as long as the graph."""
        self._open = False

    def planned(self, stream: int) -> List[PlannedRequest]:
        """The requests of a capture on `stream`."""
        return [PlannedRequest(one.bytes, one.begin, one.end, stream) for one in self._requests]

    def _ended(self, number: int) -> None:
        if self._open and number < len(self._requests):
            one = self._requests[number]
            self._requests[number] = PlannedRequest(one.bytes, one.begin, next(self._positions))


class CapturedGraph:
    """A graph with the memory that its nodes name.

    What the graph reads and writes from outside of its capture must live as long as it does, at its
    address."""

    def __init__(self, end: Callable[[], None]) -> None:
        self.graph: Any = None
        """That of CuPy or PyTorch; None until the capture has ended."""
        self.granted: List[Tuple[int, int]] = []
        """(address, bytes) of each request in the capture, in order; under PyTorch of each of its
        segments."""
        self._end: Optional[Callable[[], None]] = end
        self._launch: Callable[[Any], Any] = lambda stream: self.graph.launch(stream)

    @property
    def bytes(self) -> int:
        """What was requested in the capture."""
        return sum(size for _, size in self.granted)

    def launch(self, stream: Any = None) -> None:
        """Runs it after what is queued on the stream of its library, and does not wait."""
        if self.graph is None:
            raise OptionError("this graph is closed, or its capture has not ended",
                              "tidemark.GraphArena")
        self._launch(stream)

    def close(self) -> None:
        """Ends the graph. Its memory goes back at the arena's next trim, when no array that was
        made in the capture lives any more. A second time does nothing."""
        end, self._end, self.graph = self._end, None, None
        if end is not None:
            end()

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
        with arena.capture(stream) as captured:   # a stream of CuPy or PyTorch
            y = cupy.sqrt(x) + 1                  # x and out were made before
            cupy.sum(y, out=out)
        captured.launch(stream)

    With a dry run, arrays of one graph that don't live at once share their memory::

        with arena.dry_run(stream) as seen:
            body()
        with arena.capture(stream, planned=seen) as captured:
            body()

    PyTorch's allocator does so by itself inside a capture: there the arena gives it the segments.

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
        size = whole(bytes, "bytes")
        self.context = _ArenaContext(machine, f"arena:mode=planned,arena={size},share={share}")
        """Where its memory is from."""
        self.in_turn = in_turn
        self._pools = itertools.count(1)
        self._at_close: List[Callable[[], None]] = []

    @contextlib.contextmanager
    def scope(self, stream: Stream = 0, planned: Optional[DryRun] = None) -> Iterator["Scope"]:
        """Requests for a capture that another library makes: `scope.alloc(bytes)` gives addresses
        for work on `stream`. The memory is kept after it, until `scope.captured.close()`."""
        number = self._new_pool()
        handle = stream_number(stream)
        if planned is not None:
            planned.close()
            self.context.plan_pool(number, planned.planned(handle))
        with self.context.pool(number):
            yield Scope(self, number, handle)

    @contextlib.contextmanager
    def dry_run(self, stream: Any = None) -> Iterator[DryRun]:
        """Writes down what CuPy allocates while the body runs, uncaptured, on `stream`: a plan for
        `capture`. Others ask `alloc` of what it gives."""
        seen = DryRun(self.context)
        try:
            if stream is None:
                yield seen
            elif _is_pytorchs(stream):
                raise OptionError("PyTorch's allocator uses memory again inside a capture by "
                                  "itself", "tidemark.GraphArena.dry_run", "capture without it")
            else:
                from tidemark import _cupy_capture

                with stream, _cupy_capture.allocating(
                        lambda size: seen.alloc(size, stream.ptr), lambda: seen.bytes):
                    yield seen
        finally:
            seen.close()

    @contextlib.contextmanager
    def capture(self, stream: Any, planned: Optional[DryRun] = None) -> Iterator[CapturedGraph]:
        """Captures what CuPy or PyTorch queue on `stream`, one of their streams but the default
        one. Arrays that are made meanwhile are the graph's. An exception ends the capture without a
        graph."""
        if _is_pytorchs(stream):
            from tidemark.torch import _graph_capture as _torch_capture

            if planned is not None:
                raise OptionError("PyTorch's allocator plans by itself",
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
        """Requests of captures that came otherwise than their dry runs: they share no memory."""
        return self.context.statistics().plan_deviations

    def trim(self) -> None:
        """Gives back the memory of graphs that are closed, after waiting for the device."""
        self.context.trim(wait=True)

    def close(self) -> None:
        """Closes its context: graphs have been closed, and nothing of their captures lives."""
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
    """Requests of one capture."""

    def __init__(self, arena: GraphArena, pool: int, stream: int) -> None:
        self._context = arena.context
        self._pool = pool
        self._stream = stream
        self.captured = CapturedGraph(lambda: arena.context.close_pool(pool))

    def alloc(self, bytes: int) -> Any:
        """An owner with `address`: the program is done with it when that is gone, and the address
        stays the graph's. Raises OutOfMemoryError."""
        granted = Granted(self._context, whole(bytes, "bytes"), self._stream, self._pool)
        self.captured.granted.append((granted.address, bytes))
        return granted


def _is_pytorchs(stream: Any) -> bool:
    return any(kind.__module__.partition(".")[0] == "torch" for kind in type(stream).__mro__)
