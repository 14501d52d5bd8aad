"""Host memory in blocks of one size, pinned where there is a GPU."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
from typing import Any, List, Optional

from tidemark import _library
from tidemark._spec import whole
from tidemark.context import Context
from tidemark.errors import OptionError

__all__ = ["BlockRun", "BlocksUsage", "HostBlocks"]


class _Blocks(_library.Handle):
    end = "tm_blocks_close"


class _Run(_library.Handle):
    end = "tm_block_run_free"


@dataclasses.dataclass(frozen=True)
class BlocksUsage:
    """The use of the blocks at one moment."""

    block: int  # bytes
    used: int  # blocks in runs
    free: int  # blocks in no run
    pools: int
    peak: int  # blocks in runs at most
    refused: int  # requests that failed


class BlockRun:
    """Blocks of one request, freed together with this object."""

    def __init__(self, handle: _Run) -> None:
        self._handle: Optional[_Run] = handle
        self._views: List[memoryview] = []

    def pieces(self) -> "List[tuple[int, int]]":
        """Returns (address, bytes) of each block. Raises OptionError if the run was freed."""
        library, handle, count = _library.library(), self._open(), ctypes.c_size_t()
        library.tm_block_run_pieces(handle, None, 0, ctypes.byref(count))
        pieces = (_library.tm_piece * count.value)()
        library.tm_block_run_pieces(handle, pieces, count.value, None)
        return [(piece.address, piece.bytes) for piece in pieces]

    def views(self) -> List[memoryview]:
        """Returns the blocks, to read and write until they are freed. Arrays that share their
        memory delay the free until they are deleted."""
        views = []
        for address, size in self.pieces():
            array: Any = (ctypes.c_uint8 * size).from_address(address)
            array.run = self._handle
            views.append(memoryview(array).cast("B"))
        self._views += views
        return views

    def trim(self, bytes: int) -> None:
        """Frees the blocks that aren't needed for `bytes`; there must be no views of them."""
        _library.library().tm_block_run_trim(self._open(), whole(bytes, "bytes"))

    def free(self) -> None:
        """Frees the blocks; calling it again does nothing."""
        for view in self._views:
            with contextlib.suppress(BufferError):  # an array uses it and keeps it alive
                view.release()
        self._views.clear()
        self._handle = None

    def _open(self) -> _Run:
        if self._handle is None:
            raise OptionError("this run is freed", "tidemark.BlockRun")
        return self._handle

    def __enter__(self) -> "BlockRun":
        return self

    def __exit__(self, *_: Any) -> None:
        self.free()


class HostBlocks:
    """Pools of host memory blocks, pinned as they are needed. They serve as staging memory for many
    copies without a driver call for each. Runs keep their memory even if this is closed first.

    Parameters
    ----------
    capacity : int
        Bytes; a part that isn't a whole block isn't used.
    gpu : Context, optional
        The blocks are pinned for its GPU. Without one, or with a simulated one, they are plain
        memory.
    block : int
        Bytes of a block, a multiple of 64; 0 = 1 MiB.
    blocks_per_pool : int
        How many blocks are pinned at a time; 0 = 128.
    initial_pools : int
        How many pools are pinned when this is created.
    """

    def __init__(self, capacity: int, *, gpu: Optional[Context] = None, block: int = 0,
                 blocks_per_pool: int = 0, initial_pools: int = 0) -> None:
        options = _library.tm_blocks_options(
            gpu=None if gpu is None else gpu._open(), block=whole(block, "block"),
            blocks_per_pool=whole(blocks_per_pool, "blocks_per_pool", 32),
            initial_pools=whole(initial_pools, "initial_pools", 32),
            capacity=whole(capacity, "capacity"))
        handle = _Blocks()
        _library.library().tm_blocks_open(ctypes.byref(options), ctypes.byref(handle))
        self._handle: Optional[_Blocks] = handle

    def alloc(self, bytes: int) -> BlockRun:
        """Returns blocks for `bytes`, all or none. Raises SpaceError if there are too few."""
        handle = _Run()
        _library.library().tm_blocks_alloc(self._open(), whole(bytes, "bytes"),
                                           ctypes.byref(handle))
        return BlockRun(handle)

    def trim(self, keep: int = 0) -> int:
        """Releases pools that are completely free, as long as `keep` bytes remain. Returns how many
        bytes it released."""
        freed = ctypes.c_uint64()
        _library.library().tm_blocks_trim(self._open(), whole(keep, "keep"), ctypes.byref(freed))
        return freed.value

    def usage(self) -> BlocksUsage:
        raw = _library.tm_blocks_usage()
        _library.library().tm_blocks_look(self._open(), ctypes.byref(raw))
        return BlocksUsage(**{field.name: getattr(raw, field.name)
                              for field in dataclasses.fields(BlocksUsage)})

    def close(self) -> None:
        """Closes the pools; closing them again does nothing."""
        self._handle = None

    def _open(self) -> _Blocks:
        if self._handle is None:
            raise OptionError("these blocks are closed", "tidemark.HostBlocks")
        return self._handle

    def __enter__(self) -> "HostBlocks":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
