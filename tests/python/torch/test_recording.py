"""record(): from the allocator's events to what `tidemark` reads."""

import importlib
import importlib.util
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import types

import pytest
from fake_torch import ALLOC, FREE_COMPLETED, FREE_REQUESTED, ROOT, SEGMENT_ALLOC
from fake_torch import torch, torch_folder  # noqa: F401 (fixtures)

import tidemark
import tidemark.torch
from tidemark.torch import _compiled, _launch, _ranks, _recording, _tracker

MIB = 1 << 20


def kinds(trace):
    return [event.kind for event in trace]


def test_importing_it_imports_no_pytorch():
    code = "import sys, tidemark.torch; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "python")})


def test_a_run_is_recorded_and_verified(torch, tmp_path):
    path = tmp_path / "run.tml"
    with tidemark.torch.record(path) as recording:
        assert recording.state == "recording"
        torch.event(SEGMENT_ALLOC, 2 << 30, 2 * MIB)
        torch.event(ALLOC, 2 << 30, 100)
        with recording.range("step"):
            torch.event(FREE_REQUESTED, 2 << 30, 100)
            torch.event(FREE_COMPLETED, 2 << 30, 100)
        torch.event(ALLOC, 2 << 30, 1000)
        torch.event(FREE_REQUESTED, 2 << 30, 1000)
        torch.event(ALLOC, (2 << 30) + 1024, 700)
        torch.event(FREE_COMPLETED, 2 << 30, 1000)
        torch.event(99)
        counts = recording.counts()
    assert counts["dropped"] == 0
    assert (counts["events"], counts["unknown"]) == (8, 1)
    assert recording.state == "stopped"
    assert recording.stop() == ""
    trace = tidemark.load(str(path))
    assert kinds(trace) == ["segment_alloc", "allocate", "range_begin", "free", "range_end",
                            "allocate", "retire", "allocate", "finish"]
    info = tidemark.info(str(path)).to_dict()
    assert "64" in str(info)
    assert info["metadata"]["device 0 bytes used at the end"] == str(3 << 30)
    answer = tidemark.verify(str(path))
    assert answer.mismatches == 0
    assert "max_split_size_mb=64" in answer.policy


def test_a_recording_ends_well_if_the_programs_cuda_has_failed(torch, tmp_path, monkeypatch):
    def fail(_index):
        raise RuntimeError("an illegal memory access was encountered")

    monkeypatch.setattr(torch.cuda, "mem_get_info", fail)
    path = tmp_path / "run.tml"
    with tidemark.torch.record(path):
        torch.event(ALLOC, 2 << 30, 100)
    assert not any("used" in key for key in tidemark.info(str(path)).to_dict()["metadata"])


def test_what_lives_already_is_the_begin(torch, tmp_path):
    torch.segments = [{
        "device": 0, "address": 4 << 30, "total_size": 2 * MIB, "stream": 0,
        "segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": False,
        "blocks": [
            {"address": 4 << 30, "size": 512, "requested_size": 100, "state": "active_allocated"},
            {"address": (4 << 30) + 512, "size": 1024, "requested_size": 1000,
             "state": "active_pending_free"},
            {"address": (4 << 30) + 1536, "size": 2 * MIB - 1536, "requested_size": 0,
             "state": "inactive"}]}]
    # Others go on while the snapshot is read: what they did before it is in it.
    torch.event(ALLOC, 4 << 30, 100)

    def meanwhile():
        torch.event(ALLOC, (4 << 30) + 1536, 512)

    torch.during_snapshot = meanwhile
    with tidemark.torch.record(tmp_path / "run.tml"):
        torch.event(FREE_COMPLETED, (4 << 30) + 512, 1000)
        torch.event(FREE_REQUESTED, 4 << 30, 100)
        torch.event(FREE_COMPLETED, 4 << 30, 100)
    trace = tidemark.load(str(tmp_path / "run.tml"))
    assert kinds(trace) == ["segment_alloc", "block", "allocate", "block", "allocate", "retire",
                            "allocate", "finish", "free"]
    assert tidemark.verify(str(tmp_path / "run.tml")).mismatches == 0


def test_threads_record_together(torch, tmp_path):
    def work(device):
        for number in range(1, 2001):
            torch.event(ALLOC, number << 12, 512, device=device)
            torch.event(FREE_REQUESTED, number << 12, 512, device=device)
            torch.event(FREE_COMPLETED, number << 12, 512, device=device)

    with tidemark.torch.record(tmp_path / "run.tml") as recording:
        threads = [threading.Thread(target=work, args=(0,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert recording.counts()["events"] == 4 * 2000 * 3
        assert recording.counts()["dropped"] == 0


def test_it_waits_for_cuda(torch, tmp_path):
    torch.ready = False
    recording = tidemark.torch.record(tmp_path / "run.tml")
    assert recording.state == "waiting"
    assert not (tmp_path / "run.tml").exists()
    torch.start()
    assert recording.state == "recording"
    assert recording.stop() == str(tmp_path / "run.tml")
    unused = tidemark.torch.record(tmp_path / "unused.tml")
    torch.ready = False
    assert unused.stop()


def test_one_recording_at_a_time(torch, tmp_path):
    with tidemark.torch.record(tmp_path / "a.tml"):
        with pytest.raises(tidemark.UnsupportedError, match="already recorded"):
            tidemark.torch.record(tmp_path / "b.tml")
    with tidemark.torch.record(tmp_path / "b.tml"):
        torch.event(ALLOC, 512, 512)
    assert kinds(tidemark.load(str(tmp_path / "b.tml"))) == ["allocate"]
    with pytest.raises(tidemark.OptionError, match="no such folder"):
        tidemark.torch.record(tmp_path / "nowhere" / "c.tml")


@pytest.mark.parametrize("rank, count", _ranks.VARIABLES)
def test_each_rank_has_a_recording(torch, tmp_path, monkeypatch, rank, count):
    monkeypatch.setenv(rank, "1")
    monkeypatch.setenv(count, "2")
    with tidemark.torch.record(tmp_path / "run.tml") as recording:
        torch.event(ALLOC, 512, 512)
    assert recording.path == str(tmp_path / "run" / "rank1.tml")
    assert kinds(tidemark.load(recording.path)) == ["allocate"]
    with tidemark.torch.record(tmp_path / "run.tml", ranks=(0, 1)) as recording:
        assert recording.path == str(tmp_path / "run.tml")


def test_ranks_are_given_where_no_launcher_says_so(torch, tmp_path, monkeypatch):
    assert tidemark.torch.record(tmp_path / "run.tml", ranks=(2, 4)).stop().endswith("rank2.tml")
    with pytest.raises(tidemark.OptionError, match="ranks"):
        tidemark.torch.record(tmp_path / "run.tml", ranks=(4, 4))
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(tidemark.OptionError, match="need a folder"):
        tidemark.torch.record(tmp_path / "taken.tml", ranks=(0, 2))
    monkeypatch.setenv("RANK", "five")
    assert _ranks.find_rank() == (0, 1)


def test_stacks_are_those_of_python(torch, tmp_path):
    def allocate_here():
        torch.event(ALLOC, 512, 512)

    with tidemark.torch.record(tmp_path / "run.tml", stacks=True):
        allocate_here()
        allocate_here()
    torch.event(ALLOC, 512, 512)
    trace = tidemark.load(str(tmp_path / "run.tml"))
    for event in range(2):
        functions = [frame.function for frame in trace.stack_of(event)]
        assert functions.index("allocate_here") < functions.index(
            "test_stacks_are_those_of_python")


def test_stacks_leave_pytorchs_own_history_alone(torch, tmp_path, capsys):
    torch._C._cuda_isHistoryEnabled = lambda: True
    with tidemark.torch.record(tmp_path / "run.tml", stacks=True):
        torch.event(ALLOC, 512, 512)
    assert "own history is on" in capsys.readouterr().err
    assert tidemark.load(str(tmp_path / "run.tml")).stack_of(0) == []


def test_annotations_are_ranges(torch, tmp_path):
    kind = torch.autograd.profiler.record_function
    enter = kind.__enter__
    with tidemark.torch.record(tmp_path / "run.tml", annotations=True):
        with kind("Optimizer.step#AdamW.step"):
            torch.event(ALLOC, 512, 512)
    assert kind.__enter__ is enter
    assert kinds(tidemark.load(str(tmp_path / "run.tml"))) == ["range_begin", "allocate",
                                                               "range_end"]


def test_steps_of_optimizers_are_always_ranges(torch, tmp_path, monkeypatch):
    hooks = []

    class Handle:
        def __init__(self, hook):
            self.hook = hook
            hooks.append(hook)

        def remove(self):
            hooks.remove(self.hook)

    class AdamW:
        def step(self):
            before, after = hooks
            before(self, (), {})
            torch.event(ALLOC, 512, 512)
            after(self, (), {})

    monkeypatch.setitem(sys.modules, "torch.optim.optimizer", types.SimpleNamespace(
        register_optimizer_step_pre_hook=Handle, register_optimizer_step_post_hook=Handle))
    with tidemark.torch.record(tmp_path / "run.tml"):
        AdamW().step()
    assert not hooks
    trace = tidemark.load(str(tmp_path / "run.tml"))
    assert kinds(trace) == ["range_begin", "allocate", "range_end"]
    assert trace.string(trace[0].aux) == "Optimizer.step#AdamW.step"


def test_without_a_compiler_pytorch_records_itself(torch, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(_tracker, "_tracker", None)
    monkeypatch.setattr(_compiled, "COMPILERS", ())
    monkeypatch.delenv("CXX", raising=False)
    recording = tidemark.torch.record(tmp_path / "run.tml")
    assert recording.state == "history"
    assert "no C++ compiler" in capsys.readouterr().err
    assert recording.stop() == str(tmp_path / "run.pickle")
    assert torch.calls[0]["enabled"] == "all"
    assert (tmp_path / "run.pickle").exists()


def test_the_tracker_is_compiled_once(torch):
    path = _compiled.compiled(torch, _tracker.SOURCE)
    made = path.stat().st_mtime_ns
    assert _compiled.compiled(torch, _tracker.SOURCE).stat().st_mtime_ns == made
    torch.version.git_version = "5678"
    assert _compiled.compiled(torch, _tracker.SOURCE) != path


def test_what_is_compiled_depends_on_the_headers_beside_it(torch, tmp_path):
    source = tmp_path / "source.cpp"
    source.write_text('#include "beside.h"\n')
    (tmp_path / "beside.h").write_text("int one;\n")
    first = _compiled.cache_path(torch, "c++", source)
    assert _compiled.cache_path(torch, "c++", source) == first
    (tmp_path / "beside.h").write_text("int two;\n")
    assert _compiled.cache_path(torch, "c++", source) != first


def test_settings_are_written_as_snapshots_have_them():
    assert _recording.setting_text({"1": 0, "2": 4}) == "1:0,2:4"
    assert _recording.setting_text(True) == "True"
    assert _recording.pool_number((0, 3)) == 3
    assert _recording.pool_number((2, 0)) == (1 << 31) + 2


def child_ends_at_once(recording):
    os._exit(0 if recording.stop() == "" else 1)


def child_ends_by_itself(recording):
    recording.mark("from a child")
    sys.exit(0 if recording.state == "stopped" else 1)


def child_records(recording):
    with pytest.raises(tidemark.Error, match="written by another program"):
        tidemark.torch.record(recording.path, overwrite=True)
    own = tidemark.torch.record(recording.path + ".child.tml")
    sys.exit(0 if own.state == "recording" else 1)


@pytest.mark.parametrize("ends", [child_ends_at_once, child_ends_by_itself, child_records])
def test_a_child_made_by_fork_records_nothing(torch, tmp_path, ends):
    recording = tidemark.torch.record(tmp_path / "run.tml", annotations=True)
    torch.event(ALLOC, 512, 512)
    held, forked = threading.Event(), threading.Event()

    def hold():  # as a thread that marks something while another one forks
        with _recording._guard:
            held.set()
            forked.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    child = multiprocessing.get_context("fork").Process(target=ends, args=(recording,))
    child.start()
    forked.set()
    holder.join()
    child.join(20)
    assert child.exitcode == 0
    torch.event(FREE_COMPLETED, 512, 512)
    assert recording.stop() == str(tmp_path / "run.tml")
    assert recording.counts()["lost"] == 0
    assert kinds(tidemark.load(str(tmp_path / "run.tml"))) == ["allocate", "free"]


def test_what_a_killed_program_recorded_is_there(torch, tmp_path):
    path = tmp_path / "run.tml"
    child = os.fork()
    if child == 0:
        tidemark.torch.record(path)
        for number in range(1, 5000):
            torch.event(ALLOC, number << 9, 512)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    trace = tidemark.load(str(path))
    assert len(trace) == 4999
    assert any("died" in warning for warning in trace.info["warnings"])


def test_a_library_that_looks_for_a_module_first_does_not_hide_its_import(tmp_path, monkeypatch):
    (tmp_path / "sought_module.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    _launch.after_import("sought_module",
                         lambda: seen.append(sys.modules["sought_module"].value))
    assert importlib.util.find_spec("sought_module") and not seen
    importlib.import_module("sought_module")
    importlib.reload(sys.modules["sought_module"])
    assert seen == [3]
    del sys.modules["sought_module"]
