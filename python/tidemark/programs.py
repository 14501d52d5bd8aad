"""The programs `tidemark` and `tidemark-view` that come with this package."""

from __future__ import annotations

import os
import pathlib
import sys
from typing import List, NoReturn

from tidemark._library import build_tree, package_paths
from tidemark.errors import NotFoundError

__all__ = ["program", "run_tidemark", "run_viewer"]


def program(name: str) -> str:
    """Returns the path of "tidemark" or "tidemark-view". It looks in the folder TIDEMARK_PROGRAMS,
    in this package, in a build tree, and on PATH. Raises NotFoundError."""
    folders = [pathlib.Path(os.environ["TIDEMARK_PROGRAMS"])] \
        if os.environ.get("TIDEMARK_PROGRAMS") else []
    for path in (folder / name for folder in [*folders, *package_paths("bin"), build_tree()]):
        if os.access(path, os.X_OK):
            return str(path)
    import shutil

    found = shutil.which(name)
    # PATH may only have this package's own entry point, which would call itself.
    if found and not pathlib.Path(found).read_bytes().startswith(b"#!"):
        return found
    raise NotFoundError(f"{name} is neither in this package nor on PATH", name,
                        "build it, or install a wheel")


def _become(name: str, arguments: List[str]) -> NoReturn:
    try:
        path = program(name)
    except NotFoundError as failure:
        sys.exit(f"{failure}")
    # `tidemark doctor` must examine this Python, not the first one on PATH.
    os.environ.setdefault("TIDEMARK_PYTHON", sys.executable)
    os.execv(path, [path, *arguments])


def run_tidemark() -> NoReturn:
    """The console entry point `tidemark`."""
    _become("tidemark", sys.argv[1:])


def run_viewer() -> NoReturn:
    """The console entry point `tidemark-view`."""
    _become("tidemark-view", sys.argv[1:])
