#!/usr/bin/env python3
"""Runs a Dask cluster whose workers keep their results in deferrable memory, for `prove-on-gpu
deferrable`; prints one JSON object.

Two workers share the GPU. Tasks create arrays, and others add them in pairs; in total, they need
four times the GPU memory of the workers. Then an eviction of each worker fails once. Finally, one
worker is killed, and others compute its results again. A kernel checks each sum. Needs
`distributed`, and PyTorch or CuPy (`--kind`), or NumPy with `--device sim`.
"""
import argparse
import json
import os
import pathlib
import signal
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

import tidemark.dask  # noqa: E402

WORKERS = 2
TIMES = 4  # the memory that the workers have on the GPU, in results


# Code of the workers.

def made(kind, number, size):
    count = size // 8
    if kind == "torch":
        import torch

        return torch.full((count,), number, dtype=torch.int64, device="cuda")
    if kind == "cupy":
        import cupy

        return cupy.full(count, number, "i8")
    import numpy

    return numpy.full(count, number, "i8")


def added(first, second):
    return first + second


def differing(array, expected):
    return int((array != expected).sum())


def broken_eviction(dask_worker):
    """The results of an eviction that fails, and of the next one."""
    data = dask_worker.data

    def fail(*_arguments, **_named):
        raise OSError("injected")

    kept = data.memory._defer, data.memory.free_bytes
    data.memory._defer = data.memory.free_bytes = fail
    failed = data.evict()
    data.memory._defer, data.memory.free_bytes = kept
    return failed, data.evict()


def statistics(dask_worker):
    return dask_worker.data.statistics()


# Code of the client.

def wrong_numbers(client, sums, expected):
    return sum(client.gather(client.map(differing, sums, expected, pure=False)))


def run(options, cluster):
    from distributed import Client

    count = TIMES * WORKERS * options.gpu // options.size // 2
    expected = [count - 1] * count  # of each number and the one as far from the end
    with Client(cluster) as client:
        begun = time.monotonic()
        arrays = client.map(made, [options.kind] * count, range(count), [options.size] * count,
                            pure=False)
        sums = client.map(added, arrays, arrays[::-1], pure=False)
        answer = {"wrong": wrong_numbers(client, sums, expected)}
        workers = list(client.run(statistics).values())
        answer["seconds"] = time.monotonic() - begun
        answer["workers"] = workers
        evictions = list(client.run(broken_eviction).values())
        answer["evictions"] = evictions
        answer["wrong_after_eviction"] = wrong_numbers(client, sums, expected)
        victim = next(iter(client.scheduler_info()["workers"]))
        (process,) = client.run(os.getpid, workers=[victim]).values()
        os.kill(process, signal.SIGKILL)
        answer["wrong_after_kill"] = wrong_numbers(client, sums, expected)
        answer["bytes"] = 2 * count * options.size
    return answer


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=["torch", "cupy", "numpy"], default="torch")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--gpu", type=int, required=True, help="GPU bytes for each worker")
    parser.add_argument("--size", type=int, required=True, help="bytes of an array")
    options = parser.parse_args()

    from distributed import LocalCluster

    # The remaining worker may have to hold all of the results.
    host = (TIMES * WORKERS - 1) * options.gpu + 4 * options.size
    machine = "sim" if options.device.startswith("sim") else None
    # It lets the workers' processes find the package and this file.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT / "python"), str(ROOT / "scripts"), os.environ.get("PYTHONPATH", "")])
    with LocalCluster(n_workers=WORKERS, threads_per_worker=2, processes=True,
                      dashboard_address=":0", memory_limit=0,
                      data=(tidemark.dask.WorkerData,
                            {"gpu_bytes": options.gpu, "host": host, "machine": machine,
                             "arrays": (options.kind,), "patience": 10})) as cluster:
        answer = run(options, cluster)
    print(json.dumps(answer))


if __name__ == "__main__":
    # The functions get the module's name, so that workers can find them.
    import deferrable_cluster

    deferrable_cluster.main()
