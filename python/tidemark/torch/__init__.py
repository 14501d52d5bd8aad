"""Records PyTorch's memory while a program runs, or makes Tidemark the source of its memory.

    import tidemark.torch

    with tidemark.torch.record("run.tml"):
        train()                                # then: tidemark verify run.tml

    with tidemark.torch.record_uses():         # also which operator uses which memory
        train()

    tidemark.torch.explain_oom()               # explains an out-of-memory error when it occurs

    tidemark.torch.use("extent")               # before the first tensor on a GPU

`python -m tidemark.record -o run.tml script.py` records an unchanged script, and `python -m
tidemark.torch script.py` explains its out-of-memory errors. Importing this module doesn't import
PyTorch; recording and using do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional

from tidemark.torch._allocator import pool, reclaim, use
from tidemark.torch._oom import explain_oom
from tidemark.torch._recording import Recording, record

if TYPE_CHECKING:
    from tidemark.deferrable import DeferrableMemory
    from tidemark.torch._deferred_module import DeferredModule
    from tidemark.torch._deferred_optimizer import DeferredOptimizer
    from tidemark.torch._uses import RecordedUses

__all__ = ["Recording", "defer_module", "defer_on_oom", "defer_optimizer", "explain_oom", "pool",
           "reclaim", "record", "record_uses", "use"]


def defer_optimizer(optimizer: Any, memory: "DeferrableMemory", minimum: Optional[int] = None,
                    whole: bool = False) -> "DeferredOptimizer":
    """Moves an optimizer's state off the GPU between its steps, so that activations can use the
    room. Returns the DeferredOptimizer, whose `close` ends this.

    A step goes through the parameters in pieces of a third of the GPU bytes of `memory`: while one
    piece is updated, the state of the next one is fetched and that of the last one is evicted. So
    the state may be larger than those bytes. The optimizer's step must update each parameter by
    itself, as all those of torch.optim do except LBFGS (OptionError). With `whole`, one step sees
    all parameters, and their state must fit.

    State tensors of at least `minimum` bytes (default 1 MiB) move into `memory`, at first after the
    step that creates them. They keep their addresses, so captured graphs still work. Parameters
    that `defer_module` deferred are pinned together with their state. `state_dict()` has copies in
    host memory; any other code that reads the state must do so `with deferred.pinned():`.
    """
    from tidemark.torch._deferred_optimizer import defer_optimizer as begin

    return begin(optimizer, memory, minimum, whole)


def defer_module(module: Any, memory: "DeferrableMemory", units: Optional[Iterable[Any]] = None,
                 minimum: Optional[int] = None) -> "DeferredModule":
    """Keeps the parameters of a module's units on the GPU only while their unit runs. Returns the
    DeferredModule, whose `close` ends this.

    A unit's parameters are pinned while the unit is called. In the backward pass, they are pinned
    from its first gradient until the gradients of its parameters and inputs exist. Meanwhile, the
    parameters of the unit that came next the last time are fetched. These parameters stay as they
    are: those of less than `minimum` bytes (default 1 MiB), those that units share with each other
    or with the rest of the module, and those of the rest.

    By default, units are the members of the outermost ModuleLists and Sequentials. Units must not
    contain each other, and only their own calls may use their parameters. Exceptions are an
    optimizer that is given to `defer_optimizer` with the same memory, `state_dict` and
    `load_state_dict`. Any other code must use them `with deferred.pinned():`. This doesn't work
    with a second backward pass through the first one (`create_graph`), nor with torch.compile of
    code around a unit.
    """
    from tidemark.torch._deferred_module import defer_module as begin

    return begin(module, memory, units, minimum)


def defer_on_oom(memory: "DeferrableMemory", function: Callable[..., Any], *arguments: Any,
                 **named: Any) -> Any:
    """Returns `function(*arguments, **named)`. If PyTorch runs out of memory in it, everything in
    `memory` that isn't pinned is evicted from the GPU, and the function is called once more, from
    its start.

    PyTorch's own allocator can't make room inside a failing allocation (with memory from Tidemark,
    `reclaim` does). So the function must be safe to repeat: a step of inference, or a forward and
    backward pass after `zero_grad`. If nothing could be evicted, PyTorch's own error is raised.
    """
    from tidemark.torch._deferring import defer_on_oom as run

    return run(memory, function, *arguments, **named)


def record_uses() -> "RecordedUses":
    """Returns a context manager that adds each use of GPU memory by an operator to the recording of
    this process, while there is one: `tidemark replay run.tml --gpu-memory 60%` then knows what
    each kernel needs.

    It applies to the thread that enters it, and to the backward passes that this thread starts. It
    doesn't see memory that an operator uses inside (workspaces, temporary tensors), the kernels of
    torch.compile, graph replays, and libraries that PyTorch doesn't call through an operator.
    """
    from tidemark.torch._uses import RecordedUses

    return RecordedUses()
