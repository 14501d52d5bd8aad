"""Sweeps from Python: the program's answer, and a Dask cluster over the same units."""

import pathlib

import pytest

import tidemark

GRID = ["torch:max_split_size_mb=64..512*2,1024"]


def units(folder):
    return {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}


def test_a_sweep_is_the_programs_and_goes_on(small, tmp_path):
    answer = tidemark.sweep(small, folder=tmp_path / "a", grid=GRID, policies=["bump"])
    assert (answer.planned, answer.computed) == (6, 6)
    assert len(answer.to_frame()) == 6
    again = tidemark.sweep(small, folder=tmp_path / "a", grid=GRID, policies=["bump"])
    assert again.computed == 0 and again.settings == answer.settings
    larger = tidemark.sweep(small, folder=tmp_path / "a", grid=GRID, policies=["bump", "best-fit"],
                            memory=["40GiB", "80GiB"])
    assert larger.planned == 14


def test_dasks_workers_come_to_the_same_bytes(small, sample, tmp_path):
    distributed = pytest.importorskip("distributed")
    here = tidemark.sweep(small, sample, folder=tmp_path / "here", grid=GRID)
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=2,
                            dashboard_address=None) as client:
        there = tidemark.sweep(small, sample, folder=tmp_path / "there", grid=GRID, client=client,
                               parts=3)
    assert there.computed == 0 and there.missing == 0  # the workers had done it
    assert there.settings == here.settings
    assert units(tmp_path / "there") == units(tmp_path / "here") and len(
        units(tmp_path / "here")) == 10


def test_wrong_settings_are_option_errors(small, tmp_path):
    with pytest.raises(tidemark.OptionError):
        tidemark.sweep(small, folder=tmp_path, grid=["torch:max_split_size=64"])
