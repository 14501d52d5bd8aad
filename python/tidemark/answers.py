"""Commands on recordings, and their answers: what `tidemark COMMAND --json` prints."""

from __future__ import annotations

import ctypes
import difflib
import html
import json
import os
from typing import (TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union,
                    cast)

from tidemark import _library
from tidemark._format import rows_html, table_html, value_text
from tidemark._tables import flatten, main_table, needed, rows_of, tables_of
from tidemark._waiting import Progress, wait_for
from tidemark.errors import Error, OptionError, UnsupportedError
from tidemark.own_policy import OwnPolicy
from tidemark.trace import Trace

if TYPE_CHECKING:
    import pandas

    from tidemark._figures import Advice, Bound, Compare, Fit, Info, Replay, Verified

__all__ = ["Answer", "Record", "advise", "bound", "compare", "cut", "diff", "export", "fit", "gate",
           "info", "minimize", "replay", "report", "run", "scale", "verify"]

Source = Union[str, "os.PathLike[str]", Trace]
PolicyText = Union[None, str, OwnPolicy[Any]]
PolicyTexts = Union[str, OwnPolicy[Any], Sequence[Union[str, OwnPolicy[Any]]]]
Growth = Union[None, float, str]  # 2: twice as much; "24/16", "24"
Size = Union[int, str]  # bytes, or text with a unit: "80GiB"

SIZE_OPTIONS = {"memory", "limit", "overhead", "gpu_memory", "host_memory", "capacity"}
NO_AS_RECORDED = {"verify"}  # commands without this option
REPORT_OPTIONS = {"policy", "policies", "memory", "overhead", "limit", "profile", "machine",
                  "spread"}
WITH_DEVICE = {"replay", "compare"}

# Columns that a notebook shows; to_frame() has all of them.
SHOWN = {
    "compare": ["label", "trace", "peak_reserved_bytes", "change.peak_reserved_bytes",
                "overhead_ratio", "mean_reserved_bytes", "device_calls", "driver_ns", "stall_ns",
                "retries", "out_of_memory"],
}
SHOWN_MOST = 12  # columns of other tables
SHOWN_KEYS = 40  # of an answer without a table


class Record(Mapping[str, Any]):
    """An object of --json. Its names are attributes and keys; sizes are bytes, times ns."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            near = difflib.get_close_matches(name, self._values, cutoff=0.5) or self._values
            raise AttributeError(f"there is no '{name}' here; did you mean "
                                 f"{', '.join([*near][:5])}? (list(answer) has all names)")
        return _wrapped(self._values[name])

    def __getitem__(self, name: str) -> Any:
        return _wrapped(self._values[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._values]

    def to_dict(self) -> Dict[str, Any]:
        """Returns the same values as plain dicts and lists."""
        return json.loads(json.dumps(self._values))  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" if not isinstance(value, (Mapping, list))
                 else f"{name}={'{...}' if isinstance(value, Mapping) else f'[{len(value)}]'}"
                 for name, value in self._values.items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        return rows_html((name, value_text(name, value))
                         for name, value in flatten(self._values).items())


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [_wrapped(part) for part in value]
    return value


class Answer(Record):
    """The answer of one command.

    Attributes
    ----------
    arguments : list of str
        The command line, without the program's name.
    exit_code : int
        0: the command is done, or its answer is yes; 1: the answer is no; 4: a request ran out of
        memory; 130: `progress` ended the work before it was complete.
    messages : str
        The notes and warnings that the program printed in addition to the answer.
    text : str
        The program's output, unchanged.
    """

    def __init__(self, arguments: Sequence[str], text: str, messages: str, exit_code: int) -> None:
        try:
            values = json.loads(text)
        except ValueError:
            values = {}
        super().__init__(values if isinstance(values, dict) else {})
        self.arguments = list(arguments)
        self.text = text
        self.messages = messages
        self.exit_code = exit_code
        self._report: List[Union[str, Trace]] = []

    def to_frame(self, table: Optional[str] = None) -> "pandas.DataFrame":
        """Returns a table of the answer as a pandas DataFrame, with the rows and names of --csv.

        `tables` lists the names of the tables. Without `table`, it is the main one (`runs` of
        compare, ...), or the whole answer as one row. Raises OptionError for an unknown table.
        """
        pandas = needed("pandas", "to_frame returns a pandas table")
        return pandas.DataFrame(list(rows_of(self._command, self._values, table or "")))

    @property
    def tables(self) -> List[str]:
        """The names of the tables that to_frame accepts."""
        return list(tables_of(self._values))

    def report(self, out: Union[str, "os.PathLike[str]"], force: bool = False,
               progress: Progress = None) -> "Answer":
        """Writes the page of `tidemark report` for the same traces, policies and limits.

        `force` overwrites a file that Tidemark didn't write. Returns the answer of `report`;
        raises UnsupportedError for commands without such a page.
        """
        if not self._report:
            raise UnsupportedError(f"there is no report page for '{self._command}'",
                                   "report")
        return run(*self._report, "--output", os.fspath(out), *(["--force"] if force else []),
                   "--json", progress=progress)

    @property
    def _command(self) -> str:
        return self.arguments[0] if self.arguments else ""

    def __repr__(self) -> str:
        title = f"<tidemark {' '.join(self.arguments)}>"
        if not self._values:
            return f"{title}\n{self.text}"
        verdict = self._values.get("verdict")
        shown = {name: value_text(name, value) for name, value in flatten(self._values).items()
                 if "." not in name and name != "verdict"}
        lines = [f"  {name}: {text}" for name, text in list(shown.items())[:SHOWN_KEYS]]
        if main_table(self._command, self._values):
            lines = []
        tables = f"  tables: {', '.join(self.tables)}" if self.tables else ""
        best = self._values.get("best")
        line = best.get("line") if isinstance(best, dict) and self._values.get("improves") else None
        return "\n".join(part for part in (verdict, line and f"  {line}", title, *lines, tables)
                         if part)

    def __bool__(self) -> bool:
        """For `fit`, whether the run fits; for `gate` and bound(capacity=...), whether the
        condition holds. Other answers are true."""
        if self._command == "fit" and isinstance(self._values.get("survives"), bool):
            return bool(self._values["survives"])
        return self.exit_code != 1

    def _repr_html_(self) -> str:
        if not self._values:
            return f"<pre>{html.escape(self.text)}</pre>"
        verdict = self._values.get("verdict")
        head = f"<p>{html.escape(verdict)}</p>" if isinstance(verdict, str) else ""
        if not main_table(self._command, self._values):
            shown = flatten(self._values).items()
            return head + rows_html([(name, value_text(name, value)) for name, value in shown
                                     if value is not None][:SHOWN_KEYS])
        rows = rows_of(self._command, self._values, "")
        known = list(dict.fromkeys(name for row in rows for name in row))
        names = [name for name in SHOWN.get(self._command, []) if name in known] or \
            known[:SHOWN_MOST]
        return head + table_html(names, ([value_text(name, row.get(name)) for name in names]
                                         for row in rows))


class _AnswerHandle(_library.Handle):
    end = "tm_answer_free"


def run(*arguments: Union[str, "os.PathLike[str]", Trace], progress: Progress = None) -> Answer:
    """Runs `tidemark ARGUMENTS...` in this process, with the arguments exactly as given.

    With "--json" among them, the answer has the names that docs/json.md describes. Without it,
    `text` is what the program prints. Traces that are already loaded are not read again. Exit code
    4 (a request ran out of memory), 1 (the answer is "no") and 130 (`progress` ended the work; the
    answer is what was complete by then) are answers; any other failure raises `tidemark.Error`.
    """
    texts = [_path_of(part) if isinstance(part, Trace) else os.fspath(part) for part in arguments]
    opened = [part.handle for part in arguments if isinstance(part, Trace)]
    library = _library.library()

    def work(callback: Any) -> Answer:
        given = (ctypes.c_char_p * len(texts))(*(os.fsencode(part) for part in texts))
        traces = (ctypes.c_void_p * len(opened))(*opened)
        options = _library.tm_run_options(progress=callback, traces=traces,
                                          trace_count=len(opened))
        handle = _AnswerHandle()
        library.tm_run(given, len(texts), ctypes.byref(options), ctypes.byref(handle))
        length = ctypes.c_size_t()
        start = library.tm_answer_output(handle, ctypes.byref(length))
        output = ctypes.string_at(start, length.value) if length.value else b""
        return Answer(texts, _library.text(output), _library.text(library.tm_answer_notes(handle)),
                      library.tm_answer_exit_code(handle))

    return wait_for(work, progress)


def _path_of(trace: Source) -> str:
    if not isinstance(trace, Trace):
        path = os.fspath(trace)
        return f"./{path}" if path.startswith("-") and path != "-" else path
    if not trace.is_whole:
        raise OptionError(
            "this is a part of a recording; commands need a whole one", repr(trace),
            'write it first: tidemark.run("cut", trace.path, "--from", ..., "-o", ...)')
    return trace.path


def _loading(command: str, traces: Sequence[Source]) -> List[str]:
    """The options of `tidemark` that the traces were loaded with."""
    given = [part for trace in traces if isinstance(trace, Trace) for part in trace.arguments]
    return [part for part in dict.fromkeys(given)
            if not (part == "--as-recorded" and command in NO_AS_RECORDED)]


def _option_arguments(command: str, options: Mapping[str, Any]) -> List[str]:
    """Options in the program's form: gpu_memory="60%" becomes --gpu-memory=60%. None and False are
    left out, True becomes an option without a value, and a list becomes one option per element."""
    arguments = []
    for name, value in options.items():
        if name == "machine":
            arguments += _machine_arguments(command, value)
            continue
        option = "--" + ("policy" if name == "policies" else name.replace("_", "-"))
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is None or one is False:
                continue
            if name in SIZE_OPTIONS and isinstance(one, int):
                one = f"{one}B"
            arguments.append(option if one is True else f"{option}={one}")
    return arguments


def _machine_arguments(command: str, machine: Optional[str]) -> List[str]:
    """Names like "sim:h200" and "cuda:0" are devices; any other name is a machine with tiers."""
    if machine is None:
        return []
    if not machine.startswith(("sim", "cuda")):
        return [f"--machine={machine}"]
    if command in WITH_DEVICE:
        return [f"--device={machine}"]
    if machine.startswith("cuda"):
        raise UnsupportedError(f"'{command}' runs only on simulated devices", machine)
    profile = machine.partition(":")[2]
    return [f"--profile={profile}"] if profile else []


def _policies(given: PolicyTexts) -> List[Union[str, OwnPolicy[Any]]]:
    """A single string is one policy, not a sequence of letters."""
    return [given] if isinstance(given, (str, OwnPolicy)) else list(given)


def _own_policies(options: Mapping[str, Any]) -> List[OwnPolicy[Any]]:
    given = [options.get("policy"), *_policies(options.get("policies") or [])]
    return [policy for policy in given if isinstance(policy, OwnPolicy)]


def _ask(command: str, traces: Sequence[Source], options: Mapping[str, Any],
         progress: Progress) -> Answer:
    if not traces:
        raise OptionError("no trace is given", command)
    given: List[Union[str, Trace]] = [
        trace if isinstance(trace, Trace) else _path_of(trace) for trace in traces]
    loading = _loading(command, traces)
    own = _own_policies(options)
    if own and command == "replay":
        options = {"check": True, **options}
    try:
        answer = run(command, *given, *loading, *_option_arguments(command, options), "--json",
                     progress=progress)
    except Error as error:
        error.say_keywords()
        raise
    for policy in own:
        policy.raise_failure()
    shared = {name: value for name, value in options.items() if name in REPORT_OPTIONS}
    if command in ("replay", "compare", "fit", "advise"):
        answer._report = ["report", *given, *loading, *_option_arguments("report", shared)]
    return answer


def info(*traces: Source, progress: Progress = None, **options: Any) -> Info:
    """Describes a trace: events, sizes, lifetimes, peaks, irregularities. Several traces give a
    row each."""
    answer = _ask("info", traces, options, progress)
    return cast("Info", answer)


def replay(trace: Source, policy: PolicyText = None, *, memory: Optional[Size] = None,
           machine: Optional[str] = None, limit: Optional[Size] = None, progress: Progress = None,
           **options: Any) -> Replay:
    """Replays a trace under one policy: how much memory would the run have needed?

    Parameters
    ----------
    trace : str, path or Trace
        A recording of any format, or "generate:NAME:options".
    policy : str, optional
        "torch", "extent:slack=0.1", or tidemark.policies.torch(expandable_segments=True). By
        default, the settings that the trace was recorded with.
    memory : int or str, optional
        The card's memory: bytes, or a size like "80GiB".
    limit : int or str, optional
        The most that the policy may reserve: bytes, or a size like "80GiB".
    machine : str, optional
        "sim:h200", "cuda:0", or a machine with tiers: "h200-node".
    **options
        Options of `tidemark replay`, with underscores: check=True, gpu_memory="60%", scale=0.5.

    Returns the figures of the run (docs/json.md). If a request ran out of memory, `exit_code` is 4.
    Raises `tidemark.Error` if the trace can't be read or an option is wrong.
    """
    answer = _ask("replay", [trace], {"policy": policy, "memory": memory, "machine": machine,
                                      "limit": limit, **options}, progress)
    return cast("Replay", answer)


def compare(*traces: Source, policies: PolicyTexts = (), memory: Optional[Size] = None,
            machine: Optional[str] = None, limit: Optional[Size] = None,
            spread: Optional[int] = None, jitter: Optional[int] = None, all: bool = False,
            progress: Progress = None, **options: Any) -> Compare:
    """Compares traces under several policies and sorts the results, best first.

    The first policy is the baseline. Without `policies`, it compares the recorded settings, other
    settings that a user of that allocator can choose, and our own pool; `all` adds the other
    allocators. `spread` replays each policy that many times, varied the way that repeated runs
    vary; `jitter` replays it on that many variants of the trace. `memory`, `limit` and `machine`
    are those of `replay`.
    """
    answer = _ask("compare", traces, {"policies": _policies(policies), "memory": memory,
                                      "machine": machine, "limit": limit, "spread": spread,
                                      "jitter": jitter, "all": all, **options}, progress)
    return cast("Compare", answer)


def advise(*traces: Source, policy: PolicyText = None, memory: Optional[Size] = None,
           limit: Optional[Size] = None, budget: Optional[int] = None,
           spread: Optional[int] = None, bound: bool = False, without: Optional[str] = None,
           progress: Progress = None, **options: Any) -> Advice:
    """Recommends settings, and explains where the memory went. For two traces, it says what grew.

    `verdict` says what to change and `best.line` is the line to set. At most `budget` settings are
    replayed. `without="vmm"` leaves out everything that needs the driver's virtual memory. If a
    progress function returns True, it ends the search, and the answer is the best so far.
    """
    answer = _ask("advise", traces, {"policy": policy, "memory": memory, "limit": limit,
                                     "budget": budget, "spread": spread, "bound": bound,
                                     "without": without, **options}, progress)
    return cast("Advice", answer)


def diff(before: Source, after: Source, *, top: Optional[int] = None, progress: Progress = None,
         **options: Any) -> Answer:
    """Compares two recordings by stack: the `top` stacks whose memory grew most."""
    return _ask("diff", [before, after], {"top": top, **options}, progress)


def fit(trace: Source, memory: Optional[Size] = None, *, policies: PolicyTexts = (),
        limit: Optional[Size] = None, spread: Optional[int] = None, bound: bool = False,
        progress: Progress = None, **options: Any) -> Fit:
    """Says whether the run would have fit on a card with `memory` (bytes or "80GiB"), and how much
    it needs at least.

    The answer is true if it fits: `if tidemark.fit("run.pickle", "80GiB"): ...`.
    """
    answer = _ask("fit", [trace], {"memory": memory, "policies": _policies(policies),
                                   "limit": limit, "spread": spread, "bound": bound, **options},
                  progress)
    return cast("Fit", answer)


def scale(*traces: Source, tokens: Growth = None, batch: Growth = None, length: Growth = None,
          steps: Optional[int] = None, fit: Optional[Size] = None, policies: PolicyTexts = (),
          out: Optional[Union[str, "os.PathLike[str]"]] = None, progress: Progress = None,
          **options: Any) -> Answer:
    """Estimates what a run would need if `tokens` (or `batch`, `length`) grew.

    A number is a factor (2: twice as much); "24/16" means 24 instead of 16, and "24" works where
    the recording has shapes. `steps` is the number of steps in total. `fit` is the size of a card:
    the answer has the largest growth that fits on it. `out` is a file for the trace of the larger
    run. With one_more=True, `fit` and `out` are about the recorded steps as they were, followed by
    one step that grows. Several traces are the ranks of one run and give one answer."""
    growths = {name: growth if growth is None or isinstance(growth, str) else f"x{growth:g}"
               for name, growth in (("tokens", tokens), ("batch", batch), ("length", length))}
    return _ask("scale", traces, {**growths, "steps": steps, "fit": fit,
                                   "policies": _policies(policies),
                                   "output": out and os.fspath(out), **options}, progress)


def gate(trace: Source, *, fail_if: Union[str, Sequence[str]] = (),
         baseline: Optional[Union[str, "os.PathLike[str]"]] = None,
         before: Optional[Union[str, "os.PathLike[str]"]] = None, policy: PolicyText = None,
         memory: Optional[Size] = None, limit: Optional[Size] = None, progress: Progress = None,
         **options: Any) -> Answer:
    """Checks a run against its budgets, such as "peak_reserved > +2%". The answer is true if the
    run keeps to them.

    `write_baseline="main.json"` writes the figures that later runs are compared with.
    """
    conditions = [fail_if] if isinstance(fail_if, str) else list(fail_if)
    return _ask("gate", [trace], {"fail_if": conditions,
                                  "baseline": baseline and os.fspath(baseline),
                                  "before": before and os.fspath(before), "policy": policy,
                                  "memory": memory, "limit": limit, **options}, progress)


def bound(trace: Source, *, capacity: Optional[Size] = None, time: Optional[float] = None,
          progress: Progress = None, **options: Any) -> Bound:
    """Computes the least memory in which an allocator could serve the run if it knew the whole run
    in advance. The search takes at most `time` seconds. With a `capacity`, the answer is true if
    the run fits in that much memory."""
    answer = _ask("bound", [trace], {"capacity": capacity, "time": time, **options}, progress)
    return cast("Bound", answer)


def minimize(trace: Source, keep: str, out: Union[str, "os.PathLike[str]"], *,
             policy: PolicyText = None, memory: Optional[Size] = None,
             limit: Optional[Size] = None, time: Optional[float] = None,
             progress: Progress = None, **options: Any) -> Answer:
    """Writes the smallest trace that still shows `keep`: "reserved > 70GiB", "out_of_memory"."""
    return _ask("minimize", [trace], {"keep": keep, "output": os.fspath(out), "policy": policy,
                                      "memory": memory, "limit": limit, "time": time, **options},
                progress)


def cut(trace: Source, out: Union[str, "os.PathLike[str]"], *, begin: Optional[str] = None,
        end: Optional[str] = None, step: Optional[str] = None, until: Optional[str] = None,
        progress: Progress = None, **options: Any) -> Answer:
    """Writes a window of a trace as a new trace: from `begin` up to, but not including, `end`
    (times like "1.5s" or events like "#1000"), or the steps `step` ("10..12"), or everything up to
    the first event at which `until` holds."""
    return _ask("cut", [trace], {"from": begin, "to": end, "step": step, "until": until,
                                 "output": os.fspath(out), **options}, progress)


def export(trace: Source, out: Union[str, "os.PathLike[str]"], *, format: Optional[str] = None,
           policies: PolicyTexts = (), progress: Progress = None, **options: Any) -> Answer:
    """Writes a trace for other programs. `format` is "jsonl", "rmm-csv" or "chrome"; by default it
    follows from the ending of `out`."""
    return _ask("export", [trace], {"output": os.fspath(out), "format": format,
                                    "policies": _policies(policies), **options}, progress)


def verify(trace: Source, policy: PolicyText = None, *, memory: Optional[Size] = None,
           limit: Optional[Size] = None, progress: Progress = None, **options: Any) -> Verified:
    """Compares our model of the recorded allocator with every recorded decision. If they differ,
    the exit code is 1."""
    answer = _ask("verify", [trace], {"policy": policy, "memory": memory, "limit": limit,
                                      **options}, progress)
    return cast("Verified", answer)


def report(*traces: Source, out: Union[str, "os.PathLike[str]"], policies: PolicyTexts = (),
           memory: Optional[Size] = None, limit: Optional[Size] = None, progress: Progress = None,
           **options: Any) -> Answer:
    """Writes one HTML page about a run. `force=True` overwrites a file that Tidemark didn't
    write."""
    return _ask("report", traces, {"output": os.fspath(out), "policies": _policies(policies),
                                   "memory": memory, "limit": limit, **options}, progress)
