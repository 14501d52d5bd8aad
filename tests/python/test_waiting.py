"""Long calls: progress, cancelling, Ctrl-C."""

import os
import signal
import sys
import threading
import time

import pytest

from tidemark import _waiting


def work_until_cancelled(callback, seconds=30):
    """Says how far it is, as the library does; gives how it ended."""
    end = time.monotonic() + seconds
    step = 0
    while time.monotonic() < end:
        step += 1
        if callback(None, b"working", step, 100):
            return "cancelled"
        time.sleep(0.01)
    return "done"


def test_results_and_failures():
    assert _waiting.wait_for(lambda callback: 7) == 7
    with pytest.raises(KeyError):
        _waiting.wait_for(lambda callback: {}["nothing"])


def test_a_function_is_called_on_the_callers_thread_and_may_cancel():
    seen = []

    def progress(label, done, total):
        seen.append((label, total, threading.current_thread()))
        return len(seen) == 2

    assert _waiting.wait_for(work_until_cancelled, progress) == "cancelled"
    assert seen == [("working", 100, threading.main_thread())] * 2


def test_what_ends_at_once_is_reported_too():
    seen = []
    _waiting.wait_for(lambda callback: callback(None, b"quick", 3, 3),
                      lambda *given: seen.append(given))
    assert seen == [("quick", 3, 3)]


def test_a_function_that_fails_cancels():
    def progress(label, done, total):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        _waiting.wait_for(work_until_cancelled, progress)
    assert threading.active_count() == 1


def test_interrupts_cancel_and_are_raised():
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        _waiting.wait_for(work_until_cancelled)
    assert time.monotonic() - begun < 10


def test_a_terminal_has_one_line_that_goes_away(monkeypatch, capsys):
    monkeypatch.setattr(_waiting, "POLL_SECONDS", 0.01)
    _waiting.wait_for(lambda callback: work_until_cancelled(callback, 0.3), True)
    said = capsys.readouterr().err
    assert "working" in said and "%" in said
    assert "\n" not in said and said.endswith("\r") and said.split("\r")[-2].strip() == ""


def test_no_terminal_no_text(capsys):
    _waiting.wait_for(lambda callback: work_until_cancelled(callback, 0.3))
    assert capsys.readouterr() == ("", "")


def test_a_notebook_has_a_bar_that_goes_away(monkeypatch):
    shown = []

    class Handle:
        def update(self, markup):
            shown.append(markup)

    class Display:
        HTML = str

        @staticmethod
        def display(markup, display_id):
            shown.append(markup)
            return Handle()

    class ZMQInteractiveShell:
        pass

    class IPython:
        display = Display
        get_ipython = staticmethod(ZMQInteractiveShell)

    monkeypatch.setitem(sys.modules, "IPython", IPython)
    _waiting.wait_for(lambda callback: work_until_cancelled(callback, 0.4), True)
    assert "<progress" in shown[0] and "working" in shown[0] and shown[-1] == ""
