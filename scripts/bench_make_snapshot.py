#!/usr/bin/env python3
"""Writes a large, consistent PyTorch memory snapshot for benchmarks.

Repeats the recorded entries of a real snapshot that starts from nothing. After each round, all its
blocks and segments are released, and the next round uses other addresses, so that an allocator could
have recorded the file. The pickle shares objects as PyTorch does: a new dict for each entry, key
strings by reference, a new 'N/A' for each entry.

The same arguments give the same bytes (with the same Python).

Example: scripts/bench_make_snapshot.py --entries 720000 -o /tmp/big.pickle
"""
import argparse
import gzip
import lzma
import pathlib
import pickle
import random
import sys

TEMPLATE = pathlib.Path(__file__).parents[1] / "traces/samples/torch/gpt2_var.pickle.xz"
SHIFT = 2 << 20  # keeps every alignment that the allocator relies on


def load(path):
    openers = {".xz": lzma.open, ".gz": gzip.open}
    with openers.get(path.suffix, open)(path, "rb") as file:
        return pickle.load(file)


def entry(action, addr, size, stream, time_us):
    return {
        "action": sys.intern(action),
        "addr": addr,
        "size": size,
        "stream": stream,
        "time_us": time_us,
        "compile_context": str(b"N/A", "ascii"),  # a new object each time, as in real files
        "user_metadata": "",
    }


def closing_entries(segments):
    """The (action, addr, size, stream) entries that release what is live at the end of a round, in
    the order of torch.cuda.empty_cache(): large pool, then small, each by stream, size, address."""
    for segment in segments:
        for block in segment["blocks"]:
            if block["state"] != "inactive":
                for action in ("free_requested", "free_completed"):
                    yield action, block["address"], block["requested_size"], segment["stream"]
    def place(segment):
        return (segment["segment_type"] == "small", segment["stream"], segment["total_size"],
                segment["address"])

    for segment in sorted(segments, key=place):
        action = "segment_unmap" if segment["is_expandable"] else "segment_free"
        yield action, segment["address"], segment["total_size"], segment["stream"]


def repeat(snapshot, count, rng):
    """(trace of at least `count` entries, shift of the addresses in the last round)"""
    template = snapshot["device_traces"][0]
    if not template or any(e["action"] not in KNOWN for e in template):
        sys.exit("the template needs entries on device 0 of these kinds only: " + ", ".join(KNOWN))
    trace, time_us = [], template[0]["time_us"]
    while True:
        shift = rng.randrange(1 << 20) * SHIFT
        previous = template[0]["time_us"]
        for e in template:
            time_us += e["time_us"] - previous + (rng.random() < 0.1)
            previous = e["time_us"]
            trace.append(entry(e["action"], e["addr"] + shift, e["size"], e["stream"], time_us))
        if len(trace) >= count:
            return trace, shift
        for action, addr, size, stream in closing_entries(snapshot["segments"]):
            time_us += 1
            trace.append(entry(action, addr + shift, size, stream, time_us))


def shifted_segments(segments, shift):
    for segment in segments:
        segment["address"] += shift
        for block in segment["blocks"]:
            block["address"] += shift
    return segments


KNOWN = ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free",
         "segment_map", "segment_unmap")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--entries", type=int, default=720_000,
                        help="write at least this many trace entries (default: %(default)s, 52 MB)")
    parser.add_argument("--template", type=pathlib.Path, default=TEMPLATE,
                        help="the snapshot to repeat (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--protocol", type=int, default=4, choices=(2, 3, 4, 5),
                        help="pickle protocol (default: %(default)s)")
    options = parser.parse_args()

    snapshot = load(options.template)
    trace, shift = repeat(snapshot, options.entries, random.Random(options.seed))
    snapshot["device_traces"] = [trace]
    snapshot["segments"] = shifted_segments(snapshot["segments"], shift)
    snapshot["external_annotations"] = []
    with open(options.output, "wb") as file:
        pickle.dump(snapshot, file, protocol=options.protocol)
    print(f"{options.output}: {len(trace)} entries, {options.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
