"""The CCCL checks of scripts/prove_adapters.py: nvcc compiles <tidemark/memory_resource.h>."""
import os
import shutil
import subprocess

from adapter_checks import ROOT, check

SOURCES = ROOT / "tests" / "replay" / "c_api" / "cuda_mr"


def nvcc():
    """The path of nvcc, or None."""
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def prove_cccl(folder, _steps):
    from tidemark import _library

    (folder / "tidemark").mkdir()
    (folder / "tidemark" / "memory_resource.h").symlink_to(
        ROOT / "replay" / "c_api" / "memory_resource.h")
    compile_ = [nvcc(), "-std=c++17", f"-I{folder}", f"-I{ROOT}"]
    done = subprocess.run([*compile_, "-x", "cu", "-c", "-o", os.devnull,
                           str(SOURCES / "cccl_program.cpp")], check=False)
    check(done.returncode == 0, "it has what each concept needs, and nothing that could be left out")
    library = next(path for path in _library.candidates() if os.path.exists(path))
    program = folder / "two_streams"
    subprocess.run([*compile_, "-o", str(program), str(SOURCES / "two_streams.cu"),
                    f"-Xlinker={library},-rpath,{os.path.dirname(library)}"], check=True)
    tool = shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin")
            # The program runs out of memory on purpose, and the driver returns an error.
    checked = [tool, "--error-exitcode", "1", "--report-api-errors", "no"]
    for before in ([], checked) if tool else ([],):
        done = subprocess.run([*before, str(program)], capture_output=True, text=True, check=False)
        check(done.returncode == 0, " ".join([*(["compute-sanitizer:"] if before else []),
                                              done.stdout.strip(), done.stderr.strip()]))
