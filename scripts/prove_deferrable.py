"""Proves on a GPU that deferrable memory keeps its promises (docs/deferrable.md).

  pins       pin_bench: a pin and its end in C++, <= 100 ns
  capacity   more buffers than the GPU has memory (200 GB by default in 120 GB, and 84 GB of
             pinned host memory), each filled and, in several orders, checked by kernels; no
             address changes, no byte is wrong
  graph      a captured graph that works on a deferrable buffer, replayed repeatedly after the buffer
             was evicted and brought back
  bandwidth  retrieving deferred buffers, against plain copies of pinned memory in the same
             run, >= 90 % (median of rounds)
  training   GPT-2 XL is trained with its optimizer's state deferred, in 60 % of the memory that it
             needs otherwise: the losses are the same, and a step takes at most 1.25 times as long.
             For comparison: torch's save_on_cpu and a simple optimizer on the host, in the same
             memory or, if that is too little, in all of it (scripts/deferrable_training.py says
             what needs how much)

capacity, graph and bandwidth need PyTorch, or NumPy with `--device sim`: a dry run on a simulated
GPU. Its bandwidth is that of the host and proves nothing, and neither does its small training run
(PyTorch); it captures no graphs. All parts run even if one fails. Exit code 1 if one failed or could
not run.

Examples:
  scripts/prove-on-gpu deferrable
  scripts/prove-on-gpu deferrable --only capacity --logical 200 --gpu 120
  scripts/prove-on-gpu deferrable --only training --training=--fused --training=--batch=8 \\
      --training=--window=1300000000
  scripts/prove-on-gpu deferrable --device sim --only capacity --only bandwidth
"""
import argparse
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

import tidemark  # noqa: E402

PARTS = ["pins", "capacity", "graph", "bandwidth", "training", "dask"]
MOST_PIN_NS = 100
LEAST_RATIO = 0.9
BUDGET = 0.6
MOST_LOSS_OFF = 1e-3
MOST_STEP_RATIO = 1.25
DRY_RUN = ["--device=cpu", "--layers=3", "--width=128", "--length=32", "--batch=2", "--steps=3"]
GB = 10**9
MIB = 1 << 20


class Kernels:
    """Fills and checks a pinned buffer: with NumPy on a simulated GPU, else with PyTorch."""

    def __init__(self, simulated):
        self.simulated = simulated
        if simulated:
            import numpy

            self._library = numpy
        else:
            import torch

            self._library = torch

    def array(self, pin):
        return self._library.asarray(pin) if self.simulated else self._library.from_dlpack(pin)

    def fill(self, pin, value):
        self.array(pin)[:] = value

    def differing(self, pin, value):
        return int((self.array(pin) != value).sum())

    def copy_seconds(self, size):
        """A plain copy from pinned memory to the GPU."""
        if self.simulated:
            source = self._library.ones(size, "u1")
            target = self._library.empty_like(source)
            begun = time.monotonic()
            target[:] = source
            return time.monotonic() - begun
        source = self._library.empty(size, dtype=self._library.uint8, pin_memory=True)
        target = self._library.empty(size, dtype=self._library.uint8, device="cuda")
        self._library.cuda.synchronize()
        begun = time.monotonic()
        target.copy_(source, non_blocking=True)
        self._library.cuda.synchronize()
        return time.monotonic() - begun


def say(part, holds, text):
    print(f"{part:<10} {'holds' if holds else 'FAILS'}  {text}", flush=True)
    return holds


def pin_figures(output):
    """The nanoseconds of pin_bench's lines, by what they measure."""
    return {name.strip(): float(ns)
            for name, ns in re.findall(r"^(.*?)\s+([\d.]+) ns$", output, re.MULTILINE)}


def prove_pins(options):
    done = subprocess.run([options.programs / "pin_bench"], check=False, stdout=subprocess.PIPE,
                          text=True)
    figures = pin_figures(done.stdout)
    return say("pins", done.returncode == 0 and bool(figures)
               and all(ns <= MOST_PIN_NS for ns in figures.values()),
               ", ".join(f"{name} {ns:g} ns" for name, ns in figures.items()))


def opened(options, logical):
    gpu = tidemark.Context(options.device)
    return tidemark.DeferrableMemory(gpu, options.gpu,
                                     logical - options.gpu + 4 * options.piece, options.directory)


def prove_capacity(options):
    size = options.piece // 4 * 4
    count = -(-options.logical // size)
    wrong, moved = 0, 0
    with opened(options, options.logical) as memory:
        begun = time.monotonic()
        kernels = Kernels(memory.is_simulated)
        buffers = [memory.empty(size // 4, "i4", tag=number) for number in range(count)]
        addresses = [buffer.address for buffer in buffers]

        def done(what):
            print(f"           {what} after {time.monotonic() - begun:.0f} s", flush=True)

        done(f"{count} buffers made")
        for buffer in buffers:
            with buffer.pin() as pin:
                kernels.fill(pin, buffer.tag)
        done("filled")
        order = random.Random(1)
        for number in range(options.rounds):
            order.shuffle(buffers)
            for buffer in buffers:
                with buffer.pin(mode="read") as pin:
                    wrong += kernels.differing(pin, buffer.tag)
            done(f"checked for the {number + 1}. time")
        moved = sum(addresses[buffer.tag] != buffer.address for buffer in buffers)
        figures = memory.statistics()
        del buffers
    return say("capacity", wrong == 0 and moved == 0 and figures.failures == 0,
               f"{count * size / GB:.1f} GB in {options.gpu / GB:.1f} GB: {wrong} wrong numbers, "
               f"{moved} addresses changed, {figures.deferrals} deferrals, "
               f"{figures.retrievals} retrievals, {figures.failures} failures")


def prove_graph(options):
    if options.simulated:
        return say("graph", True, "a simulated GPU captures no graphs")
    import torch

    size = options.piece // 4 * 4
    stream = torch.cuda.Stream()
    with tidemark.DeferrableMemory(tidemark.Context(options.device), 2 * size,
                                   3 * size) as memory:
        buffer = memory.empty(size // 4, "i4")
        with torch.cuda.stream(stream), buffer.pin(stream.cuda_stream) as pin:
            array = torch.from_dlpack(pin)
            array.fill_(1)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                array.add_(1)
            del array  # arrays keep the pin
        times = 10
        for _ in range(times):
            left = buffer.defer() == "deferred"
            with torch.cuda.stream(stream), buffer.pin(stream.cuda_stream):
                graph.replay()
            if not left:
                return say("graph", False, "the buffer did not leave")
        with buffer.pin() as pin:
            torch.cuda.synchronize()
            array = torch.from_dlpack(pin)
            wrong = int((array != 1 + times).sum())
            del array
        figures = memory.statistics()
        del buffer
    return say("graph", wrong == 0, f"{size / GB:.1f} GB were evicted and came back {times} times, the "
               f"graph added one each time: {wrong} wrong numbers, {figures.failures} failures")


def prove_bandwidth(options):
    size, ratios, rates = options.piece, [], []
    with opened(options, options.gpu + 8 * size) as memory:
        kernels = Kernels(memory.is_simulated)
        count = max(1, min(4, options.gpu // size))
        buffers = [memory.empty(size) for _ in range(count)]
        for buffer in buffers:
            with buffer.pin() as pin:
                kernels.fill(pin, 1)
        for _ in range(options.rounds + 2):
            for buffer in buffers:
                buffer.defer()
            plain = min(kernels.copy_seconds(size) for _ in range(3))
            begun = time.monotonic()
            for future in [buffer.retrieve() for buffer in buffers]:
                future.result()
            seconds = (time.monotonic() - begun) / count
            ratios.append(plain / seconds)
            rates.append(size / seconds / GB)
        del buffers
    ratio = statistics.median(ratios)
    return say("bandwidth", ratio >= LEAST_RATIO or options.simulated,
               f"{statistics.median(rates):.1f} GB/s, {ratio:.1%} of plain pinned copies")


def trained(options, variant, budget=0):
    words = [sys.executable, "-B", ROOT / "scripts" / "deferrable_training.py", variant,
             "--budget", str(budget), *(DRY_RUN if options.simulated else []), *options.training]
    # Expandable segments: memory cached between segments isn't part of what a training run needs.
    grown = dict.fromkeys(("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"),
                          "expandable_segments:True")
    done = subprocess.run([str(word) for word in words], check=False, capture_output=True,
                          text=True, env={**grown, **options.environment,
                                          "PYTHONPATH": str(ROOT / "python")})
    if done.returncode != 0 or not done.stdout.startswith("{"):
        return {"variant": variant, "error": (done.stderr.strip().splitlines() or ["?"])[-1]}
    return json.loads(done.stdout)


def training_line(one):
    refusal = one.get("error") or one.get("out_of_memory")
    allowed = f"in {one['budget_bytes'] / GB:.2f} GB" if one.get("budget_bytes") else "in all"
    figures = refusal or (f"step {one['step_seconds'] * 1000:.1f} ms, peak "
                          f"{one['peak_bytes'] / GB:.2f} GB (of the device "
                          f"{one['seen_device_bytes'] / GB:.2f} GB were seen)")
    return f"{one['variant']:<12} {allowed:<12} {figures}"


def training_verdict(answers, budget, simulated=False):
    """Whether the deferred run equals the plain one in less memory, and a line about it."""
    plain, deferred = answers[0], answers[1]
    if "losses" not in plain or "losses" not in deferred:
        return False, "it did not train"
    off = max(abs(ours - theirs) / abs(theirs)
              for ours, theirs in zip(deferred["losses"], plain["losses"]))
    ratio = deferred["step_seconds"] / plain["step_seconds"]
    figures = deferred["deferrable"]
    line = (f"losses differ by {off:.1e} at most, the deferred step is {ratio:.2f} of the plain one; "
            f"{deferred['deferred_bytes'] / GB:.2f} GB of state in "
            f"{deferred['window_bytes'] / GB:.2f} GB, {figures['deferrals']} deferrals, "
            f"{figures['retrievals']} retrievals, {figures['failures']} failures")
    same = off <= MOST_LOSS_OFF and figures["failures"] == 0 and figures["retrievals"] > 0
    good = ratio <= MOST_STEP_RATIO and deferred["peak_bytes"] <= budget
    return same and (simulated or good), line


def prove_training(options):
    answers = []

    def train(variant, budget=0):
        answers.append(trained(options, variant, budget))
        print("           " + training_line(answers[-1]), flush=True)
        return answers[-1]

    budget = int(BUDGET * train("plain").get("peak_reserved_bytes", 0))
    for variant in ("deferred", "save_on_cpu", "offload"):
        if "out_of_memory" in train(variant, budget) and variant != "deferred":
            train(variant)
    holds, line = training_verdict(answers, budget, options.simulated)
    return say("training", holds, f"in {budget / GB:.2f} GB, {BUDGET:.0%} of its peak: {line}")


def clustered(options, kind):
    sizes = (16 * MIB, 2 * MIB) if options.simulated else (2 * GB // MIB * MIB, 256 * MIB)
    words = [sys.executable, "-B", ROOT / "scripts" / "deferrable_cluster.py", "--kind", kind,
             "--device", options.device, "--gpu", sizes[0], "--size", sizes[1]]
    done = subprocess.run([str(word) for word in words], check=False, capture_output=True,
                          text=True)
    if done.returncode != 0 or not done.stdout.startswith("{"):
        return {"error": (done.stderr.strip().splitlines() or ["?"])[-1]}
    return json.loads(done.stdout)


def cluster_verdict(answer):
    """Whether the results were right, exceeded the GPU's share, and nothing else failed."""
    if "error" in answer:
        return False, answer["error"]
    wrong = answer["wrong"] + answer["wrong_after_eviction"] + answer["wrong_after_kill"]
    sums = {name: sum(one[name] for one in answer["workers"])
            for name in ("bytes", "deferrals", "retrievals", "copies", "kept", "failures")}
    failed, evicted = zip(*answer["evictions"])
    line = (f"{answer['bytes'] / GB:.1f} GB in {answer['seconds']:.1f} s: {wrong} wrong numbers, "
            f"{sums['deferrals']} deferrals, {sums['retrievals']} retrievals, {sums['copies']} "
            f"copies, {sums['kept']} kept as they were, {sums['failures']} failures; evictions "
            f"made to fail: {list(failed)}, then {list(evicted)} bytes")
    return (wrong == 0 and sums["failures"] == 0 and sums["deferrals"] > 0
            and sums["bytes"] >= answer["bytes"] and all(one == -1 for one in failed)
            and all(one > 0 for one in evicted)), line


def prove_dask(options):
    holding = True
    for kind in ["numpy"] if options.simulated else ["torch", "cupy"]:
        holds, line = cluster_verdict(clustered(options, kind))
        holding = say("dask", holds, f"{kind}: {line}") and holding
    return holding


def parsed(words):
    parser = argparse.ArgumentParser(prog="prove-on-gpu deferrable", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/release/tests")
    parser.add_argument("--device", default="cuda:0", help='or "sim": a dry run')
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--logical", type=float, help="GB of buffers (200; sim: 0.2)")
    parser.add_argument("--gpu", type=float, help="GB of the GPU's memory (120; sim: 0.05)")
    parser.add_argument("--piece", type=float, help="GB per buffer (1; sim: 0.005)")
    parser.add_argument("--directory", help="for what the host has no room for")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--training", action="append", default=[], metavar="OPTION",
                        help="an option of deferrable_training.py: --training=--layers=24")
    options = parser.parse_args(words)
    options.simulated = small = options.device.startswith("sim")
    for name, usual, simulated in (("logical", 200, 0.2), ("gpu", 120, 0.05), ("piece", 1, 0.005)):
        given = getattr(options, name)
        wanted = given if given is not None else simulated if small else usual
        setattr(options, name, int(wanted * GB) // MIB * MIB)
    return options


def main():
    options = parsed(None)
    options.environment = dict(os.environ)
    functions = {"pins": prove_pins, "capacity": prove_capacity, "graph": prove_graph,
                 "bandwidth": prove_bandwidth, "training": prove_training,
                 "dask": prove_dask}
    holding = True
    for part in options.only or PARTS:
        try:
            holding = functions[part](options) and holding
        except (ImportError, OSError, tidemark.Error) as failure:
            holding = say(part, False, f"could not run: {failure}")
    return 0 if holding else 1


if __name__ == "__main__":
    sys.exit(main())
