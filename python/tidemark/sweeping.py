"""Sweeps: many settings on many traces, on the local cores or on a Dask cluster. Both use the same
units (docs/guide/sweep.md), so one continues where the other ended."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence

from tidemark._waiting import Progress
from tidemark.answers import Answer, PolicyTexts, Source, _ask, _path_of, _policies

__all__ = ["sweep"]

PARTS_OF_A_THREAD = 4  # for each thread of a cluster, because parts differ in length


def sweep(*traces: Source, folder: "str | os.PathLike[str]", policies: PolicyTexts = (),
          grid: Sequence[str] = (), client: Optional[Any] = None, parts: Optional[int] = None,
          progress: Progress = None, **options: Any) -> Answer:
    """Replays every trace under every setting. Each result is a file in `folder` and isn't computed
    again.

    Parameters
    ----------
    *traces : str, path or Trace
    folder : path
        The folder for the units. All workers of a client must see it, and the traces, at these
        paths.
    policies, grid : sequences of str
        Settings, and combinations of them: grid=["torch:max_split_size_mb=64..512*2"].
    client : dask.distributed.Client, optional
        Its workers compute the units, a part at a time; they need `tidemark` installed.
    parts : int, optional
        How many parts (default: four for each thread of the cluster).
    **options
        Options of `tidemark sweep`: memory=["40GiB", "80GiB"], halving=True.
    """
    given: Dict[str, Any] = {"output": os.fspath(folder), "policies": _policies(policies),
                             "grid": list(grid), **options}
    if client is not None:
        paths = [_path_of(trace) for trace in traces]
        count = parts or PARTS_OF_A_THREAD * max(1, sum(client.ncores().values()))
        # Not pure: the result also depends on the folder's content.
        client.gather(client.map(_part, range(1, count + 1), count=count, paths=paths,
                                 options={"threads": 1, **given}, pure=False))
    return _ask("sweep", traces, given, progress)


def _part(number: int, count: int, paths: List[str], options: Mapping[str, Any]) -> int:
    """Runs on a worker: computes that part and returns how many units it computed."""
    answer = _ask("sweep", paths, {**options, "shard": f"{number}/{count}"}, None)
    return int(answer.computed)
