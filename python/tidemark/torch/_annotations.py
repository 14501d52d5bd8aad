"""Records the program's own annotations as ranges."""

from __future__ import annotations

import importlib
from typing import Any, Callable, List, Union


def follow(torch: Any, recording: Any, wanted: Union[bool, str]) -> List[Callable[[], None]]:
    """Follows the steps of optimizers. With `wanted`, follows record_function instead, which
    optimizers use for their steps; with "modules", also the forward pass of modules. Returns
    functions that undo this."""
    if not wanted:
        return _follow_steps(recording)
    undo = [_follow_functions(torch, recording)]
    if wanted == "modules":
        undo += _follow_modules(torch, recording)
    return undo


def _follow_steps(recording: Any) -> List[Callable[[], None]]:
    """Follows optimizer steps, by the names that optimizers use for record_function."""
    try:  # torch.optim hides its modules
        optimizers: Any = importlib.import_module("torch.optim.optimizer")
    except ImportError:
        return []
    if not hasattr(optimizers, "register_optimizer_step_post_hook"):
        return []

    def name_of(optimizer: Any) -> str:
        return f"Optimizer.step#{type(optimizer).__name__}.step"

    def begin(optimizer: Any, _arguments: Any, _named: Any) -> None:
        recording.begin_range(name_of(optimizer))

    def end(optimizer: Any, _arguments: Any, _named: Any) -> None:
        recording.end_range(name_of(optimizer))

    before = optimizers.register_optimizer_step_pre_hook(begin)
    after = optimizers.register_optimizer_step_post_hook(end)
    return [before.remove, after.remove]


def _follow_functions(torch: Any, recording: Any) -> Callable[[], None]:
    kind = torch.autograd.profiler.record_function
    enter, leave = kind.__enter__, kind.__exit__

    def begin(self: Any) -> Any:
        recording.begin_range(str(self.name))
        return enter(self)

    def end(self: Any, *error: Any) -> Any:
        try:
            return leave(self, *error)
        finally:
            recording.end_range(str(self.name))

    kind.__enter__, kind.__exit__ = begin, end

    def undo() -> None:
        # If somebody wrapped these after us, they stay and record nothing.
        if kind.__enter__ is begin and kind.__exit__ is end:
            kind.__enter__, kind.__exit__ = enter, leave

    return undo


def _follow_modules(torch: Any, recording: Any) -> List[Callable[[], None]]:
    module = torch.nn.modules.module

    def begin(one: Any, _inputs: Any) -> None:
        recording.begin_range(type(one).__name__)

    def end(one: Any, _inputs: Any, _output: Any) -> None:
        recording.end_range(type(one).__name__)

    before = module.register_module_forward_pre_hook(begin)
    after = module.register_module_forward_hook(end, always_call=True)
    return [before.remove, after.remove]
