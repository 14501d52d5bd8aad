"""Runs other libraries' own tests with their own memory and with Tidemark's: each test must have the
same outcome. Checks of scripts/prove_adapters.py."""
import collections
import concurrent.futures
import importlib.util
import os
import pathlib
import subprocess
import sys
import time

from adapter_checks import ROOT, check

FILECHECK = """
import unittest
class Missing:
    def __init__(self, *given, **named):
        raise unittest.SkipTest("filecheck is not installed")
    from_opts = classmethod(lambda cls, *given, **named: cls())
Matcher = Options = Parser = FInput = Missing
pattern_for_opts = Missing
"""
PLUGIN = """
import os, sys, zlib
import numpy
import pytest

# Numba's tests use the old names; NumPy 2.4 has only the new ones.
for gone, there in (("trapz", "trapezoid"), ("in1d", "isin"), ("row_stack", "vstack")):
    if not hasattr(numpy, gone):
        setattr(numpy, gone, getattr(numpy, there))

def pytest_collection_modifyitems(items):
    number, count = map(int, os.environ["PROVE_SHARD"].split("/"))
    items[:] = [item for item in items  # tests of one class stay together
                if zlib.crc32(item.nodeid.rpartition("::")[0].encode()) % count == number]

@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False

@pytest.fixture(autouse=True)
def memory_of_cupy():
    if "PROVE_CUPY" in os.environ:  # again for each test: some tests set their own
        import tidemark.cupy
        tidemark.use(os.environ["PROVE_CUPY"])
        tidemark.cupy.use()
    yield

served = [0]
if "NUMBA_CUDA_MEMORY_MANAGER" in os.environ:
    import tidemark.numba
    kind = tidemark.numba.plugin()
    def memalloc(self, size, whole=kind.memalloc):
        pointer = whole(self, size)
        served[0] += 1
        if "PROVE_BROKEN" in os.environ:  # the positive control: a pointer that nobody holds
            pointer.refct = 0
        return pointer
    kind.memalloc = memalloc

outcomes = {}

def pytest_runtest_logreport(report):
    before = outcomes.get(report.nodeid, ("passed", ""))
    if before[0] == "passed":
        said = report.longreprtext.splitlines() if report.outcome == "failed" else []
        said = [line for line in said if line.startswith("E  ")] or said
        outcomes[report.nodeid] = (report.outcome, " ".join(said[-1].split()) if said else "")
    if report.when == "teardown":
        with open(os.environ["PROVE_OUTCOMES"], "a") as file:
            print(*outcomes.pop(report.nodeid, ("failed", ""))[::-1], report.nodeid, sep="\\t",
                  file=file)

def pytest_sessionfinish():
    if "tidemark" in sys.modules:
        from tidemark import _pools
        granted = sum(each.granted for each in _pools._clients.values())
        with open(os.environ["PROVE_OUTCOMES"], "a") as file:
            print(served[0], "granted", granted, sep="\\t", file=file)
"""
MEMORY_TESTS = ("test_emm_plugins", "test_cuda_memory", "test_deallocations", "test_host_alloc",
                "test_pinned", "test_context_stack", "test_reset_device", "test_select_device",
                "test_ipc", "test_cuda_array_interface", "test_cuda_ndarray", "test_streams",
                "test_cuda_devicerecord", "test_array_attr", "test_events")
PROCESSES = int(os.environ.get("PROVE_PROCESSES", len(os.sched_getaffinity(0))))
# After this many seconds, nothing new is started, and running tests are ended.
END = time.monotonic() + float(os.environ["PROVE_SECONDS"]) if "PROVE_SECONDS" in os.environ else None
POLICIES = os.environ.get("PROVE_POLICIES", "torch extent").split()
CUPY_TESTS = "PROVE_CUPY_TESTS"  # the folder tests/ of CuPy's sources, of the version installed
CUPY_FILES = ("creation_tests", "manipulation_tests", "cuda_tests/test_memory.py",
              "cuda_tests/test_memory_hook.py", "cuda_tests/memory_hooks_tests",
              "cuda_tests/test_stream.py", "cuda_tests/test_pinned_memory.py",
              "core_tests/test_core.py", "core_tests/test_dlpack.py", "core_tests/test_ndarray.py",
              "core_tests/test_ndarray_copy_and_view.py", "core_tests/test_ndarray_get.py",
              "core_tests/test_ndarray_owndata.py", "core_tests/test_multithreading.py")

Suite = collections.namedtuple("Suite", "outcomes reasons granted served errors")


def run_shard(folder, name, variables, arguments, shard):
    """(lines of its outcomes, its standard error), or None if time ran out."""
    outcomes = folder / f"{name}-{shard.partition('/')[0]}"
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "suite_outcomes", "-p", "no:cacheprovider",
             "-p", "no:randomly", "-W", "ignore", "--continue-on-collection-errors", *arguments], cwd=folder, text=True,
            capture_output=True, check=False,
            timeout=None if END is None else max(END - time.monotonic(), 0.01),
            env={**os.environ, **variables, "PROVE_OUTCOMES": str(outcomes),
                 "PROVE_SHARD": shard,
                 "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "python"),
                                                os.environ.get("PYTHONPATH", "")])})
    except subprocess.TimeoutExpired:
        return None
    if not outcomes.exists():
        if done.returncode != 5:  # 5: this shard has no tests
            print(done.stdout[-1500:])
        return [], done.stderr.strip()
    return [line.split("\t") for line in outcomes.read_text().splitlines()], done.stderr.strip()


def run_suites(folder, ways, arguments, count):
    """The suite's outcomes in each of the `ways` {name: variables}, and whether the suite is
    complete. It is cut into `count` shards for as many processes as there are processors, one shard
    after the other, so that every way has the same tests if time runs out."""
    with concurrent.futures.ThreadPoolExecutor(PROCESSES) as threads:
        running = [[threads.submit(run_shard, folder, name, variables, arguments,
                                   f"{number}/{count}")
                    for name, variables in ways.items()] for number in range(count)]
        shards = [[each.result() for each in shard] for shard in running]
    whole = [shard for shard in shards if None not in shard]
    if len(whole) < count:
        print(f"  time ran out: {len(whole)} of {count} parts of the tests ran in every way")
    suites = {}
    for index, name in enumerate(ways):
        suite = suites[name] = Suite({}, {}, [0], [0], [])
        for lines, said in (shard[index] for shard in whole):
            for reason, outcome, test in lines:
                if outcome == "granted":
                    suite.granted[0] += int(test)
                    suite.served[0] += int(reason)
                else:
                    suite.outcomes[test] = outcome
                    suite.reasons[test] = reason
            if said:
                suite.errors.append(said[-500:])
        counts = collections.Counter(suite.outcomes.values())
        print(f"  {name:8} {dict(counts)}, {suite.granted[0]:,} requests served", flush=True)
    return suites, len(whole) == count


def differences(base, suite):
    """Tests with another outcome, as {test: (before, now)}."""
    return {test: (base.outcomes.get(test), suite.outcomes.get(test))
            for test in sorted(base.outcomes.keys() | suite.outcomes.keys())
            if base.outcomes.get(test) != suite.outcomes.get(test)}


def told(name, suite, differ):
    for said in suite.errors:
        print("    on standard error:", said)
    for test, (before, now) in differ.items():
        print(f"    {name}: {before} -> {now} {test}: {suite.reasons.get(test)}")


def tell_failures_of(base):
    """The tests that also fail without Tidemark, by reason."""
    reasons = collections.Counter(base.reasons[test][:100] for test, outcome in base.outcomes.items()
                                  if outcome == "failed")
    for reason, count in reasons.most_common(8):
        print(f"    fails with its own memory: {count} times {reason}")


def numba_tests(folder, wanted, shards):
    import numba.cuda.tests as tests

    (folder / "filecheck").mkdir()
    if importlib.util.find_spec("filecheck") is None:
        for name in ("matcher", "options", "parser", "finput", "__init__"):
            (folder / "filecheck" / f"{name}.py").write_text(FILECHECK)
    (folder / "suite_outcomes.py").write_text(PLUGIN)
    top = pathlib.Path(tests.__file__).parent
    modules = [".".join([tests.__name__, *file.relative_to(top).with_suffix("").parts])
               for file in sorted(top.rglob("test_*.py"))
               if wanted is None or file.stem in wanted]
    options = ["--import-mode=importlib", f"--rootdir={top}", "--pyargs"]
    ours = {"NUMBA_CUDA_MEMORY_MANAGER": "tidemark.numba"}
    memory = [each for each in modules if each.endswith("test_cuda_memory")]
    broken = run_suites(folder, {"broken": {**ours, "PROVE_BROKEN": "1"}},
                        [*options, *memory], 1)[0]["broken"]
    check("failed" in [outcome for test, outcome in broken.outcomes.items() if "derived" in test],
          "the check finds a pointer that nobody holds")
    suites, whole = run_suites(
        folder, {"default": {}, **{policy: {**ours, "TIDEMARK_NUMBA_POLICY": policy}
                                   for policy in POLICIES}}, [*options, *modules], shards)
    base = suites.pop("default")
    tell_failures_of(base)
    check(len(base.outcomes) > 0, f"{len(base.outcomes)} tests ran")
    for policy, suite in suites.items():
        differ = differences(base, suite)
        told(policy, suite, differ)
        skipped = [test for test, pair in differ.items() if pair == ("passed", "skipped")]
        others = [test for test in differ if test not in skipped]
        allowed = [test for test in others if policy == "extent" and "test_ipc" in test]
        check(len(skipped) == 6 or not whole, f"{policy}: {len(skipped)} more tests are skipped (6 "
                                              "do so under any other allocator)")
        check(len(others) == len(allowed),
              f"{policy}: all others end as before"
              + (f", but {len(allowed)} of IPC, which needs cudaMalloc" if allowed else ""))
        check(suite.granted[0] == suite.served[0] > 0 and not suite.errors,
              f"{policy}: it served what Numba got, without messages")


def prove_numba(folder, _steps):
    numba_tests(folder, MEMORY_TESTS, 8)


def prove_numba_all(folder, _steps):
    numba_tests(folder, None, 32)


def prove_cupy_tests(folder, _steps):
    top = pathlib.Path(os.environ[CUPY_TESTS]).resolve()
    (folder / "suite_outcomes.py").write_text(PLUGIN)
    found = {path for pattern in CUPY_FILES for path in top.glob(f"cupy_tests/{pattern}")}
    files = sorted({str(file) for path in found
                    for file in ([path] if path.is_file() else path.rglob("test_*.py"))})
    arguments = [f"--rootdir={top}", "-o", "xfail_strict=true", "-m", "not slow and not multi_gpu",
                 *files]
    suites, _ = run_suites(folder, {"default": {}, **{policy: {"PROVE_CUPY": policy}
                                                      for policy in POLICIES}}, arguments, 48)
    base = suites.pop("default")
    tell_failures_of(base)
    check(len(base.outcomes) > 0, f"{len(base.outcomes)} tests ran")
    for policy, suite in suites.items():
        differ = differences(base, suite)
        told(policy, suite, differ)
        check(suite.granted[0] > 0 and not differ, f"{policy}: all end as before")
