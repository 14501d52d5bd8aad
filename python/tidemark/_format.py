"""Formats figures for people: sizes, times, tables. The numbers themselves aren't changed."""

from __future__ import annotations

import html
from typing import Any, Iterable, Sequence, Tuple

_BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
_TIMES = [(1, "ns"), (1_000, "us"), (1_000_000, "ms"), (1_000_000_000, "s")]


def _digits(number: float) -> str:
    """Three significant digits, and no exponent."""
    if number == 0 or abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if abs(number) >= 10 else f"{number:.2f}"


def bytes_text(count: float) -> str:
    """"6.59 GiB"."""
    unit = 0
    value = float(count)
    while abs(value) >= 999.5 and unit + 1 < len(_BYTES):
        value /= 1024
        unit += 1
    return f"{count:,} B" if unit == 0 else f"{_digits(value)} {_BYTES[unit]}"


def time_text(nanoseconds: float) -> str:
    """"7.97 ms"."""
    scale, unit = next(((scale, unit) for scale, unit in reversed(_TIMES)
                        if abs(nanoseconds) >= scale * 0.9995), _TIMES[0])
    return f"{_digits(nanoseconds / scale) if scale > 1 else f'{nanoseconds:,}'} {unit}"


def count_text(number: int) -> str:
    """"18,359"."""
    return f"{number:,}"


def value_text(name: str, value: Any) -> str:
    """Formats a plain value of --json for people; the end of its name says its unit."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        last = name.rsplit(".", 1)[-1]
        if ".change." in f".{name}" and isinstance(value, float):
            return f"{100 * value:+.1f} %"
        if last.endswith(("_bytes", "_bytes_no_worse")) or last == "bytes":
            return bytes_text(value)
        if last.endswith("_ns"):
            return time_text(value)
        if last.endswith(("event", "hash", "number", "device")):
            return str(value)
        return count_text(value) if isinstance(value, int) else f"{value:.4g}"
    return str(value)


def rows_html(rows: Iterable[Tuple[str, str]]) -> str:
    """A table of names and values."""
    body = "".join(f"<tr><td style='text-align:left'>{html.escape(name)}</td>"
                   f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
                   for name, value in rows)
    return f"<table><tbody>{body}</tbody></table>"


def table_html(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a row of titles; the first column is a name, the others figures."""
    head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
    body = "".join(
        "<tr>" + "".join(
            f"<td style='text-align:{'left' if column == 0 else 'right'}'>{html.escape(cell)}</td>"
            for column, cell in enumerate(row)) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
