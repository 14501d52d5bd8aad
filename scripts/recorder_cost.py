"""The proofs of scripts/prove_recorder.py about the cost of recording. As a program, it trains."""
import json
import os
import statistics
import subprocess
import sys
import time

from recorder_checks import ROOT, has, pairs_program, read, tidemark

TURNS = 12
STEP_TURNS, STEPS = 5, 90
MOST_PER_EVENT = 50  # ns; only our part, without CUPTI's, and the quickest, because other load slows a machine
MOST_OF_A_STEP = 0.005

# Has CUPTI report the same calls to a function that does nothing.
EMPTY = """
#include <dlfcn.h>
#include "replay/inject/cupti_api.h"
using namespace tidemark::inject;
extern "C" int InitializeInjection() {
    void* const cupti = dlopen(LIBRARY, RTLD_NOW);
    const auto subscribe = reinterpret_cast<int (*)(CUpti_SubscriberHandle*, CUpti_CallbackFunc,
                                                    void*)>(dlsym(cupti, "cuptiSubscribe"));
    const auto enable = reinterpret_cast<int (*)(std::uint32_t, CUpti_SubscriberHandle, int,
                                                 std::uint32_t)>(
        dlsym(cupti, "cuptiEnableCallback"));
    CUpti_SubscriberHandle subscriber = nullptr;
    if (subscribe(&subscriber, [](void*, int, std::uint32_t, const void*) {}, nullptr) != 0)
        __builtin_trap();
#define TIDEMARK_RECORDED_CALL(name, number, ...) enable(1, subscriber, kDriverDomain, number);
#include "replay/inject/recorded_calls.inc"
#define TIDEMARK_LAUNCHED_CALL(name, number, ...) enable(1, subscriber, kDriverDomain, number);
#include "replay/inject/launched_calls.inc"
    return 1;
}
"""


def empty_library(folder, cupti):
    source, target = folder / "empty.cpp", folder / "libempty.so"
    source.write_text(EMPTY)
    subprocess.run(["g++", "-std=c++20", "-O2", "-shared", "-fPIC", "-I", str(ROOT),
                    f'-DLIBRARY="{cupti}"', "-o", str(target), str(source), "-ldl"], check=True)
    return str(target)


def recorded(path, *options):
    return [tidemark(), "record", "-o", str(path), "--force", *options, "--"]


def cupti_of(path):
    """The CUPTI that the recording used."""
    said = subprocess.run([tidemark(), "info", str(path), "--json"], capture_output=True, text=True,
                          check=True).stdout
    return json.loads(said)["metadata"]["cupti"]


def spread(figures, unit="ns"):
    return f"{statistics.median(figures):.0f} {unit} ({min(figures):.0f} to {max(figures):.0f})"


def prove_cost(folder):
    program = [pairs_program(folder), str(max(os.sched_getaffinity(0)))]
    path = folder / "cost.tml"
    subprocess.run([*recorded(path), *program], check=True, capture_output=True)
    empty = {"CUDA_INJECTION64_PATH": empty_library(folder, cupti_of(path))}
    modes = {"none": (program, {}), "CUPTI alone": (program, empty),
             "recorded": ([*recorded(path), *program], {}),
             "with stacks": ([*recorded(path, "--stacks"), *program], {})}
    figures = {mode: ([], [], []) for mode in modes}
    for _ in range(TURNS):
        for mode, (command, variables) in modes.items():
            said = subprocess.run(command, capture_output=True, text=True, check=True,
                                  env={**os.environ, **variables}).stdout
            for list_, figure in zip(figures[mode], said.split()):
                list_.append(float(figure))
    for mode, (ordered, plain, quick) in figures.items():
        print(f"cost {mode}: stream-ordered pair {spread(ordered)}, in batches that were left alone "
              f"{spread(quick)}; plain pair {spread(plain)}")
    turns = [quick for _, _, quick in figures.values()]
    of_cupti = [(alone - none) / 4 for none, alone, *_ in zip(*turns)]
    of_ours = [(whole - alone) / 2 for _, alone, whole, _ in zip(*turns)]
    quickest = (min(turns[2]) - min(turns[1])) / 2
    print(f"cost: in such batches CUPTI's part {spread(of_cupti)} a callback, our own "
          f"{spread(of_ours)} an event, between the quickest of each {quickest:.0f} ns")
    return quickest <= MOST_PER_EVENT


def prove_step(folder):
    """Left out if the same training without a recorder varies by more than that."""
    if not has("torch"):
        return None
    train = [sys.executable, "-B", __file__]
    path = folder / "step.tml"
    modes = {"none": train, "none again": train, "recorded": [*recorded(path), *train]}
    figures = {mode: [] for mode in modes}
    for _ in range(STEP_TURNS):
        for mode, command in modes.items():
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            figures[mode].append(float(said.split()[-1]))
    for mode, each in figures.items():
        print(f"step {mode}: {min(each):.3f} ms (to {max(each):.3f})")
    quickest, again, with_recorder = (min(each) for each in figures.values())
    noise = abs(again / quickest - 1)
    more = with_recorder / min(quickest, again) - 1
    print(f"step: {len(read(path))} events in {STEPS} steps; recorded {100 * more:+.2f} %, the same "
          f"again {100 * noise:.2f} %")
    return None if noise > MOST_OF_A_STEP else more <= MOST_OF_A_STEP


def quickest_steps():
    """Milliseconds of a step for each batch size, the quickest of many each."""
    import torch
    from adapter_torch import residual_batch, residual_network

    torch.manual_seed(1)
    model = residual_network(torch).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    times = {}
    for number in range(STEPS):
        images, target = residual_batch(torch, number)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        torch.nn.functional.cross_entropy(model(images), target).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        times.setdefault(len(images), []).append(1e3 * (time.perf_counter() - begin))
    return sum(min(each) for each in times.values()) / len(times)


if __name__ == "__main__":
    print(quickest_steps())
