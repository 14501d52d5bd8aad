"""Names with options, in the form that the program parses."""

from __future__ import annotations

import operator
from typing import Any, Mapping, Optional, Union

from tidemark.errors import OptionError

Option = Union[None, bool, int, float, str]


def spec(name: str, options: Mapping[str, Option]) -> str:
    """spec("torch", {"expandable_segments": True}) is "torch:expandable_segments=true". Options
    that are None are left at their defaults."""
    given = [f"{key}={_text(value)}" for key, value in options.items() if value is not None]
    return f"{name}:{','.join(given)}" if given else name


def whole(value: Any, what: str, bits: int = 64) -> int:
    """Checks that `value` is a number from 0 to below 2**bits. Errors name the argument `what`."""
    if type(value) is not int:
        try:
            value = operator.index(value)
        except TypeError:
            raise TypeError(f"{what}: expected a whole number, not {value!r}") from None
    if not 0 <= value < 1 << bits:
        raise OptionError(f"{value} is out of range", what, f"0 to 2**{bits} - 1")
    return int(value)


def name(value: Any, what: str) -> Optional[bytes]:
    """A text for the library; None stays None."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"{what}: expected a string, not {value!r}")
    return value.encode()


def _text(value: Option) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def size(value: Union[None, int, str]) -> Optional[str]:
    """Adds the unit to a number of bytes: the program rejects small numbers without one."""
    return f"{value}B" if isinstance(value, int) else value
