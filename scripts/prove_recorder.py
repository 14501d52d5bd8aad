#!/usr/bin/env python3
"""Proves on a GPU that `tidemark record` sees what unmodified programs allocate, and measures the cost.

Usage: scripts/prove-on-gpu recorder [--only PROOF]

It needs the program `tidemark` (TIDEMARK_PROGRAMS names its folder; it finds that of a build tree), and
for each proof the programs that it is about. Missing ones are left out and named.

  segments   PyTorch's own trace against the recording: each of its segments (cudaMalloc,
             expandable segments) is one event, with the same address and size; physical memory
             is balanced; and the check detects a recording that lacks one of them
  free       live bytes of the recording against cudaMemGetInfo, at 20 moments
  others     CuPy, Numba, JAX, and a C++ program with the static runtime: their allocations are seen,
             and so are the frees
  profiler   torch.profiler in a recorded program: both end normally
  sanitizer  compute-sanitizer in or around the recorder: the program ends normally, and a message
             says why nothing is recorded
  nested     a recorder within a recorder: the inner one says that there is one
  join       a training run recorded at both levels: all memory of PyTorch came from the driver
  live       a recorded program is listed while it runs
  attach     a PyTorch that is already running, recorded through its probes: each allocation and free
             against its own trace, by address, size and order; and the cost of a pair meanwhile
  killed     a program killed by -9 leaves a recording of everything that it had done
  cost       an allocation and its free, stream-ordered and plain: without the recorder, with CUPTI
             but no listener, recorded, and with stacks
  kernels    what kernels and copies of a training run use, with plain and with mapped segments: each
             segment of PyTorch is used, a matrix product uses those of its tensors, graphs have
             unknown uses, NVTX ranges are unchanged; a replay over tiers accepts the recording; and
             the cost of a launch with and without recording
  step       a training step of a residual network, recorded and not
"""
import argparse
import collections
import ctypes
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import traceback

from recorder_attach import prove_attach
from recorder_checks import (MIB, NO_GPU_ADDRESS, balance, has, pairs_program, read, record,
                             tidemark)
from recorder_company import COMPANY
from recorder_cost import prove_cost, prove_step
from recorder_uses import prove_kernels


def itself(name, folder):
    return [sys.executable, "-B", __file__, "--run", name, "--folder", str(folder)]


def run_segments(folder):
    import torch

    torch.cuda.memory._record_memory_history(context=None, max_entries=10_000_000)
    torch.manual_seed(1)
    model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048, device="cuda") for _ in range(6)])
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(12):
        batch = torch.randn(512 * (1 + step % 5), 2048, device="cuda")
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step == 6:
            torch.cuda.empty_cache()
    del model, optimizer, batch
    torch.cuda.empty_cache()
    torch.cuda.synchronize()
    trace = [(entry["action"], entry["addr"], entry["size"])
             for entry in torch.cuda.memory._snapshot()["device_traces"][0]
             if entry["action"].startswith("segment")]
    (folder / "segments.json").write_text(json.dumps(trace))


def covers(pieces, begin, size):
    """Removes from the front of `pieces` (address, size) those that cover the range; False if they
    don't."""
    end = begin + size
    found = []
    while begin < end:
        index = next((i for i, piece in enumerate(pieces) if piece[0] == begin), None)
        if index is None:
            return False
        found.append(index)
        begin += pieces[index][1]
    for index in sorted(found, reverse=True):
        del pieces[index]
    return begin == end


def compare_segments(theirs, events):
    """PyTorch's segments that the recording lacks, and whether everything else in it is right."""
    pairs = {"segment_alloc": "allocate", "segment_free": "free", "segment_map": "map",
             "segment_unmap": "unmap"}
    ours = {kind: [(each.address, each.size) for each in events if each.kind == kind]
            for kind in pairs.values()}
    missed = [each for each in theirs if not covers(ours[pairs[each[0]]], each[1], each[2])]
    live, unknown = balance(events)
    mapped = sum(each.size * (1 if each.kind == "map" else -1) for each in events
                 if each.kind in ("map", "unmap") and each.extra != NO_GPU_ADDRESS * 2 - 1)
    physical = sum(size for (_, address), size in live.items() if address >= NO_GPU_ADDRESS)
    print(f"  {len(theirs)} of PyTorch, {len(events)} events recorded, {len(missed)} missed "
          f"{missed[:2]}, {unknown} frees of nothing, {sum(live.values())} bytes live at the end, "
          f"of them physical {physical}, mapped {mapped}")
    return missed, not unknown and mapped == physical


def prove_segments(folder):
    if not has("torch"):
        return None
    good = True
    for name, conf in (("default", ""), ("expandable", "expandable_segments:True")):
        print(f"segments {name}:")
        done, events = record(folder, name, itself("segments", folder),
                              environment={"PYTORCH_CUDA_ALLOC_CONF": conf})
        theirs = json.loads((folder / "segments.json").read_text())
        missed, fits = compare_segments(theirs, events)
        good = good and done.returncode == 0 and bool(theirs) and not missed and fits
        # Tests the check itself with a recording that lacks one of these calls, and one without frees.
        _, address, _ = theirs[0]
        lacks_one = [each for each in events
                     if (each.kind, each.address) not in (("allocate", address), ("map", address))]
        kinds = ("free", "unmap")
        lacks_kind = [each for each in events if each.kind not in kinds]
        good = good and all(compare_segments(theirs, each)[0] for each in (lacks_one, lacks_kind))
    return good


def run_free(folder):
    import torch

    torch.empty(1, device="cuda")
    driver = ctypes.CDLL("libcuda.so.1")
    kept, moments = {}, []
    choose = random.Random(1)
    for moment in range(20):
        for _ in range(8):
            if kept and choose.random() < 0.4:
                del kept[choose.choice(list(kept))]
            else:
                kept[len(kept), moment, choose.random()] = torch.empty(
                    choose.randrange(1, 200) * MIB, dtype=torch.uint8, device="cuda")
        torch.cuda.empty_cache()
        free, _ = torch.cuda.mem_get_info()
        address = ctypes.c_uint64()
        size = 1024 + moment  # it marks the moment in the recording
        driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size))
        driver.cuMemFree_v2(address)
        moments.append((size, free))
    (folder / "free.json").write_text(json.dumps(moments))


def prove_free(folder):
    if not has("torch"):
        return None
    _, events = record(folder, "free", itself("free", folder))
    moments = dict(json.loads((folder / "free.json").read_text()))
    live, at = {}, []
    for event in events:
        if event.kind == "allocate" and event.size in moments:
            at.append((sum(size for (device, _), size in live.items() if device == 0),
                       moments[event.size]))
        if event.kind == "allocate":
            live[event.device, event.address] = event.size
        elif event.kind == "free":
            live.pop((event.device, event.address), None)
    off = [abs((bytes_now - at[0][0]) - (at[0][1] - free)) for bytes_now, free in at]
    print(f"free: {len(at)} moments, {min(each[0] for each in at) >> 20} to "
          f"{max(each[0] for each in at) >> 20} MiB live; at most {max(off)} bytes off")
    return len(at) == 20 and max(off) <= 2 * MIB


OTHERS = {
    "cupy": "import cupy\nkept = [cupy.zeros(n << 18) for n in (1, 5, 20)]\ndel kept\n"
            "cupy.get_default_memory_pool().free_all_blocks()\n",
    "numba": "from numba import cuda\nimport numpy\n"
             "kept = [cuda.to_device(numpy.zeros(n << 18)) for n in (1, 5, 20)]\ndel kept\n"
             "cuda.current_context().memory_manager.deallocations.clear()\n",
    "jax": "import jax\n"
           "kept = [jax.numpy.zeros(n << 18).block_until_ready() for n in (4, 20, 80)]\ndel kept\n",
}
JAX_SETTINGS = {"grown": {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
                "platform": {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}}
JAX_BYTES = 80 << 20  # of the largest array
STATIC = """
#include <cuda_runtime.h>
int main() {
    void* plain = nullptr;
    void* ordered = nullptr;
    cudaMalloc(&plain, 3 << 20);
    cudaMallocAsync(&ordered, 5 << 20, nullptr);
    cudaFreeAsync(ordered, nullptr);
    cudaFree(plain);
    cudaMallocHost(&plain, 7 << 20);
    cudaFreeHost(plain);
    return cudaDeviceSynchronize();
}
"""


def other_programs(folder):
    """{name: (command, environment)} of those that can run here."""
    found = {}
    for library, text in OTHERS.items():
        if not has(library):
            continue
        script = folder / f"{library}_program.py"
        script.write_text(text)
        command = [sys.executable, str(script)]
        if library == "jax":
            found.update({f"jax {way}": (command, each) for way, each in JAX_SETTINGS.items()})
        else:
            found[library] = (command, {})
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if pathlib.Path(nvcc).exists():
        (folder / "static.cu").write_text(STATIC)
        subprocess.run([nvcc, "-cudart", "static", "-o", str(folder / "static"),
                        str(folder / "static.cu")], check=True)
        found["static"] = ([str(folder / "static")], {})
    return found


def most_at_once(events):
    """Bytes on the first GPU."""
    most, live = 0, {}
    for event in events:
        if event.kind == "allocate" and event.device == 0:
            live[event.address] = event.size
            most = max(most, sum(live.values()))
        elif event.kind == "free" and event.device == 0:
            live.pop(event.address, None)
    return most


def prove_others(folder):
    good, programs = True, other_programs(folder)
    for name, (command, environment) in programs.items():
        done, events = record(folder, name.replace(" ", "-"), command, environment=environment)
        live, unknown = balance(events)
        tags = collections.Counter(each.tag for each in events if each.kind == "allocate")
        print(f"others {name}: exit code {done.returncode}, {dict(tags)}, {unknown} frees of "
              f"nothing, peak {most_at_once(events)} bytes, live at the end "
              f"{sum(live.values())} bytes in {len(live)}")
        good = good and done.returncode == 0 and bool(tags) and not unknown
        if name == "static":
            good = good and {"cuMemAlloc", "cuMemAllocAsync"} <= set(tags) and not live
        if name.startswith("jax"):
            good = good and most_at_once(events) >= JAX_BYTES
    left_out = [each for each in (*OTHERS, "static")
                if not any(name.startswith(each) for name in programs)]
    print(f"others: left out {left_out}")
    return good if programs else None


def prove_killed(folder):
    program, good = pairs_program(folder), True
    for turn in range(5):
        delay = 1 + random.random()
        path = folder / f"killed-{turn}.tml"
        done = subprocess.run([tidemark(), "record", "-o", str(path), "--", "timeout", "-s", "KILL",
                               f"{delay:.3f}", program, "forever"], capture_output=True, check=False)
        counted = len(done.stdout) // 8
        events = read(path) if path.exists() else []
        frees = sum(each.kind == "free" for each in events)
        live, unknown = balance(events)
        print(f"killed after {delay:.3f} s: {counted} pairs done, {frees} recorded, {len(live)} "
              f"live, {unknown} frees of nothing")
        good = good and 0 < counted <= frees <= counted + 1 and not unknown
    return good


RUNS = {"segments": run_segments, "free": run_free}
PROOFS = {"segments": prove_segments, "free": prove_free, "others": prove_others, **COMPANY,
          "attach": prove_attach, "killed": prove_killed, "cost": prove_cost,
          "kernels": prove_kernels, "step": prove_step}


def prove(name):
    """True, False, or None if it was left out."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return PROOFS[name](pathlib.Path(folder))
        except Exception:  # after any exception, the other proofs continue
            traceback.print_exc()
            return False


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PROOFS, action="append")
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        RUNS[given.run](given.folder)
        return 0
    results = {}
    for name in given.only or PROOFS:
        results[name] = prove(name)
        print(f"== {name}: {({True: 'ok', False: 'FAILED', None: 'left out'})[results[name]]}",
              flush=True)
    failed = [name for name, good in results.items() if good is False]
    print("proven" if not failed else f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
