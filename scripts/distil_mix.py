#!/usr/bin/env python3
"""Distils real traces into the tables of traces/generators/mix_tables.h.

Usage: scripts/distil_mix.py TRACE.pickle[.xz] ... > tables

Sizes fall into classes of a quarter octave. A class keeps its most frequent sizes, which share its
weight. So the tables keep both the shape of the distribution and the habit of programs to request
the same few sizes repeatedly. Lifetimes are counted in allocations from allocation to free. Each of
three ranges of sizes has a histogram of powers of two, because large tensors have other lifetimes
than small ones. Every trace has the same weight, whatever its length.
"""
import argparse
import collections
import lzma
import math
import pickle

SIZES_PER_CLASS = 3
WEIGHT = 100_000
RANGES = (1 << 20, 10 << 20)  # small | medium | large, as bytes


class Restricted(pickle.Unpickler):
    """Snapshots have only plain containers: files that name a class are rejected."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} doesn't belong in a snapshot")


def lifetimes(path):
    opened = lzma.open(path) if path.endswith(".xz") else open(path, "rb")
    with opened as file:
        trace = max(Restricted(file).load()["device_traces"], key=len)
    born, live, ended = 0, {}, []
    for event in trace:
        if event["action"] == "alloc":
            live[event["addr"]] = (born, event["size"])
            born += 1
        elif event["action"] == "free_requested" and event["addr"] in live:
            birth, size = live.pop(event["addr"])
            ended.append((size, born - birth))
    return ended


def size_range(size):
    return sum(size > limit for limit in RANGES)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+")
    classes = collections.defaultdict(collections.Counter)
    lives = [collections.Counter() for _ in range(len(RANGES) + 1)]
    for path in parser.parse_args().traces:
        ended = lifetimes(path)
        for size, life in ended:
            weight = WEIGHT / len(ended)
            classes[math.floor(4 * math.log2(max(size, 1)))][size] += weight
            lives[size_range(size)][life.bit_length() - 1] += weight
    for number in sorted(classes):
        total = sum(classes[number].values())
        kept = classes[number].most_common(SIZES_PER_CLASS)
        share = total / sum(weight for _, weight in kept)
        for size, weight in sorted(kept):
            if round(weight * share):
                print(f"    {{{size}, {round(weight * share)}}},")
    for counter in lives:
        print("    {" + ", ".join(str(round(counter[i])) for i in range(16)) + "},")


if __name__ == "__main__":
    main()
