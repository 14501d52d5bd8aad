"""A PyTorch that isn't there: the modules and functions that recording touches, and an allocator
in C++ that does what a test says."""

import ctypes
import pathlib
import shutil
import subprocess
import sys
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOURCES = pathlib.Path(__file__).resolve().parent / "allocator"
ALLOC, FREE_REQUESTED, FREE_COMPLETED, SEGMENT_ALLOC, SEGMENT_FREE, MAP, UNMAP, SNAPSHOT, OOM = \
    range(9)
MIB = 1 << 20
GIB = 1 << 30
_folders = []


class OutOfMemoryError(RuntimeError):
    pass


class FakeTorch(types.ModuleType):
    """`import torch` gives it while a test runs. `event()` is what its allocator does."""

    __version__ = "2.11.0+fake"

    def __init__(self, folder, allocator):
        super().__init__("torch")
        self.__file__ = str(folder / "__init__.py")
        self._allocator = allocator
        self.calls = []
        self.observers = []
        self.segments = []
        self.ready = True
        self.queued = []
        self.during_snapshot = lambda: None
        self.version = types.SimpleNamespace(cuda="13.0", git_version="1234")
        self._C = types.SimpleNamespace(
            _GLIBCXX_USE_CXX11_ABI=True,
            _cuda_attach_out_of_memory_observer=self.observers.append,
            _cuda_isHistoryEnabled=lambda: False)
        device = types.SimpleNamespace(name="fake GPU", total_memory=8 * GIB)
        self.cuda = types.SimpleNamespace(
            OutOfMemoryError=OutOfMemoryError, is_initialized=lambda: self.ready,
            _lazy_call=self._lazy_call, device_count=lambda: 1,
            get_device_properties=lambda _index: device,
            memory_reserved=lambda _index: 2 * MIB, mem_get_info=lambda _index: (5 * GIB, 8 * GIB),
            memory=types.SimpleNamespace(
                _snapshot=self._snapshot, _dump_snapshot=self._dump,
                _record_memory_history=lambda *given, **named: self.calls.append(named)))
        kind = type("record_function", (), {
            "__init__": lambda own, name: setattr(own, "name", name),
            "__enter__": lambda own: own, "__exit__": lambda own, *_error: None})
        self.autograd = types.SimpleNamespace(
            profiler=types.SimpleNamespace(record_function=kind))

    def event(self, action, address=0, size=0, stream=0, device=0, graph=0, made=0):
        self._allocator.fake_event(action, device, ctypes.c_size_t(address),
                                   ctypes.c_size_t(stream), ctypes.c_size_t(size), graph, made)

    def start(self):
        """The program uses CUDA for the first time."""
        self.ready = True
        for call in self.queued:
            call()

    def _lazy_call(self, call):
        call() if self.ready else self.queued.append(call)

    def _snapshot(self):
        self.event(SNAPSHOT)
        self.during_snapshot()
        return {"segments": self.segments,
                "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64",
                                       "max_split_size": 64 << 20, "expandable_segments": False,
                                       "garbage_collection_threshold": 0.0,
                                       "roundup_power2_divisions": {"1": 0, "2": 4}}}

    def _dump(self, path):
        pathlib.Path(path).write_bytes(b"a snapshot")
        self.calls.append(path)


@pytest.fixture(scope="session")
def torch_folder(tmp_path_factory):
    """PyTorch's folder as the compiler sees it: a header and two libraries."""
    if _folders:
        return _folders[0]  # each test module has this fixture; the process has one PyTorch
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("site") / "torch"
    headers = folder / "include" / "c10" / "cuda"
    headers.mkdir(parents=True)
    (folder / "lib").mkdir()
    shutil.copy(SOURCES / "CUDACachingAllocator.h", headers)
    for name, source in (("c10_cuda", str(SOURCES / "allocator.cpp")), ("c10", "/dev/null")):
        subprocess.run([compiler, "-std=c++20", "-shared", "-fPIC", f"-I{folder / 'include'}",
                        "-x", "c++", source, f"-Wl,-soname,lib{name}.so",
                        "-o", str(folder / "lib" / f"lib{name}.so")], check=True)
    # As PyTorch's own are, before the tracker needs them.
    for name in ("c10", "c10_cuda"):
        ctypes.CDLL(str(folder / "lib" / f"lib{name}.so"), mode=ctypes.RTLD_GLOBAL)
    _folders.append(folder)
    return folder


@pytest.fixture
def torch(monkeypatch, torch_folder, tmp_path_factory, tmp_path):
    allocator = ctypes.CDLL(str(torch_folder / "lib" / "libc10_cuda.so"))
    fake = FakeTorch(torch_folder, allocator)
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("TIDEMARK_RUNTIME_DIR", str(tmp_path / "run"))
    return fake
