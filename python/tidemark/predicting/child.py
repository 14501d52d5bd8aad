"""The process in which the script runs on the imagined CUDA. It records, and finds the program's
location when the program reads something that only a card could have written.

    python -m tidemark.predicting.child SETTINGS.json SCRIPT ARGS...

`tidemark.predict` starts it with the stubs preloaded.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import itertools
import json
import os
import pathlib
import struct
import sys
import sysconfig
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

from tidemark.predicting.elf import CALLS
from tidemark.predicting.limits import Limits, Watch
from tidemark.predicting.ranks import meet_others
from tidemark.predicting.stubs import PREFIX
from tidemark.torch._launch import PACKAGE, after_import, run_script

WITNESS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p,
                           ctypes.c_size_t, ctypes.c_int)
LIBRARIES = (str(PACKAGE), sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["purelib"],
             sysconfig.get_paths()["platlib"], "<frozen")
SCALER = os.path.join("torch", "amp", "grad_scaler.py")
NUMBERS = {1: "?b", 4: "if", 8: "qd"}  # struct formats of a read, by its number of bytes


def script_location(frame: Any) -> str:
    """"train.py:32": the innermost line outside of libraries, or else the innermost line."""
    innermost = ""
    while frame is not None:
        path = frame.f_code.co_filename
        here = f"{os.path.basename(path)}:{frame.f_lineno}"
        if not path.startswith(LIBRARIES):
            return here
        innermost = innermost or ("" if path.startswith(str(PACKAGE)) else here)
        frame = frame.f_back
    return innermost or "a thread without Python, as that of backward()"


def kind_of_read(frame: Any, answer: bytes) -> str:
    """The kind of a read whose value isn't known: "overflow" if GradScaler checks whether to skip a
    step, "flag" for a condition that was answered no, else "read"."""
    code = frame.f_code if frame is not None else None
    if code is not None and code.co_filename.endswith(SCALER) and code.co_name != "get_scale":
        return "overflow"
    return "flag" if answer == b"\0" else "read"


class Witness:
    """Collects the program's reads from the device by location, and answers as --assume says."""

    def __init__(self, assumed: Dict[str, float]) -> None:
        self.assumed = assumed
        self.reads: Dict[Tuple[str, int, bool, str], Dict[str, Any]] = {}
        self.refused: Dict[str, str] = {}
        self._guard = threading.Lock()
        self.function = WITNESS(self._called)

    def _called(self, kind: bytes, what: bytes, data: int, size: int, known: int) -> int:
        try:
            program: Any = sys._getframe().f_back
            location = script_location(program)
            if kind == b"refused":
                self.refused.setdefault(what.decode("latin-1"), location)
                return 0
            of_read = kind.decode()
            if of_read == "read" and not known:
                of_read = kind_of_read(program, ctypes.string_at(data, size) if size < 9 else b"")
            return self._read(location, what.decode("latin-1"), data, size, bool(known), of_read)
        except Exception as failure:  # an exception must not pass through the program's own call
            print(f"tidemark: {failure}", file=sys.stderr)
            return 0

    def _answer(self, location: str, size: int, kind: str) -> Optional[bytes]:
        """The value of the read, if --assume gives one."""
        if location in self.assumed and size in NUMBERS:
            # Shapes come from integers, so whole numbers are stored as such. (For 4 and 8 bytes,
            # the kernel's name would say more.)
            value = self.assumed[location]
            number = NUMBERS[size][0 if float(value).is_integer() else 1]
            return struct.pack(number, type(struct.unpack(number, bytes(size))[0])(value))
        if kind in ("flag", "overflow") and size in NUMBERS and self.assumed.get(kind, 0) >= 0.5:
            return struct.pack(NUMBERS[size][-1], 1)
        return None

    def _read(self, location: str, kernel: str, data: int, size: int, known: bool,
              kind: str) -> int:
        answer = self._answer(location, size, kind)
        if answer is not None:
            ctypes.memmove(data, answer, size)
        with self._guard:
            one = self.reads.setdefault((location, size, known, kind), {
                "location": location, "bytes": size, "known": known, "count": 0, "after": kernel,
                "kind": kind, "assumed": answer is not None or kind in self.assumed,
                "answer": ctypes.string_at(data, min(size, 8)).hex()})
            one["count"] += 1
        return int(answer is not None)

    def lines(self) -> List[Dict[str, Any]]:
        return [{"read": one} for one in self.reads.values()] + \
            [{"refused_at": {"function": name, "location": location}}
             for name, location in self.refused.items()]


class Calls(ctypes.Structure):
    """How often a function was called, as elf.forwarding_library() counts it."""

    _fields_ = [("name", ctypes.c_char_p), ("count", ctypes.c_uint64)]


def write_calls(path: str, libraries: List[str], core: ctypes.CDLL) -> None:
    """Writes a line for each function of `libraries` that the program called: how often, which one,
    and what it did if `core` lacks it."""
    with open(path, "w", encoding="utf-8") as file:
        for library in libraries:
            first = Calls.in_dll(ctypes.CDLL(library), CALLS)
            records = ctypes.cast(ctypes.pointer(first), ctypes.POINTER(Calls))
            for record in itertools.takewhile(lambda one: one.name, map(records.__getitem__,
                                                                        itertools.count())):
                name = record.name.decode("latin-1")
                if record.count:
                    known = hasattr(core, PREFIX + name)
                    fate = " (fails)" if core.imagined_refuses(record.name) else " (does nothing)"
                    file.write(f"{record.count:>10} {os.path.basename(library)} {name}"
                               + ("" if known else fate) + "\n")


def skip_initial_values() -> None:
    """Skips writing random and constant initial values of weights on the host, which takes time and
    memory. On the device, kernels would write them, which do nothing anyway."""
    torch = importlib.import_module("torch")

    def on_device_only(original: Callable[..., Any]) -> Callable[..., Any]:
        def fill(tensor: Any, *given: Any, **named: Any) -> Any:
            return tensor if tensor.device.type == "cpu" else original(tensor, *given, **named)
        return fill

    for name in ("normal_", "uniform_", "log_normal_", "exponential_"):
        setattr(torch.Tensor, name, on_device_only(getattr(torch.Tensor, name)))
    init = importlib.import_module("torch.nn.init")
    for name in dir(init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(init, name, on_device_only(getattr(init, name)))


def main(arguments: Optional[List[str]] = None) -> None:
    given = sys.argv[1:] if arguments is None else arguments
    settings = json.loads(pathlib.Path(given[0]).read_text())
    run = settings["run"]
    core = ctypes.CDLL(run["core"])
    witness = Witness(run["assumed"])
    core.imagined_set_witness.argtypes = [WITNESS]
    for name in ("imagined_streams_used", "imagined_refused", "imagined_held",
                 "imagined_workspaces_measured"):
        getattr(core, name).restype = ctypes.c_uint64
    core.imagined_set_witness(witness.function)
    process = os.getpid()

    def through(address: int) -> int:
        core.imagined_follow(ctypes.c_void_p(address))
        return ctypes.cast(core.imagined_event, ctypes.c_void_p).value or address

    watch = Watch(Limits(**run["limits"]), run["ranks"][0] if run["ranks"] else None)

    def report() -> None:
        if os.getpid() != process:
            return
        with open(settings["journal"], "a", encoding="utf-8") as file:
            file.write("".join(json.dumps(line) + "\n" for line in [*witness.lines(), {
                "end": {"cut": watch.over, "streams": core.imagined_streams_used(),
                        "refused": core.imagined_refused(),
                        "measured": core.imagined_workspaces_measured(0),
                        "unmeasured": core.imagined_workspaces_measured(1),
                        "held": max(map(core.imagined_held, range(settings["gpus"])))}}]))
        if run["log"]:
            write_calls(run["log"], run["libraries"], core)

    atexit.register(report)

    def begin() -> None:
        from tidemark.torch._recording import record

        if run["ranks"]:
            rank, ranks = run["ranks"]
            meet_others(rank, ranks, core)
        recording = record(run["output"], stacks=run["stacks"], annotations=run["annotations"],
                           name=run["name"], ranks=(0, 1), overwrite=True, shapes=True)
        recording.facts.update(run["facts"])
        recording.through = through
        watch.count_steps()
        # With deterministic algorithms PyTorch fills what empty() returns. These would be values to
        # compute with: twenty times the time, and no size depends on them.
        setattr(importlib.import_module("torch.utils.deterministic"), "fill_uninitialized_memory",
                False)
        if run["no_weights"]:
            skip_initial_values()

    after_import("torch", begin)
    watch.start()
    run_script(given[1:])


if __name__ == "__main__":
    main()
