"""Recordings as columns."""

import gc
import os
import re

import pytest
from conftest import ROOT

import tidemark
from tidemark.trace import COLUMNS

numpy = pytest.importorskip("numpy")


@pytest.fixture
def trace(sample):
    return tidemark.load(sample)


def test_columns_are_read_only_views(trace):
    assert len(trace) == 18359
    for name, kind in COLUMNS.items():
        column = getattr(trace, name)
        assert column.shape == (18359,) and column.dtype == numpy.dtype(kind)
        assert not column.flags.writeable and not column.flags.owndata
        with pytest.raises(ValueError):
            column[0] = 1
    assert (numpy.diff(trace.time.astype("i8")) >= 0).all()


def test_figures_are_those_of_info(trace, sample):
    info = tidemark.info(sample)
    names = trace.kind_names
    counts = {names[kind]: int(count)
              for kind, count in zip(*numpy.unique(trace.kind, return_counts=True))}
    assert counts == info.kinds.to_dict()
    allocations = trace.kind == names.index("allocate")
    assert int(allocations.sum()) == info.allocations
    assert int(trace.size[allocations].sum()) == info.allocated_bytes
    assert int(trace.time[-1]) == info.duration_ns == trace.info["duration_ns"]
    assert trace.info["event_count"] == info.events == len(trace)


def test_arrays_outlive_the_trace(sample):
    size = tidemark.load(sample).size
    gc.collect()
    assert int(size.sum()) == int(tidemark.load(sample).size.sum())


def test_parts(trace):
    part = trace[100:200]
    assert len(part) == 100 and not part.is_whole and trace.is_whole
    assert (part.time == trace.time[100:200]).all()
    assert (part[10:20].size == trace.size[110:120]).all()
    assert part[0] == trace[100] and part[-1] == trace[199]
    assert len(trace[5:3]) == 0 and len(trace[:]) == len(trace)
    with pytest.raises(ValueError):
        trace[::2]
    with pytest.raises(IndexError):
        part[100]
    assert [event.time for event in trace[:5]] == trace.time[:5].tolist()


def test_parts_by_time(trace):
    begin, end = 500_000_000, 1_000_000_000
    part = trace.between(begin, end)
    expected = ((trace.time >= begin) & (trace.time < end)).sum()
    assert len(part) == expected > 0
    assert len(part.between(0, begin)) == 0
    assert len(trace.between(0, 2**62)) == len(trace)
    assert len(part.between(end - 1000000, 2**62)) < len(part)


def test_events_have_names(trace):
    event = trace[0]
    assert event.kind in trace.kind_names and isinstance(event.size, int)
    assert trace.kind_names[0] == "allocate" and trace.kind_names[1] == "free"


def test_kind_names_are_those_of_the_source():
    text = (ROOT / "traces" / "model" / "event.h").read_text()
    enum = text.split("enum class EventKind")[1].split("};")[0]
    for name, number in re.findall(r"^    (\w+) = (\d+),", enum, re.MULTILINE):
        assert tidemark.trace.kind_names()[int(number)] == name


def test_stacks_and_strings(stacks):
    trace = tidemark.load(stacks)
    event = int(numpy.argmax(trace.stack > 0))
    frames = trace.stack_of(event)
    assert frames and all(isinstance(frame.function, str) for frame in frames)
    assert any(frame.file.endswith(".py") and frame.line > 0 for frame in frames)
    assert trace[event:event + 1].stack_of(0) == frames
    with pytest.raises(tidemark.Error):
        trace.string(2**31)


def test_no_stacks(trace):
    assert trace.stack_of(0) == []


def test_frames(trace):
    pytest.importorskip("pandas")
    frame = trace.to_frame()
    assert list(frame.columns) == list(COLUMNS) and len(frame) == len(trace)
    assert frame["kind"].iloc[0] == trace[0].kind
    assert int(frame["size"].sum()) == int(trace.size.sum())


def test_tags_are_texts_in_frames():
    pytest.importorskip("pandas")
    trace = tidemark.load(str(ROOT / "traces" / "samples" / "uses" / "query.jsonl.xz"))
    frame = trace.to_frame()
    for tag, number in list(zip(frame["tag"], trace.tag))[:2000]:
        assert tag == trace.string(int(number)) if number else tag != tag


def test_how_it_looks(trace):
    assert "18,359 events" in repr(trace) and "100..200 of" in repr(trace[100:200])
    assert "<table>" in trace._repr_html_() and "torch-snapshot" in trace._repr_html_()


def test_generators():
    trace = tidemark.load("generate:mix:seed=7")
    assert len(trace) > 0 and (trace.kind == 0).any()


def test_wrong_files(tmp_path):
    with pytest.raises(tidemark.Error, match="nothing.pickle"):
        tidemark.load(tmp_path / "nothing.pickle")
    broken = tmp_path / "broken.pickle"
    broken.write_bytes(b"\x80\x04 this is no recording")
    with pytest.raises(tidemark.InputError):
        tidemark.load(broken)


def test_how_it_was_loaded(sample):
    assert tidemark.load(sample, lenient=True, as_recorded=True).arguments == [
        "--lenient", "--as-recorded"]


def test_progress(sample):
    seen = []
    tidemark.load(sample, progress=lambda *given: seen.append(given))
    assert all(total == 0 or done <= total for _, done, total in seen)


def test_many_open_traces_are_closed(sample):
    files = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        tidemark.load(sample).size.sum()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= files + 1
