#!/usr/bin/env python3
"""Proves on a GPU that `tidemark record` sees what unmodified programs take, and what that costs.

Usage: scripts/prove-on-gpu recorder [--only PROOF]

It needs the program `tidemark` (TIDEMARK_PROGRAMS names its folder; a build tree's is found), and
for each proof what it is about; what isn't there is left out and said.

  segments  PyTorch's own trace against the recording: each of its segments (cudaMalloc, expandable
            segments) is one event, with the same address and size; physical memory balances
  free      live bytes of the recording against cudaMemGetInfo, at 20 moments
  others    CuPy, Numba, and a C++ program with the static runtime: what they take is seen, and given
            back
  profiler  torch.profiler in a recorded program: both end well
  killed    a program killed by -9 leaves a recording of all that it had done
  cost      an allocation and its free, stream-ordered and plain: without the recorder, with it but
            without CUPTI, with it, and with stacks
"""
import argparse
import collections
import ctypes
import json
import os
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[1]
MIB = 1 << 20
KINDS = {1: "allocate", 2: "free", 3: "refused", 10: "reserve", 11: "unreserve", 12: "map",
         13: "unmap", 18: "mark"}
NO_GPU_ADDRESS = 1 << 61  # from here on are addresses of physical memory and of arrays
STRING, STACK, SITE, NAMES = 32, 33, 34, range(32, 37)

Event = collections.namedtuple("Event", "kind tag device address size extra")


def tidemark():
    folder = os.environ.get("TIDEMARK_PROGRAMS", str(ROOT / "build" / "release"))
    return str(pathlib.Path(folder) / "tidemark")


def read(path):
    """The events of a recording, by docs/format-live.md."""
    data = pathlib.Path(path).read_bytes()
    at, strings, tags, events = 4096, {}, {}, []
    while at + 48 <= len(data):
        magic, slots = struct.unpack_from("<4sI", data, at)
        if magic != b"TMLC" or at + 48 * (1 + slots) > len(data):
            break
        slot, at = at + 48, at + 48 * (1 + slots)
        while slot < at:
            _, _, address, size, extra, site, _, kind, device = struct.unpack_from(
                "<QQQQQIHBB", data, slot)
            payload = {STRING: size, STACK: size * 12}.get(kind, 0)
            if kind == STRING:
                strings[site] = data[slot + 48:slot + 48 + size].decode()
            elif kind == SITE:
                tags[site] = strings.get(address, "")
            elif kind in KINDS:
                events.append(Event(KINDS[kind], tags.get(site, ""), device, address, size, extra))
            slot += 48 * (1 + (payload + 47) // 48)
    return events


def record(folder, name, command, options=(), environment=None):
    """Runs it recorded. Returns (process, events of the first recording)."""
    path = folder / f"{name}.tml"
    done = subprocess.run(
        [tidemark(), "record", "-o", str(path), *options, "--", *command], capture_output=True,
        text=True, check=False, env={**os.environ, **(environment or {})}, timeout=120)
    for line in done.stderr.splitlines():
        if line.startswith("tidemark:"):
            print("  " + line)
    return done, read(path) if path.exists() else []


def itself(name, folder):
    return [sys.executable, "-B", __file__, "--run", name, "--folder", str(folder)]


def balance(events):
    """What lives at the end, as {(device, address): size}, and how many ends were of nothing."""
    live, unknown = {}, 0
    for event in events:
        if event.kind == "allocate":
            live[event.device, event.address] = event.size
        elif event.kind == "free" and live.pop((event.device, event.address), None) is None:
            unknown += 1
    return live, unknown


def has(module):
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True,
                          check=False).returncode == 0


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
    """Takes from the front of `pieces` (address, size) what makes up the range; False: it doesn't."""
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


def prove_segments(folder):
    if not has("torch"):
        return None
    good = True
    for name, conf in (("default", ""), ("expandable", "expandable_segments:True")):
        done, events = record(folder, name, itself("segments", folder),
                              environment={"PYTORCH_CUDA_ALLOC_CONF": conf})
        theirs = json.loads((folder / "segments.json").read_text())
        pairs = {"segment_alloc": "allocate", "segment_free": "free", "segment_map": "map",
                 "segment_unmap": "unmap"}
        ours = {kind: [(each.address, each.size) for each in events if each.kind == kind]
                for kind in pairs.values()}
        missed = [each for each in theirs if not covers(ours[pairs[each[0]]], each[1], each[2])]
        live, unknown = balance(events)
        mapped = sum(each.size * (1 if each.kind == "map" else -1) for each in events
                     if each.kind in ("map", "unmap") and each.extra != NO_GPU_ADDRESS * 2 - 1)
        physical = sum(size for (_, address), size in live.items() if address >= NO_GPU_ADDRESS)
        print(f"segments {name}: {len(theirs)} of PyTorch, {len(events)} events recorded, "
              f"{len(missed)} missed {missed[:2]}, {unknown} frees of nothing, "
              f"{sum(live.values())} bytes alive at the end, of them physical {physical}, "
              f"mapped {mapped}")
        good = good and done.returncode == 0 and bool(theirs) and not missed and not unknown \
            and mapped == physical
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
        size = 1024 + moment  # by which the moment is found in the recording
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
          f"{max(each[0] for each in at) >> 20} MiB alive; at most {max(off)} bytes off")
    return len(at) == 20 and max(off) <= 2 * MIB


OTHERS = {
    "cupy": "import cupy\nkept = [cupy.zeros(n << 18) for n in (1, 5, 20)]\ndel kept\n"
            "cupy.get_default_memory_pool().free_all_blocks()\n",
    "numba": "from numba import cuda\nimport numpy\n"
             "kept = [cuda.to_device(numpy.zeros(n << 18)) for n in (1, 5, 20)]\ndel kept\n"
             "cuda.current_context().memory_manager.deallocations.clear()\n",
}
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


def prove_others(folder):
    good, commands = True, {}
    for name, text in OTHERS.items():
        (folder / f"{name}_program.py").write_text(text)
        if has(name):
            commands[name] = [sys.executable, str(folder / f"{name}_program.py")]
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if pathlib.Path(nvcc).exists():
        (folder / "static.cu").write_text(STATIC)
        subprocess.run([nvcc, "-cudart", "static", "-o", str(folder / "static"),
                        str(folder / "static.cu")], check=True)
        commands["static"] = [str(folder / "static")]
    for name, command in commands.items():
        done, events = record(folder, name, command)
        live, unknown = balance(events)
        tags = collections.Counter(each.tag for each in events if each.kind == "allocate")
        print(f"others {name}: exit code {done.returncode}, {dict(tags)}, {unknown} frees of "
              f"nothing, alive at the end {sum(live.values())} bytes in {len(live)}")
        good = good and done.returncode == 0 and bool(tags) and not unknown
        if name == "static":
            good = good and {"cuMemAlloc", "cuMemAllocAsync"} <= set(tags) and not live
    print(f"others: left out {sorted({*OTHERS, 'static'} - set(commands))}")
    return good if commands else None


PROFILED = """
import torch
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
    for _ in range(3):
        torch.randn(2048, 2048, device="cuda").matmul(torch.randn(2048, 2048, device="cuda"))
    torch.cuda.synchronize()
print("events", len(profile.events()))
"""


def prove_profiler(folder):
    if not has("torch"):
        return None
    script = folder / "profiled.py"
    script.write_text(PROFILED)
    done, events = record(folder, "profiler", [sys.executable, str(script)])
    said = [line for line in done.stderr.splitlines() if "CUPTI" in line or "rror" in line]
    print(f"profiler: exit code {done.returncode}, {done.stdout.strip()}, {len(events)} events "
          f"recorded; said {said[:2]}")
    return done.returncode == 0 and bool(events)


PAIRS = r"""
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
template <class... Args> int call(const char* name, Args... args) {
    static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    return reinterpret_cast<int (*)(Args...)>(dlsym(driver, name))(args...);
}
template <class Pair> double measure(int count, Pair pair) {
    for (int i = 0; i < count / 10; ++i) pair();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) pair();
    const std::chrono::duration<double, std::nano> all = std::chrono::steady_clock::now() - begin;
    return all.count() / count;
}
int main(int argc, char**) {
    void* context = nullptr;
    if (call("cuInit", 0U) || call("cuDevicePrimaryCtxRetain", &context, 0) ||
        call("cuCtxSetCurrent", context))
        return 1;
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    using Take = int (*)(unsigned long long*, size_t, void*);
    using Give = int (*)(unsigned long long, void*);
    using TakePlain = int (*)(unsigned long long*, size_t);
    using GivePlain = int (*)(unsigned long long);
    const auto take = reinterpret_cast<Take>(dlsym(driver, "cuMemAllocAsync"));
    const auto give = reinterpret_cast<Give>(dlsym(driver, "cuMemFreeAsync"));
    const auto take_plain = reinterpret_cast<TakePlain>(dlsym(driver, "cuMemAlloc_v2"));
    const auto give_plain = reinterpret_cast<GivePlain>(dlsym(driver, "cuMemFree_v2"));
    unsigned long long address = 0, kept = 0;
    take(&kept, 1 << 20, nullptr);
    if (argc > 1) {  // until it is killed
        for (unsigned long count = 1;; ++count) {
            take_plain(&address, 4096);
            give_plain(address);
            fwrite(&count, sizeof count, 1, stdout);
            fflush(stdout);
        }
    }
    const double ordered = measure(100000, [&] { take(&address, 1024, nullptr); give(address, nullptr); });
    const double plain = measure(1000, [&] { take_plain(&address, 1024); give_plain(address); });
    printf("%f %f\n", ordered, plain);
}
"""


def pairs_program(folder):
    source, target = folder / "pairs.cpp", folder / "pairs"
    source.write_text(PAIRS)
    subprocess.run(["g++", "-std=c++17", "-O2", "-o", str(target), str(source), "-ldl"], check=True)
    return str(target)


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
              f"alive, {unknown} frees of nothing")
        good = good and 0 < counted <= frees <= counted + 1 and not unknown
    return good


def prove_cost(folder):
    program = pairs_program(folder)
    modes = {"none": None, "library without CUPTI": {"TIDEMARK_CUPTI": "/nowhere/libcupti.so"},
             "recorded": {}, "with stacks": {}}
    figures = {mode: ([], []) for mode in modes}
    for turn in range(5):
        for mode, environment in modes.items():
            if environment is None:
                said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
            else:
                said = subprocess.run(
                    [tidemark(), "record", "-o", str(folder / f"cost-{turn}.tml"), "--force",
                     *(["--stacks"] if mode == "with stacks" else []), "--", program],
                    capture_output=True, text=True, check=True,
                    env={**os.environ, **environment}).stdout
            for list_, figure in zip(figures[mode], said.split()):
                list_.append(float(figure))
    for mode, lists in figures.items():
        print(f"cost {mode}: " + ", ".join(
            f"{what} {statistics.median(list_):.0f} ns ({min(list_):.0f} to {max(list_):.0f})"
            for what, list_ in zip(("stream-ordered pair", "plain pair"), lists)))
    added = statistics.median(figures["recorded"][0]) - statistics.median(figures["none"][0])
    print(f"cost: the recorder adds {added:.0f} ns to a stream-ordered pair of two calls")
    return added <= 2000


RUNS = {"segments": run_segments, "free": run_free}
PROOFS = {"segments": prove_segments, "free": prove_free, "others": prove_others,
          "profiler": prove_profiler, "killed": prove_killed, "cost": prove_cost}


def prove(name):
    """True, False, or None where it was left out."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return PROOFS[name](pathlib.Path(folder))
        except Exception:  # whatever it is, the other proofs go on
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
