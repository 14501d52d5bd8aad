"""The proofs of scripts/prove_adapters.py about Numba."""
import concurrent.futures
import importlib.util
import os
import pathlib
import subprocess
import sys

from adapter_checks import ROOT, check, program

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
import os, sys
import pytest

@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False

outcomes = {}

def pytest_runtest_logreport(report):
    before = outcomes.get(report.nodeid, "passed")
    outcomes[report.nodeid] = before if before != "passed" else report.outcome

def pytest_sessionfinish():
    granted = 0
    if "tidemark" in sys.modules:
        from tidemark import _pools
        granted = sum(each.context.statistics().granted for each in _pools._clients.values())
    with open(os.environ["PROVE_OUTCOMES"], "w") as file:
        for name, outcome in outcomes.items():
            print(outcome, name, file=file)
        print("granted", granted, file=file)
"""
MEMORY_TESTS = ("test_emm_plugins", "test_cuda_memory", "test_deallocations", "test_host_alloc",
                "test_pinned", "test_context_stack", "test_reset_device", "test_select_device",
                "test_ipc", "test_cuda_array_interface", "test_cuda_ndarray", "test_streams",
                "test_cuda_devicerecord", "test_array_attr", "test_events")


def numba_run(folder, top, kind, number, modules):
    outcomes = folder / f"{kind}-{number}"
    variables = {"PROVE_OUTCOMES": str(outcomes),
                 "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "python")])}
    if kind != "default":
        variables["NUMBA_CUDA_MEMORY_MANAGER"] = "tidemark.numba"
        variables["TIDEMARK_NUMBA_POLICY"] = kind
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "numba_outcomes", "-p", "no:cacheprovider",
         "-p", "no:randomly", "-W", "ignore", "--import-mode=importlib", f"--rootdir={top}",
         "--pyargs", *modules], cwd=folder, text=True,
        capture_output=True, check=False, env={**os.environ, **variables})
    found, granted = {}, 0
    for line in outcomes.read_text().splitlines() if outcomes.exists() else ():
        outcome, _, name = line.partition(" ")
        if outcome == "granted":
            granted = int(name)
        else:
            found[name] = outcome
    return found, granted, done.stderr.strip(), done.stdout


def numba_tests(folder, wanted):
    import numba.cuda.tests as tests

    (folder / "filecheck").mkdir()
    if importlib.util.find_spec("filecheck") is None:
        for name in ("matcher", "options", "parser", "finput", "__init__"):
            (folder / "filecheck" / f"{name}.py").write_text(FILECHECK)
    (folder / "numba_outcomes.py").write_text(PLUGIN)
    top = pathlib.Path(tests.__file__).parent
    modules = [".".join([tests.__name__, *file.relative_to(top).with_suffix("").parts])
               for file in sorted(top.rglob("test_*.py"))
               if wanted is None or file.stem in wanted]
    shards = [modules[number::8] for number in range(8) if modules[number::8]]
    answers = {}
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        for kind in ("default", "torch", "extent"):
            done = list(threads.map(lambda pair, kind=kind: numba_run(folder, top, kind, *pair),
                                    enumerate(shards)))
            outcomes = {}
            for found, _, _, _ in done:
                outcomes.update(found)
            answers[kind] = outcomes
            counts = {each: list(outcomes.values()).count(each)
                      for each in ("passed", "skipped", "failed")}
            print(f"  {kind:8} {counts}, {sum(each[1] for each in done):,} requests granted")
            for _, _, said, _ in done:
                if said and kind != "default":
                    print("    on standard error:", said[-500:])
            if not outcomes:
                print(done[0][3][-1500:])
    base = answers["default"]
    check(len(base) > 0, f"{len(base)} tests ran")
    for kind in ("torch", "extent"):
        differ = {name: (base.get(name), answers[kind].get(name))
                  for name in base.keys() | answers[kind].keys()
                  if base.get(name) != answers[kind].get(name)}
        skipped = [name for name, pair in differ.items() if pair == ("passed", "skipped")]
        others = {name: pair for name, pair in differ.items() if name not in skipped}
        for name in skipped:
            print(f"    {kind}: skipped beside {name}")
        for name, pair in others.items():
            print(f"    {kind}: {pair[0]} -> {pair[1]} {name}")
        allowed = [name for name in others if kind == "extent" and "test_ipc" in name]
        check(len(skipped) == 6, f"{kind}: {len(skipped)} tests more are skipped (6 do so "
                                 "under any other allocator)")
        check(len(others) == len(allowed),
              f"{kind}: all others end as before"
              + (f", but {len(allowed)} of IPC, which needs cudaMalloc" if allowed else ""))


def prove_numba(folder, _steps):
    numba_tests(folder, MEMORY_TESTS)


def prove_numba_all(folder, _steps):
    numba_tests(folder, None)


LIFECYCLES = {
    "an array lives at the end": """
        import numpy, numba.cuda
        kept = numba.cuda.to_device(numpy.arange(1000))
        """,
    "a context is closed under an array": """
        import numpy, numba.cuda
        old = numba.cuda.to_device(numpy.arange(1000))
        numba.cuda.close()
        new = numba.cuda.to_device(numpy.arange(1000))
        del old
        assert (new.copy_to_host() == numpy.arange(1000)).all()
        """,
    "a reset comes first": """
        import numba.cuda
        numba.cuda.current_context().reset()
        numba.cuda.device_array(10)
        """,
    "four threads": """
        import threading, numpy, numba.cuda
        def work(seed):
            for number in range(200):
                made = numpy.full(1000 + number, seed)
                assert (numba.cuda.to_device(made).copy_to_host() == made).all()
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        """,
    "1,000 resets": """
        import numba.cuda, tidemark
        context = numba.cuda.current_context()
        kept = []
        for number in range(1000):
            kept.append(numba.cuda.device_array(100_000))
            context.reset()
            del kept[:]
        holder, = tidemark.holders()
        assert holder.count == 0 and holder.peak > 0, holder
        """,
    "cleanup is deferred": """
        import numba.cuda, tidemark
        with numba.cuda.defer_cleanup():
            for number in range(10):
                numba.cuda.device_array(1000)
            assert tidemark.holders()[0].count == 10
        assert tidemark.holders()[0].count == 0
        """,
}


def prove_lifecycle(_folder, _steps):
    for what, code in LIFECYCLES.items():
        done = program(code, NUMBA_CUDA_MEMORY_MANAGER="tidemark.numba",
                       NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS="0")
        if done.stderr:
            print(done.stderr[-1500:])
        check(done.returncode == 0 and not done.stderr, what)
