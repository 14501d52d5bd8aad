"""Keeps Dask's results in deferrable memory: on the GPU while in use, elsewhere otherwise.

    from distributed import LocalCluster
    import tidemark.dask

    cluster = LocalCluster(data=(tidemark.dask.WorkerData, {
        "gpu_bytes": 8 << 30, "host": 64 << 30, "disk": 512 << 30}))

Arrays of CuPy, Numba and torch that tasks return are copied into deferrable buffers. Tasks get them
as arrays of the same kind, which keep the buffers pinned until they are deleted. Tasks can also
return `DeferrableBuffer`s of `tidemark.dask.memory()` and take them with `pinned`:

    @tidemark.dask.pinned
    def add(x, y):          # arrays, pinned together for the length of the task
        return x + y

If an array doesn't fit because of what other tasks have pinned, a `pinned` task waits; any other
task gets a copy.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections import OrderedDict
from typing import (Any, Callable, Dict, Iterator, List, MutableMapping, Optional, Sequence,
                    TypeVar)

from tidemark._arrays import CPU
from tidemark.context import Context
from tidemark.deferrable import DeferrableBuffer, DeferrableMemory, Pin
from tidemark.errors import CancelledError, Error, OptionError, SpaceError

__all__ = ["WorkerData", "memory", "pinned"]

KINDS = ("cupy", "numba", "torch")
MINIMUM = 64 << 10
PATIENCE = 1.0  # seconds: the worker's loop waits meanwhile

T = TypeVar("T")

_lock = threading.Lock()
_memory: Optional[DeferrableMemory] = None


def memory() -> DeferrableMemory:
    """Returns the deferrable memory of this process's worker. Raises OptionError without one."""
    if _memory is None:
        raise OptionError("no worker of this process has deferrable memory", "tidemark.dask",
                          "give the cluster data=(tidemark.dask.WorkerData, {...})")
    return _memory


def array_of(pin: Pin, kind: Optional[str] = None) -> Any:
    """An array that keeps the pin: of the kind, or of a library that is available."""
    if pin.buffer.memory.is_simulated:
        import numpy

        return numpy.asarray(pin)
    if kind == "torch":
        import torch

        return torch.from_dlpack(pin)
    if kind == "numba":
        from numba import cuda

        return cuda.as_cuda_array(pin)
    import cupy

    return cupy.from_dlpack(pin)


def pinned(function: Callable[..., T]) -> Callable[..., T]:
    """Decorates a task: it gets its `DeferrableBuffer` arguments, also those in lists, as arrays,
    which are pinned together while it runs."""

    @functools.wraps(function)
    def run(*arguments: Any, **named: Any) -> T:
        buffers: Dict[int, DeferrableBuffer] = {}
        for one in _leaves([arguments, named]):
            if isinstance(one, DeferrableBuffer):
                buffers[one.number] = one
        if not buffers:
            return function(*arguments, **named)
        owner = next(iter(buffers.values())).memory
        with owner.pin(*buffers.values()) as pins:
            arrays = {pin.buffer.number: array_of(pin) for pin in pins}
            given = _replaced([list(arguments), named],
                              lambda one: arrays[one.number]
                              if isinstance(one, DeferrableBuffer) else one)
            return function(*given[0], **given[1])

    return run


class _Stored:
    """A placeholder for an array in a stored value."""

    __slots__ = ("buffer", "kind")

    def __init__(self, buffer: DeferrableBuffer, kind: str) -> None:
        self.buffer = buffer
        self.kind = kind


class WorkerData(MutableMapping[str, Any]):
    """A mapping for a worker's `data=`: keys with their values, whose arrays are in deferrable
    memory. It has the functions that Dask's memory monitor calls: `fast` and `evict`.

    Parameters
    ----------
    gpu_bytes, host, disk : int
        Limits in bytes. Values without such arrays have another `host` bytes, and go to files
        beyond that, as in Dask.
    machine : str, optional
        As for `Context`.
    arrays : sequence of str
        The libraries whose arrays are moved: "cupy", "numba", "torch"; "numpy" on a simulated GPU.
    minimum : int
        Bytes of the smallest array that is moved.
    victims : str, optional
        As for `DeferrableMemory`.
    patience : float
        Seconds to wait for a value before its task gets a copy.
    spill_start, spill_stop : float
        As for `DeferrableMemory`.
    """

    def __init__(self, gpu_bytes: int, host: int, disk: int = 0,
                 worker_local_directory: Optional[str] = None, *, machine: Optional[str] = None,
                 arrays: Sequence[str] = KINDS, minimum: int = MINIMUM, victims: Any = None,
                 patience: float = PATIENCE, spill_start: float = 0,
                 spill_stop: float = 0) -> None:
        global _memory
        self.memory = DeferrableMemory(Context(machine), gpu_bytes, host,
                                       _folder(worker_local_directory, "deferrable"), disk=disk,
                                       victims=victims, spill_start=spill_start,
                                       spill_stop=spill_stop)
        self.memory.make_default()
        self.copies = 0
        """Arrays that tasks got as copies, because pinned buffers left no room."""
        self.kept = 0
        """Arrays that stayed as they were, because no tier had room for them."""
        self.failures = 0
        """Evictions that failed; they lost no data."""
        self._kinds = tuple(arrays)
        self._minimum = minimum
        self._patience = patience
        self._values: "OrderedDict[str, Any]" = OrderedDict()  # the least recently used first
        self._rest = _rest_of(_folder(worker_local_directory, "values"), host)
        with _lock:
            _memory = self.memory
        _register_size()
        _register_tensors()

    # The mapping.

    def __setitem__(self, key: str, value: Any) -> None:
        self.pop(key, None)
        kept = _replaced(value, self._store)
        if any(isinstance(one, (_Stored, DeferrableBuffer)) for one in _leaves(kept)):
            self._values[key] = kept
        else:
            self._rest[key] = value

    def __getitem__(self, key: str) -> Any:
        if key not in self._values:
            return self._rest[key]
        self._values.move_to_end(key)
        return _replaced(self._values[key], self._load)

    def __delitem__(self, key: str) -> None:
        if key in self._values:
            del self._values[key]
        else:
            del self._rest[key]

    def __contains__(self, key: object) -> bool:
        return key in self._values or key in self._rest

    def __iter__(self) -> Iterator[str]:
        yield from self._values
        yield from self._rest

    def __len__(self) -> int:
        return len(self._values) + len(self._rest)

    # The memory monitor calls these when the process uses too much memory.

    @property
    def fast(self) -> List[str]:
        """Keys whose values `evict` can still move."""
        found = [key for key in self._values if self._movable(key) is not None]
        return found or list(getattr(self._rest, "fast", ()))

    def evict(self) -> int:
        """Evicts the least recently used value: from host memory to files if there are any, else
        from the GPU. Returns how many bytes it moved, or -1 if it can't. Never raises."""
        try:
            for key in list(self._values):
                tier = self._movable(key)
                if tier is not None:
                    moved = self._evict(key, tier)
                    if moved > 0:
                        return moved
            evict = getattr(self._rest, "evict", None)
            return int(evict()) if evict is not None and self._rest.fast else -1
        except Exception:
            self.failures += 1
            return -1

    def statistics(self) -> Dict[str, int]:
        """Returns bytes by tier, and counts of what happened."""
        everything = self.memory.statistics()
        tiers = {"device": "gpu", "host": "host"}
        used = {name: self.memory.counters(tier).used for name, tier in tiers.items()}
        return {"keys": len(self), "deferrable_keys": len(self._values),
                "device_bytes": used["device"], "host_bytes": used["host"],
                "buffers": everything.buffers, "bytes": everything.bytes,
                "pins": everything.pins, "deferrals": everything.deferrals,
                "retrievals": everything.retrievals, "copies": self.copies, "kept": self.kept,
                "failures": self.failures + everything.failures}

    def close(self) -> None:
        """Closes the memory."""
        global _memory
        with _lock:
            if _memory is self.memory:
                _memory = None
        self._values.clear()
        self.memory.close()

    # Values.

    def _store(self, one: Any) -> Any:
        kind = type(one).__module__.partition(".")[0]
        on_device = hasattr(one, "__cuda_array_interface__") or (
            kind == "numpy" and self.memory.is_simulated and hasattr(one, "__array_interface__"))
        if kind not in self._kinds or not on_device or one.nbytes < self._minimum:
            return one
        if kind == "numpy" and one.dtype.kind not in "iufcb":
            return one
        try:
            return _Stored(self._shared(one) or self.memory.from_array(_contiguous(one)), kind)
        except SpaceError:
            self.kept += 1
            return one

    def _shared(self, one: Any) -> Optional[DeferrableBuffer]:
        """The buffer that the array already covers completely, if there is one."""
        interface = getattr(one, "__cuda_array_interface__", None) or one.__array_interface__
        try:
            found = self.memory.at(int(interface["data"][0]))
        except Error:
            return None
        whole = found.address == interface["data"][0] and found.shape == tuple(one.shape) and \
            found.typestr == interface["typestr"] and not interface.get("strides")
        return found if whole else None

    def _load(self, one: Any) -> Any:
        if not isinstance(one, _Stored):
            return one
        try:
            return array_of(one.buffer.pin(patience=self._patience), one.kind)
        except CancelledError:
            self.copies += 1
            return _copy_of(one)

    def _buffers(self, key: str) -> List[DeferrableBuffer]:
        return [one.buffer if isinstance(one, _Stored) else one
                for one in _leaves(self._values[key])
                if isinstance(one, (_Stored, DeferrableBuffer))]

    def _movable(self, key: str) -> Optional[str]:
        """The tier from which a buffer of the key could be evicted."""
        facts = [one.facts() for one in self._buffers(key)]
        if self.memory.has_files and any(one.tier == "host" for one in facts):
            return "host"
        return "gpu" if any(one.state == "resident" for one in facts) else None

    def _evict(self, key: str, tier: str) -> int:
        buffers = [one for one in self._buffers(key) if one.facts().tier == tier]
        if tier == "host":
            return self.memory.free_bytes(sum(one.size for one in buffers), "host")
        return sum(one.size for one in buffers if one.defer(wait=False) == "deferred")


def _leaves(value: Any) -> Iterator[Any]:
    if type(value) in (list, tuple):
        for one in value:
            yield from _leaves(one)
    elif type(value) is dict:
        for one in value.values():
            yield from _leaves(one)
    else:
        yield value


def _replaced(value: Any, function: Callable[[Any], Any]) -> Any:
    """The same lists, tuples and dicts, with the function applied to the other values."""
    if type(value) in (list, tuple):
        return type(value)(_replaced(one, function) for one in value)
    if type(value) is dict:
        return {name: _replaced(one, function) for name, one in value.items()}
    return function(value)


def _contiguous(array: Any) -> Any:
    """The array itself, or a copy (NumPy, CuPy or torch) in C order."""
    if hasattr(array, "contiguous"):
        return array.contiguous()
    if hasattr(array, "flags") and not array.flags["C_CONTIGUOUS"]:
        return array.copy(order="C")
    return array


def _copy_of(one: _Stored) -> Any:
    import numpy

    array = numpy.frombuffer(one.buffer.tobytes(), one.buffer.typestr)
    array = array.reshape(one.buffer.shape)
    if one.buffer.memory._device[0] == CPU:
        return array
    if one.kind == "torch":
        import torch

        return torch.from_numpy(array.copy()).cuda()
    if one.kind == "numba":
        from numba import cuda

        return cuda.to_device(array)
    import cupy

    return cupy.asarray(array)


def _folder(directory: Optional[str], name: str) -> Optional[str]:
    if directory is None:
        return None
    folder = os.path.join(directory, name)
    os.makedirs(folder, exist_ok=True)
    return folder


def _rest_of(directory: Optional[str], limit: int) -> Any:
    """Dask's own mapping, for values that aren't on a GPU."""
    if directory is None:
        return {}
    from distributed.spill import SpillBuffer

    return SpillBuffer(directory, limit)


def _register_size() -> None:
    """Tells Dask how large a buffer is."""
    dask_sizeof = sys.modules.get("dask.sizeof")
    if dask_sizeof is not None:
        dask_sizeof.sizeof.register(DeferrableBuffer, lambda one: int(one.size))


def _register_tensors() -> None:
    """Lets GPU tensors be sent to other workers. Dask can receive them, but to send one it reads
    it as NumPy does, which fails."""
    if "distributed" not in sys.modules:
        return
    from distributed.protocol.serialize import dask_deserialize, dask_serialize

    outgoing: Any = dask_serialize
    incoming: Any = dask_deserialize

    def register() -> None:
        import torch
        from distributed.protocol import torch as theirs

        def serialize(tensor: Any) -> Any:
            if tensor.device.type == "cpu":
                return theirs.serialize_torch_Tensor(tensor)
            if tensor.grad is not None or tensor.dtype == torch.bfloat16:
                raise NotImplementedError("NumPy has no such thing: it is pickled")
            header, frames = theirs.serialize_torch_Tensor(tensor.detach().cpu())
            return {**header, "device": tensor.device.type,
                    "requires_grad": tensor.requires_grad}, frames

        outgoing.register(torch.Tensor, serialize)

    # Dask registers its own with the first tensor that is sent or received; this one with it.
    outgoing.register_lazy("torch", register)
    incoming.register_lazy("torch", register)
    if "distributed.protocol.torch" in sys.modules:
        register()
