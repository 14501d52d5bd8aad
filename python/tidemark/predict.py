"""`python -m tidemark.predict train.py --its --options`: predicts how much GPU memory a PyTorch
program will need, before it has run on a GPU.

    python -m tidemark.predict train.py --batch 8
    python -m tidemark.predict --card h200 --until "3 steps" -o run.tml train.py
    python -m tidemark.predict --conf expandable_segments:True -m package.train
    python -m tidemark.predict --assume nonzero=6% --assume gnn.py:32=10000 gnn.py
    python -m tidemark.predict --assume overflow=100% --log calls.txt train.py
    python -m tidemark.predict --world-size 8 -o run.tml train_ddp.py
    python -m tidemark.predict --measure h100.json train.py    on a GPU, then anywhere:
    python -m tidemark.predict --book h100.json train.py

The script runs unchanged, with the installed CUDA build of PyTorch, on an imagined CUDA: memory is
counted as on the card, and kernels do nothing. So PyTorch makes the same requests as on the card.
The result is a recording like any other: `tidemark verify`, `advise`, `fit`, `compare` and `view`
read it. It needs no GPU, driver or CUDA package. If NVIDIA's cuDNN and NVRTC are installed,
tidemark.predict queries cuDNN for the workspaces of convolutions and attention.

Values that the script reads from the device are zero unless it wrote them there itself. Such reads
are listed. If a size depends on one, give the value with --assume.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import sys
import tempfile
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from tidemark import _outputs
from tidemark._format import bytes_text
from tidemark.errors import Error, OptionError, UnsupportedError
from tidemark.predicting import book as _book
from tidemark.predicting import cards as _cards
from tidemark.predicting import limits as _limits
from tidemark.predicting import measuring as _measuring
from tidemark.predicting import runs as _runs
from tidemark.predicting import stubs as _stubs
from tidemark.torch import _ranks

__all__ = ["Prediction", "main", "predict"]

EXPANDABLE = "torch:expandable_segments=true"
HOST_BYTES = 3 << 29  # that a rank's process takes at least, with PyTorch loaded
MOST_GPUS = 8  # of a machine that runs several ranks
MOST_READS = 6  # lines about reads in the text output
COUNTED = {"nonzero": "how much is not zero", "unique": "how many differ"}
LONGEST_TRY = 60.0  # seconds, at least, for a run in which conditions hold: it may loop forever


@dataclasses.dataclass
class Prediction:
    """How much memory a program will need on one card.

    Attributes
    ----------
    path : str
        The recording.
    card, card_bytes, context_bytes : str, int, int
        The card's name, its memory in bytes, and the part of it that PyTorch's allocator doesn't
        get: the CUDA context, the code of kernels, cuBLAS's own memory.
    gpu : int or None
        If the program uses several GPUs, the one that needs most memory; the figures are for it.
    context_estimated : bool
        Whether `context_bytes` is an estimate because the card was not measured.
    peak_reserved_bytes, peak_requested_bytes : int
        With the settings that the program ran with.
    peak_reserved_bytes_least, peak_reserved_bytes_most : int
        The range of that peak: with slow kernels, where memory passes from stream to stream, and
        with masks that select nothing, where their contents aren't known.
    smallest_card_bytes : int
        The smallest card on which no request runs out of memory, context included; there, PyTorch
        may have to release cached memory.
    expandable_bytes : int
        The peak of reserved memory with expandable segments.
    out_of_memory : bool
        Whether the program ran out of memory on the card. The figures are then for a card that is
        large enough.
    reads : list of dict
        What the program read from the device: `location`, `bytes`, `count`, `answer`
        (hexadecimal), whether the program itself had written it (`known`) or --assume gave it
        (`assumed`), and its `kind`: "nonzero" and "unique" are counts, "overflow" is GradScaler's
        check, "flag" is a condition that was false, and all others are "read".
    other_processes : int
        How many processes apart from the script's own used the GPU. Their memory is not in the
        figures.
    measured_workspaces, unmeasured_workspaces : int
        How many of cuDNN's workspaces were in the book, and how many weren't.
    refused : dict
        CUDA functions that the program called although the imagined CUDA lacks them, and where.
    exit_code : int
        The program's exit code; negative if a signal ended it.
    """

    path: str
    card: str
    card_bytes: int
    gpu: Optional[int]
    context_bytes: int
    context_estimated: bool
    peak_reserved_bytes: int
    peak_reserved_bytes_least: int
    peak_reserved_bytes_most: int
    peak_requested_bytes: int
    smallest_card_bytes: int
    expandable_bytes: int
    out_of_memory: bool
    reads: List[Dict[str, Any]]
    other_processes: int
    measured_workspaces: int
    unmeasured_workspaces: int
    refused: Dict[str, str]
    exit_code: int

    def line(self) -> str:
        """Returns the answer in one line."""
        reserved = bytes_text(self.peak_reserved_bytes_most)
        if bytes_text(self.peak_reserved_bytes_least) != reserved:
            reserved = f"{bytes_text(self.peak_reserved_bytes_least)} to {reserved}"
        text = f"needs {reserved} reserved ({bytes_text(self.peak_requested_bytes)} requested)"
        if self.out_of_memory:
            text += (f"; runs out of memory on one {self.card}, which has "
                     f"{bytes_text(self.card_bytes)}")
        else:
            text += f" on one {self.card}"
        if self.gpu is not None:
            text += f" (GPU {self.gpu} needs most)"
        usual = _cards.usual_size(self.smallest_card_bytes)
        text += f"; fits {usual} GiB" if usual else "; fits no card"
        if self.expandable_bytes < self.peak_reserved_bytes:
            text += f"; with expandable segments {bytes_text(self.expandable_bytes)}"
        return text

    def notes(self) -> List[str]:
        """Returns lines about the basis of the figures, and about what went wrong."""
        notes = [f"{name}, called at {location}, does not exist in the imagined CUDA: the call "
                 "failed, and from there the program did not do what it does on a card"
                 for name, location in self.refused.items()]
        if self.context_estimated:
            notes.append(f"a {self.card} was not measured: it is an estimate that "
                         f"{bytes_text(self.context_bytes)} of it are not available to PyTorch")
        if self.exit_code and not self.out_of_memory:
            notes.append(f"the script ended with exit code {self.exit_code}: the figures don't "
                         "include what it would have needed later")
        if self.other_processes:
            more = "another process" if self.other_processes == 1 else \
                f"{self.other_processes} other processes"
            notes.append(f"{more} of the script used the GPU: the figures don't include them")
        if self.measured_workspaces or self.unmeasured_workspaces:
            notes.append(f"cuDNN's workspaces: {self.measured_workspaces} were measured, "
                         f"{self.unmeasured_workspaces} were not")
        unknown = [read for read in self.reads if not read["known"] and not read["assumed"]]
        deciding = [read for read in unknown if _decides_sizes(read)]
        notes += map(_about, deciding[:MOST_READS])
        if len(deciding) > MOST_READS:
            notes.append(f"and at {len(deciding) - MOST_READS} other lines (--json lists them)")
        others = {read["location"] for read in unknown if not _decides_sizes(read)}
        if others:
            lines = f"{len(others)} lines" if len(others) > 1 else min(others)
            notes.append(f"values that the program reads from the device at {lines}, such as "
                         "losses, are 0 (--json lists them)")
        return notes

    def to_json(self) -> Dict[str, Any]:
        """Returns the figures as --json prints them."""
        return dataclasses.asdict(self)


def _decides_sizes(read: Dict[str, Any]) -> bool:
    """Losses have four bytes; values for shapes are PyTorch's int64, or counts."""
    return read["kind"] in _runs.SHARES or read["bytes"] == 8


def _about(read: Dict[str, Any]) -> str:
    """A line about a read on which sizes may depend."""
    kind, where = read["kind"], read["location"]
    where += f", {read['count']} times" if read["count"] > 1 else ""
    if kind in COUNTED:
        return (f"sizes depend on {COUNTED[kind]} at {where}: answered {_answer_text(read)}, all "
                f"(--assume {kind}=SHARE%)")
    if kind == "overflow":
        return (f"GradScaler checks for overflows at {where}: it finds none and skips no step "
                "(--assume overflow=100%)")
    if kind == "flag":
        return (f"a condition is read at {where}: answered no (--assume flag=100% or "
                f"{read['location']}=1)")
    return (f"read {read['bytes']} bytes from the device at {where}: answered "
            f"{_answer_text(read)}; sizes may depend on it (--assume {read['location']}=NUMBER)")


def _answer_text(read: Dict[str, Any]) -> str:
    content = bytes.fromhex(read["answer"])
    return "0" if not any(content) else str(int.from_bytes(content, "little"))


def _core() -> pathlib.Path:
    from tidemark._library import build_tree, package_paths

    given = os.environ.get("TIDEMARK_PROGRAMS")
    folders = [pathlib.Path(given)] if given else []
    for path in [*(folder / _stubs.CORE for folder in folders),
                 *package_paths("lib", _stubs.CORE), build_tree() / _stubs.CORE]:
        if path.exists():
            return path
    raise UnsupportedError("this build lacks the imagined CUDA", _stubs.CORE,
                           "build the target tidemark_imagined, or install a wheel")


def parse_assumptions(texts: Sequence[str]) -> Dict[str, float]:
    """Parses --assume: "nonzero=6%", "unique=30%" or "train.py:32=10000"."""
    found = {}
    for text in texts:
        match = re.fullmatch(r"(.+:\d+|\w+)=([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(%?)", text)
        if not match or (match.group(1) in _runs.SHARES) == (":" in match.group(1)) or \
                (match.group(3) and ":" in match.group(1)):
            raise OptionError("expected " + "".join(f"{kind}=SHARE%, " for kind in _runs.SHARES)
                              + "or FILE:LINE=NUMBER", "--assume " + text)
        found[match.group(1)] = float(match.group(2)) / (100 if match.group(3) else 1)
    for share in _runs.SHARES:
        if not 0 <= found.get(share, 0) <= 1:
            raise OptionError("a share must be between 0% and 100%", "--assume " + share)
    return found


def predict(script: Union[str, Sequence[str]], *,
            output: Optional[Union[str, "os.PathLike[str]"]] = None, card: str = "h100",
            memory: Optional[int] = None, gpus: int = 1, conf: Optional[str] = None,
            until: Union[str, Sequence[str]] = (), no_weights: bool = False,
            assume: Sequence[str] = (), stacks: bool = False, modules: bool = False,
            rank: int = 0, world_size: int = 1,
            together: Optional[Union[str, "os.PathLike[str]"]] = None,
            overwrite: bool = False, once: bool = False,
            log: Optional[Union[str, "os.PathLike[str]"]] = None,
            book: Optional[Union[str, "os.PathLike[str]"]] = None,
            to_stderr: bool = False) -> Prediction:
    """Predicts how much memory a script will need on a card, without that card.

    Parameters
    ----------
    script : str or list of str
        "train.py", ["train.py", "--batch", "8"] or ["-m", "package.train"].
    output : path, optional
        Where to keep the recording; by default, it is deleted afterwards.
    card : str
        "h100", "h200", ...: one of tidemark.predicting.cards.names().
    memory : int, optional
        The card's memory in bytes, instead of its own.
    gpus : int
        How many such cards the program sees.
    conf : str, optional
        The run's PYTORCH_CUDA_ALLOC_CONF.
    until : str or sequence of str
        When to end the run: "3 steps" of an optimizer, "90 s", "5 min", "16 GiB" of host memory.
        The first limit that is reached ends it.
    no_weights : bool
        Don't write the initial values of weights on the host, which saves time and memory.
    assume : sequence of str
        "nonzero=6%", "unique=30%", "gnn.py:32=10000": the values that reads from the device get.
    stacks, modules : bool
        Record the Python stack of each allocation; record the forward pass of each module.
    rank, world_size : int
        Run the script as that process of a job of `world_size` processes, as torchrun would start
        it. The others need not run; they are assumed to hold what this one holds.
    together : path, optional
        A folder, the same for all ranks, each of which is predicted at the same time as the others.
        Then sizes and objects that ranks send to each other are known.
    overwrite : bool
        Overwrite an existing recording of that name.
    once : bool
        Run the script only once, so that the figures have no ranges. Otherwise it runs once more
        for each unknown: how slow kernels are, what masks select.
    log : path, optional
        A file for how often the script called each function of NVIDIA's libraries.
    book : path, optional
        Workspaces of cuDNN that `--measure` measured on such a card.
    to_stderr : bool
        Redirect the script's output to stderr.

    Returns the Prediction. Raises UnsupportedError if no CUDA build of PyTorch is installed,
    OptionError for impossible arguments, and Error if the script used no GPU.
    """
    arguments = [script] if isinstance(script, str) else list(script)
    if not arguments or (arguments[0] != "-m" and not os.path.exists(arguments[0])):
        raise OptionError("no such script", " ".join(arguments[:1]))
    described = _cards.load(card, memory)
    if not 0 <= rank < world_size:
        raise OptionError("expected a rank below the world size", f"rank {rank} of {world_size}")
    core = _core()
    with tempfile.TemporaryDirectory(prefix="tidemark-predict-") as name:
        folder = pathlib.Path(name)
        path = pathlib.Path(os.path.abspath(output)) if output else folder / "run.tml"
        if output:
            _outputs.check(str(path), _outputs.RECORDING, overwrite)
        plan = _runs.Plan(script=arguments, card=described, gpus=gpus, conf=conf, core=core,
                          stubs=_stubs.make(core), assumed=parse_assumptions(assume),
                          limits=_limits.parse([until] if isinstance(until, str) else until),
                          no_weights=no_weights, to_stderr=to_stderr, stacks=stacks,
                          modules=modules,
                          book=_book.for_card(str(book), described) if book else _book.Book(),
                          log=os.path.abspath(log) if log else "",
                          ranks=(rank, world_size) if world_size > 1 else None,
                          together=pathlib.Path(together) if together else None)
        try:
            first = _runs.run(plan, folder, path)
            out_of_memory = first.exit_code != 0 and first.refused_memory > 0
            whole = first
            if out_of_memory:
                plan = plan.on(_cards.endless(described))
                whole = _runs.run(plan, folder, folder / "whole.tml",
                                  "on a card that is large enough")
            others = [] if once else _others(plan, whole, folder)
            return _answer(first, whole, others, described, out_of_memory)
        finally:
            plan.leave(_runs.FIRST, *_runs.REPEATED)


def _others(plan: _runs.Plan, whole: _runs.Run, folder: pathlib.Path) -> List[_runs.Run]:
    """Runs with other assumptions about what isn't known."""
    others = []
    if whole.streams > 1:
        others.append(_runs.run(plan.on(plan.card, late=True), folder, folder / "slow.tml",
                                "with slow kernels, because it uses several streams"))
    for kinds, why in ((_runs.COUNTS, "masks that select nothing"),
                       (("overflow",), "steps that GradScaler skips")):
        if any(_runs.is_open(read, *kinds) for read in whole.reads):
            others.append(_runs.run(plan.otherwise(*kinds), folder,
                                    folder / f"{kinds[0]}.tml", f"with {why}: it isn't known"))
    if any(_runs.is_open(read, "flag") for read in whole.reads):
        holding = plan.otherwise("flag").ending_after(max(LONGEST_TRY, 3 * whole.seconds))
        other = _runs.run(holding, folder, folder / "flag.tml",
                          "with conditions that are true: they aren't known")
        if not other.cut or whole.cut:
            others.append(other)
    return others


def _answer(first: _runs.Run, whole: _runs.Run, others: List[_runs.Run], card: Dict[str, Any],
            out_of_memory: bool) -> Prediction:
    """The prediction from all runs; it ignores those of `others` that failed."""
    import tidemark

    if first.path is None or whole.path is None:
        ended = f"ended with exit code {first.exit_code} and" if first.exit_code else "has"
        elsewhere = "; a process that it started did" if whole.others else ""
        raise Error(f"{ended} used no GPU through PyTorch: nothing was recorded{elsewhere}",
                    "the script")
    context, of_gpus = whole.held, _peaks(whole.path)
    if not of_gpus:
        raise Error(f"ended with exit code {first.exit_code} before it allocated GPU memory",
                    "the script", "its own error is above")
    most = max(of_gpus, key=lambda gpu: of_gpus[gpu])
    of_gpu: Dict[str, Any] = {"gpu": most} if len(of_gpus) > 1 else {}
    fit = tidemark.fit(whole.path, policies=[EXPANDABLE], overhead=context, **of_gpu)
    as_run, expandable = fit.candidates[0], fit.candidates[-1]
    peaks = [of_gpus[most]]
    for other in others:
        if other.path is not None and other.exit_code == whole.exit_code:
            peaks.append(max(_peaks(other.path).values()))
    return Prediction(
        path=first.path, card=card["name"], card_bytes=card["memory"],
        gpu=of_gpu.get("gpu"),
        context_bytes=context, context_estimated="like" in card,
        peak_reserved_bytes=of_gpus[most],
        peak_reserved_bytes_least=min(peaks), peak_reserved_bytes_most=max(peaks),
        peak_requested_bytes=as_run.peak_requested_bytes,
        smallest_card_bytes=as_run.smallest_bytes, expandable_bytes=expandable.peak_reserved_bytes,
        out_of_memory=out_of_memory, reads=first.reads,
        other_processes=whole.others, measured_workspaces=whole.workspaces[0],
        unmeasured_workspaces=whole.workspaces[1],
        refused=first.refused_calls,
        exit_code=first.exit_code)


def _peaks(path: str) -> Dict[int, int]:
    """Peak bytes that PyTorch's allocator reserved on the imagined CUDA, by GPU that it used."""
    import tidemark

    return {number: int(device.peak_recorded_reserved.value)
            for number, device in enumerate(tidemark.info(path).devices) if device.allocations > 0}


def main(arguments: Optional[List[str]] = None) -> None:
    """`python -m tidemark.predict`."""
    parser = argparse.ArgumentParser(prog="python -m tidemark.predict", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", metavar="RUN.tml", help="keep the recording there")
    parser.add_argument("--force", action="store_true", help="overwrite a recording")
    parser.add_argument("--card", default="h100", metavar="NAME",
                        help=", ".join(_cards.names()) + " (h100)")
    parser.add_argument("--memory", metavar="GIB", type=float, help="the card's memory")
    parser.add_argument("--gpus", type=int, metavar="N",
                        help="GPUs of the machine (1, or as many as ranks)")
    parser.add_argument("--world-size", type=int, default=1, metavar="N",
                        help="run the script as one of N processes that torchrun would start")
    parser.add_argument("--rank", type=int, metavar="R", help="run only that rank, not all")
    parser.add_argument("--conf", help="PYTORCH_CUDA_ALLOC_CONF of the run")
    parser.add_argument("--until", metavar='"3 steps"', action="append", default=[],
                        help='when to end the run; or "90 s", "5 min", "16 GiB" of host memory')
    parser.add_argument("--no-weights", action="store_true",
                        help="don't initialize weights on the host: faster, less memory")
    parser.add_argument("--assume", action="append", default=[], metavar="WHAT=NUMBER",
                        help="values for reads from the device: nonzero=6%%, gnn.py:32=10000")
    parser.add_argument("--once", action="store_true",
                        help="run the script only once, without ranges for unknown values")
    parser.add_argument("--stacks", action="store_true", help="record the stack of allocations")
    parser.add_argument("--modules", action="store_true", help="record modules' forward passes")
    parser.add_argument("--book", metavar="BOOK.json",
                        help="cuDNN workspaces that --measure measured on such a card")
    parser.add_argument("--measure", metavar="BOOK.json",
                        help="run the script on this machine's GPU and add cuDNN's workspaces")
    parser.add_argument("--log", metavar="FILE",
                        help="write which CUDA functions the script called, and how often")
    parser.add_argument("--json", action="store_true", help="print only JSON to stdout")
    parser.add_argument("script", nargs=argparse.REMAINDER, help="SCRIPT ARGS... or -m MODULE ...")
    options = parser.parse_args(arguments)
    if not options.script or options.script == ["-m"]:
        parser.error("name the script to run")
    if options.measure:
        sys.exit(_measure(options))
    ranks = range(options.world_size) if options.rank is None else [options.rank]
    try:
        found = _predict_ranks(options, ranks)
    except Error as failure:
        sys.exit(f"tidemark.predict: {failure}")
    if options.json:
        answers = [one.to_json() for one in found]
        print(json.dumps(answers if len(answers) > 1 else answers[0], indent=2))
    else:
        for text, same in _texts(ranks, found):
            print(f"{_ranks_text(same)} {text}" if options.world_size > 1 else text)
    code = next((one.exit_code for one in found if one.exit_code), 0)
    sys.exit(code if code >= 0 else 128 - code)


def _texts(ranks: Sequence[int], found: Sequence[Prediction]) -> List[Tuple[str, List[int]]]:
    """Each different answer with its notes, and the ranks that get it."""
    texts: Dict[str, List[int]] = {}
    for rank, one in zip(ranks, found):
        text = "\n".join([one.line(), *("  " + note for note in one.notes())])
        texts.setdefault(text, []).append(rank)
    return list(texts.items())


def _ranks_text(ranks: Sequence[int]) -> str:
    """"rank 3", "ranks 0 and 4: each" or "ranks 0 to 6: each"."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 2 and ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"ranks {ranks[0]} to {ranks[-1]}: each"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}: each"


def _measure(options: argparse.Namespace) -> int:
    """Does `--measure`; returns the script's exit code."""
    try:
        book, new, code = _measuring.measure(options.script, options.measure, _core())
    except Error as failure:
        sys.exit(f"tidemark.predict: {failure}")
    print(f"{options.measure}: {len(book.plans)} plans and {len(book.convolutions)} convolutions "
          f"of cuDNN on one {book.card}, {new} of them new", file=sys.stderr)
    return code if code >= 0 else 128 - code


def _predict_ranks(options: argparse.Namespace, ranks: Sequence[int]) -> List[Prediction]:
    """Runs all ranks together if the host has the memory for it; else several at a time, depending
    on the number of processors."""
    if len(ranks) == 1:
        return [_predict_rank(options, ranks[0])]
    at_once = len(ranks)
    if at_once * HOST_BYTES > _limits.free_host_bytes():
        at_once = max(1, (os.cpu_count() or 1) // 2)
        print(f"tidemark: this host's memory isn't enough to run {len(ranks)} ranks together: each "
              "is predicted as if the others held what it holds", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="tidemark-ranks-") as folder, \
            concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        together = folder if at_once == len(ranks) else None
        return list(pool.map(lambda rank: _predict_rank(options, rank, together), ranks))


def _predict_rank(options: argparse.Namespace, rank: int,
                  together: Optional[str] = None) -> Prediction:
    output, log = options.output, options.log
    if options.world_size > 1:
        of_rank = _ranks.Rank(rank, options.world_size)
        output, log = (path and _ranks.recording_path(os.path.abspath(path), of_rank)
                       for path in (output, log))
    return predict(options.script, output=output, card=options.card,
                   memory=int(options.memory * 2**30) if options.memory else None,
                   gpus=options.gpus or min(options.world_size, MOST_GPUS), conf=options.conf,
                   until=options.until, no_weights=options.no_weights, assume=options.assume,
                   stacks=options.stacks, modules=options.modules, rank=rank,
                   world_size=options.world_size, together=together,
                   overwrite=options.force, once=options.once, log=log, book=options.book,
                   to_stderr=options.json)


if __name__ == "__main__":
    main()
