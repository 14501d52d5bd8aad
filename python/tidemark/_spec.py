"""Names with options, as the program takes them."""

from __future__ import annotations

from typing import Mapping, Optional, Union

Option = Union[None, bool, int, float, str]


def spec(name: str, options: Mapping[str, Option]) -> str:
    """spec("torch", {"expandable_segments": True}) is "torch:expandable_segments=true". Options
    that are None are left at their defaults."""
    given = [f"{key}={_text(value)}" for key, value in options.items() if value is not None]
    return f"{name}:{','.join(given)}" if given else name


def _text(value: Option) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def size(value: Union[None, int, str]) -> Optional[str]:
    """Bytes with their unit; the program takes no short number without one."""
    return f"{value}B" if isinstance(value, int) else value
