"""Meetings of one rank of a job with the others, which may run at the same time, or not at all.

A real rank would wait in its store for the others. This store answers immediately, as if the others
had done the same as this rank; only what it has not set itself does it get from ranks that run.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
from typing import Any, Callable, Iterator, List, Optional, Tuple

SCHEMES = ("env", "tcp", "file")
UNIQUE_ID = bytes(128)  # the NCCL id that ranks other than the first one get, if that doesn't run
MOST = 1 << 20  # bytes of a value


class Exchange:
    """The core's exchange with ranks that run (backends/imagined/exchange.h), by a store's keys."""

    def __init__(self, core: ctypes.CDLL) -> None:
        self._put, self._take = core.imagined_exchange_put, core.imagined_exchange_take
        self._put.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
        self._put.restype = None
        self._take.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
        self._take.restype = ctypes.c_int64

    @staticmethod
    def _name(key: str) -> bytes:
        return b"key-" + hashlib.sha256(key.encode()).hexdigest().encode()

    def put(self, key: str, value: bytes) -> None:
        self._put(self._name(key), value, len(value))

    def take(self, key: str) -> Optional[bytes]:
        """Waits for it. None if no rank that runs sets it."""
        room = ctypes.create_string_buffer(MOST)
        size = self._take(self._name(key), room, MOST)
        return room.raw[:size] if 0 <= size <= MOST else None


def _store_of_all(distributed: Any, ranks: int, exchange: Any) -> Any:
    class StoreOfAll(distributed.Store):  # type: ignore[misc]
        """Keys that weren't set count as set by other ranks; counts are as if all had counted."""

        def __init__(self) -> None:
            super().__init__()
            self.values: dict[str, bytes] = {}
            self.counts: dict[str, int] = {}

        def clone(self) -> "StoreOfAll":
            return self  # each dimension of a mesh asks for one, with the same keys

        def set(self, key: str, value: Any) -> None:
            self.values[key] = value if isinstance(value, bytes) else str(value).encode()
            exchange.put(key, self.values[key])

        def get(self, key: str) -> bytes:
            if key not in self.values:
                self.values[key] = exchange.take(key) or UNIQUE_ID
            return self.values[key]

        def add(self, key: str, amount: int) -> int:
            self.counts[key] = self.counts.get(key, 0) + amount * ranks
            return self.counts[key]

        def compare_set(self, key: str, _expected: Any, desired: Any) -> bytes:
            self.set(key, desired)
            return self.get(key)

        def wait(self, *_given: Any) -> None:
            return

        def check(self, keys: Any) -> bool:
            # PyTorch uses this to check whether any rank has failed.
            return all(key in self.values or key in self.counts for key in keys)

        def delete_key(self, key: str) -> bool:
            return self.values.pop(key, None) is not None

        def num_keys(self) -> int:
            return len(self.values)

        def set_timeout(self, _timeout: Any) -> None:
            return

    return StoreOfAll()


def _split_by_new_groups(distributed: Any) -> Callable[..., Any]:
    """What torch.distributed.split_group does, without ncclCommSplit, by which a single rank does
    not learn how many ranks its new group has."""

    def split_group(parent_pg: Any = None, split_ranks: Optional[List[List[int]]] = None,
                    timeout: Any = None, pg_options: Any = None,
                    group_desc: Optional[str] = None) -> Any:
        own = None
        for part in split_ranks or []:
            members = sorted(part) if parent_pg is None else \
                [distributed.get_global_rank(parent_pg, rank) for rank in sorted(part)]
            group = distributed.new_group(members, timeout=timeout, pg_options=pg_options,
                                          group_desc=group_desc)
            if distributed.get_rank() in members:
                own = group
        return own

    return split_group


def meet_others(rank: int, ranks: int, core: ctypes.CDLL) -> None:
    """Makes every rendezvous method of PyTorch return that store from now on, and its groups begin
    communicators of their own."""
    distributed = importlib.import_module("torch.distributed")
    if not distributed.is_available():
        return
    rendezvous = importlib.import_module("torch.distributed.rendezvous")
    store = _store_of_all(distributed, ranks, Exchange(core))

    def handler(*_given: Any, **_named: Any) -> Iterator[Tuple[Any, int, int]]:
        yield store, rank, ranks

    for scheme in SCHEMES:
        rendezvous._rendezvous_handlers[scheme] = handler
    collectives = importlib.import_module("torch.distributed.distributed_c10d")
    setattr(collectives, "_get_split_source", lambda _group: None)
    split_group = _split_by_new_groups(distributed)
    for module in (distributed, collectives,
                   importlib.import_module("torch.distributed.device_mesh")):
        if hasattr(module, "split_group"):
            setattr(module, "split_group", split_group)
