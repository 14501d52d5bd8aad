"""A module's parameters in deferrable memory: those of each unit (usually a layer) are on the GPU
while it runs, forward and backward. Meanwhile, those of the unit that came next the last time are
fetched."""

from __future__ import annotations

import itertools
from typing import Any, Dict, Iterable, Iterator, List, Optional, Set, Tuple

import torch

from tidemark.deferrable import DeferrableMemory
from tidemark.errors import OptionError
from tidemark.torch._deferring import (MINIMUM, DeferredTensors, Held, adopt, buffer_of,
                                       buffers_of, host_copy)

CONTAINERS = (torch.nn.ModuleList, torch.nn.Sequential)
Moment = Tuple[str, int]  # "forward", "backward" or "recompute", and a unit's number
LOOK_AHEAD = 3  # moments to follow until one belongs to another unit


def units_in(module: Any) -> List[Any]:
    """The members of the module's outermost lists and sequences, or the module itself."""
    found: List[Any] = []

    def look(one: Any) -> None:
        for child in one.children():
            if isinstance(one, CONTAINERS):
                found.append(child)
            else:
                look(child)

    look(module)
    return found or [module]


def own_parameters(module: Any, units: List[Any]) -> List[List[Any]]:
    """The parameters of each unit that it doesn't share with the rest of the module."""
    owners: Dict[int, Set[Optional[int]]] = {}
    inside = {id(one): number for number, unit in enumerate(units) for one in unit.modules()}
    for one in module.modules():
        for parameter in one.parameters(recurse=False):
            owners.setdefault(id(parameter), set()).add(inside.get(id(one)))
    return [[one for one in unit.parameters() if owners.get(id(one)) == {number}]
            for number, unit in enumerate(units)]


def tensors_in(value: Any) -> Iterator[Any]:
    """Yields the tensors in arguments or results of modules."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors_in(one)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


class Backward:
    """A unit's parameters during one backward pass. They are held until their gradients and those
    of the unit's inputs exist, because computing these reads the parameters."""

    def __init__(self, held: Held, awaited: Iterable[int]) -> None:
        self._held = held
        self._awaited = set(awaited)

    def came(self, one: int) -> bool:
        """Notes a gradient; returns whether it was the last one."""
        self._awaited.discard(one)
        if not self._awaited:
            self.end()
        return not self._awaited

    def end(self) -> None:
        self._held.release()


class Unit:
    """The calls of one module, and the parameters that they need."""

    def __init__(self, owner: "DeferredModule", number: int, module: Any,
                 parameters: List[Any]) -> None:
        self.number = number
        self.parameters = parameters
        self._owner = owner
        self._calls: List[Tuple[Held, int]] = []  # running ones, with the parameters' version
        self._backward: Optional[Backward] = None
        self._inputs: List[int] = []  # names of inputs whose gradients are awaited
        self.hooks = [module.register_forward_pre_hook(self._begin, prepend=True,
                                                       with_kwargs=True),
                      module.register_forward_hook(self._end, always_call=True)]
        self.hooks += [one.register_post_accumulate_grad_hook(lambda given: self._came(id(given)))
                       for one in parameters if one.requires_grad]

    def _begin(self, _module: Any, given: Any, named: Any) -> None:
        direction = "forward" if self._backward is None else "recompute"  # of a checkpoint
        self._calls.append((self._owner.hold(direction, self), self._version()))
        for tensor in tensors_in([given, named]):
            if torch.is_grad_enabled() and tensor.requires_grad:
                name = -next(self._owner.names)  # negative, so that it isn't an address
                self._inputs.append(name)
                tensor.register_hook(lambda _grad, name=name: self._came(name))

    def _end(self, _module: Any, _given: Any, result: Any) -> None:
        if not self._calls:
            return  # _begin failed
        held, version = self._calls.pop()
        if self._version() != version:  # written: copies in other tiers are invalid
            Held(self._owner.memory, buffers_of(self.parameters), "write").release()
        held.release()
        for tensor in tensors_in(result):
            if tensor.requires_grad:
                tensor.register_hook(lambda _grad: self._begin_backward())

    def _version(self) -> int:
        return sum(one._version for one in self.parameters)

    def _begin_backward(self) -> None:
        if self._backward is not None:
            return
        awaited = [id(one) for one in self.parameters if one.requires_grad]
        begun = Backward(self._owner.hold("backward", self), [*awaited, *self._inputs])
        self._backward = begun

        def over() -> None:
            begun.end()
            if self._backward is begun:
                self._backward = None
            self._inputs.clear()

        # After the pass, don't wait for gradients that were never computed.
        torch.autograd.Variable._execution_engine.queue_callback(over)

    def _came(self, one: int) -> None:
        if self._backward is not None and self._backward.came(one):
            self._backward = None
            self._inputs.clear()


class DeferredModule(DeferredTensors):
    """A module with deferred parameters; tidemark.torch.defer_module creates it.

    Attributes
    ----------
    units : list
        Modules whose parameters are deferred.
    """

    def __init__(self, module: Any, memory: DeferrableMemory, units: Optional[Iterable[Any]],
                 minimum: int) -> None:
        super().__init__(memory)
        self.units = list(units) if units is not None else units_in(module)
        seen = [id(one) for unit in self.units for one in unit.modules()]
        if len(seen) != len(set(seen)):
            raise OptionError("a module is in two of them", "units", "units must not overlap")
        self.names = itertools.count(1)
        self._following: Dict[Moment, Moment] = {}
        self._now: Optional[Moment] = None
        self._units: List[Unit] = []
        for number, parameters in enumerate(own_parameters(module, self.units)):
            for one in parameters:
                adopt(memory, one, minimum)
            taken = [one for one in parameters if buffer_of(one) is not None]
            self._units.append(Unit(self, number, self.units[number], taken))
        for unit in self._units:
            self._hooks += unit.hooks
        for unit_module in self.units:
            for part in unit_module.modules():
                self._follow_copies(part)

    def tensors(self) -> Iterator[Any]:
        for unit in self._units:
            yield from unit.parameters

    def hold(self, direction: str, unit: Unit) -> Held:
        """Pins a unit's parameters, and starts to fetch those of the unit that came next the last
        time."""
        moment = (direction, unit.number)
        if self._now is not None:
            self._following[self._now] = moment
        self._now = moment
        held = Held(self.memory, buffers_of(unit.parameters), "read")
        following = self._after(moment)
        if following is not None:
            for buffer in buffers_of(self._units[following].parameters):
                buffer.retrieve()
        return held

    def _after(self, moment: Moment) -> Optional[int]:
        """The other unit that came next the last time."""
        coming: Optional[Moment] = moment
        for _ in range(LOOK_AHEAD):
            coming = self._following.get(coming) if coming is not None else None
            if coming is not None and coming[1] != moment[1]:
                return coming[1]
        return None

    def _follow_copies(self, part: Any) -> None:
        """Makes a module's state_dict and load_state_dict work wherever its parameters are."""
        loading: List[Held] = []

        def saved(_module: Any, state: Dict[str, Any], prefix: str, _metadata: Any) -> None:
            for name, parameter in part.named_parameters(recurse=False):
                if prefix + name in state and buffer_of(parameter) is not None:
                    state[prefix + name] = host_copy(parameter)

        def before(*_arguments: Any) -> None:
            loading.append(Held(self.memory, buffers_of(part.parameters(recurse=False))))

        def after(*_arguments: Any) -> None:
            while loading:
                loading.pop().release()

        self._hooks += [part.register_state_dict_post_hook(saved),
                        part.register_load_state_dict_pre_hook(before),
                        part.register_load_state_dict_post_hook(after)]


def defer_module(module: Any, memory: DeferrableMemory, units: Optional[Iterable[Any]] = None,
                 minimum: Optional[int] = None) -> DeferredModule:
    """See tidemark.torch.defer_module."""
    return DeferredModule(module, memory, units, MINIMUM if minimum is None else minimum)
