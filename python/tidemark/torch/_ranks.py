"""Finds this process's rank in a training job, and the name of its recording."""

from __future__ import annotations

import os
import pathlib
from typing import NamedTuple, Optional, Tuple

from tidemark.errors import OptionError

# Variables that launchers set: torchrun (and Accelerate, DeepSpeed), Slurm, Open MPI.
VARIABLES = (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"),
             ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))


class Rank(NamedTuple):
    """This process's number, from 0, and the number of processes."""

    number: int
    of: int


def find_rank(given: Optional[Tuple[int, int]] = None) -> Rank:
    """The rank as given, or from the launcher's variables; by default, there is one process."""
    if given is not None:
        rank = Rank(*given)
        if not 0 <= rank.number < rank.of:
            raise OptionError("expected (rank, number of ranks)", "ranks", "(0, 1) is one process")
        return rank
    for number, count in VARIABLES:
        texts = os.environ.get(number, ""), os.environ.get(count, "")
        if all(text.isdecimal() for text in texts) and int(texts[0]) < int(texts[1]):
            return Rank(int(texts[0]), int(texts[1]))
    return Rank(0, 1)


def recording_path(path: str, rank: Rank) -> str:
    """`path` for a single process; for several, "run/rank3.tml" for "run.tml", whose folder it
    creates."""
    whole = pathlib.Path(path)
    if rank.of == 1:
        return path
    folder = whole.with_suffix("")
    if folder.exists() and not folder.is_dir():
        raise OptionError("is a file; the recordings of several ranks need a folder", str(folder))
    folder.mkdir(exist_ok=True)
    return str(folder / f"rank{rank.number}{whole.suffix or '.tml'}")
