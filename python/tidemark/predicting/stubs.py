"""Stubs for the NVIDIA libraries that PyTorch needs, which forward to Tidemark's imagined CUDA.

Their names and versions are read from the installed libraries, so that a version of PyTorch that we
have never seen gets the stubs that it needs. They are cached in the user's cache folder, by a hash
of the libraries that they were made for.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import mmap
import os
import pathlib
import re
import tempfile
from typing import Dict, Iterable, Iterator, List, Optional, Set, Tuple

from tidemark.errors import UnsupportedError
from tidemark.predicting import elf

CORE = "libtidemark-imagined.so"
PREFIX = "imagined_"
UNKNOWN = PREFIX + "unknown"
DRIVER = "libcuda.so.1"
MONITOR = "libnvidia-ml.so.1"  # NVML, which programs look up too

# NVIDIA's libraries, by the start of their names and of their functions' names. The first match
# says where a function without a version belongs.
FAMILIES = (
    ("libcufile", "cuFile"), ("libcupti", "cupti"), ("libnvshmem_host", "nvshmem"),
    ("libnccl", "nccl"), ("libnvrtc", "nvrtc"), ("libnvJitLink", "nvJitLink"),
    ("libcusparseLt", "cusparseLt"), ("libcublasLt", "cublasLt"), ("libcublas", "cublas"),
    ("libcudnn", "cudnn"), ("libcufft", "cufft"), ("libcurand", "curand"),
    ("libcusparse", "cusparse"), ("libcusolver", "cusolver"), ("libnvToolsExt", "nvtx"),
    ("libnvidia-ml", "nvml"), ("libcudart", "__cuda"), ("libcudart", "cuda"), ("libcuda", "cu"))
OF_NVIDIA = re.compile(r"^(?:" + "|".join(sorted({one for one, _ in FAMILIES}, key=len,
                                                 reverse=True)) + r")\.so(?:\.\d+)*$")
A_FUNCTION = re.compile(r"^(?:__)?(?:cu|nv|nccl)[A-Za-z_]\w*$")
# Functions of templates that libraries share with each other, whose names start like NVIDIA's.
NO_FUNCTION = re.compile(r"^(?:cutlass|cute|cub_|cuda_|cumsum|curr|custom|cutoff)")
DRIVER_NAME = re.compile(rb"(?<=\0)(?:cu|nvml)[A-Z][A-Za-z0-9]{3,40}(?:_v\d|_ptsz)?(?=\0)")
DRIVER_CALL = re.compile(rb"\bcu[A-Z][A-Za-z0-9]{3,40}(?:_v\d)?(?=\()")


@dataclasses.dataclass
class Stubs:
    folder: pathlib.Path
    libraries: List[str]  # file names, which are also the names that programs load
    cuda: int  # the runtime version that PyTorch was built for: 13000
    functions: int
    implemented: int
    cudnn: Optional[pathlib.Path]  # the real library, for workspace sizes


def torch_folder() -> pathlib.Path:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise UnsupportedError("there is no PyTorch in this environment", "torch",
                               "install the build for CUDA: pip install --no-deps torch")
    return pathlib.Path(spec.origin).parent


def _packages_of(torch: pathlib.Path) -> Iterator[pathlib.Path]:
    """Shared libraries of other packages that may need CUDA's."""
    for package in sorted(torch.parent.iterdir()):
        if package.is_dir() and package.name not in ("nvidia", "torch", "__pycache__"):
            yield from sorted(package.rglob("*.so"))
            yield from sorted(package.rglob("*.so.*"))


def find_libraries(torch: pathlib.Path) -> List[elf.Library]:
    """PyTorch's own libraries, and those of other packages that need some of NVIDIA's."""
    found = []
    for path in sorted((torch / "lib").glob("*.so*")):
        try:
            found.append(elf.read_library(path))
        except elf.NoLibrary:
            continue
    for path in _packages_of(torch):
        try:
            needed = elf.needed_libraries(path)
            if any(OF_NVIDIA.match(one) for one in needed):
                found.append(elf.read_library(path))
        except elf.NoLibrary:
            continue
    return found


def _home(name: str) -> Optional[str]:
    """The start of the name of the library that a function belongs to."""
    return next((library for library, prefix in FAMILIES if name.startswith(prefix)), None)


def _family(soname: str) -> str:
    return soname.split(".so")[0]


def driver_names(path: pathlib.Path) -> Set[str]:
    """Names of functions of the driver and of NVML that a library looks up by itself."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
        return {name.decode() for name in DRIVER_NAME.findall(image)}


def driver_sources(packages: pathlib.Path) -> List[pathlib.Path]:
    """Sources that call the driver and are compiled on the user's machine: Triton's C driver."""
    return sorted(packages.glob("triton/backends/nvidia/*.c"))


def driver_names_in_source(path: pathlib.Path) -> Set[str]:
    """The same of such a source."""
    return {name.decode() for name in DRIVER_CALL.findall(path.read_bytes())}


def wanted_functions(libraries: Iterable[elf.Library]) -> Dict[str, Dict[str, Optional[str]]]:
    """Library -> function -> its version, for all that `libraries` need of NVIDIA's."""
    libraries = list(libraries)
    needed = {"libcuda": DRIVER, "libnvidia-ml": MONITOR}
    sonames = {DRIVER, MONITOR}
    for library in libraries:
        for one in filter(OF_NVIDIA.match, library.needed):
            sonames.add(one)
            needed.setdefault(_family(one), one)  # some packages bring builds for older CUDAs
    defined = {symbol.name for library in libraries for symbol in library.symbols
               if symbol.defined}
    wanted: Dict[str, Dict[str, Optional[str]]] = {soname: {} for soname in sonames}
    for library in libraries:
        for symbol in library.symbols:
            if symbol.defined:
                continue
            if symbol.library is not None:
                if OF_NVIDIA.match(symbol.library):
                    wanted.setdefault(symbol.library, {})[symbol.name] = symbol.version
            elif A_FUNCTION.match(symbol.name) and not NO_FUNCTION.match(symbol.name) and \
                    symbol.name not in defined:
                home = needed.get(_home(symbol.name) or "")
                if home is not None:
                    wanted[home].setdefault(symbol.name, None)
    return wanted


def implemented_functions(core: pathlib.Path) -> Set[str]:
    return {symbol.name[len(PREFIX):] for symbol in elf.read_library(core).symbols
            if symbol.defined and symbol.name.startswith(PREFIX)}


def _nvidia_file(torch: pathlib.Path, pattern: str) -> Optional[pathlib.Path]:
    return next(iter(sorted((torch.parent / "nvidia").glob(pattern))), None)


def _cuda_version(torch: pathlib.Path, libraries: Iterable[elf.Library]) -> int:
    """The runtime version that PyTorch's own libraries need."""
    for library in libraries:
        for soname in library.needed if library.path.parent == torch / "lib" else ():
            runtime = re.match(r"libcudart\.so\.(\d+)", soname)
            if runtime:
                return int(runtime.group(1)) * 1000
    raise UnsupportedError("the installed PyTorch was not built for CUDA", "torch",
                           "pip install --no-deps torch, without --index-url .../cpu")


def _key(core: pathlib.Path, paths: Iterable[pathlib.Path]) -> str:
    digest = hashlib.sha256()
    for path in (core, pathlib.Path(__file__), pathlib.Path(elf.__file__), *paths):
        about = path.stat()
        digest.update(f"{path}:{about.st_size}:{about.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def _cache() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "tidemark" / "imagined"


def add_found_at_run_time(wanted: Dict[str, Dict[str, Optional[str]]],
                          implemented: Set[str]) -> None:
    """Adds all `implemented` functions of each library, because programs look up functions too."""
    by_family: Dict[str, List[str]] = {}
    for name in sorted(implemented):
        by_family.setdefault(_home(name) or "", []).append(name)
    for soname, functions in wanted.items():
        version = min(filter(None, functions.values()), default=None)
        for name in by_family.get(_family(soname), ()):
            functions.setdefault(name, version)


def _write(folder: pathlib.Path, core: pathlib.Path,
           wanted: Dict[str, Dict[str, Optional[str]]]) -> Tuple[int, int]:
    implemented = implemented_functions(core)
    add_found_at_run_time(wanted, implemented)
    count = used = 0
    for soname, functions in wanted.items():
        targets = {name: (version, PREFIX + name if name in implemented else UNKNOWN)
                   for name, version in functions.items()}
        (folder / soname).write_bytes(elf.forwarding_library(soname, CORE, targets, UNKNOWN))
        count += len(targets)
        used += sum(target != UNKNOWN for _, target in targets.values())
    return count, used


def make(core: pathlib.Path) -> Stubs:
    """Returns the stubs for this environment's PyTorch, from the cache or new.

    Raises UnsupportedError if there is no PyTorch, or if it wasn't built for CUDA."""
    torch = torch_folder()
    libraries = find_libraries(torch)
    wanted = wanted_functions(libraries)
    cuda = _cuda_version(torch, libraries)
    cudnn = _nvidia_file(torch, "cudnn/lib/libcudnn_graph.so.*")
    compiler = _nvidia_file(torch, "*/lib/libnvrtc.so.*")
    for soname in [one for one in wanted if one.startswith("libnvrtc")]:
        if compiler is not None:  # the real one works without a GPU
            del wanted[soname]
    asking = [torch / "lib" / "libc10_cuda.so", torch / "lib" / "libtorch_cuda.so",
              *filter(None, (cudnn, compiler))]
    sources = driver_sources(torch.parent)
    folder = _cache() / _key(core, [library.path for library in libraries] + asking + sources)
    if not folder.exists():
        for path in asking:
            # A CUDA runtime that is linked into an NVIDIA library must find no driver.
            for name in driver_names(path) - {"cuGetExportTable", "cuGetProcAddress"}:
                wanted[MONITOR if name.startswith("nvml") else DRIVER].setdefault(name, None)
        for path in sources:
            for name in driver_names_in_source(path):
                wanted[DRIVER].setdefault(name, None)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            counts = _write(pathlib.Path(name), core, wanted)
            (pathlib.Path(name) / "counts").write_text(f"{counts[0]} {counts[1]}")
            try:
                os.rename(name, folder)
                os.mkdir(name)  # TemporaryDirectory will remove it
            except OSError:  # another process was faster
                pass
    functions, implemented = map(int, (folder / "counts").read_text().split())
    return Stubs(folder, sorted(wanted), cuda, functions, implemented, cudnn)
