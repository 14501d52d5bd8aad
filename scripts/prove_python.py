#!/usr/bin/env python3
"""Proves on a GPU that tidemark.torch records what PyTorch does, and measures the cost.

Usage: scripts/prove-on-gpu python [--steps N] [--only PROOF]

It needs PyTorch, a C++ compiler, libtidemark.so and the program `tidemark` (TIDEMARK_LIBRARY and
TIDEMARK_PROGRAMS name them; it finds those of a build tree). Each proof is a program of its own:

  same      a training run, recorded by record() and by PyTorch's own history at the same time:
            `tidemark verify` finds no difference in the recording, and both have the same
            allocations, frees and segments, event by event. With cudaMalloc, expandable segments
            and several streams.
  late      the same, started in the middle of the training run
  stacks    recorded with Python stacks and modules: most allocations of the forward pass have one
  uses      record_uses() names live blocks, in the backward pass too, and its recording can be
            replayed over tiers
  cost      a training step, and an allocation from C++, with and without recording
  killed    a program killed by -9 leaves a recording that opens and verifies
  live      the viewer draws a training run while it continues
  limited   a recording with a limited history
  oom       a program that its OutOfMemoryError ends gets an explanation
"""
import argparse
import math
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))


def program():
    from tidemark.programs import program as find
    return find("tidemark")


class Training:
    """A small GPT-2: own weights, random tokens, lengths that change from step to step."""

    def __init__(self, width=384, layers=6, heads=6, words=8192, seed=1):
        import torch

        self.torch = torch
        torch.manual_seed(seed)
        layer = torch.nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True,
                                                 norm_first=True, device="cuda")
        self.model = torch.nn.Sequential(
            torch.nn.Embedding(words, width, device="cuda"),
            torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False),
            torch.nn.Linear(width, words, device="cuda"))
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.words = words
        self.side = torch.cuda.Stream()
        self.number = 0

    def step(self, streams=False):
        torch = self.torch
        self.number += 1
        length = 128 + 64 * (self.number * 7 % 5)
        tokens = torch.randint(self.words, (8, length), device="cuda")
        out = self.model(tokens)
        loss = torch.nn.functional.cross_entropy(out.flatten(0, 1), tokens.flatten())
        if streams:  # frees that are completed later
            self.side.wait_stream(torch.cuda.current_stream())
            out.record_stream(self.side)
            with torch.cuda.stream(self.side):
                out.float().sum()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


NO_SLOT = 0xFFFFFFFF  # of blocks without a recorded allocation
SHOWN = ("segment_alloc", "segment_free", "segment_map", "segment_unmap", "allocate", "free",
         "retire", "finish", "out_of_memory")


def rows(path):
    """The events about memory, without the preamble."""
    import tidemark

    trace = tidemark.load(str(path), as_recorded=True)
    names = trace.kind_names
    streams = trace.info["streams"]
    found = []
    for kind, address, size, stream, flags in zip(
            trace.kind.tolist(), trace.address.tolist(), trace.size.tolist(),
            trace.stream.tolist(), trace.flags.tolist()):
        if names[kind] in SHOWN and not flags & 0x80:
            found.append((names[kind], address, size, streams[stream]))
    return found


def verify(path):
    done = subprocess.run([program(), "verify", str(path)], capture_output=True, text=True,
                          check=False)
    print((done.stdout + done.stderr).strip()[:1500])
    return done.returncode == 0


def use_pools(torch):
    """A graph's own pool, and a pool that was created."""
    weights = torch.randn(512, 512, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        (weights @ weights).relu().sum()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = (weights @ weights).relu()
    graph.replay()
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        made = [torch.empty(size << 18, device="cuda") for size in (1, 3, 9, 27)]
        del made[1]
        made.append(torch.empty(1 << 19, device="cuda"))
    return graph, kept, pool, made


def prove_same(folder, steps, late):
    import torch

    import tidemark.torch

    conf = os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")
    streams = os.environ.get("PROVE_STREAMS") == "1"
    name = ("late" if late else "same") + ("-expandable" if conf else "") + \
        ("-streams" if streams else "") + ("-pools" if os.environ.get("PROVE_POOLS") else "")
    recorded, snapshot = folder / f"{name}.tml", folder / f"{name}.pickle"
    torch.cuda.init()
    training = None
    if late:
        training = Training()
        for _ in range(3):
            training.step(streams)
    recording = tidemark.torch.record(recorded)
    torch.cuda.memory._record_memory_history(context=None, max_entries=10_000_000)
    training = training or Training()
    for _ in range(steps):
        training.step(streams)
    kept = use_pools(torch) if os.environ.get("PROVE_POOLS") == "1" else None
    torch.cuda.empty_cache()
    training.step(streams)
    del kept
    training.step(streams)
    counts = recording.counts()
    torch.cuda.memory._dump_snapshot(str(snapshot))
    recording.stop()
    print(f"{name}: {counts}, {recorded.stat().st_size} bytes")
    good = verify(recorded)
    ours, theirs = rows(recorded), rows(snapshot)
    for number, (a, b) in enumerate(zip(ours, theirs)):
        if a != b:
            print(f"differs at {number}: recorded {a}, PyTorch says {b}")
            good = False
            break
    print(f"{name}: {len(ours)} events recorded, {len(theirs)} by PyTorch")
    return good and len(ours) == len(theirs) and counts["dropped"] == 0


def prove_stacks(folder):
    import tidemark
    import tidemark.torch

    path = folder / "stacks.tml"
    with tidemark.torch.record(path, stacks=True, annotations="modules"):
        training = Training()
        for _ in range(3):
            training.step(streams=True)
        training.torch.cuda.memory._snapshot()  # still works
    trace = tidemark.load(str(path))
    allocations = [event for event, kind in enumerate(trace.kind.tolist())
                   if trace.kind_names[kind] == "allocate"]
    known = [event for event in allocations if trace.stack[event]]
    print(f"stacks: {len(known)} of {len(allocations)} allocations have one")
    if known:
        print("\n".join(f"  {frame.function} {frame.line}" for frame in
                        trace.stack_of(known[-1])[:6]))
    return verify(path) and len(known) > len(allocations) // 4


def prove_uses(folder):
    import tidemark
    import tidemark.torch

    path = folder / "uses.tml"
    with tidemark.torch.record(path) as recording, tidemark.torch.record_uses() as uses:
        training = Training()
        for _ in range(3):
            with recording.range("step"):
                training.step()
    trace = tidemark.load(str(path))
    found = [event for event in trace if event.kind == "use"]
    known = [event for event in found if event.slot != NO_SLOT]
    names = {trace.string(tag) for tag in {event.tag for event in known}}
    backward = sorted(name for name in names if "backward" in name)
    print(f"uses: {uses.uses} by {uses.launches} operators, {len(known)} of {len(found)} of a block "
          f"that is live; in the backward pass {backward[:3]}")
    done = subprocess.run([program(), "replay", str(path), "--gpu-memory", "60%", "--spill", "lru"],
                          capture_output=True, text=True, check=False)
    print("\n".join((done.stdout + done.stderr).splitlines()[:12]))
    return done.returncode == 0 and verify(path) and len(found) == uses.uses and bool(backward) \
        and len(known) > 0.99 * len(found)


def step_time(training, steps):
    torch = training.torch
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        training.step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / steps


PAIRS = """
#include <c10/cuda/CUDACachingAllocator.h>
#include <chrono>
extern "C" double pair_ns(int rounds) {
    namespace allocator = c10::cuda::CUDACachingAllocator;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i)
        allocator::raw_delete(allocator::raw_alloc(1024));
    const std::chrono::duration<double, std::nano> all = std::chrono::steady_clock::now() - begin;
    return all.count() / rounds;
}
"""


def pair_timer(torch, folder):
    """ns of an allocation and its free from C++, so that only the allocator is measured."""
    import ctypes

    from tidemark.torch import _compiled

    source, target = folder / "pairs.cpp", folder / "pairs.so"
    source.write_text(PAIRS)
    subprocess.run(_compiled.command(torch, _compiled.compiler(), source, str(target)), check=True)
    function = ctypes.CDLL(str(target)).pair_ns
    function.restype = ctypes.c_double
    return lambda: function(100_000)


def spread(values):
    """The median and its 95 % interval (order statistics)."""
    ranked = sorted(values)
    edge = max(0, int(len(ranked) / 2 - 0.98 * math.sqrt(len(ranked))))
    return statistics.median(ranked), ranked[edge], ranked[-1 - edge]


MODES = {"off": None, "on": {}, "annotations": {"annotations": True}, "stacks": {"stacks": True}}


def prove_cost(folder, seconds=60):
    """Each turn measures every mode once, in another order. Compared figures are measured within a
    second, so that a host whose speed changes doesn't affect the result."""
    import torch

    import tidemark.torch

    training = Training()
    step_time(training, 20)
    pair_time = pair_timer(torch, folder)
    pair_time()
    print(f"cost without a tracker: {min(pair_time() for _ in range(5)):.0f} ns a pair")
    steps = {mode: [] for mode in MODES}
    pairs = {mode: [] for mode in MODES}
    events = 0
    path = folder / "cost.tml"
    end = time.time() + seconds
    turn = 0
    while turn < 8 or time.time() < end:
        modes = list(MODES)[turn % len(MODES):] + list(MODES)[:turn % len(MODES)]
        for mode in modes if turn // len(MODES) % 2 else reversed(modes):
            options = MODES[mode]
            recording = None if options is None else tidemark.torch.record(path, **options)
            training.number = 0
            step_time(training, 1)
            before = recording.counts()["events"] if recording else 0
            steps[mode].append(step_time(training, 5))
            if recording:
                events = (recording.counts()["events"] - before) / 5
            pairs[mode].append(pair_time())
            if recording:
                if recording.counts()["dropped"]:
                    print(f"dropped {recording.counts()['dropped']}")
                recording.stop()
                path.unlink()
        turn += 1
    print(f"cost off: step {statistics.median(steps['off']) * 1e3:.3f} ms, {events:.0f} events; an "
          f"allocation and its free {statistics.median(pairs['off']):.0f} ns; {turn} turns, "
          "medians and their 95 % ranges:")
    for mode in list(MODES)[1:]:
        share, least, most = spread([100 * (on / off - 1)
                                     for on, off in zip(steps[mode], steps["off"])])
        event, low, high = spread([(on - off) / 3
                                   for on, off in zip(pairs[mode], pairs["off"])])
        print(f"cost {mode}: step {share:+.2f} % ({least:+.2f} to {most:+.2f}), "
              f"an event {event:.0f} ns ({low:.0f} to {high:.0f})")
    return True


def forever(folder):
    """A training run in its own process that has recorded something, and its recording."""
    path = folder / "forever.tml"
    child = subprocess.Popen([sys.executable, "-B", __file__, "--run", "train-forever",
                              "--folder", str(folder)])
    end = time.time() + 120
    while (not path.exists() or path.stat().st_size < 300_000) and time.time() < end:
        time.sleep(0.05)
    return child, path


def prove_killed(folder):
    child, path = forever(folder)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    good = verify(path)
    print(f"killed: {len(rows(path))} events in a recording of {path.stat().st_size} bytes")
    return good


def prove_live(folder):
    picture = pathlib.Path(os.environ.get("TIDEMARK_PROOF_PICTURES", folder)) / "live.png"
    child, _ = forever(folder)
    view = subprocess.run([program(), "view", "--attach", str(child.pid), "--png", str(picture)],
                          capture_output=True, text=True, check=False, timeout=60)
    lives = child.poll() is None
    child.kill()
    child.wait()
    drawn = view.returncode == 0 and picture.stat().st_size > 10_000
    print(f"live: {view.stderr.strip() if not drawn else f'{picture.stat().st_size} bytes of picture'}"
          f"{'' if lives else ', but the training run had ended'}")
    return lives and drawn


def train_forever(folder):
    import tidemark.torch

    tidemark.torch.record(folder / "forever.tml")
    training = Training()
    while True:
        training.step()


def prove_limited(folder):
    import tidemark.torch

    recording = tidemark.torch.record(folder / "limited.tml", history_limit=4 << 20)
    training = Training()
    for _ in range(40):
        training.step(streams=True)
    print(f"limited: {recording.counts()}")
    recording.stop()
    pieces = sorted(folder.glob("limited-*.tml"))
    print(f"limited: {[piece.name for piece in pieces]}")
    return len(pieces) > 1 and verify(pieces[0])


DYING = """
import tidemark.torch
tidemark.torch.explain_oom({path!r})
import torch
torch.cuda.set_per_process_memory_fraction(0.02)
kept = []
while True:
    kept.append(torch.zeros(64 << 20, dtype=torch.uint8, device="cuda"))
    scratch = torch.empty(24 << 20, dtype=torch.uint8, device="cuda")
"""


def prove_oom(folder):
    path = folder / "oom.pickle"
    script = folder / "dies.py"
    good = True
    for lines in (DYING.format(path=str(path)), DYING.format(path=str(path)).split("\n", 3)[3]):
        script.write_text(lines)
        launcher = [] if "explain_oom" in lines else ["-m", "tidemark.torch"]
        done = subprocess.run([sys.executable, "-B", *launcher, str(script)], capture_output=True,
                              text=True, check=False, cwd=folder,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        print(f"oom ({' '.join(launcher) or 'explain_oom()'}): exit code {done.returncode}\n"
              + done.stderr[-2500:])
        good = good and done.returncode == 1 and "OutOfMemoryError" in done.stderr and \
            "tidemark advise" in done.stderr
    return good and path.exists()


PROOFS = {
    "same": [{}, {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
             {"PROVE_STREAMS": "1"},
             {"PROVE_POOLS": "1"},
             {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "PROVE_STREAMS": "1"}],
    "late": [{}, {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "PROVE_STREAMS": "1"}],
    "stacks": [{}],
    "uses": [{}],
    "cost": [{}],
    "killed": [{}],
    "live": [{}],
    "limited": [{}, {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}],
    "oom": [{}],
}


def run(name, folder, steps):
    return {"same": lambda: prove_same(folder, steps, late=False),
            "late": lambda: prove_same(folder, steps, late=True),
            "stacks": lambda: prove_stacks(folder),
            "uses": lambda: prove_uses(folder),
            "cost": lambda: prove_cost(folder),
            "killed": lambda: prove_killed(folder),
            "live": lambda: prove_live(folder),
            "limited": lambda: prove_limited(folder),
            "oom": lambda: prove_oom(folder),
            "train-forever": lambda: train_forever(folder)}[name]()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--only", choices=PROOFS, action="append")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        return 0 if run(given.run, given.folder, given.steps) else 1
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name in given.only or PROOFS:
            for number, variables in enumerate(PROOFS[name]):
                place = pathlib.Path(folder) / f"{name}-{number}"
                place.mkdir()
                done = subprocess.run(
                    [sys.executable, "-B", __file__, "--run", name, "--folder", str(place),
                     "--steps", str(given.steps)], env={**os.environ, **variables}, check=False)
                print(f"== {name} {variables or ''}: {'ok' if done.returncode == 0 else 'FAILED'}",
                      flush=True)
                if done.returncode != 0:
                    failed.append(name)
    print("proven" if not failed else f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
