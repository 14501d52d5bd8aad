"""The compiled part: tracker.cpp, made for the installed PyTorch when it is first needed."""

from __future__ import annotations

import ctypes
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Any, List, Optional

from tidemark.errors import UnsupportedError

SOURCE = pathlib.Path(__file__).resolve().parent / "tracker.cpp"
COMPILERS = ("c++", "g++", "clang++")

_tracker: Optional[ctypes.CDLL] = None


def compiler() -> Optional[str]:
    """The path of $CXX or of the first C++ compiler on PATH; None if there is none."""
    for name in (os.environ.get("CXX", ""), *COMPILERS):
        found = shutil.which(name) if name else None
        if found:
            return found
    return None


def cuda_includes(torch_folder: pathlib.Path) -> List[str]:
    """Where cuda_runtime_api.h may be: the toolkit, and the packages that PyTorch came with."""
    roots = [os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    folders = [pathlib.Path(root) / "include" for root in roots if root]
    folders += sorted((torch_folder.parent / "nvidia").glob("*/include"))
    return [str(folder) for folder in folders if (folder / "cuda_runtime_api.h").exists()]


def command(torch: Any, cxx: str, target: str) -> List[str]:
    """The compiler's call: PyTorch's headers, libraries and ABI."""
    folder = pathlib.Path(torch.__file__).resolve().parent
    includes = [str(folder / "include"), *cuda_includes(folder)]
    abi = int(getattr(torch._C, "_GLIBCXX_USE_CXX11_ABI", True))
    return [cxx, "-std=c++20", "-O2", "-fPIC", "-shared", "-w",
            f"-D_GLIBCXX_USE_CXX11_ABI={abi}", *(f"-I{path}" for path in includes), str(SOURCE),
            "-o", target, f"-L{folder / 'lib'}", "-lc10_cuda", "-lc10", "-ldl"]


def cache_folder() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "tidemark"


def cache_path(torch: Any, cxx: str) -> pathlib.Path:
    """Of what this compiler makes of this source for this PyTorch."""
    version = subprocess.run([cxx, "--version"], capture_output=True, text=True, check=False)
    key = "\0".join([str(torch.version.git_version), torch.__version__, cxx, version.stdout,
                     *command(torch, cxx, "")])
    digest = hashlib.sha256(key.encode() + SOURCE.read_bytes()).hexdigest()[:24]
    return cache_folder() / f"torch-tracker-{digest}.so"


def _compile(call: List[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(call, capture_output=True, text=True, check=False)


def compiled(torch: Any) -> pathlib.Path:
    """The tracker's library, compiled if it isn't in the cache. Seconds for the first time.

    Raises UnsupportedError, which says what is missing.
    """
    if torch.version.cuda is None:
        raise UnsupportedError("this PyTorch has no CUDA", "tracker")
    cxx = compiler()
    if cxx is None:
        raise UnsupportedError("there is no C++ compiler", "tracker",
                               "install g++, or name a compiler in CXX")
    path = cache_path(torch, cxx)
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    # Several processes of one training may come here at once: each makes its own, the last stays.
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        target = os.path.join(folder, path.name)
        made = _compile(command(torch, cxx, target))
        if made.returncode != 0:  # stacks need more of PyTorch's interface than events do
            made = _compile([*command(torch, cxx, target), "-DTIDEMARK_WITHOUT_STACKS"])
        if made.returncode != 0:
            errors = [line for line in made.stderr.splitlines() if "error" in line]
            raise UnsupportedError(f"{cxx} cannot compile it: {(errors or ['?'])[0]}", str(SOURCE),
                                   "this PyTorch may be newer than this Tidemark")
        os.replace(target, path)
    return path


def tracker(torch: Any) -> ctypes.CDLL:
    """The loaded tracker. PyDLL: its calls are short, and keep the interpreter's lock."""
    global _tracker
    if _tracker is None:
        path = compiled(torch)
        try:
            _tracker = ctypes.PyDLL(str(path))
        except OSError as failure:
            raise UnsupportedError(str(failure), str(path)) from None
        _tracker.tidemark_begin.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int]
        _tracker.tidemark_stacks.argtypes = [ctypes.c_int]
        _tracker.tidemark_counters.argtypes = [ctypes.POINTER(ctypes.c_uint64)] * 2
        for name in ("tidemark_follow", "tidemark_end", "tidemark_counters"):
            getattr(_tracker, name).restype = None
    return _tracker
