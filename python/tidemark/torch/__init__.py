"""PyTorch where it runs: recorded, or with its memory from Tidemark.

    import tidemark.torch

    with tidemark.torch.record("run.tml"):
        train()                                # then: tidemark verify run.tml

    with tidemark.torch.record_uses():         # and which operator uses what
        train()

    tidemark.torch.explain_oom()               # why it died, where it dies

    tidemark.torch.use("extent")               # before the first tensor on a GPU

`python -m tidemark.record -o run.tml script.py` does the first for a script as it is, `python -m
tidemark.torch script.py` the second. Importing this imports no PyTorch; it is needed when something
is recorded or used.
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
    """The optimizer's state leaves the GPU between its steps: activations have its room meanwhile.

    A step goes through the parameters in pieces of a third of what `memory` has on the GPU: while
    one is updated, the state of the next comes and that of the one before leaves. So the state may
    be larger than that. It must be an optimizer whose step updates each parameter by itself, as
    those of torch.optim do but LBFGS; with `whole` one step sees all of them, and they must fit.

    State tensors of `minimum` bytes or more (1 MiB) move into `memory`, the first time after the
    step that makes them; they keep their addresses, so that captured graphs do. Parameters that
    `defer_module` deferred are pinned with their state. `state_dict()` has copies in the host's
    memory; what else reads the state does it `with deferred.pinned():`.
    """
    from tidemark.torch._deferred_optimizer import defer_optimizer as begin

    return begin(optimizer, memory, minimum, whole)


def defer_module(module: Any, memory: "DeferrableMemory", units: Optional[Iterable[Any]] = None,
                 minimum: Optional[int] = None) -> "DeferredModule":
    """The parameters of a module's units are on the GPU only while their unit runs.

    A unit has its parameters pinned while it is called, and during the backward pass from its first
    gradient until those of its parameters and inputs are there. Those of the unit that came next
    the last time are fetched meanwhile. Parameters of less than `minimum` bytes (1 MiB), those that
    units share with each other or with the rest, and the rest's stay as they are.

    Units are the members of the outermost ModuleLists and Sequentials, if none are named. They must
    lie side by side, and nothing but their own calls may use their parameters: an optimizer does if
    it is given to `defer_optimizer` with the same memory, and `state_dict` and `load_state_dict`
    do. All else goes `with deferred.pinned():`. Not with a second backward pass through the first
    one (`create_graph`), nor with torch.compile of what is around a unit.
    """
    from tidemark.torch._deferred_module import defer_module as begin

    return begin(module, memory, units, minimum)


def defer_on_oom(memory: "DeferrableMemory", function: Callable[..., Any], *arguments: Any,
                 **named: Any) -> Any:
    """What `function(*arguments, **named)` gives. If PyTorch runs out of memory in it, all of
    `memory` that is not pinned leaves the GPU, and it is called once more, from its begin.

    PyTorch's own allocator lets nobody make room inside a refused allocation (with its memory from
    Tidemark, `reclaim` does it), so it must be something that can be
    done again: a step of inference, a forward and backward pass after `zero_grad`. Where nothing
    could leave, the error is PyTorch's own.
    """
    from tidemark.torch._deferring import defer_on_oom as run

    return run(memory, function, *arguments, **named)


def record_uses() -> "RecordedUses":
    """A context manager that adds each use of a GPU's memory by an operator to the recording of
    this process, while there is one: `tidemark replay run.tml --gpu-memory 60%` then knows what
    each kernel needs.

    It is active in the thread that enters it, and in the backward passes which that begins. Not
    seen: what an operator uses inside (workspaces, temporary tensors), the kernels of
    torch.compile, graph replays and libraries that PyTorch doesn't call by an operator.
    """
    from tidemark.torch._uses import RecordedUses

    return RecordedUses()
