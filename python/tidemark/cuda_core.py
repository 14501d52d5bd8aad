"""Makes Tidemark a source of cuda.core's memory.

    from cuda.core import Device
    import tidemark.cuda_core

    device = Device()
    device.set_current()
    device.memory_resource = tidemark.cuda_core.MemoryResource(device.device_id)
    buffer = device.allocate(1 << 20, stream=device.default_stream)

`MemoryResource(device_id=0)` is a subclass of the installed cuda.core's MemoryResource, which is
created when it is first used.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Optional

from tidemark import _pools
from tidemark.context import STREAM_OF_REQUEST, stream_number
from tidemark.errors import Error

__all__ = ["MemoryResource"]

NAME = "cuda.core"

_kind: Optional[type] = None

if TYPE_CHECKING:
    MemoryResource: Any


def make_kind() -> type:
    try:
        from cuda.core import Buffer, MemoryResource
    except ImportError:  # before version 0.5
        from cuda.core.experimental import Buffer, MemoryResource

    class TidemarkMemoryResource(MemoryResource):  # type: ignore[misc]
        """The pool of a device, which other libraries may share."""

        def __init__(self, device_id: int = 0) -> None:
            self._client = _pools.client(NAME, device_id)

        def allocate(self, size: int, stream: Any = None) -> Any:
            """Returns a Buffer of `size` bytes for use on `stream`. Raises
            tidemark.OutOfMemoryError, which is a MemoryError."""
            address = self._client.alloc(size, stream_number(stream))
            made = {} if stream is None else {"stream": stream}
            try:
                return Buffer.from_handle(address, size, mr=self, **made)
            except TypeError:  # before version 1.0, buffers had no stream
                return Buffer.from_handle(address, size, mr=self)

        def deallocate(self, ptr: Any, size: int, stream: Any = None) -> None:
            with contextlib.suppress(Error):  # buffers may outlive the driver
                self._client.free(int(ptr), size,
                                  STREAM_OF_REQUEST if stream is None else stream_number(stream))

        @property
        def is_device_accessible(self) -> bool:
            return True

        @property
        def is_host_accessible(self) -> bool:
            return False

        @property
        def is_managed(self) -> bool:
            return False

        @property
        def device_id(self) -> int:
            return self._client.device

    return TidemarkMemoryResource


def __getattr__(name: str) -> Any:
    global _kind
    if name != "MemoryResource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _kind is None:
        _kind = make_kind()
    return _kind
