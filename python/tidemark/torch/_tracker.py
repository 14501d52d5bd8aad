"""The tracker of PyTorch's allocator: tracker.cpp, compiled for the installed PyTorch."""

from __future__ import annotations

import ctypes
import pathlib
from typing import Any, Optional

from tidemark.torch import _compiled

SOURCE = pathlib.Path(__file__).resolve().parent / "tracker.cpp"
OPERATORS = SOURCE.with_name("operators.cpp")

_tracker: Optional[ctypes.CDLL] = None
_operators: Optional[ctypes.CDLL] = None


def tracker(torch: Any) -> ctypes.CDLL:
    """The loaded tracker. It is a PyDLL: its calls are short and keep the interpreter lock."""
    global _tracker
    if _tracker is None:
        # Stacks need more of PyTorch's interface than events do.
        _tracker = _compiled.load(torch, SOURCE, ctypes.PyDLL,
                                  without=["-DTIDEMARK_WITHOUT_STACKS"])
        _tracker.tidemark_begin.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int]
        _tracker.tidemark_stacks.argtypes = [ctypes.c_int]
        _tracker.tidemark_counters.argtypes = [ctypes.POINTER(ctypes.c_uint64)] * 2
        _tracker.tidemark_find_operators.argtypes = [ctypes.c_void_p]
        for name in ("tidemark_find_operators", "tidemark_follow", "tidemark_end",
                     "tidemark_counters"):
            getattr(_tracker, name).restype = None
    return _tracker


def operators(torch: Any) -> ctypes.CDLL:
    """The loaded library that knows the running operators and their shapes."""
    global _operators
    if _operators is None:
        _operators = _compiled.load(torch, OPERATORS, ctypes.PyDLL, libraries=["torch_cpu"])
        _operators.tidemark_operators.argtypes = [ctypes.c_void_p] * 2
        _operators.tidemark_operators.restype = None
    return _operators
