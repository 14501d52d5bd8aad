"""Which of several processes of one training this is, and what its recording is called."""

from __future__ import annotations

import os
import pathlib
from typing import NamedTuple, Optional, Tuple

from tidemark.errors import OptionError

# What launchers set: torchrun (and Accelerate, DeepSpeed), Slurm, Open MPI.
VARIABLES = (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"),
             ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))


class Rank(NamedTuple):
    """This process's number, from 0 on, and how many there are."""

    number: int
    of: int


def find_rank(given: Optional[Tuple[int, int]] = None) -> Rank:
    """As given, or as the launcher's variables say; without any this is the only process."""
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
    """`path` of the only process; "run/rank3.tml" for "run.tml" of several, the folder made."""
    whole = pathlib.Path(path)
    if rank.of == 1:
        return path
    folder = whole.with_suffix("")
    if folder.exists() and not folder.is_dir():
        raise OptionError("is a file; the recordings of several ranks need a folder", str(folder))
    folder.mkdir(exist_ok=True)
    return str(folder / f"rank{rank.number}{whole.suffix or '.tml'}")
