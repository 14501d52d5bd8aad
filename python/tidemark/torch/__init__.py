"""Recording PyTorch where it runs.

    import tidemark.torch

    with tidemark.torch.record("run.tml"):
        train()                                # then: tidemark verify run.tml

    tidemark.torch.explain_oom()               # why it died, where it dies

`python -m tidemark.record -o run.tml script.py` does the first for a script as it is, `python -m
tidemark.torch script.py` the second. Importing this imports no PyTorch; it is needed when something
is recorded.
"""

from __future__ import annotations

from tidemark.torch._oom import explain_oom
from tidemark.torch._recording import Recording, record

__all__ = ["Recording", "explain_oom", "record"]
