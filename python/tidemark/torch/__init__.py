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

from typing import TYPE_CHECKING, Any, Optional

from tidemark.torch._allocator import pool, use
from tidemark.torch._oom import explain_oom
from tidemark.torch._recording import Recording, record

if TYPE_CHECKING:
    from tidemark.deferrable import DeferrableMemory
    from tidemark.torch._deferring import DeferredTensors
    from tidemark.torch._uses import RecordedUses

__all__ = ["Recording", "defer_optimizer", "explain_oom", "pool", "record", "record_uses", "use"]


def defer_optimizer(optimizer: Any, memory: "DeferrableMemory",
                    minimum: Optional[int] = None) -> "DeferredTensors":
    """The optimizer's state leaves the GPU between its steps: activations have its room meanwhile.

    Its tensors of `minimum` bytes or more (1 MiB) move into `memory` after the first step, are
    pinned around each further one, and keep their addresses, so that captured graphs do. Saving and
    loading the state goes `with deferred.pinned():`.
    """
    from tidemark.torch._deferring import defer_optimizer as begin

    return begin(optimizer, memory, minimum)


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
