"""A sweep as a Parquet file: every unit, every figure, and what is said where it can't be."""

import json
import pathlib
import subprocess
import sys

import pytest

import tidemark
from tidemark import parquet


@pytest.fixture
def swept(small, tmp_path):
    folder = tmp_path / "out"
    tidemark.sweep(small, folder=folder, policies=["bump", "best-fit:segment=64MiB"])
    return folder


def test_columns_are_the_units_of_a_folder_or_of_lines(swept, small, tmp_path):
    columns = parquet.read(swept)
    units = [json.loads(path.read_text()) for path in sorted(swept.iterdir())]
    assert columns["unit"] == [unit["unit"] for unit in units]
    assert columns["peak_reserved_bytes"] == [unit["peak_reserved_bytes"] for unit in units]
    assert "64MiB" in columns["options.segment"]
    assert "options" not in columns
    lines = tmp_path / "all.jsonl"
    lines.write_text("".join(path.read_text() for path in sorted(swept.iterdir())))
    assert parquet.read(lines) == columns


def test_a_parquet_file_has_what_was_read(swept, tmp_path):
    files = pytest.importorskip("pyarrow.parquet")
    target = tmp_path / "sweep.parquet"
    assert parquet.main([str(swept), "-o", str(target)]) == 0
    assert files.read_table(target).to_pydict() == parquet.read(swept)
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []


def test_wrong_input_is_named(tmp_path):
    with pytest.raises(tidemark.NotFoundError):
        parquet.read(tmp_path / "nothing")
    with pytest.raises(tidemark.InputError, match="no unit"):
        parquet.read(tmp_path)
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"unit": "a"}\n[1]\n')
    with pytest.raises(tidemark.InputError, match=r"bad\.jsonl:2"):
        parquet.read(bad)


def test_without_pyarrow_it_says_what_to_install(swept, tmp_path):
    code = ("import sys; sys.modules['pyarrow'] = None; from tidemark import parquet;"
            "sys.exit(parquet.main(sys.argv[1:]))")
    said = subprocess.run([sys.executable, "-c", code, str(swept), "-o", str(tmp_path / "a")],
                          capture_output=True, text=True, check=False,
                          env={"PYTHONPATH": str(pathlib.Path(tidemark.__file__).parents[1])})
    assert said.returncode == 3
    assert "pip install pyarrow" in said.stderr
