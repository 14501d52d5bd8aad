"""The simulated machines, for `machine` arguments.

scripts/make_catalogue.py writes this file from `tidemark devices` and `tidemark machines`: don't
edit it.
"""

from __future__ import annotations

from typing import Final

sim_h200: Final = "sim:h200"
"""NVIDIA H200, 139.8 GiB."""
h200_node: Final = "h200-node"
"""A machine with tiers: gpu:0, host:0, disk:0."""
pcie_workstation: Final = "pcie-workstation"
"""A machine with tiers: gpu:0, host:0, disk:0."""
two_gpu: Final = "two-gpu"
"""A machine with tiers: gpu:0, gpu:1, host:0, disk:0, disk:1."""
