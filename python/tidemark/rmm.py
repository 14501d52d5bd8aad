"""RMM's device memory from Tidemark.

    import tidemark.rmm
    tidemark.rmm.use()             # cuDF, cuML and all that takes its memory from RMM

`resource()` is an rmm.mr.DeviceMemoryResource: RMM's adaptors (statistics, limits, logs) go above
it. Each request takes the interpreter's lock.
"""

from __future__ import annotations

from typing import Any

from tidemark import _pools

__all__ = ["resource", "use"]

NAME = "rmm"


def resource(device: int = 0) -> Any:
    """An rmm.mr.CallbackMemoryResource over the pool of a device."""
    import rmm.mr

    client = _pools.client(NAME, device)
    return rmm.mr.CallbackMemoryResource(client.alloc, client.free)


def use(device: int = 0) -> Any:
    """Makes it RMM's resource of a device; gives it."""
    import rmm.mr

    made = resource(device)
    rmm.mr.set_per_device_resource(device, made)
    return made
