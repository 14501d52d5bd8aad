"""Tidemark: GPU memory under other allocators.

    import tidemark

    tidemark.replay("snapshot.pickle", "extent").peak_reserved_bytes
    tidemark.compare("snapshot.pickle", policies=["torch", "extent"]).to_frame()
    tidemark.load("snapshot.pickle").size.sum()

Sizes are in bytes and times in nanoseconds. Importing this package loads no library, touches no
GPU and starts no thread. NumPy, pandas and IPython are imported only by the calls that need them.
"""

from __future__ import annotations

from tidemark import errors, machines, policies
from tidemark._pools import Holder, holders, set_quota, use
from tidemark.answers import (Answer, Record, advise, bound, compare, cut, diff, export, fit, gate,
                              info, minimize, replay, report, run, scale, verify)
from tidemark.context import (STREAM_OF_REQUEST, STREAM_UNKNOWN, Block, Buffer, Context, IpcHandle,
                              OwnStream, PlannedRequest, Region, Statistics)
from tidemark.deferrable import (BufferFacts, Controller, ControllerWarning, DeferrableBuffer,
                                 DeferrableMemory, DeferrableStatistics, Pin)
from tidemark.errors import (AddressError, CancelledError, DriverError, Error, FileError,
                             InputError, InternalError, MissingFileError, NotFoundError,
                             OptionError, OutOfMemoryError, SpaceError, UnsupportedError)
from tidemark.graph_arena import CapturedGraph, DryRun, GraphArena
from tidemark.host_blocks import BlockRun, BlocksUsage, HostBlocks
from tidemark.own_policy import OwnPolicy, PolicyDevice, PolicyFault, Request, policy
from tidemark.pictures import Picture, picture
from tidemark.store import Access, Candidate, Pressure, Store, StoredBuffer, TierCounters
from tidemark.sweeping import sweep
from tidemark.trace import Event, Frame, Trace, load
from tidemark.viewer import Viewer, view

__version__ = "0.2.0"

__all__ = [
    "Access",
    "AddressError",
    "Answer",
    "Block",
    "BlockRun",
    "BlocksUsage",
    "Buffer",
    "BufferFacts",
    "CancelledError",
    "Candidate",
    "CapturedGraph",
    "Context",
    "Controller",
    "ControllerWarning",
    "DeferrableBuffer",
    "DeferrableMemory",
    "DeferrableStatistics",
    "DriverError",
    "DryRun",
    "Error",
    "Event",
    "FileError",
    "Frame",
    "GraphArena",
    "Holder",
    "HostBlocks",
    "InputError",
    "InternalError",
    "MissingFileError",
    "IpcHandle",
    "NotFoundError",
    "OptionError",
    "OutOfMemoryError",
    "OwnPolicy",
    "OwnStream",
    "Picture",
    "Pin",
    "PlannedRequest",
    "PolicyDevice",
    "PolicyFault",
    "Pressure",
    "Record",
    "Region",
    "Request",
    "STREAM_OF_REQUEST",
    "STREAM_UNKNOWN",
    "SpaceError",
    "Statistics",
    "Store",
    "StoredBuffer",
    "TierCounters",
    "Trace",
    "UnsupportedError",
    "Viewer",
    "advise",
    "bound",
    "compare",
    "cut",
    "diff",
    "errors",
    "export",
    "fit",
    "gate",
    "holders",
    "info",
    "library_version",
    "load",
    "machines",
    "minimize",
    "picture",
    "policies",
    "policy",
    "replay",
    "report",
    "run",
    "scale",
    "set_quota",
    "sweep",
    "use",
    "verify",
    "view",
]


def library_version() -> str:
    """Returns the version of libtidemark.so. The call loads that library."""
    from tidemark import _library

    return _library.text(_library.library().tm_version())
