"""Makes Tidemark the source of RMM's device memory.

    import tidemark.rmm
    tidemark.rmm.use()             # for cuDF, cuML and everything that uses RMM

`resource()` returns an rmm.mr.DeviceMemoryResource, so RMM's adaptors (statistics, limits, logs)
can wrap it. Each request takes Python's global interpreter lock.
"""

from __future__ import annotations

from typing import Any

from tidemark import _pools

__all__ = ["resource", "use"]

NAME = "rmm"


def resource(device: int = 0) -> Any:
    """Returns an rmm.mr.CallbackMemoryResource over the pool of a device (its CUDA number)."""
    import rmm.mr

    client = _pools.client(NAME, device)
    return rmm.mr.CallbackMemoryResource(client.alloc, client.free)


def use(device: int = 0) -> Any:
    """Sets that resource as RMM's resource for a device and returns it."""
    import rmm.mr

    made = resource(device)
    rmm.mr.set_per_device_resource(device, made)
    return made
