#!/usr/bin/env python3
"""Proves tidemark.GraphArena on a GPU with CuPy and PyTorch: captured work gives the right numbers each
of 10,000 times, while other work allocates and frees memory at the same time. No two arrays of a
capture share a byte, except those that a dry run found never to be live together.

  scripts/prove-on-gpu graph_arena
  scripts/prove-on-gpu graph_arena --launches 1000
"""
import argparse
import gc
import sys
import time

import cupy

import tidemark


def check(name, holds):
    print(f"{name}: {'holds' if holds else 'FAIL'}", flush=True)
    return holds


def overlapping(granted):
    end = 0
    for address, size in sorted(granted):
        if address < end:
            return True
        end = address + size
    return False


def body(x, out, depth):
    """Many temporaries, each freed immediately: a pool that reuses memory would share their bytes."""
    total = x * 1.0
    for i in range(depth):
        total = cupy.sqrt(total * total + x * float(i)) + 1.0
    cupy.sum(total, axis=1, out=out)


def prove(options, in_turn, planned=False):
    label = "planned" if planned else "in turn" if in_turn else "of its own"
    stream = cupy.cuda.Stream(non_blocking=True)
    arena = tidemark.GraphArena(in_turn=in_turn)
    shape = (512, options.width)
    x = cupy.zeros(shape, "f4")
    graphs = []
    stream_zero = cupy.cuda.Stream.null
    body(x, cupy.zeros(shape[0], "f4"), 1)  # kernels are compiled outside of captures
    stream_zero.synchronize()
    for depth in (6, 3, 9):
        out = cupy.zeros(shape[0], "f4")
        seen = None
        if planned:
            with arena.dry_run(stream) as seen:
                body(x, out, depth)
            stream.synchronize()
        with arena.capture(stream, planned=seen) as captured:
            body(x, out, depth)
        graphs.append((depth, out, captured))
    good = check(f"arena {label}: arrays of a capture share bytes only if a dry run planned it",
                 all(overlapping(captured.granted) == planned for _, _, captured in graphs))
    good &= check(f"arena {label}: captures made the requests of their dry runs", arena.deviations == 0)
    arena.trim()
    together = [one for _, _, captured in graphs for one in captured.granted]
    good &= check(f"arena {label}: graphs share memory only if they run in turn",
                  planned or overlapping(together) == in_turn)
    reserved = arena.context.statistics().reserved
    wrong = cupy.zeros((), "i8")
    expected = {}
    values = [1.0, 2.5, 7.0, 0.125]
    for value in values:
        x.fill(value)
        for depth, _, _ in graphs:
            right = cupy.zeros(shape[0], "f4")
            body(x, right, depth)
            expected[value, depth] = right
    stream_zero.synchronize()
    began = time.monotonic()
    with stream:
        for turn in range(options.launches):
            value = values[turn % len(values)]
            depth, out, captured = graphs[turn % len(graphs)]
            x.fill(value)
            out.fill(-1)
            captured.launch(stream)
            beside = cupy.full(shape, turn, "f4")  # CuPy's own pool, during it
            wrong += (out != expected[value, depth]).sum()
            del beside
    stream.synchronize()
    seconds = time.monotonic() - began
    good &= check(f"arena {label}: {options.launches:,} launches in {seconds:.1f} s, "
                  f"{int(wrong)} numbers wrong, {reserved / 2**20:.0f} MiB", int(wrong) == 0)
    for _, _, captured in graphs:
        captured.close()
    del graphs, captured
    arena.trim()
    left = arena.context.statistics()
    good &= check(f"arena {label}: all of it is released ({left.reserved} B left)",
                  left.reserved == 0 and left.live == 0)
    arena.close()
    return good


def torch_body(torch, x, out, depth):
    total = x * 1.0
    for i in range(depth):
        total = torch.sqrt(total * total + x * float(i)) + 1.0
    torch.sum(total, dim=1, out=out)


def prove_torch(options, in_turn):
    import torch

    label = "PyTorch, in turn" if in_turn else "PyTorch"
    stream = torch.cuda.Stream()
    arena = tidemark.GraphArena(in_turn=in_turn)
    shape = (512, options.width)
    x = torch.zeros(shape, device="cuda")
    torch_body(torch, x, torch.zeros(shape[0], device="cuda"), 1)
    torch.cuda.synchronize()
    graphs = []
    for depth in (6, 3, 9):
        out = torch.zeros(shape[0], device="cuda")
        with arena.capture(stream) as captured:
            torch_body(torch, x, out, depth)
        graphs.append((depth, out, captured))
    together = [one for _, _, captured in graphs for one in captured.granted]
    good = check(f"arena {label}: segments belong to one graph, or graphs run in turn",
                 bool(together) and overlapping(together) == in_turn)
    reserved = arena.context.statistics().reserved
    values = [1.0, 2.5, 7.0, 0.125]
    expected = {}
    for value in values:
        x.fill_(value)
        for depth, _, _ in graphs:
            expected[value, depth] = torch.zeros(shape[0], device="cuda")
            torch_body(torch, x, expected[value, depth], depth)
    torch.cuda.synchronize()
    wrong = torch.zeros((), dtype=torch.int64, device="cuda")
    began = time.monotonic()
    with torch.cuda.stream(stream):
        for turn in range(options.launches):
            value = values[turn % len(values)]
            depth, out, captured = graphs[turn % len(graphs)]
            x.fill_(value)
            out.fill_(-1)
            captured.launch(stream)
            beside = torch.full(shape, float(turn), device="cuda")
            wrong += (out != expected[value, depth]).sum()
            del beside
    stream.synchronize()
    seconds = time.monotonic() - began
    good &= check(f"arena {label}: {options.launches:,} launches in {seconds:.1f} s, "
                  f"{int(wrong)} numbers wrong, {reserved / 2**20:.0f} MiB", int(wrong) == 0)
    for _, _, captured in graphs:
        captured.close()
    try:
        with arena.capture(stream):
            torch.ones(64, device="cuda")
            raise KeyError("of the program")
    except KeyError:
        pass
    with arena.capture(stream) as captured:
        kept = torch.ones(1 << 20, device="cuda")
    captured.launch(stream)
    torch.cuda.synchronize()
    good &= check(f"arena {label}: after a failed capture, the next one is right",
                  bool((kept == 1).all()))
    captured.close()
    arena.trim()
    good &= check(f"arena {label}: a tensor outlives its graph", bool((kept == 1).all()))
    del kept, captured, graphs
    gc.collect()
    arena.close()
    torch.cuda.empty_cache()
    again = tidemark.GraphArena(in_turn=in_turn)
    for _ in range(80):  # more than can be open at the same time
        with again.capture(stream) as captured:
            y = x * 2
        captured.close()
        del y
    torch.cuda.empty_cache()
    again.trim()
    left = again.context.statistics()
    good &= check(f"arena {label}: 80 captures one after another, {left.reserved} B left",
                  in_turn or left.reserved == 0)
    again.close()
    return good


def prove_failure():
    """A capture that fails leaves nothing captured, and the next one works."""
    stream = cupy.cuda.Stream(non_blocking=True)
    arena = tidemark.GraphArena()
    out = cupy.zeros(64, "f4")
    try:
        with arena.capture(stream):
            cupy.ones(64, "f4")
            raise KeyError("of the program")
    except KeyError:
        pass
    with stream:
        x = cupy.full(64, 3, "f4")
    with arena.capture(stream) as captured:
        cupy.multiply(x + 1, 2, out=out)
    captured.launch(stream)
    stream.synchronize()
    right = bool((out == 8).all())
    captured.close()
    return check("a failed capture doesn't affect the next one", right)


def prove_ends():
    """An arena that is deleted after its stream, while an array of its capture is live."""
    stream = cupy.cuda.Stream(non_blocking=True)
    arena = tidemark.GraphArena()
    with arena.capture(stream) as captured:
        kept = cupy.ones(1 << 20, "f4")
    captured.launch(stream)
    stream.synchronize()
    del stream, captured, arena
    gc.collect()
    right = bool((kept == 1).all())
    del kept
    gc.collect()
    return check("arrays outlive their arena and its stream", right)


def main():
    parser = argparse.ArgumentParser(prog="prove-on-gpu graph_arena", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=10_000, help="of graphs (default: 10,000)")
    parser.add_argument("--width", type=int, default=4096, help="length of a row, in numbers")
    options = parser.parse_args()
    good = [prove(options, False), prove(options, True), prove(options, False, planned=True),
            prove_failure(), prove_ends(), prove_torch(options, False), prove_torch(options, True)]
    print("graph_arena:", "holds" if all(good) else "FAIL")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
