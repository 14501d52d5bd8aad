"""Recordings of pins: what a program did with its deferrable buffers, replayed and drawn."""

import gc
import json
import threading

import pytest

import tidemark
from tidemark.programs import program

numpy = pytest.importorskip("numpy")

MIB = 1 << 20
LAYER = 4 * MIB


@pytest.fixture
def memory():
    with tidemark.DeferrableMemory(tidemark.Context("sim"), 2 * LAYER, 64 * MIB,
                                   victims="lru") as made:
        yield made


@pytest.fixture
def run(memory, tmp_path):
    """A program of six layers, of which two fit: its recording, and what it cost."""
    path = tmp_path / "pins.jsonl"
    before = memory.empty(LAYER, tag="before")
    with memory.record(path):
        layers = [memory.from_array(bytes([one]) * LAYER, tag=f"layer {one}") for one in range(6)]
        for _ in range(3):
            for layer in layers:
                with layer.pin(stream=7, mode="read"):
                    pass
        with memory.pin(layers[0], layers[1], layers[0]):
            pass
        layers[0].defer()
        layers[1].destroy()
        before.destroy()
    return path, memory.statistics(), memory.counters("gpu")


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_recording_is_what_the_program_did(run):
    path, _, _ = run
    header, *events = lines_of(path)
    assert header["type"] == "header" and header["device"].startswith("sim")
    assert events[0]["tag"] == "before" and events[0]["preamble"]
    kinds = [one["op"] for one in events]
    assert kinds.count("alloc") == kinds.count("free") == 7
    assert kinds.count("mark") == 6 + 18 + 1 and kinds.count("move") == 1
    last = [one for one in events if one["op"] == "use"][-2:]
    assert last[0]["kernel"] == last[1]["kernel"] and last[0]["mode"] == "rw"
    assert [one["t"] for one in events] == sorted(one["t"] for one in events)


def test_its_replay_in_the_same_memory_is_the_run(run):
    path, statistics, counters = run
    replayed = tidemark.replay(path, gpu_memory=2 * LAYER, spill="lru")
    assert replayed.kernels == 25 and replayed.out_of_memory == 0
    assert replayed.evictions == counters.evictions == statistics.deferrals > 20
    assert replayed.spilled_bytes == counters.copied_out
    assert replayed.fetched_bytes == counters.copied_in
    belady = tidemark.replay(path, gpu_memory=2 * LAYER, spill="belady")
    assert belady.fetched_bytes < replayed.fetched_bytes


def test_its_states_are_drawn(run):
    path, _, _ = run
    try:
        program("tidemark-view")
    except tidemark.NotFoundError:
        pytest.skip("tidemark-view is not built here")
    lru, belady = (tidemark.picture(path, size=(800, 450), gpu_memory=2 * LAYER,
                                    spill=spill).png for spill in ("lru", "belady"))
    assert lru != belady  # what was where, and when it moved


def test_one_recording_at_a_time(memory, tmp_path):
    with memory.record(tmp_path / "one.jsonl"):
        with pytest.raises(tidemark.OptionError, match="being recorded"):
            with memory.record(tmp_path / "two.jsonl"):
                pass
    with memory.record(tmp_path / "three.jsonl"):
        pass
    assert len(lines_of(tmp_path / "three.jsonl")) == 1


def test_threads_and_finalizers_write_whole_lines(tmp_path):
    path = tmp_path / "pins.jsonl"
    # Room for what three threads pin at once and what they create meanwhile, in whole pages.
    room = 16 * LAYER
    memory = tidemark.DeferrableMemory(tidemark.Context("sim"), room, 64 * MIB, victims="lru")
    kept = [memory.empty(1) for _ in range(2)]

    def work(number):
        for _ in range(15):
            one = memory.empty(1)
            one.itself = one  # only the collector ends it
            with memory.pin(one, kept[number % 2], stream=16 * (number + 1)):
                pass
            del one
            gc.collect()

    with memory.record(path):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    memory.close()
    replayed = tidemark.replay(path, gpu_memory=room, spill="lru")
    assert replayed.kernels == 45 and replayed.warnings == []
