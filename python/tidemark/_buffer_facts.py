"""The state of a deferrable buffer, for the memory, its controller and its recording."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional


@dataclasses.dataclass(frozen=True)
class BufferFacts:
    """A buffer's state at one moment."""

    number: int
    size: int  # bytes, as requested
    address: int
    state: str  # resident, pinned, deferring, deferred, retrieving, freed
    tier: Optional[str]  # the fastest that has its bytes
    pins: int
    uses: int  # pins since it was created
    tag: Any
