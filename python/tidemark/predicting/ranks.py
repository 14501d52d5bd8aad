"""A store for one rank of a job whose other ranks don't run.

A real rank would wait there for the others. This store answers immediately, as if the others had
done the same as this rank.
"""

from __future__ import annotations

import importlib
from typing import Any, Iterator, Tuple

SCHEMES = ("env", "tcp", "file")
UNIQUE_ID = bytes(128)  # the NCCL id that ranks other than the first one get


def _store_of_all(distributed: Any, ranks: int) -> Any:
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

        def get(self, key: str) -> bytes:
            return self.values.get(key, UNIQUE_ID)

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


def meet_nobody(rank: int, ranks: int) -> None:
    """Makes every rendezvous method of PyTorch return that store from now on."""
    distributed = importlib.import_module("torch.distributed")
    if not distributed.is_available():
        return
    rendezvous = importlib.import_module("torch.distributed.rendezvous")
    store = _store_of_all(distributed, ranks)

    def handler(*_given: Any, **_named: Any) -> Iterator[Tuple[Any, int, int]]:
        yield store, rank, ranks

    for scheme in SCHEMES:
        rendezvous._rendezvous_handlers[scheme] = handler
