"""A sweep's units as one Parquet file, for pandas, Polars, DuckDB and Spark. Needs pyarrow.

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

from tidemark._tables import needed
from tidemark.errors import Error, FileError, InputError, NotFoundError

__all__ = ["read", "write"]

Path = Union[str, "os.PathLike[str]"]
UNIT_FILE = re.compile(r"[0-9a-f]{16}\.json")


def _lines(source: pathlib.Path) -> Iterator[Tuple[str, str]]:
    """Each unit's line, and where it is."""
    if source.is_dir():
        for file in sorted(source.iterdir()):
            if UNIT_FILE.fullmatch(file.name):
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
    """The columns of a sweep's units, a value for each unit; None where a unit has none.

    Parameters
    ----------
    source : path
        The folder of a sweep, or a file that `--lines` wrote. Options of policies are columns
        `options.NAME` of text.
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


def write(source: Path, target: Path) -> int:
    """Writes the units of `source` (see `read`) to `target`, whole or not at all.

    Returns
    -------
    int
        How many units it has.
    """
    pyarrow = needed("pyarrow", "a Parquet file")
    parquet = needed("pyarrow.parquet", "a Parquet file")
    columns = read(source)
    partial = f"{os.fspath(target)}.partial"
    try:
        parquet.write_table(pyarrow.table(columns), partial)
        os.replace(partial, target)
    except OSError as failure:
        raise FileError(str(failure), str(target)) from failure
    return len(columns["unit"])


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tidemark.parquet", description="A sweep's units as one Parquet file.",
        epilog="example: python -m tidemark.parquet out -o sweep.parquet")
    parser.add_argument("source", help="the folder of `tidemark sweep`, or a file of its --lines")
    parser.add_argument("-o", "--output", required=True, help="the Parquet file")
    given = parser.parse_args(arguments)
    try:
        units = write(given.source, given.output)
    except (Error, ImportError) as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 3
    print(f"{given.output}: {units} units")
    return 0


if __name__ == "__main__":
    sys.exit(main())
