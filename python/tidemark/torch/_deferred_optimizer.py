"""An optimizer's state in deferrable memory: off the GPU between the steps, and on it piece by
piece during a step, so that it may need more memory than the GPU has for it."""

from __future__ import annotations

import dataclasses
import types
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable, Iterator, List, Optional, Set

import torch

from tidemark.deferrable import DeferrableBuffer, DeferrableMemory
from tidemark.errors import OptionError
from tidemark.torch._deferring import (MINIMUM, DeferredTensors, Held, adopt, buffer_of,
                                       buffers_of, host_copy, stream_of)

PAGE = 2 << 20  # bytes; buffers consist of whole pages
IN_FLIGHT = 3  # pieces at a time: one is fetched, one is used, one is evicted
STATES = 2  # tensors per parameter, assumed until it is known


@dataclasses.dataclass
class Piece:
    """Parameters that are updated together."""

    groups: List[List[Any]]  # its part of each of the optimizer's groups
    buffers: List[DeferrableBuffer] = dataclasses.field(default_factory=list)
    size: int = 0
    is_known: bool = True  # whether all of its state exists


class DeferredOptimizer(DeferredTensors):
    """An optimizer with deferred state; tidemark.torch.defer_optimizer creates it."""

    def __init__(self, optimizer: Any, memory: DeferrableMemory, minimum: int,
                 whole: bool) -> None:
        super().__init__(memory)
        self.optimizer = optimizer
        self._minimum = minimum
        self._whole = whole
        self._seen: Set[int] = set()  # parameters whose state is complete
        self._fetching: Optional[ThreadPoolExecutor] = None
        self._replaced = optimizer.__dict__.get("step")
        self._install()
        self._adopt(optimizer.state)

    def tensors(self) -> Iterator[Any]:
        for parameter in self.optimizer.state:
            yield from self._state_of(parameter)

    def close(self) -> None:
        super().close()
        if self._replaced is not None:
            self.optimizer.step = self._replaced
        else:
            self.optimizer.__dict__.pop("step", None)
        if self._fetching is not None:
            self._fetching.shutdown()
            self._fetching = None

    # How it hooks into the optimizer.

    def _install(self) -> None:
        optimizer = self.optimizer
        kind = type(optimizer)
        # PyTorch wraps each class's step in a function that calls the hooks once per step.
        self._step_of = kind.step.__wrapped__ if getattr(kind.step, "hooked", False) else kind.step

        def step(_optimizer: Any, closure: Optional[Callable[[], Any]] = None) -> Any:
            return self._step(closure)

        hooked = kind.profile_hook_step(step)
        if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
            hooked._wrapped_by_lr_sched = True  # by a scheduler that was created earlier
        optimizer.step = types.MethodType(hooked, optimizer)
        self._hooks += [
            optimizer.register_state_dict_post_hook(self._saved),
            optimizer.register_load_state_dict_post_hook(self._loaded)]

    def _saved(self, _optimizer: Any, saved: Any) -> Any:
        def copied(value: Any) -> Any:
            deferred = isinstance(value, torch.Tensor) and buffer_of(value) is not None
            return host_copy(value) if deferred else value

        return {**saved, "state": {
            key: {name: copied(value) for name, value in state.items()}
            if isinstance(state, dict) else state for key, state in saved["state"].items()}}

    def _loaded(self, optimizer: Any) -> None:
        for state in optimizer.state.values():
            for name, value in state.items():
                if isinstance(value, torch.Tensor):
                    state[name] = value.detach()  # the loaded tensor may be this very object
        self._adopt(optimizer.state)

    def _state_of(self, parameter: Any) -> List[Any]:
        state = self.optimizer.state.get(parameter) or {}
        return [value for value in state.values() if isinstance(value, torch.Tensor)]

    def _adopt(self, parameters: Any) -> None:
        for parameter in list(parameters):
            self._seen.add(id(parameter))
            for value in self._state_of(parameter):
                adopt(self.memory, value, self._minimum)

    # One step.

    def _step(self, closure: Optional[Callable[[], Any]]) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self.optimizer._opt_called = True  # a scheduler's own wrapper would set it
        groups = self.optimizer.param_groups
        parameters = [group["params"] for group in groups]
        pieces = self._pieces(parameters)
        coming = self._fetch(pieces[0])
        try:
            for number, piece in enumerate(pieces):
                held = coming.result()
                following = pieces[number + 1:][:1]
                if following and piece.is_known:
                    coming = self._fetch(following.pop())
                try:
                    for group, some in zip(groups, piece.groups):
                        group["params"] = some
                    self._step_of(self.optimizer)
                    for some in piece.groups:
                        self._adopt(some)
                finally:
                    held.release()
                self._leave(piece)
                for one in following:  # only now, because new state needed its room
                    coming = self._fetch(one)
        finally:
            for group, all_of_them in zip(groups, parameters):
                group["params"] = all_of_them
            coming.add_done_callback(_let_go)
        return loss

    def _pieces(self, parameters: List[List[Any]]) -> List[Piece]:
        """At least one piece, which may be empty. Parameters without a gradient are in none."""
        most = self.memory.counters("gpu").capacity // IN_FLIGHT
        pieces = [Piece([[] for _ in parameters])]
        for number, some in enumerate(parameters):
            for parameter in some:
                if parameter.grad is None:
                    continue
                size = self._size_of(parameter)
                full = pieces[-1].size + size > most and pieces[-1].size > 0
                if full and not self._whole:
                    pieces.append(Piece([[] for _ in parameters]))
                pieces[-1].groups[number].append(parameter)
                pieces[-1].size += size
                pieces[-1].is_known &= id(parameter) in self._seen
        for piece in pieces:
            piece.buffers = buffers_of(
                value for some in piece.groups for parameter in some
                for value in (parameter, *self._state_of(parameter)))
        return pieces

    def _size_of(self, parameter: Any) -> int:
        """Its bytes in deferrable memory, now or after its first step."""
        state = self._state_of(parameter) if id(parameter) in self._seen else [parameter] * STATES
        sizes = [_bytes_of(value) for value in state]
        if buffer_of(parameter) is not None:
            sizes.append(_bytes_of(parameter))
        return sum(-(-size // PAGE) * PAGE for size in sizes if size >= self._minimum)

    def _fetch(self, piece: Piece) -> "Future[Held]":
        if self._fetching is None:
            self._fetching = ThreadPoolExecutor(1, "tidemark-optimizer")
        return self._fetching.submit(Held, self.memory, piece.buffers, "pin",
                                     stream_of(self.memory))

    def _leave(self, piece: Piece) -> None:
        for some in piece.groups:
            for parameter in some:
                for buffer in buffers_of(self._state_of(parameter)):
                    buffer.begin_defer()


def _bytes_of(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())


def _let_go(coming: "Future[Held]") -> None:
    """Releases a piece that was fetched, when a step ended before using it."""
    if not coming.cancelled() and coming.exception() is None:
        coming.result().release()


def defer_optimizer(optimizer: Any, memory: DeferrableMemory, minimum: Optional[int] = None,
                    whole: bool = False) -> DeferredOptimizer:
    """See tidemark.torch.defer_optimizer."""
    if type(optimizer).__name__ == "LBFGS":
        raise OptionError("its steps evaluate the model repeatedly", "LBFGS",
                          "use one whose step updates each parameter by itself, as Adam's")
    return DeferredOptimizer(optimizer, memory, MINIMUM if minimum is None else minimum, whole)
