"""Measures an unchanged script on the GPU: its peaks, its steps, its losses."""

from __future__ import annotations

import atexit
import importlib
import json
import pathlib
import time
from typing import Any, List, Optional

from tidemark.torch._launch import after_import

ENTRIES = 5_000_000  # entries of PyTorch's history


def measure(result: str, snapshot: Optional[str], prime: int, policy: Optional[str]) -> None:
    """Measures from the import of `torch` until the program ends. It writes `result`, and
    `snapshot` with the history from the first use of CUDA. `prime` bytes are allocated first and
    freed again. With a policy, all memory comes from tidemark.torch.use()."""
    after_import("torch", lambda: Measured(result, snapshot, prime, policy).begin())


class Measured:
    """Measures from begin() to end(), which is also called when the program ends."""

    def __init__(self, result: str, snapshot: Optional[str], prime: int,
                 policy: Optional[str]) -> None:
        self.result = result
        self.snapshot = snapshot
        self.prime = prime
        self.policy = policy
        self.steps: List[int] = []
        self.losses: List[float] = []

    def begin(self) -> None:
        import torch

        if self.policy is not None:
            from tidemark.torch import use

            use(self.policy)
        torch.cuda._lazy_call(self.first_use)
        atexit.register(self.end)
        backward = torch.autograd.backward

        def noted(tensors: Any, *given: Any, **named: Any) -> Any:
            root = tensors[0] if isinstance(tensors, (list, tuple)) and tensors else tensors
            if getattr(root, "numel", lambda: 0)() == 1:
                self.losses.append(float(root.detach()))
            return backward(tensors, *given, **named)

        torch.autograd.backward = noted
        # Not torch.optim.optimizer: the package deletes that name.
        optimizers = importlib.import_module("torch.optim.optimizer")
        hooks = getattr(optimizers, "register_optimizer_step_post_hook", None)  # since PyTorch 2.0
        if hooks is not None:
            hooks(lambda *_given: self.steps.append(time.monotonic_ns()))

    def first_use(self) -> None:
        import torch

        if self.snapshot:
            torch.cuda.memory._record_memory_history(context="alloc", stacks="python",
                                                     max_entries=ENTRIES)
        if self.prime:
            torch.empty(self.prime, dtype=torch.uint8, device="cuda")

    def end(self) -> None:
        import torch

        atexit.unregister(self.end)
        if not torch.cuda.is_initialized():
            return
        torch.cuda.synchronize()
        devices = range(torch.cuda.device_count())
        reserved = max(map(torch.cuda.max_memory_reserved, devices))
        allocated = max(map(torch.cuda.max_memory_allocated, devices))
        if self.snapshot:
            torch.cuda.memory._dump_snapshot(self.snapshot)
        pathlib.Path(self.result).write_text(json.dumps(
            {"peak_reserved": reserved, "peak_allocated": allocated, "steps": self.steps,
             "losses": self.losses}))
