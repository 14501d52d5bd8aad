#!/usr/bin/env python3
"""Turns measured memory operations into a device profile for the simulator.

Usage: scripts/make_profile.py MEASURED.jsonl [-o backends/sim/profiles/h200.json]

MEASURED.jsonl has one JSON object per line: {"op", "bytes", "median_us"} rows, one row with
"granularity_min" and one with "total". Every median becomes a (bytes, ns) point. Values that were not
measured are derived by the rules in DERIVED, which are also written into the profile.
"""
import argparse
import json
import pathlib
import sys

# Device call -> the measured operation that gives its cost.
CALLS = {
    "malloc": "cudaMalloc",
    "free": "cudaFree",
    "malloc_async": "cudaMallocAsync",
    "free_async": "cudaFreeAsync",
    "reserve": "cuMemAddressReserve",
    "unreserve": "cuMemAddressFree",
    "create": "cuMemCreate",
    "release": "cuMemRelease",
    "map": "cuMemMap",
    "unmap": "cuMemUnmap",
    "set_access": "cuMemSetAccess",
    "record": "cudaEventRecord",
    "complete": "cudaEventQuery",
    "wait": "cudaStreamWaitEvent",
    "host_malloc": "cudaHostAlloc",
    "host_free": "cudaFreeHost",
}
TRANSFERS = {"to_host": "D2H.pinned", "to_device": "H2D.pinned", "on_device": "D2D"}

DERIVED = {
    "malloc, free": "below 2 MiB the driver cuts pieces from a page: the cost of 64 KiB holds up to "
                    "2 MiB - 1, and jumps there",
    "set_pool_threshold, synchronize, synchronize_device": "not measured; as cudaEventQuery, without "
                                                           "the wait itself",
    "trim_pool": "not measured; giving memory back costs as much as cudaFree of 2 MiB and more, and "
                 "as cudaEventQuery when there is nothing to give",
    "copy, fill": "making the call is part of the measured transfer, which ends with a "
                  "synchronization",
    "pool.create": "the first cudaMallocAsync of a process, less a warm one: it includes 32 MiB",
    "pool.grow": "the first cudaMallocAsync of a size beyond what the pool holds, less a warm one",
    "on_device": "one size was measured; the cost of an empty transfer is to_host's, extrapolated",
    "fill": "not measured; writes only, so half the traffic of on_device",
}
PAGE = 2 << 20


def measured(path):
    rows, facts = {}, {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if "op" in row:
            rows.setdefault(row["op"], {})[row["bytes"]] = round(row["median_us"] * 1000)
        else:
            facts.update(row)
    return {op: sorted(points.items()) for op, points in rows.items()}, facts


def with_page_step(points):
    small = [point for point in points if point[0] < PAGE]
    return small + [(PAGE - 1, small[-1][1])] + [point for point in points if point[0] >= PAGE]


def empty_transfer(points):
    (bytes0, cost0), (bytes1, cost1) = points[:2]
    return round(cost0 - bytes0 * (cost1 - cost0) / (bytes1 - bytes0))


def profile(name, device, rows, facts):
    query = rows["cudaEventQuery"][0][1]
    calls = {call: rows[op] for call, op in CALLS.items()}
    for call in ("malloc", "free"):
        calls[call] = with_page_step(calls[call])
    for call in ("set_pool_threshold", "synchronize", "synchronize_device"):
        calls[call] = [(0, query)]
    large = [point for point in rows["cudaFree"] if point[0] >= PAGE]
    calls["trim_pool"] = [(0, query), (PAGE - 1, query)] + large
    calls["copy"] = calls["fill"] = [(0, 0)]
    transfers = {kind: rows[op] for kind, op in TRANSFERS.items()}
    latency = empty_transfer(transfers["to_host"])
    transfers["on_device"] = [(0, latency)] + transfers["on_device"]
    size, cost = transfers["on_device"][-1]
    transfers["fill"] = [(0, latency), (size, latency + round((cost - latency) / 2))]
    warm, cold = dict(rows["cudaMallocAsync"]), rows["cudaMallocAsync.cold"]
    pool = {
        "create": cold[0][1] - warm[cold[0][0]],
        "grow": [(size, cost - warm[size]) for size, cost in cold if size > 32 << 20],
    }
    return {
        "format": "tidemark-device-profile",
        "version": 1,
        "name": name,
        "device": device,
        "memory": facts["total"],
        "granularity": facts["granularity_min"],
        "calls": dict(sorted(calls.items())),
        "pool": pool,
        "transfers": transfers,
        "derived": DERIVED,
    }


def to_json(value, indent=""):
    """JSON with one curve per line, so that a diff shows what changed."""
    if not isinstance(value, dict):
        return json.dumps(value)
    inner = indent + "  "
    lines = [f"{inner}{json.dumps(key)}: {to_json(item, inner)}" for key, item in value.items()]
    return "{\n" + ",\n".join(lines) + "\n" + indent + "}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path,
                        default=pathlib.Path(__file__).parents[1] / "backends/sim/profiles/h200.json")
    parser.add_argument("--name", default="h200")
    parser.add_argument("--device", default="NVIDIA H200")
    options = parser.parse_args()
    try:
        rows, facts = measured(options.measured)
        text = to_json(profile(options.name, options.device, rows, facts)) + "\n"
    except (OSError, ValueError, LookupError) as error:
        print(f"{options.measured}: not a complete measurement: {error!r}", file=sys.stderr)
        return 1
    options.output.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
