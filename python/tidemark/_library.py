"""libtidemark.so: where it is, what it declares (replay/c_api/tidemark.h), and its errors."""

from __future__ import annotations

import ctypes
import errno
import os
import pathlib
import threading
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, Dict, List, Optional, Tuple

from tidemark.errors import (BY_STATUS, Error, FileError, InternalError, MissingFileError,
                             NotFoundError)

ABI_VERSION = 1
STREAM_UNKNOWN = 2**64 - 1
STREAM_OF_REQUEST = 2**64 - 2
CACHE_NONE = 2**64 - 1
UNIQUE_EMPTY = 1
NO_SLOT = 2**32 - 1


class Struct(ctypes.Structure):
    """A struct of the library: zeros, with its size in the first field."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        self.struct_size = ctypes.sizeof(self)


class tm_error(Struct):
    _fields_ = [("struct_size", c_size_t), ("status", c_int), ("what", c_char_p),
                ("where", c_char_p), ("hint", c_char_p)]


class tm_context_options(Struct):
    _fields_ = [("struct_size", c_size_t), ("machine", c_char_p), ("policy", c_char_p),
                ("memory", c_uint64), ("limit", c_uint64), ("thread_cache", c_uint64),
                ("record", c_char_p), ("overwrite", c_int), ("streams", c_uint32)]


class tm_request(Struct):
    _fields_ = [("struct_size", c_size_t), ("bytes", c_uint64), ("alignment", c_uint64),
                ("stream", c_uint64), ("pool", c_uint32), ("flags", c_uint32), ("tag", c_uint32),
                ("reserved", c_uint32)]


class tm_block(Struct):
    _fields_ = [("struct_size", c_size_t), ("address", c_uint64), ("requested", c_uint64),
                ("granted", c_uint64), ("stream", c_uint64), ("pool", c_uint32),
                ("tag", c_uint32), ("number", c_uint64)]


class tm_statistics(Struct):
    _fields_ = [("struct_size", c_size_t)] + [(name, c_uint64) for name in (
        "reserved", "allocated", "active", "requested", "cached", "live", "peak_reserved",
        "peak_allocated_least", "peak_allocated_most", "peak_requested_least",
        "peak_requested_most", "granted", "hits", "refused", "freed", "retries",
        "segments_created", "segments_released", "device_free", "device_total", "deferred",
        "deferred_peak", "flushes", "plan_deviations")]


class tm_region(ctypes.Structure):
    _fields_ = [(name, c_uint64) for name in (
        "address", "bytes", "requested", "segment", "segment_bytes", "stream")] + [
            (name, c_uint32) for name in ("pool", "state", "expandable", "reserved")]


class tm_planned(ctypes.Structure):
    _fields_ = [("bytes", c_uint64), ("alignment", c_uint64), ("stream", c_uint64),
                ("begin", c_uint32), ("end", c_uint32), ("escapes", c_uint32),
                ("reserved", c_uint32)]


class tm_ipc_handle(Struct):
    _fields_ = [("struct_size", c_size_t), ("offset", c_uint64), ("bytes", ctypes.c_uint8 * 64)]


# int progress(void* user, const char* label, uint64_t done, uint64_t total)
PROGRESS = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_uint64, c_uint64)


class tm_trace_options(Struct):
    _fields_ = [("struct_size", c_size_t), ("strict", c_int), ("lenient", c_int),
                ("as_recorded", c_int), ("progress", PROGRESS), ("user", c_void_p)]


class tm_columns(Struct):
    _fields_ = [("struct_size", c_size_t), ("count", c_uint64)] + [(name, c_void_p) for name in (
        "time", "size", "address", "slot", "stream", "stack", "aux", "tag", "device", "kind",
        "flags")]


class tm_store_options(Struct):
    _fields_ = [("struct_size", c_size_t), ("gpu", c_void_p), ("gpu_bytes", c_uint64),
                ("host_bytes", c_uint64), ("directory", c_char_p), ("disk_bytes", c_uint64),
                ("victims", c_char_p), ("controller_patience", c_uint64),
                ("spill_start", c_double), ("spill_stop", c_double), ("prefetch", c_char_p)]


# int handler(void* user, uint64_t bytes, uint32_t attempt)
OOM_HANDLER = ctypes.CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint32)

# int interrupted(void* user)
INTERRUPTED = ctypes.CFUNCTYPE(c_int, c_void_p)

# Exceptions of signal handlers that ran while the main thread waited in the library.
raised_in_wait: List[BaseException] = []


class tm_wait_options(Struct):
    _fields_ = [("struct_size", c_size_t), ("timeout", c_uint64), ("interrupted", INTERRUPTED),
                ("user", c_void_p)]


class tm_piece(ctypes.Structure):
    _fields_ = [("address", c_uint64), ("bytes", c_uint64)]


class tm_tier_counters(Struct):
    _fields_ = [("struct_size", c_size_t)] + [(name, c_uint64) for name in (
        "capacity", "used", "reserved", "copied_out", "copied_in", "evictions", "hits", "misses",
        "failed")]


class tm_tier_pressure(Struct):
    _fields_ = [("struct_size", c_size_t)] + [(name, c_uint64) for name in (
        "used", "spill_start", "spill_stop", "excess")] + [
            ("should_spill", c_uint32), ("reserved", c_uint32)]


class tm_blocks_options(Struct):
    _fields_ = [("struct_size", c_size_t), ("gpu", c_void_p), ("block", c_uint64),
                ("blocks_per_pool", c_uint32), ("initial_pools", c_uint32),
                ("capacity", c_uint64)]


class tm_blocks_usage(Struct):
    _fields_ = [("struct_size", c_size_t)] + [(name, c_uint64) for name in (
        "block", "used", "free", "pools", "peak", "refused")]


class tm_candidate(ctypes.Structure):
    _fields_ = [("buffer", c_uint64), ("bytes", c_uint64), ("freed", c_uint64)]


class tm_buffer_facts(Struct):
    _fields_ = [("struct_size", c_size_t), ("buffer", c_uint64), ("bytes", c_uint64),
                ("address", c_uint64), ("uses", c_uint64), ("pins", c_uint32), ("state", c_int),
                ("tier", ctypes.c_int32), ("reserved", c_uint32)]


class tm_deferrable_statistics(Struct):
    _fields_ = [("struct_size", c_size_t)] + [(name, c_uint64) for name in (
        "buffers", "bytes", "resident", "resident_bytes", "pins", "uses", "waited", "deferrals",
        "retrievals", "failures", "pressures", "unrelieved", "lost_events")]


class tm_store_event(ctypes.Structure):
    _fields_ = [("buffer", c_uint64), ("bytes", c_uint64), ("kind", c_uint32),
                ("reserved", c_uint32)]


# The functions of a policy; `self` is a number of this package's.
POLICY_CREATE = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_void_p)
POLICY_DESTROY = ctypes.CFUNCTYPE(None, c_void_p)
POLICY_ALLOCATE = ctypes.CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64, c_uint32, c_uint32,
                                   POINTER(c_uint64), POINTER(c_uint64))
POLICY_DEALLOCATE = ctypes.CFUNCTYPE(None, c_void_p, c_uint64, c_uint64, c_uint32)
POLICY_TRIM = ctypes.CFUNCTYPE(None, c_void_p, c_int)
POLICY_FAULT = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class tm_policy(Struct):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("summary", c_char_p),
                ("user", c_void_p), ("create", POLICY_CREATE), ("destroy", POLICY_DESTROY),
                ("allocate", POLICY_ALLOCATE), ("deallocate", POLICY_DEALLOCATE),
                ("trim", POLICY_TRIM), ("fault", POLICY_FAULT)]


class tm_frame(ctypes.Structure):
    _fields_ = [("function", c_uint32), ("file", c_uint32), ("line", c_uint32)]


class tm_recorder_options(Struct):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("path", c_char_p),
                ("history_limit", c_uint64), ("devices", c_uint32), ("rings", c_uint32),
                ("device_names", POINTER(c_char_p)), ("device_capacities", POINTER(c_uint64)),
                ("overwrite", c_int)]


class tm_run_options(Struct):
    _fields_ = [("struct_size", c_size_t), ("progress", PROGRESS), ("user", c_void_p),
                ("traces", POINTER(c_void_p)), ("trace_count", c_size_t)]


class tm_event(Struct):
    _fields_ = [("struct_size", c_size_t), ("stream", c_uint64), ("address", c_uint64),
                ("size", c_uint64), ("extra", c_uint64), ("pool", c_uint32), ("tag", c_uint32),
                ("stack", c_uint32), ("device", ctypes.c_uint16), ("kind", ctypes.c_uint16)]


class tm_recorded_frame(ctypes.Structure):
    _fields_ = [("function", c_char_p), ("file", c_char_p), ("line", c_uint32)]


class tm_recorder_counts(Struct):
    _fields_ = [("struct_size", c_size_t), ("published", c_uint64), ("dropped", c_uint64),
                ("lost", c_uint64)]


# Every function: its result and its arguments. STATUS is a c_int from which `Library` makes an
# exception. The callers of tm_alloc and tm_free check it themselves, and the pointers of these two
# aren't checked: that halves the time of a pair.
STATUS = "status"
FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "tm_abi_version": (c_uint32, []),
    "tm_version": (c_char_p, []),
    "tm_struct_size": (c_size_t, [c_char_p]),
    "tm_last_error": (c_int, [POINTER(tm_error)]),
    "tm_context_open": (STATUS, [POINTER(tm_context_options), POINTER(c_void_p)]),
    "tm_context_close": (STATUS, [c_void_p, POINTER(c_uint64)]),
    "tm_context_machine": (c_char_p, [c_void_p]),
    "tm_context_device_name": (c_char_p, [c_void_p]),
    "tm_context_policy": (c_char_p, [c_void_p]),
    "tm_alloc": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "tm_free": (c_int, [c_void_p, c_uint64, c_uint64, c_uint64]),
    "tm_record_use": (STATUS, [c_void_p, c_uint64, c_uint64]),
    "tm_name_tag": (STATUS, [c_void_p, c_uint32, c_char_p]),
    "tm_end_recording": (STATUS, [c_void_p]),
    "tm_trim": (STATUS, [c_void_p, c_int]),
    "tm_base_of": (STATUS, [c_void_p, c_uint64, POINTER(tm_block)]),
    "tm_statistics_of": (STATUS, [c_void_p, POINTER(tm_statistics)]),
    "tm_reset_peaks": (STATUS, [c_void_p]),
    "tm_set_limit": (STATUS, [c_void_p, c_uint64]),
    "tm_pool_begin": (STATUS, [c_void_p, c_uint32]),
    "tm_pool_end": (STATUS, [c_void_p, c_uint32]),
    "tm_context_regions": (STATUS, [c_void_p, c_void_p, c_size_t, c_void_p]),
    "tm_peer_access": (STATUS, [c_void_p, c_int]),
    "tm_set_oom_handler": (STATUS, [c_void_p, OOM_HANDLER, c_void_p]),
    "tm_stream_acquire": (STATUS, [c_void_p, c_uint32, c_void_p]),
    "tm_stream_release": (STATUS, [c_void_p, c_uint64]),
    "tm_buffer_next_use": (STATUS, [c_void_p, c_uint64, c_uint64]),
    "tm_buffer_stays": (STATUS, [c_void_p, c_uint64, c_int]),
    "tm_buffer_adopt": (STATUS, [c_void_p, c_uint64, c_uint64, c_void_p]),
    "tm_store_mark": (STATUS, [c_void_p, c_char_p]),
    "tm_blocks_open": (STATUS, [c_void_p, c_void_p]),
    "tm_blocks_close": (STATUS, [c_void_p]),
    "tm_blocks_alloc": (STATUS, [c_void_p, c_uint64, c_void_p]),
    "tm_blocks_trim": (STATUS, [c_void_p, c_uint64, c_void_p]),
    "tm_blocks_look": (STATUS, [c_void_p, c_void_p]),
    "tm_block_run_pieces": (STATUS, [c_void_p, c_void_p, c_size_t, c_void_p]),
    "tm_block_run_trim": (STATUS, [c_void_p, c_uint64]),
    "tm_block_run_free": (None, [c_void_p]),
    "tm_pool_close": (STATUS, [c_void_p, c_uint32]),
    "tm_pool_plan": (STATUS, [c_void_p, c_uint32, c_void_p, c_size_t]),
    "tm_ipc_export": (STATUS, [c_void_p, c_uint64, POINTER(tm_ipc_handle)]),
    "tm_ipc_open": (STATUS, [c_void_p, POINTER(tm_ipc_handle), POINTER(c_uint64)]),
    "tm_ipc_close": (STATUS, [c_void_p, c_uint64]),
    "tm_store_open": (STATUS, [POINTER(tm_store_options), POINTER(c_void_p)]),
    "tm_store_close": (STATUS, [c_void_p]),
    "tm_set_waits": (STATUS, [POINTER(tm_wait_options)]),
    "tm_buffer_create": (STATUS, [c_void_p, c_uint64, c_int, c_uint32, c_uint64,
                                  POINTER(c_uint64)]),
    "tm_buffer_destroy": (STATUS, [c_void_p, c_uint64]),
    "tm_buffer_acquire": (STATUS, [c_void_p, c_uint64, c_int, c_int, c_uint64, c_uint32,
                                   POINTER(c_void_p)]),
    "tm_access_pieces": (STATUS, [c_void_p, POINTER(tm_piece), c_size_t, POINTER(c_size_t)]),
    "tm_access_release": (None, [c_void_p]),
    "tm_buffer_prefetch": (STATUS, [c_void_p, c_uint64, c_int]),
    "tm_buffer_hint": (STATUS, [c_void_p, c_uint64, ctypes.c_int32]),
    "tm_buffer_tiers": (STATUS, [c_void_p, c_uint64, POINTER(c_uint32)]),
    "tm_reserve": (STATUS, [c_void_p, c_int, c_uint64, c_uint32, POINTER(c_uint64)]),
    "tm_reservation_end": (STATUS, [c_void_p, c_uint64]),
    "tm_store_free_bytes": (STATUS, [c_void_p, c_int, c_uint64, POINTER(c_uint64)]),
    "tm_store_counters": (STATUS, [c_void_p, c_int, POINTER(tm_tier_counters)]),
    "tm_store_pressure": (STATUS, [c_void_p, c_int, c_double, c_double,
                                   POINTER(tm_tier_pressure)]),
    "tm_store_candidates": (STATUS, [c_void_p, c_int, c_uint64, POINTER(tm_candidate), c_size_t,
                                     POINTER(c_size_t)]),
    "tm_buffer_evict": (STATUS, [c_void_p, c_uint64, c_int, POINTER(c_uint64)]),
    "tm_buffer_pin": (STATUS, [c_void_p, POINTER(c_uint64), c_size_t, c_int, c_uint64, c_uint64,
                               POINTER(c_void_p)]),
    "tm_buffer_defer": (STATUS, [c_void_p, c_uint64, c_uint32, POINTER(c_int)]),
    "tm_buffer_retrieve": (STATUS, [c_void_p, c_uint64, c_uint32]),
    "tm_buffer_look": (STATUS, [c_void_p, c_uint64, POINTER(tm_buffer_facts)]),
    "tm_buffer_at": (STATUS, [c_void_p, c_uint64, POINTER(c_uint64)]),
    "tm_store_deferrables": (STATUS, [c_void_p, POINTER(tm_buffer_facts), c_size_t,
                                      POINTER(c_size_t)]),
    "tm_store_statistics": (STATUS, [c_void_p, POINTER(tm_deferrable_statistics)]),
    "tm_store_watch": (STATUS, [c_void_p]),
    "tm_store_events": (STATUS, [c_void_p, c_uint64, POINTER(tm_store_event), c_size_t,
                                 POINTER(c_size_t)]),
    "tm_store_unwatch": (STATUS, [c_void_p]),
    "tm_store_stop": (STATUS, [c_void_p]),
    "tm_stream_ended": (STATUS, [c_void_p, c_uint64]),
    "tm_store_copy": (STATUS, [c_void_p, c_uint64, c_uint64, c_uint64, c_uint64, c_int]),
    "tm_policy_register": (STATUS, [POINTER(tm_policy)]),
    "tm_policy_malloc": (STATUS, [c_void_p, c_uint64, POINTER(c_uint64)]),
    "tm_policy_free": (STATUS, [c_void_p, c_uint64]),
    "tm_policy_order": (STATUS, [c_void_p, c_uint32, c_uint32]),
    "tm_trace_open": (STATUS, [c_char_p, POINTER(tm_trace_options), POINTER(c_void_p)]),
    "tm_trace_close": (None, [c_void_p]),
    "tm_trace_columns": (STATUS, [c_void_p, POINTER(tm_columns)]),
    "tm_event_kind": (c_char_p, [ctypes.c_uint8]),
    "tm_trace_info": (c_char_p, [c_void_p]),
    "tm_trace_string": (STATUS, [c_void_p, c_uint32, POINTER(c_void_p), POINTER(c_size_t)]),
    "tm_trace_stack": (STATUS, [c_void_p, c_uint32, POINTER(tm_frame), c_size_t,
                                POINTER(c_size_t)]),
    "tm_check_output": (STATUS, [c_char_p, c_int, c_int]),
    "tm_recorder_open": (STATUS, [POINTER(tm_recorder_options), POINTER(c_void_p)]),
    "tm_recorder_close": (STATUS, [c_void_p]),
    "tm_recorder_path": (c_char_p, [c_void_p]),
    "tm_recorder_shared_path": (c_char_p, [c_void_p]),
    "tm_recorder_event": (STATUS, [c_void_p, POINTER(tm_event)]),
    "tm_recorder_range": (STATUS, [c_void_p, c_char_p, c_int]),
    "tm_recorder_mark": (STATUS, [c_void_p, c_char_p]),
    "tm_recorder_string": (c_uint32, [c_void_p, c_char_p]),
    "tm_recorder_stack": (c_uint32, [c_void_p, POINTER(tm_recorded_frame), c_size_t]),
    "tm_recorder_setting": (STATUS, [c_void_p, c_char_p, c_char_p, c_int]),
    "tm_recorder_count": (STATUS, [c_void_p, POINTER(tm_recorder_counts)]),
    "tm_run": (STATUS, [POINTER(c_char_p), c_size_t, POINTER(tm_run_options),
                        POINTER(c_void_p)]),
    "tm_answer_output": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "tm_answer_notes": (c_char_p, [c_void_p]),
    "tm_answer_exit_code": (c_int, [c_void_p]),
    "tm_answer_free": (None, [c_void_p]),
}


class Library:
    """The functions of libtidemark.so by name; failures are raised as `tidemark.Error`.

    Calls release the global interpreter lock; any thread may call any function.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._dll = ctypes.CDLL(path)
        version = self._declare("tm_abi_version")()
        if version != ABI_VERSION:
            raise InternalError(
                f"its interface is version {version}; this package needs {ABI_VERSION}", path,
                "install the library and the package of the same release")
        self._last_error = self._declare("tm_last_error")

    def __getattr__(self, name: str) -> Callable[..., Any]:
        # Declared at first use, so that an older library without the newest functions still works.
        if name not in FUNCTIONS:
            raise AttributeError(name)
        function = self._declare(name)
        setattr(self, name, function)
        return function

    def _declare(self, name: str) -> Callable[..., Any]:
        try:
            function = getattr(self._dll, name)
        except AttributeError:
            raise InternalError(f"it lacks {name}", self.path, "install a newer one") from None
        result, function.argtypes = FUNCTIONS[name]
        function.restype = c_int if result is STATUS else result
        if result is STATUS:
            function.errcheck = self._check
        return function  # type: ignore[no-any-return]

    def _check(self, status: int, _function: Any, _arguments: Any) -> int:
        if raised_in_wait and threading.current_thread() is threading.main_thread():
            raise raised_in_wait.pop()
        if status:
            raise self.last_error(status)
        return status

    def last_error(self, status: int) -> Error:
        """The last failure on this thread, which had `status`."""
        error = tm_error()
        self._last_error(ctypes.byref(error))
        kind = BY_STATUS.get(status, Error)
        if error.status != status:
            return kind(f"failed with status {status}")
        what = text(error.what)
        if kind is FileError and os.strerror(errno.ENOENT) in what:
            kind = MissingFileError
        failure = kind(what, text(error.where), text(error.hint))
        failure.status = status
        return failure


class Handle(c_void_p):
    """An object of the library; it is destroyed when nothing in Python refers to it any longer.

    A call keeps its arguments alive, so an object that one thread closes exists until the calls of
    other threads have ended.
    """

    end = ""
    """The function that destroys it."""

    def __del__(self) -> None:
        # Among objects that refer to each other, this may end first: the others then find None.
        value, self.value = self.value, None
        if value and _library is not None:
            getattr(_library, self.end)(c_void_p(value), *self.ending())

    def ending(self) -> List[Any]:
        """Further arguments of `end`."""
        return []


def text(raw: Optional[bytes]) -> str:
    """A text of the library; bytes that aren't UTF-8 become U+FFFD, as in --json."""
    return raw.decode("utf-8", "replace") if raw else ""


def package_paths(*names: str) -> List[pathlib.Path]:
    """Where a file of the package may be: in its folder, or where an editable install puts built
    files."""
    import tidemark

    return [pathlib.Path(folder).joinpath(*names) for folder in tidemark.__path__]


def build_tree() -> pathlib.Path:
    return pathlib.Path(__file__).resolve().parents[2] / "build" / "release"


def candidates() -> List[str]:
    """Where the library may be, best first: as given, in this package, in a build tree."""
    given = os.environ.get("TIDEMARK_LIBRARY")
    if given:
        return [given]
    name = "libtidemark.so.1"
    return [str(path) for path in [*package_paths("lib", name), build_tree() / name]]


_lock = threading.Lock()
_library: Optional[Library] = None


def library() -> Library:
    """The library, loaded when it is first needed. Loading it touches no CUDA."""
    global _library
    if _library is None:
        with _lock:
            if _library is None:
                _library = _load()
    return _library


def _load() -> Library:
    paths = candidates()
    for path in paths:
        if os.path.exists(path):
            try:
                return Library(path)
            except OSError as failure:
                raise NotFoundError(str(failure), "libtidemark.so",
                                    "it was built for another system") from failure
    raise NotFoundError("not found at " + " nor at ".join(paths), "libtidemark.so",
                        "build the target tidemark_c, or name the file in TIDEMARK_LIBRARY")
