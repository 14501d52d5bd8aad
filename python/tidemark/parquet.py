"""Writes a sweep's units to one Parquet file, for pandas, Polars, DuckDB and Spark. Needs pyarrow.

    python -m tidemark.parquet out -o sweep.parquet
    tidemark.parquet.write("out", "sweep.parquet")
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import sys
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from tidemark import _outputs
from tidemark._tables import needed
from tidemark.errors import Error, InputError, NotFoundError, OptionError

__all__ = ["read", "write"]

Path = Union[str, "os.PathLike[str]"]
UNIT_FILE = re.compile(r"[0-9a-f]{16}\.json")


def _files(source: pathlib.Path) -> List[pathlib.Path]:
    if not source.is_dir():
        return [source] if source.exists() else []
    return sorted(file for file in source.iterdir() if UNIT_FILE.fullmatch(file.name))


def _lines(source: pathlib.Path) -> Iterator[Tuple[str, str]]:
    """Yields each unit's location and its line."""
    if source.is_dir():
        for file in _files(source):
            yield str(file), file.read_text(encoding="utf-8")
        return
    if not source.exists():
        raise NotFoundError("there is no such folder or file", str(source),
                            "give what `tidemark sweep` wrote: its folder, or its --lines")
    with open(source, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield f"{source}:{number}", line


def read(source: Path) -> Dict[str, List[Any]]:
    """Returns the columns of a sweep's units: a value per unit, None where a unit lacks it.

    Parameters
    ----------
    source : path
        The folder of a sweep, or a file that `--lines` wrote. Options of policies become text
        columns named `options.NAME`.

    Raises NotFoundError if there is no such folder or file, InputError if it isn't a sweep's.
    """
    rows: List[Dict[str, Any]] = []
    for where, line in _lines(pathlib.Path(source)):
        try:
            unit = json.loads(line)
        except ValueError:
            unit = None
        if not isinstance(unit, dict) or "unit" not in unit:
            raise InputError("is not a unit of a sweep", where,
                             "give what `tidemark sweep` wrote: its folder, or its --lines")
        options = unit.pop("options", {})
        rows.append({**unit, **{f"options.{name}": value for name, value in options.items()}})
    if not rows:
        raise InputError("there is no unit of a sweep", str(source),
                         "give what `tidemark sweep` wrote: its folder, or its --lines")
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def write(source: Path, target: Path, overwrite: bool = False) -> int:
    """Writes the units of `source` (see `read`) to `target`, whole or not at all. It replaces an
    existing file that holds units of a sweep; any other file only with `overwrite`.

    Returns
    -------
    int
        How many units it wrote.
    """
    pyarrow = needed("pyarrow", "a Parquet file")
    parquet = needed("pyarrow.parquet", "a Parquet file")
    for file in _files(pathlib.Path(source)):
        if os.path.exists(target) and os.path.samefile(file, target):
            raise OptionError("is being read, so it can't be written too", str(target),
                              "choose another name")
    columns = read(source)
    replaces = overwrite or _has_units(parquet, target)
    with _outputs.whole_file(target, _outputs.OTHER, replaces) as partial:
        parquet.write_table(pyarrow.table(columns), partial)
    return len(columns["unit"])


def _has_units(parquet: Any, path: Path) -> bool:
    try:
        names = parquet.read_schema(path).names
    except Exception:  # pyarrow raises various kinds: it is another file, or doesn't exist
        return False
    return "unit" in names and "trace_hash" in names


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tidemark.parquet", description="A sweep's units as one Parquet file.",
        epilog="example: python -m tidemark.parquet out -o sweep.parquet")
    parser.add_argument("source", help="the folder of `tidemark sweep`, or a file of its --lines")
    parser.add_argument("-o", "--output", required=True, help="the Parquet file")
    parser.add_argument("--force", action="store_true",
                        help="overwrite a file that holds no units of a sweep")
    given = parser.parse_args(arguments)
    try:
        units = write(given.source, given.output, given.force)
    except (Error, ImportError) as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 3
    print(f"{given.output}: {units} units")
    return 0


if __name__ == "__main__":
    sys.exit(main())
