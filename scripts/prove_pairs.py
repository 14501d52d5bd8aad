"""The cost of a pair of allocate and free on a GPU, compared in one run: SharedAllocator, the
driver's own pool, and PyTorch's allocator called from C++ (tests/bench/concurrent_bench.cpp)."""
import json
import pathlib
import re
import subprocess
import sysconfig

from prove_parity import Fact

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tests" / "bench" / "torch_pairs.cpp"
MOST_ALONE = 150  # ns, of one thread
MOST_TOGETHER = 300  # ns a pair and thread, of eight
MANY, CORES = 32, 16


def build_torch(folder):
    """PyTorch's allocator as a library; or None and the reason if it cannot be built."""
    try:
        import torch
    except ImportError as error:
        return None, str(error)
    place = pathlib.Path(torch.__file__).parent
    library = folder / "libtorch_pairs.so"
    command = ["g++", "-std=c++20", "-O2", "-shared", "-fPIC", SOURCE, "-o", library,
               f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
               f"-I{place / 'include'}", f"-I{sysconfig.get_paths()['include']}",
               "-I/usr/local/cuda/include", f"-L{place / 'lib'}", f"-Wl,-rpath,{place / 'lib'}",
               "-lc10_cuda", "-lc10"]
    for cudart in (place.parent / "nvidia").glob("**/libcudart.so.*"):
        command += [cudart, f"-Wl,-rpath,{cudart.parent}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (library, "") if done.returncode == 0 else (None, done.stderr[-400:])


def measure(program, folder, seconds):
    """{(allocator, pattern): {threads: ns of all threads together}}, and a note."""
    torch, why = build_torch(folder)
    command = [program, "--gpu", f"--benchmark_min_time={seconds}", "--benchmark_format=json",
               "--benchmark_filter=^(bare|cached|shared|library|driver|torch)"]
    command += ["--torch", torch] if torch else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {}, (done.stderr or done.stdout)[-400:]
    times = {}
    for each in json.loads(done.stdout)["benchmarks"]:
        name, pattern, _, threads = re.fullmatch(r"([^/]+)/([^/]+)/(real_time)/threads:(\d+)",
                                                 each["name"]).groups()
        times.setdefault((name, pattern), {})[int(threads)] = each["real_time"]
    return times, "" if torch else f"without PyTorch: {why}"


def table(times):
    """A line for each allocator and pattern: the cost of a pair for its thread."""
    counts = sorted({threads for each in times.values() for threads in each})
    lines = ["| allocator | pattern | " + " | ".join(f"{each} threads" for each in counts) + " |",
             "|---" * (len(counts) + 2) + "|"]
    for (name, pattern), each in times.items():
        cells = [f"{each[count] * count:.0f}" if count in each else "" for count in counts]
        lines.append(f"| {name} | {pattern} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def facts(times):
    found = []
    for (name, pattern), each in times.items():
        if not name.startswith("cached") or not {1, 2, 8, CORES, MANY} <= each.keys():
            continue
        subject = f"{name} {pattern}"
        found += [
            Fact(subject, "one thread", each[1] <= MOST_ALONE, f"{each[1]:.0f} ns a pair"),
            Fact(subject, "8 threads", each[8] * 8 <= MOST_TOGETHER,
                 f"{each[8] * 8:.0f} ns a pair"),
            Fact(subject, "grows", each[1] > each[2] > each[8],
                 f"{each[1] / each[8]:.1f} times one thread's throughput with 8"),
            Fact(subject, "many threads", each[MANY] <= 2 * each[CORES],
                 f"{each[CORES] / each[MANY]:.2f} times the throughput of {CORES} with {MANY}")]
    return found or [Fact("pairs", "measured", False, "nothing was measured")]
