"""The memory of other libraries from Tidemark, with libraries that aren't there."""

import gc
import os
import subprocess
import sys
import types

import pytest
from conftest import ROOT
from fake_libraries import (CudaAPIError, CudaStream, CupyOutOfMemory, NumbaContext, cuda_core,
                            cupy, numba, pools, rmm)  # noqa: F401 (fixtures)

import tidemark
import tidemark.cuda_core
import tidemark.cupy
import tidemark.numba
import tidemark.rmm

MIB = 1 << 20


def test_importing_them_imports_no_library():
    code = ("import sys, tidemark.numba, tidemark.cupy, tidemark.rmm, tidemark.cuda_core, "
            "tidemark.torch; "
            "sys.exit(any(name in sys.modules for name in ('numba', 'cupy', 'rmm', 'torch')))")
    subprocess.run([sys.executable, "-c", code], check=True,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "python")})


def test_all_libraries_share_one_context_and_differ_by_tag(pools, cupy, rmm):
    array = tidemark.cupy.allocator()(3000)
    resource = tidemark.rmm.resource()
    address = resource.allocate(1000, CudaStream(0))
    first, second = tidemark.holders()
    assert (first.client, first.bytes, first.count, first.peak) == ("cupy", 3000, 1, 3000)
    assert (second.client, second.bytes) == ("rmm", 1000)
    context = pools.context(0)
    assert context.statistics().live == 2
    assert context.base_of(address).tag != context.base_of(array.ptr).tag
    resource.deallocate(address, 1000, CudaStream(0))
    assert [each.bytes for each in tidemark.holders()] == [3000, 0]


def test_a_recording_says_which_library_it_was(tmp_path):
    code = ("import tidemark; from tidemark import _pools\n"
            "tidemark.use('extent', machine='sim', record='both')\n"
            "for name in ('cupy', 'rmm'): _pools.client(name, 0).alloc(1000)\n")
    subprocess.run([sys.executable, "-c", code], check=True,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "python"),
                        "TIDEMARK_RUNTIME_DIR": str(tmp_path / "runtime"),
                        "TIDEMARK_RECORDINGS": str(tmp_path / "recordings")})
    recording, = (tmp_path / "recordings").glob("both-*.tml")
    trace = tidemark.load(recording)
    assert not trace.info["warnings"]  # such as: it has no end
    assert not list((tmp_path / "runtime").iterdir())
    assert {trace.string(int(tag)) for tag in trace.tag if tag} == {"cupy", "rmm"}


def test_a_quota_is_the_librarys_own_out_of_memory(pools, cupy, rmm):
    allocate = tidemark.cupy.use()
    assert cupy.cuda.allocator == allocate.malloc
    with pytest.raises(tidemark.OptionError, match="none"):
        tidemark.set_quota("cupy", MIB)
    kept = allocate(MIB)
    tidemark.set_quota("cupy", 2 * MIB)
    assert allocate.get_limit() == 2 * MIB
    with pytest.raises(CupyOutOfMemory):
        allocate(2 * MIB)
    tidemark.rmm.use()
    rmm.mr.current[0].allocate(2 * MIB, None)  # another library is not concerned
    allocate.set_limit(fraction=0.5)
    assert allocate.get_limit() == pools.context(0).statistics().device_total // 2
    allocate.set_limit(0)
    assert allocate(2 * MIB).ptr != kept.ptr


def test_what_serves_is_chosen_before_it_serves(pools):
    tidemark.use("best-fit", machine="sim:h200", memory=64 * MIB)
    tidemark.use("torch", machine="sim:h200", memory=64 * MIB)
    assert pools.context(0).policy == "torch"
    tidemark.use("torch", machine="sim:h200", memory=64 * MIB)
    with pytest.raises(tidemark.OptionError, match="another policy"):
        tidemark.use("extent", machine="sim:h200", memory=64 * MIB)


def test_the_context_is_never_closed(pools):
    context = pools.context(0)
    address = context.alloc(512)
    assert context.close() == 0
    context.free(address)


def test_cupy(pools, cupy):
    allocate = tidemark.cupy.allocator()
    array = allocate(5000)
    assert pools.context(0).base_of(array.ptr).stream == 7
    assert array.mem.device_id == 0 and allocate.used_bytes() == 5000
    assert allocate.total_bytes() >= 5000
    empty = allocate(0)
    assert empty.ptr == 0
    cupy.cuda.current = CudaStream(9)  # freed on the stream that it was granted on
    del array, empty
    gc.collect()
    assert allocate.used_bytes() == 0
    assert allocate.free_bytes() == allocate.total_bytes() > 0
    allocate.free_all_blocks()
    assert allocate.total_bytes() == 0
    assert isinstance(tidemark.cupy.memory_pool(), tidemark.cupy.Allocator)


def test_cupy_names_a_stream_at_a_free_only_while_it_is_current(pools, cupy, monkeypatch):
    allocate = tidemark.cupy.allocator()
    named = []
    client = pools.client("cupy", 0)
    freed = client.free
    monkeypatch.setattr(client, "free", lambda address, size, stream:
                        (named.append(stream), freed(address, size, stream)))
    first, second = allocate(5000), allocate(5000)
    del first
    cupy.cuda.current = CudaStream(9)
    del second
    third = allocate(100)
    cupy.cuda.current = CudaStream(0)
    fourth = allocate(100)
    cupy.cuda.current = CudaStream(9)
    del third, fourth
    gc.collect()
    assert named == [7, tidemark.STREAM_OF_REQUEST, 9, 0]
    assert allocate.used_bytes() == 0


def test_rmm_for_real(pools):
    rmm = pytest.importorskip("rmm")
    counted = rmm.mr.StatisticsResourceAdaptor(tidemark.rmm.resource())
    address = counted.allocate(5000)
    assert counted.allocation_counts.current_bytes == tidemark.holders()[0].bytes == 5000
    tidemark.set_quota("rmm", MIB)
    with pytest.raises(MemoryError):
        counted.allocate(2 * MIB)
    counted.deallocate(address, 5000)
    assert tidemark.holders()[0].count == 0


def test_cuda_core(pools, cuda_core):
    resource = tidemark.cuda_core.MemoryResource()
    assert isinstance(resource, tidemark.cuda_core.MemoryResource)
    stream = CudaStream(5)
    with_keyword = resource.allocate(1000, stream=stream)
    with_position = resource.allocate(1000, stream)
    without = resource.allocate(1000)
    assert pools.context(0).base_of(with_keyword.handle).stream == 5
    for buffer in (with_keyword, with_position, without):
        buffer.close()
    assert tidemark.holders()[0].count == 0
    assert resource.device_id == 0 and resource.is_device_accessible
    assert not resource.is_host_accessible and not resource.is_managed
    with_keyword.close()  # when the process ends nothing is raised


@pytest.fixture
def memory(pools, numba):
    context = NumbaContext()
    made = tidemark.numba._numba_memory_manager(context=context)
    made.kept = context  # Numba's own does; the memory has a proxy alone
    made.initialize()
    return made


def test_numba_finds_it(pools, numba):
    kind = tidemark.numba._numba_memory_manager
    assert kind(context=None).interface_version == 1
    tidemark.numba.use()
    assert numba.cuda.installed is kind
    assert not tidemark.holders()


def test_numba_memory(pools, memory):
    assert memory.deallocations.memory_capacity == 1 << 30
    pointer = memory.memalloc(1000)
    context = pools.context(0, "torch")
    assert context.base_of(pointer.handle).stream == tidemark.STREAM_UNKNOWN
    free = memory.get_memory_info().free
    empty = [memory.memalloc(0) for _ in range(2)]
    assert empty[0].handle != empty[1].handle
    del pointer, empty
    gc.collect()
    assert tidemark.holders()[0].count == 0
    assert memory.get_memory_info().free >= free


def test_numba_after_a_reset_frees_nothing_twice(pools, memory):
    old = memory.memalloc(1000)
    memory.reset()
    assert tidemark.holders()[0].count == 0
    new = memory.memalloc(1000)  # perhaps where the old one was
    del old
    gc.collect()
    assert tidemark.holders()[0].count == 1
    memory.reset()
    memory.reset()
    del new


def test_numba_takes_from_a_new_context_after_a_reset(pools, memory):
    pointer = memory.memalloc(1000)
    before = memory.holding.client.context
    memory.reset()  # by cuda.close(), after which the device's memory is gone
    with pytest.raises(tidemark.OptionError):
        before.alloc(1)
    new = memory.memalloc(1000)
    holder, = tidemark.holders()
    assert (holder.count, memory.holding.client.granted) == (1, 2)
    assert memory.holding.client.context is not before
    del pointer, new


def test_numba_leaves_a_context_that_others_use(pools, memory):
    client = memory.holding.client
    other = pools.client("other", 0, client.policy)
    address = other.alloc(1000)
    memory.reset()
    other.free(address, 1000)


def test_numba_in_a_context_that_another_made(pools, memory):
    memory.context = types.SimpleNamespace(device=object())  # no object of Numba's
    assert memory.holding.client.device == 0


def test_numba_reset_before_it_begins(pools, numba):
    tidemark.numba.plugin()(context=NumbaContext()).reset()
    assert not tidemark.holders()


def test_numba_arrays_keep_no_context_alive(pools, memory):
    pointer = memory.memalloc(1000)
    del memory.kept, memory.context
    gc.collect()
    with pytest.raises(ReferenceError):
        pointer.context.device


def test_numba_frees_nothing_while_cleanup_is_deferred(pools, memory):
    with memory.defer_cleanup(), memory.defer_cleanup():
        pointer = memory.memalloc(600 * MIB)
        del pointer
        gc.collect()
        assert tidemark.holders()[0].count == 1
        pointer = memory.memalloc(600 * MIB)  # unless it is needed
        del pointer
        gc.collect()
    assert tidemark.holders()[0].count == 0


def test_numbas_memory_on_a_gpu_that_is_not_there():
    memory = tidemark.numba.SimulatedMemory("cuda-malloc:defer_frees=10", bytes=1 << 30)
    free, total = memory.get_memory_info()
    assert free == total == 1 << 30
    pointers = [memory.memalloc(2 << 20) for _ in range(11)]
    del pointers[:10]
    assert memory.context.statistics().deferred == 20 << 20
    pointers[0].free()
    now = memory.context.statistics()
    assert (now.deferred, now.flushes, now.reserved, now.live) == (0, 1, 0, 0)

    with memory.defer_cleanup():
        memory.memalloc(600 << 20)
        assert memory.context.statistics().live == 1
        memory.memalloc(600 << 20)  # what waits is freed for it
    left = memory.memalloc(1000)
    memory.reset()
    assert memory.context.statistics().live == 0
    left.free()
    with pytest.raises(tidemark.OutOfMemoryError):
        memory.memalloc(2 << 30)
    with pytest.raises(tidemark.OptionError, match="isn't a simulated device"):
        tidemark.numba.SimulatedMemory(machine="cuda:0")


def test_numba_out_of_memory_is_the_drivers(memory):
    with pytest.raises(CudaAPIError) as failure:
        memory.memalloc(2 << 30)
    assert failure.value.code == 2


def test_numba_handles_for_others(pools, memory, monkeypatch):
    pointer = memory.memalloc(1000)
    with pytest.raises(RuntimeError, match="cannot open memory"):
        memory.get_ipc_handle(pointer)  # of a simulated device
    monkeypatch.setattr(tidemark.Context, "export", lambda *_given: None)
    assert memory.get_ipc_handle(pointer) == "handle"


def test_numba_takes_what_the_program_chose(pools, memory, monkeypatch):
    assert memory.holding.client.context.policy == "torch"
    monkeypatch.setenv("TIDEMARK_NUMBA_POLICY", "best-fit")
    assert tidemark.numba.policy() == "best-fit"
    monkeypatch.delenv("TIDEMARK_NUMBA_POLICY")
    monkeypatch.setattr(pools, "_chosen", True)
    assert tidemark.numba.policy() is None
