"""Shared by the proofs of scripts/prove_recorder.py: recording a program, reading the recording, and a
program that allocates and frees alternately."""
import collections
import os
import pathlib
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MIB = 1 << 20
KINDS = {1: "allocate", 2: "free", 3: "refused", 10: "reserve", 11: "unreserve", 12: "map",
         13: "unmap", 14: "use", 15: "execution", 16: "range_begin", 17: "range_end", 18: "mark"}
NAMED = (16, 17, 18)  # with a text of their own
NO_GPU_ADDRESS = 1 << 61  # addresses of physical memory and of arrays start here
STRING, STACK, SITE, STREAM = 32, 33, 34, 35

# `time`: ns since the program's start; `stream`: the program's handle.
Event = collections.namedtuple("Event", "kind tag device address size extra time stream")


def tidemark():
    folder = os.environ.get("TIDEMARK_PROGRAMS", str(ROOT / "build" / "release"))
    return str(pathlib.Path(folder) / "tidemark")


def read(path):
    """The events of a recording, by docs/format-live.md."""
    data = pathlib.Path(path).read_bytes()
    at, strings, tags, streams, events = 4096, {}, {}, {}, []
    while at + 48 <= len(data):
        magic, slots = struct.unpack_from("<4sI", data, at)
        if magic != b"TMLC" or at + 48 * (1 + slots) > len(data):
            break
        slot, at = at + 48, at + 48 * (1 + slots)
        while slot < at:
            _, time, address, size, extra, site, stream, kind, device = struct.unpack_from(
                "<QQQQQIHBB", data, slot)
            payload = {STRING: size, STACK: size * 12}.get(kind, 0)
            if kind == STRING:
                strings[site] = data[slot + 48:slot + 48 + size].decode()
            elif kind == SITE:
                tags[site] = strings.get(address, "")
            elif kind == STREAM:
                streams[site >> 20, stream] = extra
            elif kind in KINDS:
                tag = strings.get(extra, "") if kind in NAMED else tags.get(site, "")
                events.append(Event(KINDS[kind], tag, device, address, size, extra, time,
                                    streams.get((site >> 20, stream), 0)))
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


def balance(events):
    """What is live at the end, as {(device, address): size}, and the number of frees of nothing."""
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


PAIRS = r"""
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <dlfcn.h>
#include <sched.h>
template <class... Args> int call(const char* name, Args... args) {
    static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    return reinterpret_cast<int (*)(Args...)>(dlsym(driver, name))(args...);
}
// Of a pair: in the middle of all batches, and in a batch that others left alone.
struct Figure { double median, quick; };
template <class Pair> Figure measure(int batches, int count, Pair pair) {
    std::vector<double> each;
    for (int batch = 0; batch < batches + batches / 10; ++batch) {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < count; ++i) pair();
        const std::chrono::duration<double, std::nano> all = std::chrono::steady_clock::now() - begin;
        if (batch >= batches / 10) each.push_back(all.count() / count);
    }
    std::sort(each.begin(), each.end());
    return {each[batches / 2], each[batches / 10]};
}
int main(int argc, char** argv) {
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
    if (argc > 1 && argv[1][0] == 'f') {  // forever: until it is killed
        for (unsigned long count = 1;; ++count) {
            take_plain(&address, 4096);
            give_plain(address);
            fwrite(&count, sizeof count, 1, stdout);
            fflush(stdout);
        }
    }
    if (argc > 1) {  // this thread alone: others that there are by now stay where they like
        cpu_set_t processors;
        CPU_ZERO(&processors);
        CPU_SET(atoi(argv[1]), &processors);
        sched_setaffinity(0, sizeof processors, &processors);
    }
    const Figure ordered = measure(2000, 50, [&] { take(&address, 1024, nullptr); give(address, nullptr); });
    const Figure plain = measure(20, 50, [&] { take_plain(&address, 1024); give_plain(address); });
    printf("%f %f %f\n", ordered.median, plain.median, ordered.quick);
}
"""


def pairs_program(folder):
    source, target = folder / "pairs.cpp", folder / "pairs"
    source.write_text(PAIRS)
    subprocess.run(["g++", "-std=c++17", "-O2", "-o", str(target), str(source), "-ldl"], check=True)
    return str(target)
