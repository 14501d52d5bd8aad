"""`python -m tidemark.predict train.py --its --options`: what a PyTorch program will need of a GPU's
memory, before it has run on one.

    python -m tidemark.predict train.py --batch 8
    python -m tidemark.predict --card h200 --until "3 steps" -o run.tml train.py
    python -m tidemark.predict --conf expandable_segments:True -m package.train
    python -m tidemark.predict --assume nonzero=6% --assume gnn.py:32=10000 gnn.py

The script runs unchanged, with the PyTorch build for CUDA that is installed, over a CUDA that is
imagined: memory is counted as on the card and kernels do nothing. So PyTorch makes the requests that
it makes on the card, and what comes is a recording like any other: `tidemark verify`, `advise`,
`fit`, `compare` and `view` read it. No GPU, driver or CUDA package is needed.

What the script reads of the device is zero unless it put it there, and each such read is listed:
where a size depends on one, say what it is with --assume.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Optional, Sequence, Union

from tidemark._format import bytes_text
from tidemark.errors import Error, OptionError, UnsupportedError
from tidemark.predicting import stubs as _stubs
from tidemark.predicting import cards as _cards

__all__ = ["Prediction", "main", "predict"]

CONF = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
ENDLESS = 2**44  # a card that nothing is too large for


@dataclasses.dataclass
class Prediction:
    """What a program will need on a card.

    Attributes
    ----------
    path : str
        The recording.
    card : str
        The card's name.
    peak_reserved_bytes, peak_requested_bytes : int
        Of one device, in the settings that the program ran with.
    reads : list of dict
        What the program read of the device: `place`, `bytes`, `count`, whether it is `known`
        (the program had put it there), and the `answer`.
    refused : dict
        Functions of CUDA that have no imagined counterpart, and where the program called them.
    exit_code : int
        Of the program.
    out_of_memory : bool
        It ended so on the card; the figures are of a card that is large enough.
    """

    path: str
    card: str
    card_bytes: int
    context_bytes: int
    peak_reserved_bytes: int
    peak_reserved_bytes_most: int
    peak_requested_bytes: int
    expandable_bytes: Optional[int]
    reads: List[Dict[str, Any]]
    refused: Dict[str, str]
    exit_code: int
    out_of_memory: bool

    @property
    def fits(self) -> bool:
        return not self.out_of_memory

    def line(self) -> str:
        """The answer in one line."""
        reserved = bytes_text(self.peak_reserved_bytes)
        if self.peak_reserved_bytes_most != self.peak_reserved_bytes:
            reserved += f" to {bytes_text(self.peak_reserved_bytes_most)}"
        text = (f"needs {reserved} reserved ({bytes_text(self.peak_requested_bytes)} requested) on "
                f"an {self.card}")
        if self.out_of_memory:
            text += f", which has {bytes_text(self.card_bytes)}: it runs out of memory"
        elif self.least_card:
            text += f"; fits {self.least_card}"
        if self.expandable_bytes is not None and self.expandable_bytes < self.peak_reserved_bytes:
            text += f"; with expandable segments {bytes_text(self.expandable_bytes)}"
        return text

    @property
    def least_card(self) -> Optional[str]:
        """"24 GiB": the smallest usual card that it fits, with its context."""
        needed = self.peak_reserved_bytes_most + self.context_bytes
        for gib in _cards.USUAL_GIB:
            if needed <= gib << 30:
                return f"{gib} GiB"
        return None

    def to_json(self) -> Dict[str, Any]:
        return {**dataclasses.asdict(self), "fits": self.fits}


def _core() -> pathlib.Path:
    from tidemark._library import build_tree, package_paths

    for path in [*package_paths("lib", _stubs.CORE), build_tree() / _stubs.CORE]:
        if path.exists():
            return path
    raise UnsupportedError("this build has no imagined CUDA", _stubs.CORE,
                           "build the target tidemark_imagined, or install a wheel")


def _assumptions(texts: Sequence[str]) -> Dict[str, float]:
    """--assume: "nonzero=6%" or "train.py:32=10000"."""
    found = {}
    for text in texts:
        match = re.fullmatch(r"(nonzero|.+:\d+)=([-+.\deE]+)(%?)", text)
        if not match:
            raise OptionError("expected nonzero=SHARE% or FILE:LINE=NUMBER", "--assume " + text)
        found[match.group(1)] = float(match.group(2)) / (100 if match.group(3) else 1)
    return found


def _until(text: Optional[str]) -> Dict[str, float]:
    if text is None:
        return {"steps": 0, "seconds": 0}
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(steps?|s|seconds?|min|minutes?)\s*", text)
    if not match or (match.group(2).startswith("step") and "." in match.group(1)):
        raise OptionError('expected "3 steps", "90 s" or "5 min"', "--until " + text)
    number, unit = float(match.group(1)), match.group(2)
    if unit.startswith("step"):
        return {"steps": int(number), "seconds": 0}
    return {"steps": 0, "seconds": number * (60 if unit.startswith("m") else 1)}


def _environment(stubs: _stubs.Stubs, core: pathlib.Path, settings: pathlib.Path,
                 conf: Optional[str]) -> Dict[str, str]:
    environment = dict(os.environ)
    # Before all else, and by their names: a PyTorch whose packages of NVIDIA's are there finds
    # those by a path inside its own files, unless the names are taken.
    libraries = [str(core), *(str(stubs.folder / one) for one in stubs.libraries)]
    before = environment.get("LD_PRELOAD")
    environment["LD_PRELOAD"] = ":".join(libraries + ([before] if before else []))
    environment["TIDEMARK_IMAGINED"] = str(settings)
    environment["TRITON_LIBCUDA_PATH"] = str(stubs.folder)
    environment.pop("CUDA_VISIBLE_DEVICES", None)
    package = str(pathlib.Path(__file__).resolve().parents[1])
    environment["PYTHONPATH"] = os.pathsep.join(
        [package, *filter(None, [environment.get("PYTHONPATH")])])
    if conf is not None:
        for name in CONF:
            environment.pop(name, None)
        environment[CONF[0]] = environment[CONF[1]] = conf
    return environment


def _run(script: List[str], environment: Dict[str, str], settings: pathlib.Path) -> int:
    """Runs the script; Ctrl-C reaches it too, and what it recorded until then is kept."""
    process = subprocess.Popen([sys.executable, "-m", "tidemark.predicting.child", str(settings),
                                *script], env=environment)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)


def _journal(path: pathlib.Path) -> List[Dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def predict(script: Union[str, Sequence[str]], *, output: Optional[str] = None, card: str = "h100",
            memory: Optional[int] = None, gpus: int = 1, conf: Optional[str] = None,
            until: Optional[str] = None, assume: Sequence[str] = (), stacks: bool = False,
            modules: bool = False, log: Optional[str] = None) -> Prediction:
    """What a script will need on a card that isn't there.

    Parameters
    ----------
    script : str or list of str
        "train.py", ["train.py", "--batch", "8"] or ["-m", "package.train"].
    output : str, optional
        The recording; "predicted.tml" without.
    card : str
        "h100", "h200", ...: see tidemark.predicting.cards.names().
    memory : int, optional
        Of the card, in bytes, instead of its own.
    conf : str, optional
        PYTORCH_CUDA_ALLOC_CONF of the run.
    until : str, optional
        "3 steps" of the optimizer, "90 s", "5 min": where the run ends.
    assume : sequence of str
        "nonzero=6%", "gnn.py:32=10000": what reads of the device find.

    Raises UnsupportedError where no PyTorch for CUDA is installed, OptionError for what can't be.
    """
    arguments = [script] if isinstance(script, str) else list(script)
    described = _cards.load(card)
    core = _core()
    stubs = _stubs.make(core)
    assumed = _assumptions(assume)
    path = os.path.abspath(output or "predicted.tml")
    with tempfile.TemporaryDirectory(prefix="tidemark-predict-") as name:
        folder = pathlib.Path(name)

        def once(path: str, late: bool, memory: Optional[int]) -> List[Dict[str, Any]]:
            journal = folder / f"journal-{len(list(folder.iterdir()))}"
            settings = folder / "settings.json"
            settings.write_text(json.dumps({
                "card": {**described, "memory": memory or described["memory"]}, "gpus": gpus,
                "cuda": stubs.cuda, "late": late, "nonzero": assumed.get("nonzero", 0.0),
                "journal": str(journal), "cudnn": str(stubs.cudnn or ""),
                "cudnn_device": _cards.for_cudnn(described) if stubs.cudnn else "",
                "run": {"core": str(core), "output": path, "stacks": stacks,
                        "annotations": "modules" if modules else True,
                        "name": os.path.basename(arguments[-1] if arguments[0] == "-m"
                                                 else arguments[0]),
                        "assumed": assumed, **_until(until),
                        "facts": {"predicted": f"on an imagined {described['name']}"}}}))
            code = _run(arguments, _environment(stubs, core, settings, conf), settings)
            return [{"exit_code": code}, *_journal(journal)]

        lines = once(path, False, memory)
        return _answer(path, described, memory, lines)


def _answer(path: str, card: Dict[str, Any], memory: Optional[int],
            lines: List[Dict[str, Any]]) -> Prediction:
    import tidemark

    if not os.path.exists(path) and os.path.exists(str(pathlib.Path(path).with_suffix(".pickle"))):
        path = str(pathlib.Path(path).with_suffix(".pickle"))
    if not os.path.exists(path):
        raise Error("the script used no GPU through PyTorch: nothing was recorded", path)
    recorded = tidemark.replay(path)
    expandable = tidemark.replay(path, "torch:expandable_segments=true")
    return Prediction(
        path=path, card=card["name"], card_bytes=memory or card["memory"],
        context_bytes=card["context"],
        peak_reserved_bytes=recorded.peak_reserved_bytes,
        peak_reserved_bytes_most=recorded.peak_reserved_bytes,
        peak_requested_bytes=recorded.peak_requested_bytes,
        expandable_bytes=expandable.peak_reserved_bytes,
        reads=[line["read"] for line in lines if "read" in line],
        refused={line["refused_at"]["function"]: line["refused_at"]["place"] for line in lines
                 if "refused_at" in line},
        exit_code=lines[0]["exit_code"], out_of_memory=False)


def main(arguments: Optional[List[str]] = None) -> None:
    """`python -m tidemark.predict`."""
    parser = argparse.ArgumentParser(prog="python -m tidemark.predict", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", metavar="RUN.tml", help="the recording")
    parser.add_argument("--card", default="h100", help="h100, h200, ...")
    parser.add_argument("--conf", help="PYTORCH_CUDA_ALLOC_CONF of the run")
    parser.add_argument("--gpus", type=int, default=1, metavar="N", help="of this machine")
    parser.add_argument("--until", metavar='"3 steps"', help="where the run ends")
    parser.add_argument("--assume", action="append", default=[], metavar="WHAT=NUMBER",
                        help="what reads of the device find")
    parser.add_argument("--stacks", action="store_true", help="the Python stack of allocations")
    parser.add_argument("--modules", action="store_true", help="the forward pass of each module")
    parser.add_argument("--json", action="store_true", help="the answer as JSON")
    parser.add_argument("script", nargs=argparse.REMAINDER, help="SCRIPT ARGS... or -m MODULE ...")
    options = parser.parse_args(arguments)
    if not options.script or options.script == ["-m"]:
        parser.error("which script?")
    try:
        found = predict(options.script, output=options.output, card=options.card, gpus=options.gpus,
                        conf=options.conf, until=options.until, assume=options.assume,
                        stacks=options.stacks, modules=options.modules)
    except Error as failure:
        sys.exit(f"tidemark.predict: {failure}")
    if options.json:
        print(json.dumps(found.to_json(), indent=2))
    else:
        print(found.line())
    sys.exit(found.exit_code)


if __name__ == "__main__":
    main()
