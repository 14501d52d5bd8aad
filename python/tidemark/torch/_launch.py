"""Runs a user's script, unchanged, with the recorder or the explainer in its process."""

from __future__ import annotations

import argparse
import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import pkgutil
import runpy
import sys
import types
from typing import Any, Callable, List, Optional, Sequence

PACKAGE = pathlib.Path(__file__).resolve().parents[1]


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls `then` after the module `name` has been imported. It can't be imported earlier, because
    scripts set variables for PyTorch before they import it, and libraries check if it's loaded."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self.name = name
        self.then = then

    def find_spec(self, fullname: str, path: Optional[Sequence[str]],
                  target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            sys.meta_path.insert(0, self)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def and_then(module: Any) -> None:
            execute(module)
            sys.meta_path.remove(self)
            self.then()

        setattr(spec.loader, "exec_module", and_then)
        return spec


def after_import(name: str, then: Callable[[], None]) -> None:
    """Calls `then` once `name` is imported: immediately, if it already is."""
    if name in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _AfterImport(name, then))


def _is_ours(trace: types.TracebackType) -> bool:
    path = trace.tb_frame.f_code.co_filename
    return path.startswith(str(PACKAGE)) or path in ("<frozen runpy>", runpy.__file__)


def _show_only_the_script() -> None:
    """Removes our own frames from the traceback of an error that ends the program."""
    shown = sys.excepthook

    def show(kind: Any, error: Any, trace: Any) -> None:
        own = trace
        while own is not None and _is_ours(own):
            own = own.tb_next
        shown(kind, error.with_traceback(own or trace), own or trace)

    sys.excepthook = show


def run_script(arguments: List[str]) -> None:
    """Runs `SCRIPT ARGS...` or `-m MODULE ARGS...` as python does, with the folder for imports at
    the front of sys.path."""
    _show_only_the_script()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = arguments
    path = os.path.abspath(arguments[0])
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(path)
    if pkgutil.get_importer(path) is not None:  # a folder or an archive
        runpy.run_path(arguments[0], run_name="__main__")
        return
    with io.open_code(path) as script:
        code = compile(script.read(), path, "exec")
    # Not runpy: it removes the module before the program's exit handlers run.
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=builtins)
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def _parse(program: str, description: str, arguments: Optional[List[str]],
           always: bool) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("-o", "--output", metavar="RUN.tml", required=always,
                        help="the recording" + ("" if always else " (default: none)"))
    parser.add_argument("--stacks", action="store_true", help="record allocations' Python stacks")
    parser.add_argument("--shapes", action="store_true", help="record the operators that allocate "
                        "and their shapes, for `tidemark scale`")
    parser.add_argument("--annotations", choices=["functions", "modules"],
                        help="record ranges of record_function too, not only optimizer steps; or "
                        "of modules as well")
    parser.add_argument("--history-limit", type=int, default=0, metavar="BYTES",
                        help="beyond this size, drop the oldest part of the recording")
    parser.add_argument("--name", help="the program's name in lists")
    parser.add_argument("--force", action="store_true", help="overwrite a recording")
    parser.add_argument("script", nargs=argparse.REMAINDER, help="SCRIPT ARGS... or -m MODULE ...")
    options = parser.parse_args(arguments)
    if not options.script or options.script == ["-m"]:
        parser.error("name the script to run")
    return options


def _record(options: argparse.Namespace) -> None:
    from tidemark.torch._recording import record

    record(options.output, stacks=options.stacks, history_limit=options.history_limit,
           annotations=options.annotations == "functions" or options.annotations or False,
           name=options.name or os.path.basename(options.script[0]), overwrite=options.force,
           shapes=options.shapes)


def main_record(arguments: Optional[List[str]] = None) -> None:
    """`python -m tidemark.record`."""
    options = _parse("python -m tidemark.record", "Runs a script and records PyTorch's memory "
                     "allocator.", arguments, always=True)
    after_import("torch", lambda: _record(options))
    run_script(options.script)


def main_explain(arguments: Optional[List[str]] = None) -> None:
    """`python -m tidemark.torch`."""
    from tidemark.torch._oom import explain_oom

    options = _parse("python -m tidemark.torch", "Runs a script. If PyTorch's OutOfMemoryError "
                     "ends it, explains why.", arguments, always=False)
    after_import("torch", explain_oom)
    if options.output:
        after_import("torch", lambda: _record(options))
    run_script(options.script)
