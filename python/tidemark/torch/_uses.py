"""record_uses(): adds to the running recording which operator reads and writes which tensor."""

from __future__ import annotations

import itertools
from typing import Any, Dict, Iterable, Iterator, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tidemark.torch import _recording

READS, WRITES = 1, 2  # flags of a use

# These allocate or rename memory without touching it. Other views are marked in their schema.
WITHOUT_KERNEL = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty",
                  "new_empty_strided", "record_stream", "resize_", "set_", "_unsafe_view"}

_launches = itertools.count(1)


class _Operator:
    """What an operator's schema says about its arguments."""

    def __init__(self, function: Any) -> None:
        schema = getattr(function, "_schema", None)  # a higher order operator has none
        returns = schema.returns if schema is not None else []
        only_views = bool(returns) and all(
            one.alias_info is not None and not one.alias_info.is_write for one in returns)
        self.name = str(function)
        self.is_seen = schema is not None and not only_views and \
            schema.name.rsplit("::", 1)[-1] not in WITHOUT_KERNEL
        # What is written counts as read too: a tensor may be part of a block whose rest stays.
        self.flags = {one.name: READS | WRITES if one.alias_info is not None and
                      one.alias_info.is_write else READS
                      for one in (schema.arguments if schema is not None else [])}

    def uses(self, arguments: Iterable[Any], named: Dict[str, Any],
             result: Any) -> Iterator[Tuple[Any, int]]:
        """Yields tensors and how they are used, results last."""
        for value, flags in itertools.chain(
                zip(arguments, self.flags.values()),
                ((value, self.flags.get(name, READS)) for name, value in named.items()),
                [(result, WRITES)]):
            for tensor in tensors_in(value):
                yield tensor, flags


def tensors_in(value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors_in(one)


def is_plain(kind: Any) -> bool:
    """Whether a tensor has memory of its own, rather than that of tensors inside it or none."""
    return bool(kind.__torch_dispatch__ == torch.Tensor.__torch_dispatch__)


class RecordedUses(TorchDispatchMode):  # type: ignore[misc]  # where PyTorch isn't installed
    """Records uses; record_uses() creates it.

    Attributes
    ----------
    launches : int
        Operators recorded so far.
    uses : int
        Blocks that they read or wrote.
    """

    supports_higher_order_operators = True
    device_type = "cuda"

    def __init__(self) -> None:
        super().__init__()
        self.launches = 0
        self.uses = 0
        self._operators: Dict[Any, _Operator] = {}

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (),
                           kwargs: Any = None) -> Any:
        named = kwargs or {}
        if not all(is_plain(kind) for kind in types):
            return NotImplemented  # its inner operators come here instead
        result = function(*args, **named)
        operator = self._operators.get(function)
        if operator is None:
            operator = self._operators[function] = _Operator(function)
        recording = _recording.current()
        if operator.is_seen and recording is not None:
            # After the operator, so that its own allocations don't split its launch in two.
            used = self._blocks(operator.uses(args, named, result))
            put = recording.put_uses(operator.name, next(_launches), used, self.stream_of)
            self.launches += put > 0
            self.uses += put
        return result

    def _blocks(self, uses: Iterable[Tuple[Any, int]]) -> Dict[Tuple[int, int], int]:
        """Flags by device and address."""
        found: Dict[Tuple[int, int], int] = {}
        for tensor, flags in uses:
            if tensor.device.type != self.device_type or tensor.layout != torch.strided \
                    or not is_plain(type(tensor)):
                continue
            block = (tensor.device.index or 0, tensor.untyped_storage().data_ptr())
            if flags == WRITES and block in found or block[1] == 0:
                continue  # a result that is an argument is written if the schema says so
            found[block] = found.get(block, 0) | flags
        return found

    @staticmethod
    def stream_of(device: int) -> int:
        return int(torch.cuda.current_stream(device).cuda_stream)
