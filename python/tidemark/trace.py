"""Loads recordings as columns."""

from __future__ import annotations

import ctypes
import html
import json
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Union, cast

from tidemark import _library
from tidemark._format import bytes_text, count_text, rows_html, time_text
from tidemark._tables import needed
from tidemark._waiting import Progress, wait_for
from tidemark.errors import OptionError

if TYPE_CHECKING:
    import numpy
    import pandas

__all__ = ["Event", "Frame", "Trace", "load"]

# Column -> the type of its elements, as NumPy writes it.
COLUMNS = {
    "time": "u8", "kind": "u1", "size": "u8", "slot": "u4", "stream": "u4", "address": "u8",
    "stack": "u4", "tag": "u4", "device": "u2", "flags": "u1", "aux": "u4",
}


class Event(NamedTuple):
    """One event. Times are in ns since the first event of the trace, sizes in bytes."""

    time: int
    kind: str
    size: int
    slot: int
    stream: int
    address: int
    stack: int
    tag: int
    device: int
    flags: int
    aux: int


class Frame(NamedTuple):
    """One frame of a call stack."""

    function: str
    file: str
    line: int


class _Handle(_library.Handle):
    end = "tm_trace_close"


def load(path: Union[str, "os.PathLike[str]"], strict: bool = False, lenient: bool = False,
         as_recorded: bool = False, progress: Progress = None) -> "Trace":
    """Loads a recording in any format that `tidemark` reads, or generates a trace.

    Parameters
    ----------
    path : str or path
        The file, whose format is detected from its content; or "generate:NAME:options".
    strict : bool
        Raise InputError at the first irregularity.
    lenient : bool
        Skip malformed records and count them.
    as_recorded : bool
        Don't infer events that the recording lost.
    progress : bool or function, optional
        By default, progress is shown on terminals and in notebooks; False never shows it. A
        function is called as progress(label, done, total) with bytes; if its result is true, it
        cancels the call.

    Returns the Trace. Raises MissingFileError or FileError if the file can't be read, InputError
    if it isn't a recording, and CancelledError if `progress` cancelled the call.
    """
    name = os.fspath(path)
    library = _library.library()

    def work(callback: Any) -> _Handle:
        options = _library.tm_trace_options(strict=strict, lenient=lenient, as_recorded=as_recorded,
                                            progress=callback)
        handle = _Handle()
        library.tm_trace_open(os.fsencode(name), ctypes.byref(options), ctypes.byref(handle))
        return handle

    arguments = [option for option, given in (("--strict", strict), ("--lenient", lenient),
                                              ("--as-recorded", as_recorded)) if given]
    return Trace(_Opened(name, arguments, wait_for(work, progress)))


class _Column:
    """The library's memory, for numpy.asarray. It keeps the trace open while arrays exist."""

    def __init__(self, handle: _Handle, address: int, count: int, typestr: str) -> None:
        self.handle = handle
        self.__array_interface__ = {"version": 3, "data": (address, True), "shape": (count,),
                                    "typestr": typestr}


class _Opened:
    """What all parts of a trace share: the open recording."""

    def __init__(self, path: str, arguments: List[str], handle: _Handle) -> None:
        self.path = path
        self.arguments = arguments
        self.handle = handle
        self.info: Dict[str, Any] = json.loads(
            _library.text(_library.library().tm_trace_info(handle)))
        self._columns: Optional[Dict[str, Any]] = None
        self._strings: Dict[int, str] = {}

    def columns(self) -> Dict[str, Any]:
        """NumPy arrays of all events. The first call gathers them: about 48 bytes per event."""
        if self._columns is None:
            numpy = needed("numpy", "the columns of a trace are NumPy arrays")
            raw = _library.tm_columns()
            _library.library().tm_trace_columns(self.handle, ctypes.byref(raw))
            columns = {}
            for name, kind in COLUMNS.items():
                address = getattr(raw, name)
                if raw.count and address:
                    columns[name] = numpy.asarray(
                        _Column(self.handle, address, raw.count, "<" + kind))
                else:
                    columns[name] = numpy.zeros(raw.count, kind)
                    columns[name].flags.writeable = False
            self._columns = columns
        return self._columns

    def string(self, number: int) -> str:
        if number not in self._strings:
            start, length = ctypes.c_void_p(), ctypes.c_size_t()
            _library.library().tm_trace_string(self.handle, number, ctypes.byref(start),
                                               ctypes.byref(length))
            raw = ctypes.string_at(start.value, length.value) if start.value else b""
            self._strings[number] = _library.text(raw)
        return self._strings[number]

    def stack(self, number: int) -> List[Frame]:
        if number == 0:
            return []
        capacity = 64
        while True:
            frames = (_library.tm_frame * capacity)()
            count = ctypes.c_size_t()
            _library.library().tm_trace_stack(self.handle, number, frames, capacity,
                                              ctypes.byref(count))
            if count.value <= capacity:
                return [Frame(self.string(frame.function), self.string(frame.file), frame.line)
                        for frame in frames[:count.value]]
            capacity = count.value


_kind_names: List[str] = []


def kind_names() -> List[str]:
    """The names of all kinds of events by number; "unknown" for numbers without a kind."""
    if not _kind_names:
        library = _library.library()
        names = [_library.text(library.tm_event_kind(number)) for number in range(256)]
        while names and names[-1] == "unknown":
            names.pop()
        _kind_names.extend(names)
    return list(_kind_names)


class Trace:
    """A recording, or a part of one: `trace[a:b]` by event, `trace.between(t0, t1)` by time.

    Each column is a read-only NumPy array of shape (len(trace),). It is a view of the library's
    memory, which stays valid as long as the array exists. docs/format-tmk.md explains the values.
    """

    def __init__(self, opened: _Opened, begin: int = 0, end: Optional[int] = None) -> None:
        self._opened = opened
        self._begin = begin
        self._end = int(opened.info["event_count"]) if end is None else end

    @property
    def path(self) -> str:
        """The path that was loaded."""
        return self._opened.path

    @property
    def arguments(self) -> List[str]:
        """The options of the program that the trace was loaded with: ["--lenient"]."""
        return list(self._opened.arguments)

    @property
    def handle(self) -> _library.Handle:
        """The library's handle of the recording, for commands on it."""
        return self._opened.handle

    @property
    def is_whole(self) -> bool:
        """Whether this is the whole recording rather than a part."""
        return self._begin == 0 and self._end == self._opened.info["event_count"]

    @property
    def info(self) -> Dict[str, Any]:
        """Everything about the recording except its events: format, source, devices, settings."""
        return self._opened.info

    @property
    def kind_names(self) -> List[str]:
        """The names of `kind`, by number: kind_names[0] is "allocate"."""
        return kind_names()

    def _column(self, name: str) -> Any:
        return self._opened.columns()[name][self._begin:self._end]

    @property
    def time(self) -> "numpy.ndarray[Any, Any]":
        """uint64, ns since the recording's first event; values never decrease."""
        return cast("numpy.ndarray[Any, Any]", self._column("time"))

    @property
    def kind(self) -> "numpy.ndarray[Any, Any]":
        """uint8, what happened; `kind_names` has the names."""
        return cast("numpy.ndarray[Any, Any]", self._column("kind"))

    @property
    def size(self) -> "numpy.ndarray[Any, Any]":
        """uint64, bytes as the program requested them, before rounding."""
        return cast("numpy.ndarray[Any, Any]", self._column("size"))

    @property
    def slot(self) -> "numpy.ndarray[Any, Any]":
        """uint32, a number that identifies an allocation while it is live; 0xffffffff = none."""
        return cast("numpy.ndarray[Any, Any]", self._column("slot"))

    @property
    def stream(self) -> "numpy.ndarray[Any, Any]":
        """uint32, streams numbered in order of appearance; `info` has their handles."""
        return cast("numpy.ndarray[Any, Any]", self._column("stream"))

    @property
    def address(self) -> "numpy.ndarray[Any, Any]":
        """uint64, as recorded; 0 = unknown."""
        return cast("numpy.ndarray[Any, Any]", self._column("address"))

    @property
    def stack(self) -> "numpy.ndarray[Any, Any]":
        """uint32, the number of the call stack; 0 = none. See `stack_of`."""
        return cast("numpy.ndarray[Any, Any]", self._column("stack"))

    @property
    def tag(self) -> "numpy.ndarray[Any, Any]":
        """uint32, a number that `string` resolves to a name; 0 = none."""
        return cast("numpy.ndarray[Any, Any]", self._column("tag"))

    @property
    def device(self) -> "numpy.ndarray[Any, Any]":
        """uint16, the device's number."""
        return cast("numpy.ndarray[Any, Any]", self._column("device"))

    @property
    def flags(self) -> "numpy.ndarray[Any, Any]":
        """uint8, bits whose meaning depends on the kind."""
        return cast("numpy.ndarray[Any, Any]", self._column("flags"))

    @property
    def aux(self) -> "numpy.ndarray[Any, Any]":
        """uint32, depending on the kind: a pool, a kernel, a task, or a number for `string`."""
        return cast("numpy.ndarray[Any, Any]", self._column("aux"))

    def string(self, number: int) -> str:
        """Returns the name with that number (from `tag`, or from `aux` of ranges and marks)."""
        return self._opened.string(int(number))

    def stack_of(self, event: int) -> List[Frame]:
        """Returns an event's call stack, innermost frame first; empty if none was recorded."""
        return self._opened.stack(int(self._column("stack")[event]))

    def between(self, begin: int, end: int) -> "Trace":
        """Returns the events from `begin` up to, but not including, `end`: times in ns since the
        recording's first event. Raises OptionError for times that aren't whole numbers."""
        for moment in (begin, end):
            if not isinstance(moment, int) and not hasattr(moment, "__index__"):
                raise OptionError(f"{moment!r} isn't a whole number of nanoseconds", "between",
                                  "seconds times 1_000_000_000, as int")
        time = self._column("time")
        import numpy

        # In the column's own type: with any other type NumPy would convert the whole column.
        first, last = (int(numpy.searchsorted(time, numpy.uint64(max(0, moment))))
                       for moment in (begin, end))
        return Trace(self._opened, self._begin + first, self._begin + max(first, last))

    def to_frame(self) -> "pandas.DataFrame":
        """Returns a pandas DataFrame with a row per event; `kind` and `tag` are categories."""
        pandas = needed("pandas", "to_frame returns a pandas table")
        numpy = needed("numpy", "the columns of a trace are NumPy arrays")
        frame = pandas.DataFrame({name: self._column(name) for name in COLUMNS}, copy=False)
        names = [name if name != "unknown" else f"unknown {number}"
                 for number, name in enumerate(self.kind_names)]
        frame["kind"] = pandas.Categorical.from_codes(frame["kind"].to_numpy(), names)
        numbers, codes = numpy.unique(self._column("tag"), return_inverse=True)
        texts = [self.string(number) if number else None for number in numbers]
        frame["tag"] = pandas.Categorical([texts[code] for code in codes]) \
            if len(set(texts)) < len(texts) else _categories(pandas, texts, codes)
        return frame

    def __len__(self) -> int:
        return self._end - self._begin

    def __getitem__(self, key: Union[int, slice]) -> Any:
        if isinstance(key, slice):
            begin, end, step = key.indices(len(self))
            if step != 1:
                raise ValueError("a slice of a trace can't have a step")
            return Trace(self._opened, self._begin + begin, self._begin + max(begin, end))
        index = range(len(self))[key]
        values = {name: int(self._column(name)[index]) for name in COLUMNS}
        kind = kind_names()[values.pop("kind")]
        return Event(kind=kind, **values)

    def __iter__(self) -> Iterator[Event]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        part = "" if self.is_whole else f" {self._begin}..{self._end} of"
        return (f"<tidemark.Trace {os.path.basename(self.path)}:{part} "
                f"{count_text(int(self.info['event_count']))} events, "
                f"{time_text(int(self.info['duration_ns']))}>")

    def _repr_html_(self) -> str:
        info = self.info
        rows = [("format", str(info.get("format", ""))), ("source", str(info.get("source", ""))),
                ("events", count_text(int(info["event_count"]))),
                ("duration", time_text(int(info["duration_ns"])))]
        if not self.is_whole:
            rows.append(("this part", f"events {self._begin} to {self._end - 1}"))
        for device in info.get("devices", []):
            memory = device.get("total_memory_bytes", 0)
            rows.append(("device", f"{device.get('name') or 'unnamed'}"
                         + (f", {bytes_text(memory)}" if memory else "")))
        rows += [("warning", str(warning)) for warning in info.get("warnings", [])]
        return f"<b>{html.escape(os.path.basename(self.path))}</b>" + rows_html(rows)


def _categories(pandas: Any, texts: List[Optional[str]], codes: Any) -> Any:
    """Categories from distinct `texts`; None becomes a missing value."""
    if texts and texts[0] is None:
        return pandas.Categorical.from_codes(codes - 1, texts[1:])
    return pandas.Categorical.from_codes(codes, texts)
