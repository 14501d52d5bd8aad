"""C++ that is compiled for the installed PyTorch when it is first needed, and cached."""

from __future__ import annotations

import ctypes
import hashlib
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
from typing import Any, List, Optional, Sequence

from tidemark.errors import UnsupportedError

COMPILERS = ("c++", "g++", "clang++")


def compiler() -> Optional[str]:
    """The path of $CXX or of the first C++ compiler on PATH; None if there is none."""
    for name in (os.environ.get("CXX", ""), *COMPILERS):
        found = shutil.which(name) if name else None
        if found:
            return found
    return None


def cuda_includes(torch_folder: pathlib.Path) -> List[str]:
    """Folders with cuda_runtime_api.h: in the toolkit, and in packages that came with PyTorch."""
    roots = [os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    folders = [pathlib.Path(root) / "include" for root in roots if root]
    folders += sorted((torch_folder.parent / "nvidia").glob("*/include"))
    return [str(folder) for folder in folders if (folder / "cuda_runtime_api.h").exists()]


def standard_library() -> List[str]:
    """The C++ library that is loaded in this process. The compiler gets its name, because otherwise
    it might link its own one statically (where only libstdc++.a is installed): with two of them,
    streams of PyTorch's headers crash."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            found = {line.split(maxsplit=5)[5].strip() for line in maps
                     if "/libstdc++.so" in line}
    except OSError:
        return []
    return sorted(path for path in found if os.path.exists(path))[:1]


def command(torch: Any, cxx: str, source: pathlib.Path, target: str,
            libraries: Sequence[str] = ()) -> List[str]:
    """The compiler's command line: PyTorch's headers, ABI and c10, and further libraries."""
    folder = pathlib.Path(torch.__file__).resolve().parent
    includes = [str(folder / "include"), *cuda_includes(folder)]
    abi = int(getattr(torch._C, "_GLIBCXX_USE_CXX11_ABI", True))
    return [cxx, "-std=c++20", "-O2", "-fPIC", "-shared", "-w",
            f"-D_GLIBCXX_USE_CXX11_ABI={abi}", *(f"-I{path}" for path in includes), str(source),
            "-o", target, f"-L{folder / 'lib'}",
            *(f"-l{name}" for name in (*libraries, "c10_cuda", "c10", "dl")),
            *standard_library()]


def cache_folder() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "tidemark"


def make_own_folder(folder: pathlib.Path) -> None:
    """Creates the folder so that only its owner can write to it, because its files are executed."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    if status.st_uid != os.geteuid():
        raise UnsupportedError(f"belongs to user {status.st_uid}", str(folder),
                               "set XDG_CACHE_HOME to a folder of your own")
    if status.st_mode & 0o022:
        folder.chmod(stat.S_IMODE(status.st_mode) & ~0o022)


def is_own_file(path: pathlib.Path) -> bool:
    """Whether the file exists, and nobody else can have created or changed it."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    return (stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and
            not status.st_mode & 0o022)


def cache_path(torch: Any, cxx: str, source: pathlib.Path) -> pathlib.Path:
    """The path for what this compiler makes of this source and its headers, for this PyTorch."""
    version = subprocess.run([cxx, "--version"], capture_output=True, text=True, check=False)
    key = "\0".join([str(torch.version.git_version), torch.__version__, cxx, version.stdout,
                     *command(torch, cxx, source, "")])
    digest = hashlib.sha256(key.encode())
    for file in (source, *sorted(source.parent.glob("*.h"))):
        digest.update(file.read_bytes())
    return cache_folder() / f"torch-{source.stem}-{digest.hexdigest()[:24]}.so"


def compiled(torch: Any, source: pathlib.Path, libraries: Sequence[str] = (),
             without: Sequence[str] = ()) -> pathlib.Path:
    """The library compiled from `source`, unless it is in the cache. The first time takes a few
    seconds.

    `without` has definitions for a last attempt, which leave out parts that need more of PyTorch's
    interface. Raises UnsupportedError, which says what is missing.
    """
    if torch.version.cuda is None:
        raise UnsupportedError("this PyTorch was built without CUDA", source.stem)
    cxx = compiler()
    if cxx is None:
        raise UnsupportedError("there is no C++ compiler", source.stem,
                               "install g++, or name a compiler in CXX")
    path = cache_path(torch, cxx, source)
    make_own_folder(path.parent)
    if is_own_file(path):
        return path
    # Several ranks may get here at the same time: each compiles its own, and the last one stays.
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        target = os.path.join(folder, path.name)
        call = command(torch, cxx, source, target, libraries)
        made = _run(call)
        if made.returncode != 0 and without:
            made = _run([*call, *without])
        if made.returncode != 0:
            errors = [line for line in made.stderr.splitlines() if "error" in line]
            raise UnsupportedError(f"{cxx} cannot compile it: {(errors or ['?'])[0]}", str(source),
                                   "this PyTorch may be newer than this Tidemark")
        os.chmod(target, 0o700)
        os.replace(target, path)
    return path


def load(torch: Any, source: pathlib.Path, how: Any = ctypes.CDLL, **options: Any) -> Any:
    """Loads compiled() with `how`: ctypes.CDLL or ctypes.PyDLL."""
    path = compiled(torch, source, **options)
    try:
        return how(str(path))
    except OSError as failure:
        raise UnsupportedError(str(failure), str(path)) from None


def _run(call: List[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(call, capture_output=True, text=True, check=False)
