"""explain_oom(): explains why a program ran out of memory, when the error ends it."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, List, Optional, Union

SHOWN_LINES = 24  # of the output of `tidemark advise`
LEAST_SECONDS = 60.0  # between snapshots of a program that survives out-of-memory errors
ENTRIES = 1_000_000  # entries of PyTorch's history, of about 100 bytes each

_explainer: Optional["_Explainer"] = None


def explain_oom(path: Union[str, "os.PathLike[str]", None] = None, history: bool = True) -> None:
    """Makes the program print an explanation if PyTorch's OutOfMemoryError ends it.

    When a request fails, a snapshot is written (at most once a minute). When the error ends the
    program or a thread, the first lines of `tidemark advise` for the snapshot are printed. The
    error and the program's exit code stay the same.

    Parameters
    ----------
    path : path, optional
        The snapshot's path; by default, "oom-PID.pickle" in the working directory.
    history : bool
        Whether to turn on PyTorch's history (with Python stacks); without it, a snapshot has no
        past. A history that is already on stays as it is.
    """
    global _explainer
    if _explainer is None:
        _explainer = _Explainer()
        _explainer.install()
    _explainer.path = os.path.abspath(os.fspath(path or f"oom-{os.getpid()}.pickle"))
    _explainer.history = history
    import torch

    torch.cuda._lazy_call(_explainer.attach)


class _Explainer:
    def __init__(self) -> None:
        self.path = ""
        self.history = True
        self.written = 0.0  # time of the last snapshot
        self.refused = 0.0  # time of the last failed request
        self.attached = False
        self.explained: List[BaseException] = []

    def install(self) -> None:
        whole, threads = sys.excepthook, threading.excepthook

        def program_died(kind: Any, error: Any, trace: Any) -> None:
            whole(kind, error, trace)
            self.explain(error)

        def thread_died(arguments: Any) -> None:
            threads(arguments)
            self.explain(arguments.exc_value)

        sys.excepthook, threading.excepthook = program_died, thread_died

    def attach(self) -> None:
        import torch

        # Without a CUDA context, this would crash.
        if not self.attached:
            torch._C._cuda_attach_out_of_memory_observer(self.observe)
            self.attached = True
        enabled = getattr(torch._C, "_cuda_isHistoryEnabled", lambda: False)
        if self.history and not enabled():
            torch.cuda.memory._record_memory_history(context="alloc", stacks="python",
                                                     max_entries=ENTRIES)

    def observe(self, *_figures: int) -> None:
        """PyTorch calls it before it raises the error, with its figures at the failed request."""
        self.refused = time.monotonic()
        if self.written == 0 or self.refused - self.written > LEAST_SECONDS:
            self.write()

    def write(self) -> None:
        import torch

        try:
            torch.cuda.memory._dump_snapshot(self.path)
            self.written = time.monotonic()
        except Exception as failure:  # the program's own error is more important
            print(f"tidemark: {self.path} cannot be written: {failure}", file=sys.stderr)

    def explain(self, error: Optional[BaseException]) -> None:
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(error, torch.cuda.OutOfMemoryError):
            return
        if error in self.explained:
            return
        self.explained.append(error)
        if self.written < self.refused or self.written == 0:
            self.write()  # the last snapshot is older than this error, or there is none
        if self.written:
            print(explanation(self.path), file=sys.stderr)


def explanation(path: str, lines: int = SHOWN_LINES) -> str:
    """The first lines of `tidemark advise` for a snapshot; never fails."""
    try:
        from tidemark.torch._answers import advice

        text = advice(path)
    except Exception as failure:
        return f"tidemark: the snapshot is {path}; advise cannot read it: {failure}"
    shown = text.rstrip().splitlines()
    more = [f"... complete output: tidemark advise {path}"] if len(shown) > lines else []
    return "\n".join(["", f"tidemark advise {path}", *shown[:lines], *more])
