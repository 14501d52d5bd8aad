"""Measures cuDNN's workspaces on this machine's GPU while an unchanged script runs there."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, Dict, Iterator, List, Optional, Tuple

from tidemark import _outputs
from tidemark.errors import Error, OptionError, UnsupportedError
from tidemark.predicting import elf, runs, stubs
from tidemark.predicting.book import Book, load, write

LIBRARY = "libcudnn.so.9"
MEASURED = ("cudnnBackendGetAttribute", "cudnnBackendExecute")


def needed_versions() -> Dict[str, Optional[str]]:
    """The cuDNN functions that the installed PyTorch needs, with their versions."""
    needed = stubs.wanted_functions(stubs.find_libraries(stubs.torch_folder())).get(LIBRARY, {})
    if MEASURED[0] not in needed:
        raise UnsupportedError(f"the installed PyTorch does not use {LIBRARY}", "torch",
                               "measure with one that was built for CUDA and cuDNN 9")
    return needed


def interposer(folder: pathlib.Path, core: pathlib.Path,
               needed: Dict[str, Optional[str]]) -> pathlib.Path:
    """Writes a library whose functions the loader finds before cuDNN's."""
    path = folder / "libtidemark-measured.so"
    path.write_bytes(elf.forwarding_library(
        path.name, core.name,
        {name: (needed.get(name), f"{stubs.PREFIX}measured_{name}") for name in MEASURED},
        stubs.UNKNOWN))
    return path


@contextlib.contextmanager
def _alone(path: str) -> Iterator[None]:
    """Lets one rank at a time write to a book that several ranks share."""
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _add(book: Book, lines: List[Dict[str, Any]], path: str) -> None:
    for line in lines:
        for name, known in (("card", book.card), ("cudnn", book.cudnn)):
            if known and line.get(name, known) != known:
                raise OptionError(f"the book is of {name} {known}, this is {line[name]}", path)
        book.card = line.get("card", book.card)
        book.cudnn = line.get("cudnn", book.cudnn)
        if "plan" in line:
            book.plans[line["plan"]] = line["workspace"]
        else:
            book.convolutions[line["convolution"]] = line["workspace"]


def measure(script: List[str], path: str, core: pathlib.Path) -> Tuple[Book, int, int]:
    """Runs the script on this machine's GPU and adds the workspace sizes that cuDNN reports to the
    book at `path`, which may be new. Returns the book, the number of new plans and convolutions in
    it, and the script's exit code."""
    # Report a file that can't be a book before the script runs.
    _outputs.check(path, _outputs.OTHER, overwrite=True)
    if os.path.exists(path):
        load(path)
    with tempfile.TemporaryDirectory(prefix="tidemark-measure-") as name:
        folder = pathlib.Path(name)
        library, lines = interposer(folder, core, needed_versions()), folder / "lines"
        preloaded = [str(core), str(library), *filter(None, [os.environ.get("LD_PRELOAD")])]
        code = runs.wait(subprocess.Popen(
            [sys.executable, *script], env={**os.environ, "LD_PRELOAD": ":".join(preloaded),
                                            "TIDEMARK_MEASURED": str(lines)}))
        if not lines.exists():
            raise Error("cuDNN computed nothing" + (f" (exit code {code})" if code else ""),
                        "the script")
        found = [json.loads(line) for line in lines.read_text().splitlines()]
    with _alone(path):
        book = load(path) if os.path.exists(path) else Book()
        before = len(book.plans) + len(book.convolutions)
        _add(book, found, path)
        write(book, path)
    return book, len(book.plans) + len(book.convolutions) - before, code
