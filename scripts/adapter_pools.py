"""The cost comparison of scripts/prove_adapters.py: other libraries' pools and ours, in one run."""
import importlib.util
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import time

from adapter_cccl import SOURCES, nvcc
from adapter_checks import MIB, ROOT, check

PAIRS = 20_000
ROUNDS = 3
CPP_RESOURCES = ("rmm-pool", "rmm-arena", "rmm-cuda-async", "extent", "torch")


def requests():
    """(slot, bytes) of each pair: 64 live blocks of 256 B to 4 MiB."""
    chosen = random.Random(1)
    return [(chosen.randrange(64), (256 << chosen.randrange(15)) - chosen.randrange(128))
            for _ in range(PAIRS)]


def pair_ns(allocate):
    """ns of an allocation by `allocate`; deleting its result frees the memory."""
    blocks, asked = [None] * 64, requests()
    for counts in (False, True):
        begin = time.perf_counter()
        for slot, size in asked:
            blocks[slot] = None
            blocks[slot] = allocate(size)
        took = time.perf_counter() - begin
    return 1e9 * took / PAIRS


def cupy_pools():
    """{name: (allocate, function for the bytes held)}"""
    import cupy

    import tidemark.cupy

    theirs = cupy.cuda.MemoryPool()
    ours = tidemark.cupy.allocator()
    above = tidemark.cupy.memory_pool()
    return {"CuPy's MemoryPool": (theirs.malloc, theirs.total_bytes),
            "cudaMallocAsync by CuPy": (cupy.cuda.MemoryAsyncPool().malloc, None),
            "tidemark.cupy": (ours.malloc, ours.total_bytes),
            "CuPy's MemoryPool above tidemark": (above.malloc, above.total_bytes)}


def rmm_pools():
    import rmm
    import rmm.mr

    import tidemark.rmm

    def buffers(resource):
        return lambda size: rmm.DeviceBuffer(size=size, mr=resource)

    ours = tidemark.rmm.resource()
    pools = {"RMM's PoolMemoryResource":
             rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=0),
             "RMM's CudaAsyncMemoryResource": rmm.mr.CudaAsyncMemoryResource(),
             "tidemark.rmm": ours}
    return {name: (buffers(each), each.pool_size if hasattr(each, "pool_size") else None)
            for name, each in pools.items()}


def cpp_program(folder):
    """Compiles rmm_pairs.cpp; None without librmm."""
    if importlib.util.find_spec("librmm") is None:
        return None
    from tidemark import _library
    from tidemark.torch import _compiled

    (folder / "tidemark").mkdir()
    (folder / "tidemark" / "memory_resource.h").symlink_to(
        ROOT / "replay" / "c_api" / "memory_resource.h")
    cuda = pathlib.Path(nvcc()).resolve().parents[1]
    rmm, logger = (pathlib.Path(importlib.util.find_spec(name).origin).parent
                   for name in ("librmm", "rapids_logger"))
    library = next(path for path in _library.candidates() if os.path.exists(path))
    libraries = [rmm / "lib64" / "librmm.so", logger / "lib64" / "librapids_logger.so", library,
                 cuda / "lib64" / "libcudart.so"]
    program = folder / "rmm_pairs"
    subprocess.run(
        ["g++", "-std=c++20", "-O2", "-w", f"-I{folder}", f"-I{ROOT}", f"-I{rmm}/include",
         f"-I{rmm}/include/rapids", f"-I{logger}/include", f"-I{cuda}/include", "-o", str(program),
         str(SOURCES / "rmm_pairs.cpp"), *map(str, libraries), *_compiled.standard_library(),
         *(f"-Wl,-rpath,{os.path.dirname(each)}" for each in libraries)], check=True)
    return program


def cpp_pair(program, name):
    """(ns of a pair, bytes held) of the resource; None if the program crashes, which it prints."""
    done = subprocess.run([str(program), name], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        _, ns, size = done.stdout.split()
        return float(ns), int(size)
    print(f"  C++ {name} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    gdb = shutil.which("cuda-gdb", path=os.path.dirname(nvcc()))
    if gdb:
        said = subprocess.run([gdb, "-batch", "-ex", "run", "-ex", "bt 12", "--args", str(program),
                               name], capture_output=True, text=True, check=False).stdout
        print("    " + "\n    ".join(said.splitlines()[-14:]))
    return None


def prove_pools(folder, _steps):
    for made in (cupy_pools, rmm_pools):
        if importlib.util.find_spec(made.__name__.partition("_")[0]) is None:
            continue
        pools = made()
        times, sizes = {name: [] for name in pools}, {}
        for _ in range(ROUNDS):
            for name, (allocate, held) in pools.items():
                times[name].append(pair_ns(allocate))
            # In the first round, before a pool that uses the same context started.
                sizes.setdefault(name, held() if held else None)
        for name, held in sizes.items():
            size = f", {held / MIB:.1f} MiB held" if held else ""
            print(f"  {name}: {statistics.median(times[name]):.0f} ns a pair "
                  f"({min(times[name]):.0f} to {max(times[name]):.0f}){size}")
    program = cpp_program(folder)
    if program is None:
        return
    crashed = []
    for name in CPP_RESOURCES:
        runs = [cpp_pair(program, name) for _ in range(ROUNDS)]
        if None in runs:
            crashed.append(name)
            continue
        times = [ns for ns, _ in runs]
        print(f"  C++ {name}: {statistics.median(times):.0f} ns a pair "
              f"({min(times):.0f} to {max(times):.0f}), {runs[0][1] / MIB:.1f} MiB held")
    check(not crashed, f"each resource served all requests {crashed or ''}")
