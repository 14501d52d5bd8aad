"""record(): records PyTorch's caching allocator live."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import pathlib
import sys
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

from tidemark import _library, _outputs
from tidemark.errors import Error, OptionError, UnsupportedError
from tidemark.torch import _annotations, _ranks, _tracker

# Kinds of tm_event_record.
USE = 14
LIVE_BLOCK, LIVE_SEGMENT, LIVE_MAPPING, LIVE_RETIRED = 48, 49, 51, 52
GRAPH_POOL = 1 << 31  # a graph's own pool (k, 0) becomes k with this bit; (0, k) becomes k
MOST_DEVICES = 16
USED_OF_DEVICE = "device {} bytes used at the end"  # as replay/analysis/join reads it
FALLBACK_ENTRIES = 10_000_000  # entries of PyTorch's own history

_current: Optional["Recording"] = None
_guard = threading.RLock()


def _leave_to_parent() -> None:
    """In a forked child: the recording belongs to its parent, and so may the lock."""
    global _current, _guard
    if _current is not None:
        _current._handle, _current._stopped = None, True
    _current, _guard = None, threading.RLock()


os.register_at_fork(after_in_child=_leave_to_parent)


def setting_text(value: Any) -> str:
    """A setting in the form in which `tidemark` reads it from a snapshot."""
    if isinstance(value, dict):
        return ",".join(f"{key}:{setting_text(one)}" for key, one in value.items())
    if isinstance(value, (list, tuple)):
        return ",".join(setting_text(one) for one in value)
    return str(value)


def pool_number(pool: Any) -> int:
    graph, made = tuple(pool) if pool else (0, 0)
    return GRAPH_POOL | int(graph) if graph else int(made)


def live_records(snapshot: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
    """What is live in a snapshot, as fields of tm_event and a tag: segments with their blocks."""
    for segment in snapshot.get("segments", []):
        expandable = bool(segment.get("is_expandable"))
        common = {"device": segment.get("device", 0), "stream": segment.get("stream", 0),
                  "pool": pool_number(segment.get("segment_pool_id"))}
        yield {**common, "kind": LIVE_MAPPING if expandable else LIVE_SEGMENT,
               "address": segment["address"], "size": segment["total_size"],
               "tag": segment.get("segment_type") or "large"}
        address = segment["address"]
        for block in segment["blocks"]:
            address = block.get("address", address)
            state = block["state"]
            if state != "inactive":
                kind = LIVE_BLOCK if state == "active_allocated" else LIVE_RETIRED
                yield {**common, "kind": kind, "address": address,
                       "size": block.get("requested_size", block["size"]),
                       "extra": block["size"], "tag": ""}
            address += block["size"]


class Recording:
    """A running recording and context manager. It ends with stop() or with the program.

    Attributes
    ----------
    path : str
        The recording's path. With a history limit, its files have a number before ".tml". Without a
        compiler, it is a snapshot of PyTorch's own history, which stop() writes.
    """

    def __init__(self, path: str, stacks: bool, annotations: Union[bool, str], history_limit: int,
                 name: Optional[str], overwrite: bool = False, shapes: bool = False) -> None:
        self.path = path
        self._shapes = shapes
        self._overwrite = overwrite
        self._stacks = stacks
        self._annotations = annotations
        self._history_limit = history_limit
        self._name = name
        self._process = os.getpid()
        self._handle: Optional[ctypes.c_void_p] = None
        self._functions: Any = None
        self._tracker: Any = None
        self._history = False
        self._undo: List[Any] = []
        self._operators: Dict[str, int] = {}  # name -> the recorder's id
        self._counts = {"events": 0, "published": 0, "dropped": 0, "lost": 0, "unknown": 0}
        self._stopped = False
        self.facts: Dict[str, str] = {}  # in addition to those of PyTorch's allocator
        # Maps the address of the recorder's function to that of a function to call instead.
        self.through: Callable[[int], int] = lambda address: address

    @property
    def state(self) -> str:
        """"waiting" for CUDA, "recording", "history" (PyTorch's own), or "stopped"."""
        if self._stopped:
            return "stopped"
        if self._handle is not None:
            return "recording"
        return "history" if self._history else "waiting"

    def __enter__(self) -> "Recording":
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def mark(self, text: str) -> None:
        """Records a named moment of the program."""
        with _guard:
            if self._handle is not None:
                self._functions.tm_recorder_mark(self._handle, text.encode())

    def begin_range(self, name: str) -> None:
        with _guard:
            if self._handle is not None:
                self._functions.tm_recorder_range(self._handle, name.encode(), 0)

    def end_range(self, name: str) -> None:
        with _guard:
            if self._handle is not None:
                self._functions.tm_recorder_range(self._handle, name.encode(), 1)

    def put_uses(self, name: str, launch: int, flags: Dict[Tuple[int, int], int],
                 stream_of: Callable[[int], int]) -> int:
        """Records what one launch reads (1) and writes (2) by (device, address). Returns how many
        uses were recorded."""
        with _guard:
            if self._handle is None or not flags:
                return 0
            tag = self._operators.get(name, 0)
            if tag == 0:
                tag = self._functions.tm_recorder_string(self._handle, name.encode())
                self._operators[name] = tag
            event = _library.tm_event(kind=USE, extra=launch, tag=tag)
            for (event.device, event.address), event.size in flags.items():
                event.stream = stream_of(event.device)
                self._functions.tm_recorder_event(self._handle, ctypes.byref(event))
            return len(flags)

    @contextlib.contextmanager
    def range(self, name: str) -> Iterator[None]:
        """Records a named range of the program, such as a step or a layer."""
        self.begin_range(name)
        try:
            yield
        finally:
            self.end_range(name)

    def counts(self) -> Dict[str, int]:
        """Returns counts: `events` of the allocator, `published` records of all kinds, those
        `dropped` for lack of room, those `lost` (published, but not written), and entries of
        `unknown` actions."""
        with _guard:
            self._count()
            return dict(self._counts)

    def stop(self) -> str:
        """Ends the recording. Returns its path, or "" if nothing was recorded because the program
        never used CUDA. Calling it again does nothing, and neither does a forked child's call."""
        global _current
        if self._stopped or os.getpid() != self._process:
            return ""
        for undo in reversed(self._undo):
            undo()
        self._undo = []
        with _guard:
            self._stopped = True
            _current = None
            atexit.unregister(self.stop)
            if self._history:
                return self._dump_history()
            if self._handle is None:
                return ""
            self._tracker.tidemark_end()
            self._count()
            self._put_cards()
            handle, self._handle = self._handle, None
            _library.library().tm_recorder_close(handle)
            return self.path

    # Everything below runs once, as soon as PyTorch has a CUDA context.

    def _begin_late(self) -> None:
        # This runs within the program's first use of CUDA, which must not fail because of us.
        try:
            self._begin()
        except Exception as failure:
            print(f"tidemark: nothing is recorded: {failure}", file=sys.stderr)

    def _begin(self) -> None:
        if self._stopped or self.state != "waiting" or os.getpid() != self._process:
            return
        import torch

        try:
            tracker = _tracker.tracker(torch)
            _library.library()
        except Error as failure:
            return self._begin_history(torch, str(failure))
        functions = _Functions(_library.library().path)
        self._open(torch)
        try:
            if tracker.tidemark_begin(self._handle,
                                      self.through(functions.address("tm_recorder_event")),
                                      functions.address("tm_recorder_stack"), int(self._stacks)):
                raise UnsupportedError("the allocator in use reports no events", "torch",
                                       "record with PyTorch's native allocator")
            self._functions = functions
            self._put_begin(torch)
            tracker.tidemark_follow()
            self._tracker = tracker
            self._follow_stacks(torch)
            self._follow_operators(torch)
        except BaseException:
            tracker.tidemark_end()
            handle, self._handle = self._handle, None
            _library.library().tm_recorder_close(handle)
            raise
        self._undo += _annotations.follow(torch, self, self._annotations)

    def _follow_stacks(self, torch: Any) -> None:
        if not self._stacks:
            return
        if getattr(torch._C, "_cuda_isHistoryEnabled", lambda: False)():
            print("tidemark: no stacks are recorded, because PyTorch's own history is on: it and "
                  "Tidemark can't both gather stacks", file=sys.stderr)
        elif self._tracker.tidemark_stacks(1):
            print("tidemark: no stacks are recorded: this PyTorch can't provide them",
                  file=sys.stderr)
        else:
            self._undo.append(lambda: self._tracker.tidemark_stacks(0))

    def _follow_operators(self, torch: Any) -> None:
        if not self._shapes:
            return
        tracker = self._tracker
        try:
            operators = _tracker.operators(torch)
        except Error as failure:
            print(f"tidemark: no shapes are recorded: {failure}", file=sys.stderr)
            return
        operators.tidemark_operators(self._handle, self._functions.address("tm_recorder_string"))
        tracker.tidemark_find_operators(
            ctypes.cast(operators.tidemark_operator, ctypes.c_void_p).value)

        def undo() -> None:
            tracker.tidemark_find_operators(None)
            operators.tidemark_operators(None, None)

        self._undo.append(undo)

    def _open(self, torch: Any) -> None:
        devices = min(max(torch.cuda.device_count(), 1), MOST_DEVICES)
        properties = [torch.cuda.get_device_properties(index) for index in range(devices)]
        names = (ctypes.c_char_p * devices)(*[one.name.encode() for one in properties])
        sizes = (ctypes.c_uint64 * devices)(*[one.total_memory for one in properties])
        options = _library.tm_recorder_options(
            path=os.fsencode(self.path), history_limit=self._history_limit, devices=devices,
            overwrite=int(self._overwrite))
        if self._name:
            options.name = self._name.encode()
        options.device_names = ctypes.cast(names, ctypes.POINTER(ctypes.c_char_p))
        options.device_capacities = ctypes.cast(sizes, ctypes.POINTER(ctypes.c_uint64))
        handle = ctypes.c_void_p()
        _library.library().tm_recorder_open(ctypes.byref(options), ctypes.byref(handle))
        self._handle = handle

    def _put_begin(self, torch: Any) -> None:
        """Records what readers must know, and what is already live."""
        snapshot = torch.cuda.memory._snapshot()
        settings = {str(key): setting_text(value)
                    for key, value in snapshot.get("allocator_settings", {}).items()}
        facts = {"allocator": "torch", "torch": torch.__version__,
                 "torch git": str(torch.version.git_version), "cuda": str(torch.version.cuda),
                 **self.facts}
        for of_allocator, values in enumerate((facts, settings)):
            for key, value in values.items():
                self._functions.tm_recorder_setting(self._handle, key.encode(), value.encode(),
                                                    of_allocator)
        event = _library.tm_event()
        tags = {"": 0}
        for fields in live_records(snapshot):
            tag = fields.pop("tag")
            if tag not in tags:
                tags[tag] = self._functions.tm_recorder_string(self._handle, tag.encode())
            event.extra = 0
            for key, value in fields.items():
                setattr(event, key, value)
            event.tag = tags[tag]
            self._functions.tm_recorder_event(self._handle, ctypes.byref(event))

    def _put_cards(self) -> None:
        """Records what all processes use of the program's GPUs now."""
        import torch

        try:
            for index in range(min(torch.cuda.device_count(), MOST_DEVICES)):
                if torch.cuda.memory_reserved(index) == 0:
                    continue
                free, total = torch.cuda.mem_get_info(index)
                self._functions.tm_recorder_setting(
                    self._handle, USED_OF_DEVICE.format(index).encode(),
                    str(total - free).encode(), 0)
        except Exception:  # the program's CUDA has failed, but the recording must end well
            return

    def _begin_history(self, torch: Any, why: str) -> None:
        """Without the tracker, records PyTorch's own history, written as a snapshot at the end."""
        self.path = str(pathlib.Path(self.path).with_suffix(".pickle"))
        _outputs.check(self.path, _outputs.RECORDING, self._overwrite)
        print(f"tidemark: {why}; PyTorch's own history is recorded instead, and written to "
              f"{self.path} at the end", file=sys.stderr)
        torch.cuda.memory._record_memory_history(
            enabled="all", context="alloc" if self._stacks else None, stacks="python",
            max_entries=FALLBACK_ENTRIES)
        self._history = True

    def _dump_history(self) -> str:
        import torch

        with _outputs.whole_file(self.path, _outputs.RECORDING, self._overwrite) as partial:
            torch.cuda.memory._dump_snapshot(partial)
        torch.cuda.memory._record_memory_history(enabled=None)
        return self.path

    def _count(self) -> None:
        if self._handle is None or self._tracker is None:
            return
        counts = _library.tm_recorder_counts()
        _library.library().tm_recorder_count(self._handle, ctypes.byref(counts))
        events, unknown = ctypes.c_uint64(), ctypes.c_uint64()
        self._tracker.tidemark_counters(ctypes.byref(events), ctypes.byref(unknown))
        self._counts = {"events": events.value, "published": counts.published,
                        "dropped": counts.dropped, "lost": counts.lost,
                        "unknown": unknown.value}


class _Functions:
    """The recorder's short functions, called without releasing the global interpreter lock: nobody
    can stop the recording meanwhile, and a call costs less."""

    def __init__(self, path: str) -> None:
        self._dll = ctypes.PyDLL(path)

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._dll, name)
        result, function.argtypes = _library.FUNCTIONS[name]
        function.restype = ctypes.c_int if result is _library.STATUS else result
        setattr(self, name, function)
        return function

    def address(self, name: str) -> int:
        return ctypes.cast(getattr(self._dll, name), ctypes.c_void_p).value or 0


def current() -> Optional[Recording]:
    """Returns the recording of this process, if there is one."""
    one = _current
    return one if one is not None and one._process == os.getpid() else None


def record(path: Union[str, "os.PathLike[str]"], stacks: bool = False,
           annotations: Union[bool, str] = False, history_limit: int = 0,
           name: Optional[str] = None,
           ranks: Optional[Tuple[int, int]] = None, overwrite: bool = False,
           shapes: bool = False) -> Recording:
    """Records PyTorch's caching allocator on all GPUs, from now until stop() or the program's end.

    The recording is a .tml file that survives a crash of the program. `tidemark view --attach`
    follows it while it grows, and `tidemark verify` checks whether Tidemark decides as PyTorch did.
    The recording starts as soon as PyTorch has a CUDA context, with everything that is live then.

    Parameters
    ----------
    path : path
        The recording, "run.tml". With several ranks, each one writes its own: "run/rank0.tml", ...
    stacks : bool
        Record the Python stack of each allocation (a few microseconds each); PyTorch's own history
        must be off. Threads without a Python frame, such as those of the backward pass, have no
        stacks.
    annotations : bool or str
        False: record the steps of optimizers as ranges. True: record every record_function.
        "modules": also the forward pass of each module.
    history_limit : int
        Bytes on disk; beyond them, the oldest part is deleted. 0: keep everything.
    name : str, optional
        The program's name in lists of running programs; by default, its file name.
    ranks : (int, int), optional
        This process's rank and the number of ranks, if torchrun, Slurm or Open MPI don't set them.
        (0, 1) writes "run.tml", whoever started the process.
    overwrite : bool
        Overwrite an existing recording of that name; without it, that is an OptionError.
    shapes : bool
        Record the operator that requests each allocation, and the shapes of its arguments (a few
        microseconds each). `tidemark scale` then knows what grows with the batch and what with the
        length, even if all steps have the same size.

    Returns the Recording. Raises OptionError if the folder doesn't exist, UnsupportedError if this
    process is already being recorded.
    """
    global _current
    path = os.path.abspath(os.fspath(path))
    if not os.path.isdir(os.path.dirname(path)):
        raise OptionError("there is no such folder", os.path.dirname(path))
    path = _ranks.recording_path(path, _ranks.find_rank(ranks))
    if annotations not in (False, True, "modules"):
        raise OptionError("expected False, True or \"modules\"", "annotations")
    import torch

    with _guard:
        running = current()
        if running is not None:
            raise UnsupportedError("this process is already recorded", running.path,
                                   "stop() that recording first")
        if not history_limit:  # otherwise its files have numbers
            _outputs.check(path, _outputs.RECORDING, overwrite)
        _current = Recording(path, stacks, annotations, history_limit, name, overwrite, shapes)
    recording = _current
    atexit.register(recording.stop)
    try:
        if torch.cuda.is_initialized():
            recording._begin()
        else:
            torch.cuda._lazy_call(recording._begin_late)
    except BaseException:
        recording.stop()
        raise
    return recording
