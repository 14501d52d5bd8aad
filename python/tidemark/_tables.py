"""The tables in an answer, as --csv has them: the same rows under the same names."""

from __future__ import annotations

import importlib
from typing import Any, Dict, List, Mapping, Sequence

from tidemark.errors import OptionError

Row = Dict[str, Any]

# The list that an answer is about, unless it is about the whole object. docs/json.md has them all.
MAIN_TABLES = ["runs", "candidates", "entries", "policies", "victims", "machines", "programs",
               "recordings", "cards", "capabilities", "measured", "budgets", "settings",
               "files"]
# These commands have a list with such a name, but it isn't what they are about.
ONE_ROW_COMMANDS = {"info", "replay", "verify", "advise"}


def needed(module: str, what: str) -> Any:
    """Imports a third-party module that only `what` needs."""
    try:
        return importlib.import_module(module)
    except ImportError as failure:
        raise ImportError(f"{what}: pip install {module}; the rest of tidemark works without it",
                          name=module) from failure


def _is_of_texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(part, str) for part in value.values())


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, Mapping) for row in value)


def flatten(value: Mapping[str, Any], before: str = "") -> Row:
    """The columns of one row. Columns of nested objects are prefixed by the object's name, objects
    of texts become one cell, and lists are left out."""
    row: Row = {}
    for name, part in value.items():
        if _is_of_texts(part):
            row[before + name] = ";".join(f"{key}={text}" for key, text in part.items())
        elif isinstance(part, Mapping):
            row.update(flatten(part, f"{before}{name}."))
        elif not isinstance(part, list):
            row[before + name] = part
    return row


def _collect(value: Mapping[str, Any], path: str, prefix: Row,
             tables: Dict[str, List[Row]]) -> None:
    for name, part in value.items():
        here = f"{path}.{name}" if path else name
        if isinstance(part, Mapping):
            _collect(part, here, prefix, tables)
        if not _is_table(part):
            continue
        rows = tables.setdefault(here, [])
        for entry in part:
            rows.append({**prefix, **flatten(entry)})
            known = next((key for key, plain in entry.items()
                          if not isinstance(plain, (Mapping, list))), None)
            inner = {**prefix, f"{name}.{known}": entry[known]} if known is not None else prefix
            _collect(entry, here, inner, tables)


def tables_of(value: Mapping[str, Any]) -> Dict[str, List[Row]]:
    """All tables of an answer by name; a list within rows of a list is named "outer.inner"."""
    tables: Dict[str, List[Row]] = {}
    _collect(value, "", {}, tables)
    return tables


def main_table(command: str, value: Mapping[str, Any]) -> str:
    """The name of the table that the answer is about; "" = the whole object as one row."""
    if command in ONE_ROW_COMMANDS and not (command == "advise" and "entries" in value):
        return ""
    return next((name for name in MAIN_TABLES if _is_table(value.get(name))), "")


def rows_of(command: str, value: Mapping[str, Any], table: str) -> Sequence[Row]:
    """The rows of a table; "" = the main one."""
    name = table or main_table(command, value)
    if not name:
        return [flatten(value)]
    tables = tables_of(value)
    fitting = [known for known in tables if known == name] or \
        [known for known in tables if known.endswith("." + name)]
    if len(fitting) != 1:
        raise OptionError(f"there is {'more than one' if fitting else 'no table'} '{name}' here",
                          "to_frame", "one of: " + ", ".join(tables) if tables else "")
    return tables[fitting[0]]
