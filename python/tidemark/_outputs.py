"""Files that Python writes: by the same rules as files of commands, and only as a whole."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Iterator, Union

from tidemark import _library
from tidemark.errors import FileError

OTHER, RECORDING, PICTURE = range(3)  # tm_file_kind

Path = Union[str, "os.PathLike[str]"]


def check(path: Path, kind: int, overwrite: bool = False) -> None:
    """Raises OptionError if writing would destroy an existing recording or another kind of file,
    and FileError if nothing can be written there."""
    _library.library().tm_check_output(os.fsencode(path), kind, int(overwrite))


@contextlib.contextmanager
def whole_file(path: Path, kind: int, overwrite: bool = False) -> Iterator[str]:
    """Yields a temporary name to write to, which is renamed to `path` if all goes well."""
    check(path, kind, overwrite)
    target = os.path.realpath(path)  # a link stays a link
    try:
        descriptor, partial = tempfile.mkstemp(prefix=os.path.basename(target) + ".partial-",
                                               dir=os.path.dirname(target))
        os.close(descriptor)
        try:
            yield partial
            os.chmod(partial, _mode_of(target))
            check(path, kind, overwrite)
            _sync(partial)
            os.replace(partial, target)
            _sync(os.path.dirname(target))
        except BaseException:
            os.unlink(partial)
            raise
    except OSError as failure:
        raise FileError(str(failure), os.fspath(path)) from failure


def _mode_of(target: str) -> int:
    try:
        return os.stat(target).st_mode & 0o7777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
