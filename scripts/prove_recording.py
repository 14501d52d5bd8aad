"""Runs a PyTorch program with the allocator's history on, and describes the result.

Shared by prove_workloads.py and prove_edges.py, which scripts/prove-on-gpu starts as processes. The
history starts before the first device allocation, so that a snapshot is complete, and a limit is set
before it too. The result is a dict that can be written as JSON; `stats` are torch's own.

torch is imported inside the functions: everything else here works without it.
"""
import gc
import hashlib
import math
import os
import pickle
import sys
import time
import traceback

MAX_ENTRIES = 10_000_000


def fraction_for(limit, total):
    """The smallest fraction that torch turns into a limit of at least `limit` bytes.

    torch computes floor(fraction * total) in doubles, and interprets 1.0 as "no limit".
    """
    if not 0 < limit < total:
        raise ValueError(f"a limit of {limit} bytes is not below the device's {total}")
    fraction = limit / total
    while int(fraction * total) < limit:
        fraction = math.nextafter(fraction, 2.0)
    while int(math.nextafter(fraction, 0.0) * total) >= limit:
        fraction = math.nextafter(fraction, 0.0)
    return fraction


def requests_digest(trace):
    """Counts and a digest of a program's requests on a device, without addresses and handles.

    Two runs with the same digest made the same requests on the same streams, and between any two of
    them freed the same blocks, whatever their allocators did. The order of frees between two requests
    does not count: it changes nothing, and torch itself frees in the order of host addresses when it
    drops a table (the weights that autocast had cast), which no seed makes repeatable.
    """
    digest = hashlib.blake2b(digest_size=8)
    streams, live, freed, allocations = {}, {}, [], 0

    def take_frees():
        digest.update(b"".join(b"f%d;" % each for each in sorted(freed)))
        freed.clear()

    for entry in trace:
        action = entry["action"]
        if action == "alloc":
            take_frees()
            stream = streams.setdefault(entry["stream"], len(streams))
            live[entry["addr"]] = allocations
            digest.update(b"a%d,%d;" % (entry["size"], stream))
            allocations += 1
        elif action == "free_requested":
            freed.append(live.get(entry["addr"], -1))
    take_frees()
    return {"requests": allocations, "events": len(trace), "requests_digest": digest.hexdigest()}


def last_refusal(trace):
    """The last request that failed on a device: its bytes, the number of allocations before it, and
    the free memory of the device; None if there is none."""
    at = next((at for at in reversed(range(len(trace))) if trace[at]["action"] == "oom"), None)
    if at is None:
        return None
    return {"bytes": trace[at]["size"], "device_free": trace[at]["device_free"],
            "after_allocations": sum(entry["action"] == "alloc" for entry in trace[:at])}


def integers(stats):
    """Only the whole numbers of `stats`, by name: JSON and readers need no others."""
    return {str(name): value for name, value in stats.items() if isinstance(value, int)}


def begin(limit, stacks):
    """Starts the history on a device without allocations; returns the state of the device."""
    import torch

    torch.cuda.init()
    free, visible = torch.cuda.mem_get_info()  # makes the context
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.memory._record_memory_history(
        "all", context="all" if stacks else None, stacks="python", max_entries=MAX_ENTRIES)
    if limit:
        for device in range(torch.cuda.device_count()):
            torch.cuda.set_per_process_memory_fraction(fraction_for(limit, total), device)
    return {"device": torch.cuda.get_device_name(0), "torch": torch.__version__,
            "total_memory": total, "visible_memory": visible, "context_bytes": visible - free}


def describe_memory(devices):
    """torch's statistics, and the device memory that the process holds in addition."""
    import torch

    torch.cuda.synchronize()
    free, visible = torch.cuda.mem_get_info()
    stats = [integers(torch.cuda.memory_stats(device)) for device in range(devices)]
    result = {"stats": stats[0], "ooms": sum(each.get("num_ooms", 0) for each in stats),
              "overhead_bytes": visible - free - torch.cuda.memory_reserved()}
    if devices > 1:
        result["device_stats"] = stats
    return result


def take_snapshot(path, devices):
    """Writes the snapshot as torch does, and describes its requests."""
    import torch

    snapshot = torch.cuda.memory._snapshot()
    if path:
        with open(path, "wb") as file:
            pickle.dump(snapshot, file)
    traces = snapshot["device_traces"]
    described = [requests_digest(trace) for trace in traces[:devices]] or [requests_digest([])]
    refusals = [refusal for refusal in map(last_refusal, traces[:devices]) if refusal]
    result = dict(described[0], allocs=sum(each["requests"] for each in described),
                  last_refusal=refusals[0] if refusals else None)
    if devices > 1:
        result["device_requests"] = described
    return result


def run_recorded(body, *, seed, limit=0, stacks=False, snapshot=None, devices=1):
    """Runs `body()` and returns a description of the result; never raises.

    `outcome` is "finished", "out_of_memory" (torch's own error left the program) or "error".
    `result` is what `body` returns.
    """
    result = {"conf": os.environ.get("PYTORCH_ALLOC_CONF", ""), "limit": limit, "seed": seed,
              "outcome": "error", "error": None}
    try:
        import torch

        result.update(begin(limit, stacks))
        torch.manual_seed(seed)
        gc.collect()
        gc.disable()  # reference cycles are collected at fixed points, so that a rerun frees the same blocks
        started = time.perf_counter()
        try:
            result["result"] = body()
            torch.cuda.synchronize()
            result["outcome"] = "finished"
        except torch.OutOfMemoryError as error:
            result["outcome"], result["error"] = "out_of_memory", str(error)
        except Exception:  # any exception belongs in the report
            result["error"] = traceback.format_exc()
        result["seconds"] = time.perf_counter() - started
        result.update(describe_memory(devices))
        result.update(take_snapshot(snapshot, devices))
    except Exception:
        result["outcome"] = "error"
        result["error"] = (result["error"] or "") + traceback.format_exc()
        print(result["error"], file=sys.stderr)
    return result
