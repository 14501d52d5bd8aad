#!/usr/bin/env python3
"""Runs one program that runs out of memory on a real GPU, and says at which request.

A program makes the same requests each time. It stops at its first out-of-memory error. scripts/
prove_remedies.py runs it once to record it, and then with the remedies that `tidemark advise` names.

Example: scripts/remedy_programs.py leak --limit 4294967296 --snapshot leak.pickle
"""
import argparse
import json
import math
import os
import subprocess
import sys

MIB, GIB = 1 << 20, 1 << 30


class Died(Exception):
    pass


class Program:
    def __init__(self, torch, words):
        self.torch, self.words = torch, words
        self.asked, self.died_at = 0, None
        self.kept = []

    def ask(self, size, device=0):
        """A tensor of that many bytes; the program ends if there is no memory for it."""
        number, self.asked = self.asked, self.asked + 1
        if number == self.words.empty_at:
            self.torch.cuda.empty_cache()
        try:
            return self.torch.empty(size, dtype=self.torch.uint8, device=f"cuda:{device}")
        except self.torch.OutOfMemoryError:
            self.died_at = number
            raise Died from None

    def keep(self, size, device=0):
        self.kept.append(self.ask(size, device))

    def warm(self):
        """If recording starts in the middle, everything before this call isn't recorded."""
        if self.words.record == "middle":
            start_recording(self.torch)


def start_recording(torch):
    torch.cuda.memory._record_memory_history(context=None)


def fill(p, size, device=0):
    """Allocates until there is no memory left."""
    while True:
        p.keep(size, device)


def carve(p, whole, part, device=0):
    """Blocks that fill one segment."""
    segment = p.ask(whole, device)
    del segment
    return [p.ask(part, device) for _ in range(whole // part)]


def hopeless(p):
    p.keep(512 * MIB)
    p.warm()
    fill(p, 8 * GIB)


def leak(p):
    for _ in range(4):
        p.ask(64 * MIB)
    p.warm()
    while True:
        p.keep(200 * MIB)
        p.ask(96 * MIB)


def checkerboard(p):
    blocks = [block for _ in range(5) for block in carve(p, 600 * MIB, 30 * MIB)]
    p.warm()
    del blocks[::2]
    fill(p, 700 * MIB)


def pinned_large(p):
    p.warm()
    for size in (300, 700, 1500):
        blocks = carve(p, size * MIB, 50 * MIB)
        p.kept.append(blocks[len(blocks) // 2])
        del blocks
    fill(p, 900 * MIB)


def growing(p):
    p.warm()
    for step in range(1, 400):
        batch = p.ask((200 + 10 * step) * MIB)
        p.keep(2 * MIB)
        del batch


def many_sizes(p):
    p.warm()
    live = []
    for step in range(400):
        live.append(p.ask((7 + step * 37 % 91) * MIB))
        if len(live) > 60 + step // 10:
            live.pop(step * 13 % len(live))


def small_pins(p):
    p.warm()
    for _ in range(8):
        blocks = carve(p, 250 * MIB, 25 * MIB)
        p.kept.append(blocks[4])
        del blocks
        p.keep(8 * MIB)
        p.kept += [p.ask(200 * MIB)]
        p.kept.pop()
    fill(p, 600 * MIB)


def side_stream(p):
    side = p.torch.cuda.Stream()
    with p.torch.cuda.stream(side):
        blocks = carve(p, 1200 * MIB, 300 * MIB)
        p.warm()
        p.kept.append(blocks[1])
        del blocks
    fill(p, 800 * MIB)


def pending(p):
    """pytorch issue 189504: memory that the wait frees is not considered again."""
    torch = p.torch
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        whole = p.ask(9 * GIB)
        p.warm()
        del whole
        first = p.ask(8 * GIB)
        p.keep(512 * MIB)
        first.record_stream(torch.cuda.default_stream())
    with torch.cuda.stream(torch.cuda.default_stream()):
        torch.cuda._sleep(2_000_000_000)
    with torch.cuda.stream(side):
        del first
        p.keep(8 * GIB)


def mempool(p):
    """pytorch issue 159674: nothing is released for a pool."""
    torch = p.torch
    cached = [p.ask(700 * MIB) for _ in range(4)]
    p.warm()
    del cached
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        fill(p, 400 * MIB)


def graph(p):
    torch = p.torch
    static = p.ask(256 * MIB)
    static.fill_(1)
    graph = torch.cuda.CUDAGraph()
    p.kept += [graph, static]
    p.warm()
    with torch.cuda.graph(graph):
        one = static + 1
        two = torch.cat([one, one])
        del one, two
    fill(p, 700 * MIB)


def full_card(p):
    p.warm()
    fill(p, 1 * GIB)


def full_card_fragments(p):
    blocks = [block for _ in range(4) for block in carve(p, 1500 * MIB, 150 * MIB)]
    p.warm()
    del blocks[::2]
    fill(p, 1300 * MIB)


def second_gpu(p):
    for _ in range(3):
        p.keep(300 * MIB, 0)
    p.warm()
    blocks = [block for _ in range(5) for block in carve(p, 600 * MIB, 30 * MIB, 1)]
    del blocks[::2]
    p.keep(900 * MIB, 0)
    fill(p, 700 * MIB, 1)


# name -> (program, limit in bytes or None: what a second process leaves of the card decides)
PROGRAMS = {
    "hopeless": (hopeless, 4 * GIB),
    "leak": (leak, 4 * GIB),
    "checkerboard": (checkerboard, 4 * GIB),
    "pinned-large": (pinned_large, 4 * GIB),
    "growing": (growing, 3 * GIB),
    "many-sizes": (many_sizes, 4 * GIB),
    "small-pins": (small_pins, 4 * GIB),
    "side-stream": (side_stream, 4 * GIB),
    "pending": (pending, 10 * GIB),
    "mempool": (mempool, 4 * GIB),
    "graph": (graph, 4 * GIB),
    "full-card": (full_card, None),
    "full-card-fragments": (full_card_fragments, None),
    "second-gpu": (second_gpu, 4 * GIB),
}

HOG = """
import sys, torch
free, total = torch.cuda.mem_get_info(0)
held = torch.empty(free - {left}, dtype=torch.uint8, device="cuda:0")
print("ready", flush=True)
sys.stdin.read()
"""


def hog(left):
    """A second process on the card, which leaves that many bytes free."""
    process = subprocess.Popen([sys.executable, "-c", HOG.format(left=left)],
                               env={**os.environ, "PYTORCH_ALLOC_CONF": ""},
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--limit", type=int, default=0, help="bytes that PyTorch may reserve")
    parser.add_argument("--left", type=int, default=0, help="bytes that a second process leaves free")
    parser.add_argument("--empty-at", type=int, default=-1, help="empty_cache() before this request")
    parser.add_argument("--record", choices=("no", "start", "middle"), default="no")
    parser.add_argument("--snapshot", help="where to write the recording")
    words = parser.parse_args()
    import torch
    company = hog(words.left) if words.left else None
    torch.cuda.init()
    for device in range(torch.cuda.device_count() if words.limit else 0):
        total = torch.cuda.get_device_properties(device).total_memory
        fraction = words.limit / total
        while int(fraction * total) < words.limit:
            fraction = math.nextafter(fraction, 2)
        torch.cuda.set_per_process_memory_fraction(fraction, device)
    if words.record == "start":
        start_recording(torch)
    program = Program(torch, words)
    try:
        PROGRAMS[words.program][0](program)
    except Died:
        pass
    if words.snapshot:
        torch.cuda.memory._dump_snapshot(words.snapshot)
    print(json.dumps({"died_at": program.died_at, "asked": program.asked,
                      "version": torch.__version__,
                      "peak_reserved": torch.cuda.max_memory_reserved(0)}))
    if company:
        company.communicate("")


if __name__ == "__main__":
    main()
