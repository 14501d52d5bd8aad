"""Runs long calls of the library on a thread of their own, so that Ctrl-C and progress work."""

from __future__ import annotations

import html
import sys
import threading
import time
from typing import Any, Callable, Optional, Tuple, TypeVar, Union, cast

from tidemark import _library

__all__ = ["Progress", "wait_for"]

Result = TypeVar("Result")

# progress(label, done, total) -> anything true cancels the work; total 0 = unknown.
ProgressFunction = Callable[[str, int, int], Any]
Progress = Union[None, bool, ProgressFunction]

POLL_SECONDS = 0.1
QUIET_SECONDS = 0.7  # shorter work shows no progress


def wait_for(work: Callable[[Any], Result], progress: Progress = None) -> Result:
    """Returns the result of `work(callback)`; `callback` is a `tm_progress` for the library.

    Ctrl-C cancels the work, waits for its end and raises KeyboardInterrupt. `progress`: None shows
    progress if standard error is a terminal or this is a notebook, False never shows it, and True
    always does. A function is called with label, done and total on the caller's thread, and a true
    result cancels the work.
    """
    call = _Call(work)
    call.thread.start()
    show = _display(progress)
    begun = time.monotonic()
    reported = None
    try:
        while not call.finished.wait(POLL_SECONDS):
            latest = call.latest
            late = progress is not None or time.monotonic() - begun > QUIET_SECONDS
            if show and late and latest and latest != reported:
                reported = latest
                call.cancelled = bool(show(*latest)) or call.cancelled
        # A function gets the final state too, unless it cancelled the work itself.
        if callable(progress) and call.latest and call.latest != reported \
                and not call.cancelled:
            progress(*call.latest)
    except BaseException:
        # Ctrl-C, or `progress` failed. A second Ctrl-C doesn't wait.
        call.cancelled = True
        call.finished.wait()
        raise
    finally:
        if isinstance(show, _Shown):
            show.clear()
    if call.failure is not None:
        raise call.failure
    return cast(Result, call.result)


class _Call:
    """`work` on a thread; `latest` is the progress that the library reported last."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.latest: Optional[Tuple[str, int, int]] = None
        self.cancelled = False
        self.finished = threading.Event()
        self.result: Any = None
        self.failure: Optional[BaseException] = None
        self._work = work
        self._callback = _library.PROGRESS(self._progress)
        self.thread = threading.Thread(target=self._run, name="tidemark", daemon=True)

    def _run(self) -> None:
        try:
            self.result = self._work(self._callback)
        except BaseException as failure:  # the waiting thread raises it
            self.failure = failure
        finally:
            self.finished.set()

    def _progress(self, _user: Any, label: Optional[bytes], done: int, total: int) -> int:
        self.latest = (_library.text(label), done, total)
        return int(self.cancelled)


def _display(progress: Progress) -> Optional[ProgressFunction]:
    if callable(progress):
        return progress
    if progress is False:
        return None
    if _in_notebook():
        return _NotebookLine()
    if progress or (sys.stderr is not None and sys.stderr.isatty()):
        return _TerminalLine()
    return None


def _in_notebook() -> bool:
    # Don't import it for this: in a notebook, it is already loaded.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


class _Shown:
    def __call__(self, label: str, done: int, total: int) -> None:
        raise NotImplementedError

    def clear(self) -> None:
        raise NotImplementedError


class _TerminalLine(_Shown):
    """One line that is overwritten, and removed at the end."""

    def __init__(self) -> None:
        self._width = 0

    def __call__(self, label: str, done: int, total: int) -> None:
        line = f"{label} {100 * done // total} %" if total else f"{label} ..."
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)

    def clear(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()


class _NotebookLine(_Shown):
    """A bar in the cell's output, removed at the end."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, label: str, done: int, total: int) -> None:
        bar = f'<progress value="{done}" max="{total}"></progress>' if total \
            else "<progress></progress>"
        self._show(f"{bar} {html.escape(label)}")

    def clear(self) -> None:
        if self._handle is not None:
            self._show("")

    def _show(self, markup: str) -> None:
        display = sys.modules["IPython"].display
        if self._handle is None:
            self._handle = display.display(display.HTML(markup), display_id=True)
        else:
            self._handle.update(display.HTML(markup))
