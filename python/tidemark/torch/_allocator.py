"""Makes Tidemark the source of PyTorch's CUDA memory: of all of it, or of a MemPool."""

from __future__ import annotations

import ctypes
import os
import pathlib
from typing import TYPE_CHECKING, Any, Optional

from tidemark import _library, _pools
from tidemark.errors import OptionError, UnsupportedError
from tidemark.torch import _compiled

if TYPE_CHECKING:
    from tidemark.deferrable import DeferrableMemory

SOURCE = pathlib.Path(__file__).resolve().parent / "allocator.cpp"
NAME = "torch"
OPEN = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_int, ctypes.POINTER(ctypes.c_uint32),
                        ctypes.c_void_p, ctypes.c_size_t)
CONF = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")

_loaded: Optional[ctypes.CDLL] = None
_opener: Any = None
_kept: Any = None  # PyTorch's object for pools, which must outlive their memory


class TorchClient(_pools.Client):
    """PyTorch's memory on one device; devices.h counts it."""

    def set_quota(self, bytes: int) -> None:
        if _loaded is not None:
            _loaded.tidemark_torch_set_quota(self.device, bytes)

    def holder(self) -> _pools.Holder:
        figures = (ctypes.c_uint64 * 4)()
        if _loaded is not None:
            _loaded.tidemark_torch_holding(self.device, figures)
        held, count, peak, quota = figures
        return _pools.Holder(self.name, self.device, held, count, peak, quota)


def _open(device: int, tag: Any, why: int, room: int) -> int:
    """devices.h calls it when a device first needs memory."""
    try:
        context = _pools.context(device)
        tag[0] = _pools.client(NAME, device, kind=TorchClient).tag
        return context._open().value or 0
    except Exception as failure:  # PyTorch raises it
        text = str(failure).encode()[:room - 1] + b"\0"
        ctypes.memmove(why, text, len(text))
        return 0


def load(torch: Any) -> ctypes.CDLL:
    """Loads allocator.cpp, compiled for this PyTorch, and connects it with the library. The first
    time takes a few seconds."""
    global _loaded, _opener
    if _loaded is None:
        made = _compiled.load(torch, SOURCE, libraries=["torch_cuda"])
        made.tidemark_torch_use.restype = ctypes.c_char_p
        made.tidemark_torch_alloc.restype = ctypes.c_void_p
        made.tidemark_torch_alloc.argtypes = [ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
        made.tidemark_torch_free.argtypes = [ctypes.c_void_p, *made.tidemark_torch_alloc.argtypes]
        made.tidemark_torch_free.restype = None
        made.tidemark_torch_holding.restype = None
        made.tidemark_torch_set_quota.argtypes = [ctypes.c_int, ctypes.c_uint64]
        made.tidemark_torch_set_quota.restype = None
        made.tidemark_torch_reclaim.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
        made.tidemark_torch_reclaim.restype = None
        made.tidemark_torch_graph_open.argtypes = [ctypes.c_void_p, ctypes.c_uint32,
                                                   ctypes.c_void_p]
        made.tidemark_torch_graph_pieces.argtypes = [ctypes.c_int, ctypes.c_void_p,
                                                     ctypes.c_size_t]
        made.tidemark_torch_graph_pieces.restype = ctypes.c_size_t
        library = _library.library().path
        _opener = OPEN(_open)
        if made.tidemark_torch_load(library.encode(), _opener):
            raise UnsupportedError("it lacks a function", library, "install a newer one")
        _loaded = made
    return _loaded


def use(policy: Any = None, **options: Any) -> None:
    """Makes Tidemark the source of all of PyTorch's CUDA memory, from the first tensor on.

    `policy` and `options` are those of tidemark.use(), which this calls if any are given. The
    features of PyTorch's own allocator still work: statistics, snapshots, out-of-memory errors,
    record_stream, captured graphs and MemPools (docs/guide/drop-in.md lists the exceptions). Raises
    OptionError if CUDA memory is already in use, UnsupportedError if allocator.cpp can't be
    compiled.
    """
    import torch

    if torch.cuda.is_initialized():
        raise OptionError("PyTorch already uses the GPU", "tidemark.torch.use",
                          "call it before the first tensor on a GPU")
    if policy is not None or options:
        _pools.use(policy, **options)
    refused = load(torch).tidemark_torch_use()
    if refused is not None:
        raise OptionError(_library.text(refused), "tidemark.torch.use",
                          "call it before the first tensor on a GPU")


def reclaim(memory: "DeferrableMemory") -> None:
    """Evicts buffers of `memory` that aren't pinned when a GPU has no memory left for PyTorch,
    before a request fails. It applies until `memory` is closed. Call use() or pool() first; without
    them, this raises OptionError."""
    if _loaded is None:
        raise OptionError("PyTorch's memory isn't from Tidemark", "tidemark.torch.reclaim",
                          "call tidemark.torch.use() or pool() first; without them, use "
                          "tidemark.torch.defer_on_oom")
    loaded, handle = _loaded, memory._open()
    function: Any = _library.library().tm_store_free_bytes
    loaded.tidemark_torch_reclaim(handle, memory._device[1],
                                  ctypes.cast(function, ctypes.c_void_p))
    memory._at_close.append(lambda: loaded.tidemark_torch_reclaim(handle, 0, None))


def refuse_expandable() -> None:
    for name in CONF:
        if "expandable_segments:true" in os.environ.get(name, "").replace(" ", "").lower():
            raise OptionError("a pool's segments come from Tidemark, so PyTorch cannot expand them",
                              f"{name}={os.environ[name]}", "run without expandable_segments")


def pool(policy: Any = None, **options: Any) -> Any:
    """Returns a torch.cuda.MemPool whose segments come from Tidemark, for torch.cuda.use_mem_pool.

    PyTorch's own allocator still manages the blocks in them, with all its features. `policy` and
    `options` are those of tidemark.use(), which this calls if any are given. Raises OptionError
    with expandable segments, which PyTorch doesn't support in such a pool.
    """
    import torch

    global _kept
    refuse_expandable()
    if policy is not None or options:
        _pools.use(policy, **options)
    made = load(torch)
    if _kept is None:
        functions = (ctypes.cast(each, ctypes.c_void_p).value
                     for each in (made.tidemark_torch_alloc, made.tidemark_torch_free))
        _kept = torch._C._cuda_customAllocator(*functions)
    return torch.cuda.MemPool(_kept)

