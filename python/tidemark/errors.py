"""Exceptions: one class for each status of the library."""

from __future__ import annotations

import errno
import re
from typing import Any, Dict, Type

__all__ = [
    "AddressError",
    "CancelledError",
    "DriverError",
    "Error",
    "FileError",
    "InputError",
    "InternalError",
    "MissingFileError",
    "NotFoundError",
    "OptionError",
    "OutOfMemoryError",
    "SpaceError",
    "UnsupportedError",
]


class Error(Exception):
    """A failure that the library reports.

    Attributes
    ----------
    what : str
        What is wrong: "unrecognized key 'spilt'".
    where : str
        Where it is wrong: "policy torch", "run.pickle:0x1f40"; may be empty.
    hint : str
        What to do about it: "did you mean split?"; may be empty.
    status : int
        The number of `tm_status` in tidemark.h, which corresponds to the class.
    """

    status: int = 11

    def __init__(self, what: str, where: str = "", hint: str = "") -> None:
        super().__init__(what, where, hint)
        self.what = what
        self.where = where
        self.hint = hint

    def say_keywords(self) -> None:
        """Replaces the program's option names by the corresponding Python keywords."""
        self.args = tuple(
            re.sub(r"--(?!help\b)([a-z][a-z-]*[a-z])",
                   lambda option: str(option[1]).replace("-", "_"), str(part))
            for part in (self.what, self.where, self.hint))
        self.what, self.where, self.hint = self.args

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}; {self.hint}" if self.hint else text


def _fill(error: Any, number: int) -> None:
    """Sets our arguments again: OSError changes the arguments of its subclasses."""
    error.args = error.what, error.where, error.hint
    error.errno, error.strerror, error.filename = number, error.what, error.where or None


class OutOfMemoryError(Error, MemoryError):
    """The policy or the device has no room, or the limit is reached. Programs should expect it."""

    status = 1


class AddressError(Error, ValueError):
    """An address that was already freed, is inside an allocation, or isn't from this allocator."""

    status = 2


class OptionError(Error, ValueError):
    """An argument with an impossible value."""

    status = 3


class InputError(Error, ValueError):
    """A file with unexpected content."""

    status = 4


class NotFoundError(Error, LookupError):
    """There is no such GPU, policy or machine."""

    status = 5


class FileError(Error, OSError):
    """A file or folder that can't be read or written."""

    status = 6

    def __init__(self, what: str, where: str = "", hint: str = "") -> None:
        super().__init__(what, where, hint)
        _fill(self, errno.EIO)


class MissingFileError(FileError, FileNotFoundError):
    """A file that doesn't exist."""

    def __init__(self, what: str, where: str = "", hint: str = "") -> None:
        super().__init__(what, where, hint)
        _fill(self, errno.ENOENT)


class DriverError(Error, RuntimeError):
    """A call of the GPU's driver failed."""

    status = 7


class UnsupportedError(Error, NotImplementedError):
    """Not possible here: the device, policy or file lacks something that is needed."""

    status = 8


class SpaceError(Error, OSError):
    """A disk or tier has no room left."""

    status = 9

    def __init__(self, what: str, where: str = "", hint: str = "") -> None:
        super().__init__(what, where, hint)
        _fill(self, errno.ENOSPC)


class CancelledError(Error):
    """A progress function, a timeout or a close ended the call before it was done."""

    status = 10


class InternalError(Error, RuntimeError):
    """This computer ran out of memory, or a library failed unexpectedly."""

    status = 11


BY_STATUS: Dict[int, Type[Error]] = {
    kind.status: kind
    for kind in (OutOfMemoryError, AddressError, OptionError, InputError, NotFoundError, FileError,
                 DriverError, UnsupportedError, SpaceError, CancelledError, InternalError)
}
