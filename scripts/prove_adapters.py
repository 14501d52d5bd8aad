#!/usr/bin/env python3
"""Proves on a GPU that other libraries work the same with Tidemark's memory as with their own.

Usage: scripts/prove-on-gpu adapters [--steps N] [--only PROOF]

It needs libtidemark.so (TIDEMARK_LIBRARY names it; it finds that of a build tree) and the libraries
that the proofs name. A proof without its library is skipped. Each one is a program of its own:

  train       a residual network and a GPT-2 trained by PyTorch's own allocator, with expandable
              segments, under tidemark.torch.use() and in a tidemark.torch.pool(): the same losses
              and weights to the last bit; time of a step and peak reserved of each
  torch       use(): statistics, out-of-memory errors and recovery, empty_cache, fractions, captured
              graphs, cudnn.benchmark; use() that is called too late
  streams     with record_stream, memory of two streams stays intact; without it, the check finds errors
  numba       Numba's own memory tests, with Numba's allocator and ours: the same result of each test
  numba-all   as numba, with all of its tests (many minutes; only with --only numba-all)
  lifecycle   Numba's arrays at the end of the process, closed and reset contexts, threads
  cupy        results, streams, limits, out of memory, CuPy's own pool on top of ours
  cupy-tests  CuPy's own tests of arrays and memory, as numba; they aren't in its wheel, so this needs
              PROVE_CUPY_TESTS, the folder tests/ of its sources
  core        cuda.core: buffers, copies, DLPack
  rmm         requests, and the statistics adaptor on top
  cccl        nvcc compiles <tidemark/memory_resource.h> with its own CCCL: it is a resource, and two
              streams find in its memory what they wrote
  pools       the cost of an allocation and its free, and the memory held for it: CuPy's and RMM's
              pools and ours, from Python and from C++
  ends        for each library: memory that is live when the process ends, and a forked child
  shared      PyTorch, CuPy and Numba in one process from one pool, with quotas
"""
import argparse
import gc
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from adapter_cccl import nvcc, prove_cccl
from adapter_checks import MIB, check, program, raises
from adapter_numba import prove_lifecycle
from adapter_pools import prove_pools
from adapter_suites import CUPY_TESTS, prove_cupy_tests, prove_numba, prove_numba_all
from adapter_torch import prove_streams, prove_torch, prove_train


def cupy_work(cupy, numpy):
    """A computation with arrays, temporary arrays and workspaces; returns its results on the host."""
    random = numpy.random.default_rng(1)
    results = {}
    for size in (100, 511, 1000):
        first, second = (cupy.asarray(random.standard_normal((size, size))) for _ in range(2))
        made = {"matmul": first @ second, "sort": cupy.sort(first, axis=0),
                "fft2": cupy.fft.fft2(first), "sum": (first + second).sum(axis=1),
                "where": cupy.where(first > 0, first, second)[::2],
                "cumsum": cupy.rint(10 * first).astype(int).cumsum(),
                "norm": cupy.linalg.norm(first), "unique": cupy.unique(cupy.rint(first))}
        results.update({f"{name} of {size}": cupy.asnumpy(each) for name, each in made.items()})
    return results


def same(mine, others):
    """Whether all results are the same to the last bit; prints those that aren't."""
    differ = [name for name, one in mine.items() if not (one == others[name]).all()]
    for name in differ:
        print(f"    {name} differs by up to {abs(mine[name] - others[name]).max()}")
    return not differ


def prove_cupy(_folder, _steps):
    import cupy
    import numpy

    import tidemark
    import tidemark.cupy

    expected = cupy_work(cupy, numpy)
    check(same(cupy_work(cupy, numpy), expected), "CuPy's own pool: the same results twice")
    made = tidemark.cupy.use()
    check(same(cupy_work(cupy, numpy), expected), "results are those with CuPy's own pool")
    check(tidemark.holders()[0].peak > MIB, f"{tidemark.holders()[0]}")
    array = cupy.arange(1000, dtype=cupy.float64)
    check((cupy.asnumpy(array * 2) == numpy.arange(1000) * 2.0).all(), "and NumPy's")
    check(cupy.empty((0, 3)).size == 0, "an empty array")
    side = cupy.cuda.Stream(non_blocking=True)
    with side:
        other = cupy.ones(1000)
    from tidemark import _pools
    check(_pools.context(0).base_of(other.data.ptr).stream == side.ptr,
          "memory is allocated on the current stream")
    del other
    made.set_limit(100 * MIB)
    failure = raises(cupy.cuda.memory.OutOfMemoryError, cupy.empty, 200 * MIB, cupy.uint8)
    check(failure is not None, f"{failure}")
    made.set_limit(0)
    held = made.used_bytes()
    more = cupy.empty(1000, cupy.uint8)
    check(made.used_bytes() == held + 1000, "used_bytes")
    del more
    made.free_all_blocks()
    check(made.total_bytes() < held + 64 * MIB,
          f"free_all_blocks leaves {made.total_bytes() / MIB:.1f} MiB")
    pool = tidemark.cupy.memory_pool()
    with cupy.cuda.using_allocator(pool.malloc):
        check(same(cupy_work(cupy, numpy), expected), "CuPy's pool on top: the same results")
        check(pool.total_bytes() + held == made.used_bytes(), "and its memory is from Tidemark")
    pool.free_all_blocks()
    check(pool.total_bytes() + held == made.used_bytes(), "which gets back what it releases")


def prove_core(_folder, _steps):
    from cuda.core import Device

    import tidemark
    import tidemark.cuda_core

    device = Device()
    device.set_current()
    stream = device.create_stream()
    resource = tidemark.cuda_core.MemoryResource(device.device_id)
    device.memory_resource = resource
    first = device.allocate(4096, stream=stream)
    second = resource.allocate(4096, stream)
    third = resource.allocate(4096, stream=stream)
    check(tidemark.holders()[0].count == 3, "both spellings of the stream")
    first.fill(0x5a, stream=stream)
    first.copy_to(second, stream=stream)
    stream.sync()
    third.close(stream)
    check(tidemark.holders()[0].count == 2, "a closed buffer is freed")
    for library in ("torch", "cupy"):
        if importlib.util.find_spec(library):
            module = __import__(library)
            seen = module.from_dlpack(second)
            check(int((seen.view(module.uint8) == 0x5a).sum()) == 4096, f"{library} reads it")
            del seen
    done = program("""
        from cuda.core import Device
        import tidemark.cuda_core
        device = Device()
        device.set_current()
        kept = tidemark.cuda_core.MemoryResource().allocate(100, stream=device.default_stream)
        """)
    check(done.returncode == 0 and not done.stderr, "a buffer is live at the end" + done.stderr)


def prove_rmm(_folder, _steps):
    import rmm
    import rmm.mr

    import tidemark
    import tidemark.rmm

    made = tidemark.rmm.use()
    counted = rmm.mr.StatisticsResourceAdaptor(made)
    rmm.mr.set_current_device_resource(counted)
    buffers = [rmm.DeviceBuffer(size=1000 * (number + 1)) for number in range(100)]
    check(counted.allocation_counts.current_bytes == tidemark.holders()[0].bytes
          == sum(buffer.size for buffer in buffers), "the statistics adaptor agrees with Tidemark")
    content = bytes(range(250)) * 4
    check(rmm.DeviceBuffer.to_device(content).tobytes() == content, "content")
    tidemark.set_quota("rmm", 10 * MIB)
    check(raises(MemoryError, lambda: rmm.DeviceBuffer(size=20 * MIB)) is not None, "a quota")
    del buffers
    check(tidemark.holders()[0].count == 0, "all is freed")


ENDS = {
    "torch": ("import torch, tidemark.torch\ntidemark.torch.use('extent')\n"
              "kept = torch.ones(1 << 20, device='cuda')\nright = lambda: kept.sum() == 1 << 20\n"),
    "cupy": ("import cupy, tidemark.cupy\ntidemark.cupy.use()\n"
             "kept = cupy.ones(1 << 20)\nright = lambda: kept.sum() == 1 << 20\n"),
    "rmm": ("import rmm, tidemark.rmm\ntidemark.rmm.use()\n"
            "kept = rmm.DeviceBuffer.to_device(b'12345678' * 1000)\n"
            "right = lambda: kept.tobytes() == b'12345678' * 1000\n"),
    "numba": ("import numpy, tidemark.numba\ntidemark.numba.use()\nfrom numba import cuda\n"
              "kept = cuda.to_device(numpy.ones(1 << 20))\n"
              "right = lambda: kept.copy_to_host().sum() == 1 << 20\n"),
}
FORK = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of Python, about forks beside threads
child = os.fork()
if child == 0:  # ends as a Python does, with what it inherited
    sys.exit(0)
status = os.waitpid(child, 0)[1]
assert status == 0, f"the child ended with {status}"
assert right(), "content after the child's end"
"""
RAISED = """
try:
    raise RuntimeError("in the midst")
except RuntimeError:
    pass
assert right(), "content after an exception"
"""


def prove_ends(_folder, _steps):
    failed = []
    for library, code in ENDS.items():
        if importlib.util.find_spec(library) is None:
            continue
        for what, more in (("memory is live at the end", RAISED), ("a forked child", FORK)):
            done = program(code + more)
            good = done.returncode == 0 and not done.stderr
            print(f"  {'ok  ' if good else 'FAIL'} {library}: {what}", flush=True)
            if not good:
                print(f"    exit code {done.returncode}: {done.stderr.strip()[-700:]}")
                failed.append(library)
    check(not failed, "all of them")


def prove_shared(_folder, _steps):
    import cupy
    import torch
    from numba import cuda

    import tidemark
    import tidemark.cupy
    import tidemark.numba
    import tidemark.torch

    tidemark.torch.use("extent", machine="cuda")
    tidemark.cupy.use()
    tidemark.numba.use()
    big = torch.ones(64 * MIB, device="cuda")
    array = cupy.ones(MIB)
    device_array = cuda.device_array(MIB)
    held = {holder.client: holder for holder in tidemark.holders()}
    for holder in held.values():
        print("   ", holder)
    check(set(held) == {"torch", "cupy", "numba"}, "three libraries hold memory of one pool")
    from tidemark import _pools
    check(len(_pools._contexts) == 1, "of one context")
    check(_pools.context(0).statistics().requested == sum(each.bytes for each in held.values()),
          "and what they hold is what it allocated")
    check(float(torch.as_tensor(array, device="cuda").sum()) == MIB, "PyTorch reads CuPy's array")
    tidemark.set_quota("cupy", 16 * MIB)
    check(raises(cupy.cuda.memory.OutOfMemoryError, cupy.ones, 4 * MIB) is not None,
          "a quota holds for CuPy")
    check(torch.ones(4 * MIB, device="cuda").sum() == 4 * MIB, "and not for PyTorch")
    reserved = _pools.context(0).statistics().reserved
    del big
    gc.collect()
    again = cupy.ones(MIB // 2)
    check(_pools.context(0).statistics().reserved == reserved,
          "CuPy gets what PyTorch freed, without the driver")
    del array, again, device_array
    gc.collect()
    _pools.context(0).trim(wait=True)
    check(_pools.context(0).statistics().live == 0, "all is freed")


PROOFS = {
    "train": (prove_train, "torch", [{}]),
    "torch": (prove_torch, "torch", [{}]),
    "streams": (prove_streams, "torch", [{"PROVE_POLICY": "torch"}, {"PROVE_POLICY": "extent"}]),
    "numba": (prove_numba, "numba", [{}]),
    "numba-all": (prove_numba_all, "numba", [{}]),
    "lifecycle": (prove_lifecycle, "numba", [{}]),
    "cupy": (prove_cupy, "cupy", [{}]),
    "cupy-tests": (prove_cupy_tests, "cupy", [{}]),
    "core": (prove_core, "cuda.core", [{}]),
    "rmm": (prove_rmm, "rmm", [{}]),
    "cccl": (prove_cccl, "nvcc", [{}]),
    "pools": (prove_pools, "cupy nvcc", [{}]),
    "ends": (prove_ends, "torch", [{}]),
    "shared": (prove_shared, "torch cupy numba", [{}]),
}
ONLY_BY_NAME = ("numba-all", *(() if CUPY_TESTS in os.environ else ("cupy-tests",)))


def missing(libraries):
    """The first of the libraries that isn't installed, or None; nvcc is a program."""
    for library in libraries.split():
        try:
            if (nvcc() if library == "nvcc" else importlib.util.find_spec(library)) is None:
                return library
        except ImportError:
            return library
    return None


def prove(name, variables, steps):
    """Runs a proof in a program of its own; returns whether it holds."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-B", __file__, "--run", name, "--folder", folder,
                               "--steps", str(steps)], env={**os.environ, **variables},
                              check=False)
    print(f"== {name} {' '.join(variables.values())}: "
          f"{'ok' if done.returncode == 0 else 'FAILED'} ({time.perf_counter() - begin:.0f} s)",
          flush=True)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--only", choices=PROOFS, action="append")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        return PROOFS[given.run][0](given.folder, given.steps)
    failed = []
    for name in given.only or [each for each in PROOFS if each not in ONLY_BY_NAME]:
        _, libraries, runs = PROOFS[name]
        if missing(libraries):
            print(f"== {name}: skipped, {missing(libraries)} is not installed")
            continue
        failed += [name for variables in runs if not prove(name, variables, given.steps)]
    print("proven" if not failed else f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
