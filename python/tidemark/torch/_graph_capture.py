"""Captures of PyTorch whose private pools get their segments from an arena."""

from __future__ import annotations

import contextlib
import ctypes
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Tuple

from tidemark.errors import OptionError
from tidemark.graph_arena import CapturedGraph
from tidemark.torch import _allocator

if TYPE_CHECKING:
    from tidemark.graph_arena import GraphArena

# Tensors of a capture may outlive Python, so a context must stay open until PyTorch has freed all
# of its memory.
_kept: Dict[int, Any] = {}


class _Piece(ctypes.Structure):
    _fields_ = [("address", ctypes.c_uint64), ("bytes", ctypes.c_uint64)]


class _Pool:
    """A torch.cuda.MemPool whose segments come from a private pool of the arena."""

    def __init__(self, torch: Any, arena: "GraphArena") -> None:
        _allocator.refuse_expandable()
        self._loaded = _allocator.load(torch)
        self._arena = arena
        self._number = arena._new_pool()
        self.users = 0
        _forget_vacant(self._loaded)
        functions = (ctypes.c_void_p * 2)()
        handle = arena.context._open()
        self._at = self._loaded.tidemark_torch_graph_open(handle, self._number, functions)
        if self._at < 0:
            raise OptionError("no more than 64 graphs of PyTorch can have memory of their own",
                              "tidemark.GraphArena", "close some, or use in_turn=True")
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(handle))
        _kept[self._at] = handle
        self._made = torch._C._cuda_customAllocator(functions[0], functions[1])
        self._pool: Any = torch.cuda.MemPool(self._made)

    @property
    def id(self) -> Any:
        return self._pool.id

    def granted(self) -> List[Tuple[int, int]]:
        count = self._loaded.tidemark_torch_graph_pieces(self._at, None, 0)
        pieces = (_Piece * count)()
        count = min(count, self._loaded.tidemark_torch_graph_pieces(self._at, pieces, count))
        return [(one.address, one.bytes) for one in pieces[:count]]

    def close(self) -> None:
        """Closes the pool after its graphs. PyTorch releases its segments that have no live
        tensors."""
        self._pool = None
        self._loaded.tidemark_torch_graph_close(self._at)
        self._arena.context.close_pool(self._number)
        _forget_vacant(self._loaded)


def _forget_vacant(loaded: Any) -> None:
    for at in [at for at in _kept if loaded.tidemark_torch_graph_is_vacant(at)]:
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(_kept.pop(at)))


@contextlib.contextmanager
def capture(arena: "GraphArena", stream: Any) -> Iterator[CapturedGraph]:
    """Captures the work that is queued on a PyTorch stream during the block."""
    import torch

    pool = _pool_of(arena, torch)
    graph = torch.cuda.CUDAGraph()

    def end() -> None:
        graph.reset()
        pool.users -= 1
        if pool.users == 0 and not arena.in_turn:
            pool.close()

    def launch(on: Any) -> None:
        with contextlib.nullcontext() if on is None else torch.cuda.stream(on):
            graph.replay()

    pool.users += 1
    captured = CapturedGraph(end)
    captured._launch = launch
    try:
        with arena.context.pool(pool._number), \
                torch.cuda.graph(graph, pool=pool.id, stream=stream):
            yield captured
        captured.granted = pool.granted()
        captured.graph = graph
    except BaseException:
        captured.close()
        raise


def _pool_of(arena: "GraphArena", torch: Any) -> _Pool:
    """A new pool, or the one that graphs share if they never run at the same time."""
    if not arena.in_turn:
        return _Pool(torch, arena)
    shared = getattr(arena, "_shared_pool", None)
    if shared is None:
        shared = arena._shared_pool = _Pool(torch, arena)  # type: ignore[attr-defined]
        arena._at_close.append(shared.close)
    return shared
