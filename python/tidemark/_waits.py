"""How long calls of the library wait: until a signal handler raises, or a timeout."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import threading
from typing import Any, Generator, Iterator, Optional

from tidemark import _library
from tidemark.errors import InternalError, OptionError

__all__ = ["limited", "stop_with"]


def _run_handlers() -> Generator[int, None, None]:
    # Python runs signal handlers when it resumes its code. Here that is within the `try`. A
    # function could not promise that, because each call enters it from the start.
    answer = 0
    while True:
        try:
            yield answer
            answer = 0
        except GeneratorExit:
            return
        except BaseException as failure:  # the caller of the library raises it
            _library.raised_in_wait.append(failure)
            answer = 1


_handlers = _run_handlers()
next(_handlers)
_INTERRUPTED = _library.INTERRUPTED(_handlers.send)  # a C function: it runs no Python code itself
_NEVER = _library.INTERRUPTED(0)  # the null pointer

_of_thread = threading.local()


def _forget() -> None:
    # The interpreter is ending, so the library must not call its functions any longer.
    if getattr(_of_thread, "main", None) is not None:
        with contextlib.suppress(InternalError):
            _library.library().tm_set_waits(None)


atexit.register(_forget)


@contextlib.contextmanager
def limited(timeout: Optional[float] = None) -> Iterator[None]:
    """Within the block, calls of stores wait for at most `timeout` seconds and then end
    (CancelledError). On the main thread, a signal handler that raises (Ctrl-C) ends them too."""
    if timeout is not None and not timeout >= 0:
        raise OptionError(f"{timeout} s is not a possible wait", "timeout", "None: without a limit")
    main = threading.current_thread() is threading.main_thread()
    if timeout is not None or getattr(_of_thread, "main", False) is not main:
        _of_thread.main = main
        _set(0 if timeout is None else max(1, min(int(timeout * 1e9), 2**63 - 1)), main)
    try:
        yield
    finally:
        if timeout is not None:
            _set(0, main)


def stop_with(event: threading.Event) -> None:
    """Makes calls of this thread end their waits when the event is set."""
    _of_thread.main = False
    _of_thread.stops = _library.INTERRUPTED(lambda _user: int(event.is_set()))
    _set(0, False)


def _set(nanoseconds: int, main: bool) -> None:
    interrupted = _INTERRUPTED if main else getattr(_of_thread, "stops", _NEVER)
    options: Any = _library.tm_wait_options(timeout=nanoseconds, interrupted=interrupted)
    try:
        _library.library().tm_set_waits(ctypes.byref(options))
    except InternalError:  # an older library has no such limits; the rest of it works
        if nanoseconds:
            raise
