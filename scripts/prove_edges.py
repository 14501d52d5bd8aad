#!/usr/bin/env python3
"""Runs one random program against PyTorch's caching allocator, at the edges of its rules.

A program is named by its kind and its seed; the same name and seed make the same calls. It writes a
snapshot and a JSON file next to it with conf, limit in bytes (0: none), seed, statistics, and `marks`:
events that a snapshot does not have (emptied caches, deleted pools, changed settings), each with the
number of allocations attempted before it.

scripts/prove-on-gpu --edges starts it, with the settings in PYTORCH_ALLOC_CONF.

Example: scripts/prove_edges.py pools --limit 4294967296 --result a.json --snapshot a.pickle
"""
import argparse
import json
import pathlib
import random
import sys

from prove_recording import run_recorded

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
FREELY = 6 * GIB  # bytes that a program without a limit keeps live, roughly

# What each kind of program does. sizes: how requests are drawn; limited: under a limit of 2 to
# 8 GiB; streams: side streams, with record_stream; pools, capture, toggle: see Program.
KINDS = {
    "boundaries": {"sizes": "boundaries", "limited": True},
    "churn": {"sizes": "any", "limited": True},
    "grow": {"sizes": "grow", "limited": True},
    "exhaust": {"sizes": "giant", "limited": False},
    "unlimited": {"sizes": "any", "limited": False},
    "streams": {"sizes": "any", "limited": True, "streams": 3},
    "streams-boundaries": {"sizes": "boundaries", "limited": True, "streams": 2},
    "pools": {"sizes": "any", "limited": True, "pools": "plain"},
    "pools-streams": {"sizes": "any", "limited": True, "pools": "plain", "streams": 2},
    "pools-on-oom": {"sizes": "any", "limited": True, "pools": "use_on_oom"},
    "pools-whole": {"sizes": "any", "limited": True, "pools": "no_split"},
    "pools-outlived": {"sizes": "any", "limited": True, "pools": "outlived"},
    "capture": {"sizes": "any", "limited": False, "capture": "plain"},
    "capture-limited": {"sizes": "any", "limited": True, "capture": "plain"},
    "capture-streams": {"sizes": "any", "limited": False, "capture": "streams"},
    "toggle": {"sizes": "any", "limited": True, "toggle": ["expandable_segments:True",
                                                           "expandable_segments:False"]},
    "toggle-all": {"sizes": "any", "limited": True, "toggle": [
        # Not max_split_size_mb: if it falls below blocks that were already split, torch 2.11
        # releases parts of segments to the driver as if they were whole ones, and crashes.
        "expandable_segments:True", "expandable_segments:False", "garbage_collection_threshold:0.6",
        "roundup_power2_divisions:4", "roundup_power2_divisions:[8:2,64:8,>:1]"]},
    "two-devices": {"sizes": "any", "limited": False, "devices": 2},
}

ROUNDUPS = ["2", "4", "8", "16", "[1:2,4:4,16:8,64:1,256:2,>:4]", "[256:1,512:2,1024:4,>:8]",
            "[2:16,32:4,>:2]"]


def random_conf(chance, kind):
    """Settings for a program, and a short name for them."""
    parts, words = [], []
    family = chance.choice(["default", "exp", "split", "gc", "round", "mixed", "mixed"])
    if family in ("split", "mixed") and (family == "split" or chance.random() < 0.6):
        parts.append(f"max_split_size_mb:{chance.choice([21, 32, 64, 100, 128, 256])}")
        words.append("split")
    if family in ("gc", "mixed") and (family == "gc" or chance.random() < 0.6):
        parts.append(f"garbage_collection_threshold:{chance.choice([0.3, 0.5, 0.6, 0.8, 0.95])}")
        words.append("gc")
    if family in ("round", "mixed") and (family == "round" or chance.random() < 0.5):
        parts.append(f"roundup_power2_divisions:{chance.choice(ROUNDUPS)}")
        words.append("round")
    if family == "exp" or (family == "mixed" and chance.random() < 0.5):
        parts.append("expandable_segments:True")
        words.append("exp")
    if "toggle" in KINDS[kind]:
        parts, words = [], []  # the program sets them
    chance.shuffle(parts)
    return ",".join(parts), "-".join(words)


def random_limit(chance, kind):
    """2 to 8 GiB: some round, and some odd numbers of bytes."""
    if not KINDS[kind]["limited"]:
        return 0
    limit = chance.choice([2, 3, 4, 5, 6, 8]) * GIB
    return limit if chance.random() < 0.5 else limit - chance.randrange(512 * MIB)


def plan(count, seed, devices):
    """`count` different programs: the kinds in turn, with random settings, limits and lengths. Kinds
    that need more devices than available are left out."""
    kinds = [kind for kind, what in KINDS.items() if what.get("devices", 1) <= devices]
    programs = []
    for number in range(count):
        kind = kinds[number % len(kinds)]
        chance = random.Random(f"{seed}/{number}")
        conf, words = random_conf(chance, kind)
        program = {
            "name": "-".join(filter(None, [kind, words, str(seed), str(number)])), "kind": kind,
            "conf": conf, "limit": random_limit(chance, kind), "seed": seed * 100_000 + number,
            "steps": chance.randint(6_000, 30_000)}
        if KINDS[kind]["sizes"] == "giant":
            program["steps"] //= 2  # they run alone, and the driver is slow with gigabytes
        programs.append(program)
    return programs


def need(program):
    """The most bytes that a program may hold, to decide what can run at the same time; None: all of
    the GPU. Without a limit it is an estimate: live memory stays below 1.3 * FREELY."""
    if KINDS[program["kind"]]["sizes"] == "giant":
        return None
    return program["limit"] or 4 * FREELY


def boundaries():
    """Sizes at which some rule changes, before they are varied."""
    sizes = [512, 1024, 4096, 512 * KIB, MIB, 2 * MIB, 10 * MIB, 20 * MIB, 22 * MIB, 32 * MIB]
    sizes += [n * MIB for n in (9, 11, 12, 19, 21, 40, 48, 64, 84, 100, 120, 128, 148, 256)]
    return sizes


class Sizes:
    """Draws the sizes of requests."""

    def __init__(self, how, chance):
        self.how, self.chance, self.boundaries, self.growing = how, chance, boundaries(), MIB

    def draw(self):
        chance, how = self.chance, self.how
        if how == "boundaries" and chance.random() < 0.9:
            nudge = chance.choice([0, 1, -1, 511, -511, 512, -512, 513, -513, 1023, -1024])
            return max(1, chance.choice(self.boundaries) + nudge)
        if how == "giant":
            return int(64 * MIB * 2 ** (chance.random() * 7.5))
        if how == "grow" and chance.random() < 0.6:
            self.growing += chance.randint(1, 3 * MIB)
            if self.growing > 300 * MIB:
                self.growing = chance.randint(1, 4 * MIB)
            return self.growing
        if chance.random() < 0.3:
            return chance.randint(1, 2 * MIB)
        return max(1, int(2 ** (chance.random() * 28)))


class Program:
    """The calls of one program, and its live tensors, pools and graphs."""

    def __init__(self, torch, kind, steps, options):
        self.torch, self.what, self.steps = torch, KINDS[kind], steps
        self.chance = random.Random(options.seed)
        self.sizes = Sizes(self.what["sizes"], self.chance)
        total = torch.cuda.get_device_properties(0).total_memory
        self.budget = options.limit or (total if self.what["sizes"] == "giant" else FREELY)
        self.target = self.budget // 2
        self.devices = self.what.get("devices", 1)
        self.streams = [torch.cuda.Stream() for _ in range(self.what.get("streams", 0))]
        self.live, self.bytes, self.pools, self.graphs = [], 0, [], []
        self.attempts, self.marks, self.refused = 0, [], 0

    def mark(self, what, value=None):
        self.marks.append([what, self.attempts] + ([] if value is None else [value]))

    def empty(self, device=0):
        """One allocation of a drawn size on the current stream."""
        size = self.sizes.draw()
        self.attempts += 1
        return self.torch.empty(size, dtype=self.torch.uint8, device=f"cuda:{device}")

    def keep(self, tensor):
        self.live.append(tensor)
        self.bytes += tensor.numel()

    def drop(self, count=1):
        """Frees `count` tensors: mostly random ones, sometimes the newest ones."""
        for _ in range(min(count, len(self.live))):
            at = self.chance.randrange(len(self.live)) if self.chance.random() < 0.8 else -1
            self.live[at], self.live[-1] = self.live[-1], self.live[at]
            self.bytes -= self.live.pop().numel()

    def allocate(self):
        device = self.chance.randrange(self.devices)
        if not self.streams or self.chance.random() < 0.4:
            self.keep(self.empty(device))
            return
        stream = self.chance.choice(self.streams)
        with self.torch.cuda.stream(stream):
            self.keep(self.empty(device))

    def use_elsewhere(self):
        """A tensor is used by another stream, which may be busy for a while."""
        stream = self.chance.choice(self.streams)
        if self.chance.random() < 0.3:
            with self.torch.cuda.stream(stream):
                self.torch.cuda._sleep(self.chance.randint(10_000, 4_000_000))
        if self.live:
            self.chance.choice(self.live).record_stream(stream)
        if self.chance.random() < 0.02:
            self.torch.cuda.synchronize()

    def new_pool(self):
        how = self.what["pools"]
        options = {how: True} if how in ("use_on_oom", "no_split") else {}
        self.pools.append([self.torch.cuda.MemPool(**options), []])
        self.mark("pool_begins", len(self.pools))

    def use_pool(self):
        """Some allocations inside a pool, whose tensors it keeps."""
        pool, tensors = self.chance.choice(self.pools)
        with self.torch.cuda.use_mem_pool(pool):
            for _ in range(self.chance.randint(1, 30)):
                if tensors and self.chance.random() < 0.4:
                    tensors.pop(self.chance.randrange(len(tensors)))
                else:
                    tensors.append(self.empty())
                while sum(map(len, tensors)) > self.budget // 8:
                    tensors.pop(0)

    def end_pool(self):
        at = self.chance.randrange(len(self.pools))
        pool, tensors = self.pools.pop(at)
        if self.what["pools"] == "outlived":
            for tensor in tensors[::3]:
                self.keep(tensor)
        tensors.clear()
        self.mark("pool_ends", at)
        del pool

    def capture(self):
        """Captures a graph whose tensors are in its own pool, or in that of an earlier graph."""
        torch, chance, shared = self.torch, self.chance, None
        if self.graphs and chance.random() < 0.4:
            shared = chance.choice(self.graphs)[0].pool()
        graph, outputs = torch.cuda.CUDAGraph(), []
        self.mark("capture_begins")
        try:
            with torch.cuda.graph(graph, pool=shared):
                for _ in range(chance.randint(3, 60)):
                    if outputs and chance.random() < 0.45:
                        outputs.pop(chance.randrange(len(outputs)))
                    elif sum(map(len, outputs)) < self.budget // 16:
                        outputs.append(self.empty().zero_())
                    if self.what["capture"] == "streams" and outputs and chance.random() < 0.3:
                        self.fork(outputs)
        finally:
            self.mark("capture_ends")
        self.graphs.append((graph, outputs))

    def fork(self, outputs):
        """Inside a capture: another stream uses a tensor, which is freed before the streams join."""
        torch, main = self.torch, self.torch.cuda.current_stream()
        side = torch.cuda.Stream()
        tensor = outputs.pop(self.chance.randrange(len(outputs)))
        side.wait_stream(main)
        with torch.cuda.stream(side):
            tensor.add_(1)
            outputs.append(self.empty().zero_())
        tensor.record_stream(side)
        del tensor
        main.wait_stream(side)

    def end_graph(self):
        graph, outputs = self.graphs.pop(self.chance.randrange(len(self.graphs)))
        outputs.clear()
        self.mark("graph_ends")
        graph.reset()

    def change_settings(self):
        settings = self.chance.choice(self.what["toggle"])
        self.mark("settings", settings)
        change = getattr(self.torch._C, "_accelerator_setAllocatorSettings", None)
        (change or self.torch.cuda.memory._set_allocator_settings)(settings)

    def special(self):
        """The rare calls that are special to the kind."""
        chance = self.chance
        if self.streams and chance.random() < 0.25:
            self.use_elsewhere()
        if "pools" in self.what and chance.random() < 0.02:
            if len(self.pools) < 3 and chance.random() < 0.5:
                self.new_pool()
            elif self.pools and chance.random() < 0.2:
                self.end_pool()
            elif self.pools:
                self.use_pool()
        if "capture" in self.what and chance.random() < 0.003:
            if len(self.graphs) > 3 or (self.graphs and chance.random() < 0.3):
                self.end_graph()
            else:
                self.capture()
        if "toggle" in self.what and chance.random() < 0.001:
            self.change_settings()
        if chance.random() < 0.0015:
            self.mark("cache_emptied")
            self.torch.cuda.empty_cache()

    def run(self):
        """Allocates and frees around a target that wanders between 20 % and 130 % of the limit."""
        while self.attempts < self.steps:
            try:
                self.special()
                if self.chance.random() < 0.002:
                    self.target = int(self.budget * (0.2 + 1.1 * self.chance.random()))
                if self.bytes > self.target or (self.live and self.chance.random() < 0.35):
                    self.drop()
                else:
                    self.allocate()
            except self.torch.OutOfMemoryError:
                self.refused += 1
                if self.live:
                    self.drop(self.chance.randint(1, max(1, len(self.live) // 3)))
                elif self.pools:
                    self.end_pool()
                elif self.graphs:
                    self.end_graph()
        return {"refused": self.refused}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--name", default="", help="in the result; else the kind and the seed")
    parser.add_argument("--result", type=pathlib.Path, required=True, metavar="FILE")
    parser.add_argument("--snapshot", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--limit", type=int, default=0, help="bytes; 0 is none")
    parser.add_argument("--steps", type=int, default=10_000, help="allocations attempted")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    programs = []  # live until the snapshot was taken

    def body():
        import torch

        programs.append(Program(torch, options.kind, options.steps, options))
        return programs[0].run()

    result = run_recorded(body, seed=options.seed, limit=options.limit, snapshot=options.snapshot,
                          devices=KINDS[options.kind].get("devices", 1))
    result.update(name=options.name or f"{options.kind}-{options.seed}",
                  marks=programs[0].marks if programs else [])
    options.result.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
