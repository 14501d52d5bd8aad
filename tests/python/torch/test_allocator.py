"""use() and pool(). With the PyTorch that is installed, on a simulated device, if there is one."""

import importlib.util
import os
import subprocess
import sys
import textwrap

import pytest
from conftest import ROOT
from fake_torch import torch, torch_folder  # noqa: F401 (fixtures)

import tidemark.torch
from tidemark import _library
from tidemark.torch import _allocator, _compiled


def run(code, folder, **variables):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"),
             "XDG_CACHE_HOME": str(folder), **variables})
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:  # the folder of these tests is no PyTorch
        pytest.skip("there is no PyTorch")
    return tmp_path_factory.mktemp("cache")


BEGIN = """
import tidemark, tidemark.torch, torch
from tidemark.torch import _allocator

tidemark.torch.use("{policy}", machine="sim:h200", memory=1 << 30)
take, free = _allocator._loaded.tidemark_torch_alloc, _allocator._loaded.tidemark_torch_free
def stats():
    return torch._C._cuda_memoryStats(0)
def holder():
    return tidemark.holders()[0]
"""


def test_what_is_compiled_has_the_standard_library_of_the_process(torch):
    _library.library()
    path, = _compiled.standard_library()
    with open("/proc/self/maps", encoding="utf-8") as maps:
        assert path in maps.read()
    assert path in _compiled.command(torch, "c++", _allocator.SOURCE, "target")


@pytest.mark.parametrize("policy", ["extent", "torch"])
def test_pytorchs_statistics_are_those_of_the_pool(cache, policy):
    run(BEGIN.format(policy=policy) + """
assert torch.cuda.get_allocator_backend() == "tidemark"
first, second = take(1000, 0, None), take(5 << 20, 0, 7)
now = stats()
assert now["allocated_bytes"]["all"]["current"] == (5 << 20) + 1024
assert now["requested_bytes"]["all"]["current"] == holder().bytes == (5 << 20) + 1000
assert now["allocation"]["all"]["current"] == holder().count == 2
assert now["reserved_bytes"]["all"]["current"] >= (5 << 20) + 1024
free(second, 0, 0, None)
assert stats()["allocated_bytes"]["all"]["current"] == 1024
assert stats()["allocated_bytes"]["all"]["peak"] == (5 << 20) + 1024
torch._C._cuda_emptyCache()
torch._C._cuda_resetPeakMemoryStats(0)
now = stats()
assert now["allocated_bytes"]["all"]["peak"] == 1024
assert now["reserved_bytes"]["all"]["peak"] == now["reserved_bytes"]["all"]["current"] < 5 << 20
torch._C._cuda_cudaCachingAllocator_raw_delete(first)
assert stats()["allocation"]["all"]["current"] == 0
assert take(2 << 30, 0, None) is None
tidemark.set_quota("torch", 1 << 20)
assert take(2 << 20, 0, None) is None and holder().quota == 1 << 20
""", cache)


def test_deferrable_memory_leaves_where_there_is_none_left(cache):
    run(BEGIN.format(policy="extent") + """
import ctypes
memory = tidemark.DeferrableMemory(tidemark.Context("sim"), 8 << 20, 64 << 20)
kept = [memory.empty(2 << 20) for _ in range(4)]
tidemark.torch.reclaim(memory)
held = kept[0].pin()
assert take(100 << 20, 0, None)
assert memory.statistics().resident == 4  # there was room
assert take(2 << 30, 0, None) is None
assert memory.statistics().resident == 1  # what is pinned
del held, kept
memory.close()
assert take(2 << 30, 0, None) is None

block = take(600 << 20, 0, None)
def free_bytes(store, tier, wanted, freed):
    free(block, 0, 0, None)
    freed[0] = 600 << 20
    return 0
kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64,
                        ctypes.POINTER(ctypes.c_uint64))
function = kind(free_bytes)
change = _allocator._loaded.tidemark_torch_reclaim
change(7, 1, ctypes.cast(function, ctypes.c_void_p))
assert take(700 << 20, 0, None) is None  # of another device
change(7, 0, ctypes.cast(function, ctypes.c_void_p))
assert take(700 << 20, 0, None)
change(7, 0, None)
""", cache)


def test_only_tidemarks_allocator_makes_room(torch, monkeypatch):
    monkeypatch.setattr(_allocator, "_loaded", None)
    with tidemark.DeferrableMemory(tidemark.Context("sim"), 8 << 20, 64 << 20) as memory:
        with pytest.raises(tidemark.OptionError, match="defer_on_oom"):
            tidemark.torch.reclaim(memory)


@pytest.mark.parametrize("policy", ["extent", "torch"])
def test_pytorchs_snapshots_show_the_pool(cache, policy):
    run(BEGIN.format(policy=policy) + """
kept = take(5 << 20, 0, None)
free(take(3 << 20, 0, None), 0, 0, None)
segments = torch._C._cuda_memorySnapshot(None)["segments"]
assert sum(one["total_size"] for one in segments) == stats()["reserved_bytes"]["all"]["current"]
assert sum(one["allocated_size"] for one in segments) == 5 << 20
for one in segments:
    assert sum(block["size"] for block in one["blocks"]) == one["total_size"]
    at = one["address"]
    for block in one["blocks"]:
        assert block["address"] == at
        at += block["size"]
blocks = [block for one in segments for block in one["blocks"] if block["state"] != "inactive"]
assert [(one["address"], one["requested_size"]) for one in blocks] == [(kept, 5 << 20)]
""", cache)


def test_a_context_that_cannot_be_opened_is_pytorchs_error(cache):
    run("""
import tidemark, tidemark.torch, torch
tidemark.torch.use("extent", machine="sim:nonesuch")
try:
    torch._C._cuda_setMemoryFraction(0.5, 0)
except RuntimeError as failure:
    assert "nonesuch" in str(failure), failure
else:
    raise AssertionError()
""", cache)


def test_use_comes_before_memory(torch):
    with pytest.raises(tidemark.OptionError, match="before the first tensor"):
        tidemark.torch.use("extent")


def test_a_compiler_that_fails_is_reported(torch, monkeypatch):
    monkeypatch.setattr(_allocator, "_loaded", None)
    torch.cuda.is_initialized = lambda: False
    with pytest.raises(tidemark.UnsupportedError, match="cannot compile"):
        tidemark.torch.use()


@pytest.mark.parametrize("name", _allocator.CONF)
def test_no_pool_with_expandable_segments(torch, monkeypatch, name):
    monkeypatch.setenv(name, "max_split_size_mb:64, expandable_segments:True")
    with pytest.raises(tidemark.OptionError, match=name):
        tidemark.torch.pool()


def test_a_pools_functions_serve_segments(torch, monkeypatch):
    class Compiled:
        tidemark_torch_alloc = tidemark_torch_free = staticmethod(_allocator.OPEN(lambda *_: 0))

    monkeypatch.setattr(_allocator, "_loaded", Compiled)
    monkeypatch.setattr(_allocator, "_kept", None)
    for name in _allocator.CONF:
        monkeypatch.delenv(name, raising=False)
    made = []
    torch._C._cuda_customAllocator = lambda *functions: made.append(functions) or "allocator"
    torch.cuda.MemPool = lambda allocator: [allocator]
    first, second = tidemark.torch.pool(), tidemark.torch.pool()
    assert first == second == ["allocator"] and first is not second
    assert len(made) == 1 and all(made[0])
