#!/usr/bin/env python3
"""Proves on a GPU that other libraries do the same with their memory from Tidemark as with their own.

Usage: scripts/prove-on-gpu adapters [--steps N] [--only PROOF]

It needs libtidemark.so (TIDEMARK_LIBRARY names it; a build tree's is found) and the libraries that
the proofs name; a proof whose library isn't there is skipped. Each is a program of its own:

  train       a residual network and a GPT-2 trained by PyTorch's own allocator, with expandable
              segments, under tidemark.torch.use() and in a tidemark.torch.pool(): the same losses
              and weights to the last bit; time of a step and peak reserved of each
  torch       use(): statistics, out of memory and after, empty_cache, fractions, captured graphs,
              cudnn.benchmark; use() that comes too late
  streams     record_stream keeps memory of two streams whole, and without it the check finds so
  numba       Numba's own tests of memory, with Numba's allocator and ours: the same by each test
  numba-all   as numba, all of its tests (many minutes; only by --only)
  lifecycle   Numba's arrays at the end of the process, closed and reset contexts, threads
  cupy        results, streams, limits, out of memory, CuPy's own pool above ours. Its own test files
              are not in its wheel: what is computed is held against NumPy instead
  core        cuda.core: buffers, copies, DLPack
  rmm         requests, and the statistics adaptor above
  shared      PyTorch, CuPy and Numba in one process from one pool, with quotas
"""
import argparse
import concurrent.futures
import gc
import hashlib
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
MIB = 1 << 20


def check(condition, what):
    print(f"  {'ok  ' if condition else 'FAIL'} {what}", flush=True)
    if not condition:
        raise SystemExit(1)


def raises(kind, function, *given):
    try:
        function(*given)
    except kind as failure:
        return failure
    return None


def program(code, **variables):
    """Runs `code` in a Python of its own."""
    return subprocess.run([sys.executable, "-B", "-c", textwrap.dedent(code)], capture_output=True,
                          text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python"), **variables})


# ---- PyTorch


def residual_network(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, before, inner, stride):
            super().__init__()
            after = 4 * inner
            self.body = nn.Sequential(
                nn.Conv2d(before, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(),
                nn.Conv2d(inner, inner, 3, stride, 1, bias=False), nn.BatchNorm2d(inner),
                nn.ReLU(), nn.Conv2d(inner, after, 1, bias=False), nn.BatchNorm2d(after))
            self.side = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False),
                                      nn.BatchNorm2d(after))

        def forward(self, x):
            return torch.relu(self.body(x) + self.side(x))

    layers, before = [nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU(), nn.Conv2d(64, 64, 3, 2, 1)], 64
    for inner, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for number in range(count):
            layers.append(Block(before, inner, 2 if number == 0 and inner > 64 else 1))
            before = 4 * inner
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 1000))


def residual_batch(torch, number):
    images = torch.randn(16 + number % 3 * 8, 3, 160, 160, device="cuda")
    return images, torch.randint(1000, (len(images),), device="cuda")


def language_model(torch):
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True, norm_first=True, dropout=0)
    return nn.Sequential(nn.Embedding(16384, 768),
                         nn.TransformerEncoder(layer, 12, enable_nested_tensor=False),
                         nn.Linear(768, 16384))


def language_batch(torch, number):
    tokens = torch.randint(16384, (8, 128 + 64 * (number * 7 % 5)), device="cuda")
    return tokens, tokens


MODELS = {"residual": (residual_network, residual_batch),
          "language": (language_model, language_batch)}


def train(torch, name, steps):
    """Losses and weights of a training, the time of its steps, the most that it reserved."""
    make, batch_of = MODELS[name]
    torch.manual_seed(1)
    model = make(torch).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    torch.cuda.reset_peak_memory_stats()
    losses, times = [], []
    for number in range(steps):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        batch, target = batch_of(torch, number)
        out = model(batch)
        loss = torch.nn.functional.cross_entropy(out.flatten(0, -2), target.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - begin))
        losses.append(loss.item())
    digest = hashlib.sha256()
    for weight in model.state_dict().values():
        digest.update(weight.cpu().numpy().tobytes())
    return {"losses": losses, "weights": digest.hexdigest()[:16],
            "ms": statistics.median(times[steps // 3:]),
            "peak": torch.cuda.max_memory_reserved(),
            "used": torch.cuda.max_memory_allocated()}


def train_as(way, steps):
    """Both trainings, as `way` says; prints them as JSON."""
    import contextlib

    import torch

    import tidemark
    import tidemark.torch

    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    for attention in ("flash", "mem_efficient", "cudnn"):  # whose backward passes differ by run
        getattr(torch.backends.cuda, f"enable_{attention}_sdp")(False)
    kind, _, policy = way.partition(":")
    inside = contextlib.nullcontext()
    if kind == "use":
        tidemark.torch.use(policy)
    elif kind == "pool":
        made = tidemark.torch.pool(policy)
        inside = torch.cuda.use_mem_pool(made)
    answer = {}
    with inside:
        for name in MODELS:
            answer[name] = train(torch, name, steps)
            gc.collect()
            torch.cuda.empty_cache()
    answer["held"] = max((holder.peak for holder in tidemark.holders()), default=0)
    print(json.dumps(answer))


def prove_train(_folder, steps):
    import tidemark.torch._allocator as adapter
    import torch

    begin = time.perf_counter()
    adapter.load(torch)
    print(f"  allocator.cpp ready in {time.perf_counter() - begin:.1f} s")
    answers = {}
    for way in ("native", "expandable", "use:extent", "use:torch", "pool:extent"):
        variables = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
        if way == "expandable":
            variables["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
        done = subprocess.run([sys.executable, "-B", __file__, "--train", way, "--steps",
                               str(steps)], capture_output=True, text=True, check=False,
                              env={**os.environ, **variables})
        if done.returncode != 0:
            print(done.stderr[-1500:])
            check(False, f"{way} trains")
        answers[way] = json.loads(done.stdout.splitlines()[-1])
    native = answers["native"]
    for name in MODELS:
        for way, answer in answers.items():
            mine, base = answer[name], native[name]
            print(f"  {name:9} {way:12} {mine['ms']:8.2f} ms/step ({mine['ms'] / base['ms']:.3f})"
                  f"  peak reserved {mine['peak'] / MIB:9.1f} MiB"
                  f" ({mine['peak'] / base['peak']:.3f})  allocated {mine['used'] / MIB:9.1f} MiB")
    for way, answer in answers.items():
        check(all(answer[name][key] == native[name][key]
                  for name in MODELS for key in ("losses", "weights")),
              f"{way}: losses and weights are those of native")
        if ":" in way:
            check(answer["held"] > 0, f"{way}: Tidemark served {answer['held'] / MIB:.0f} MiB")


def graph_is_right(torch):
    """A captured graph whose memory is not granted to anybody else while it lives."""
    weights = torch.randn(512, 512, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        (weights @ weights).relu().sum()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        middle = weights @ weights
        kept = middle.relu() @ weights
        del middle
    others = [torch.full((512, 512), 7.0, device="cuda") for _ in range(64)]
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    right = torch.equal(kept, (weights @ weights).relu() @ weights)
    return right and all(bool((other == 7).all()) for other in others)


def prove_torch(_folder, _steps):
    import torch

    import tidemark
    import tidemark.torch

    late = program("""
        import torch, tidemark.torch
        torch.ones(1, device="cuda")
        tidemark.torch.use("extent")
        """)
    check("before the first tensor" in late.stderr, "use() after a tensor is refused")
    tidemark.torch.use("extent")
    one = torch.ones(3 * MIB, device="cuda")
    check(torch.cuda.memory_allocated() >= 12 * MIB, "memory_allocated")
    check(torch.cuda.memory_reserved() >= torch.cuda.memory_allocated(), "memory_reserved")
    two = torch.ones(30 * MIB, device="cuda")
    del two
    check(torch.cuda.max_memory_allocated() >= 132 * MIB, "max_memory_allocated")
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    check(torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated() < 30 * MIB,
          "reset_peak_memory_stats, empty_cache")
    check(torch.cuda.max_memory_reserved() == torch.cuda.memory_reserved() < 100 * MIB,
          "max_memory_reserved begins anew")
    check("Allocated memory" in torch.cuda.memory_summary(), "memory_summary")
    total = torch.cuda.mem_get_info()[1]
    failure = raises(torch.cuda.OutOfMemoryError,
                     lambda: torch.empty(2 * total, dtype=torch.uint8, device="cuda"))
    print("   ", failure)
    check("Tried to allocate" in str(failure), "OutOfMemoryError")
    check(torch.cuda.memory_stats()["num_ooms"] == 1, "num_ooms")
    check(float((one + one).sum()) == 6 * MIB, "the program goes on")
    torch.cuda.set_per_process_memory_fraction(256 * MIB / total)
    check(raises(torch.cuda.OutOfMemoryError,
                 lambda: torch.empty(300 * MIB, dtype=torch.uint8, device="cuda")) is not None,
          "a memory fraction is a limit")
    torch.cuda.set_per_process_memory_fraction(1.0)
    torch.backends.cudnn.benchmark = True
    images = torch.randn(8, 16, 64, 64, device="cuda")
    torch.nn.Conv2d(16, 32, 3).cuda()(images)
    check(True, "cudnn.benchmark")
    check(graph_is_right(torch), "a captured graph keeps its memory to itself")
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        inside = torch.full((MIB,), 3.0, device="cuda")
    check(float(inside.sum()) == 3 * MIB, "MemPool")
    del inside, pool, images, one
    gc.collect()
    torch.cuda.empty_cache()
    print("   ", tidemark.holders(), f"{torch.cuda.memory_reserved() / MIB:.1f} MiB reserved")


def corrupted(torch, rounds, recorded):
    """Rounds in which another stream read what came later into the memory of its buffer."""
    side, wrong = torch.cuda.Stream(), []
    for number in range(rounds):
        buffer = torch.full((MIB,), float(number), device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(200_000)
            wrong.append((buffer != number).any())
        if recorded:
            buffer.record_stream(side)
        del buffer
        torch.full((MIB,), -1.0, device="cuda")
    torch.cuda.synchronize()
    return int(torch.stack(wrong).sum())


def prove_streams(_folder, _steps):
    import torch

    import tidemark.torch

    tidemark.torch.use(os.environ["PROVE_POLICY"])
    without, with_it = corrupted(torch, 500, False), corrupted(torch, 500, True)
    check(without > 0, f"without record_stream {without} of 500 rounds are wrong")
    check(with_it == 0, "with it none is")


# ---- Numba

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


# ---- CuPy, cuda.core, RMM, all together


def cupy_work(cupy, numpy):
    """What arrays, temporary ones and workspaces are made for; the results on the host."""
    random = numpy.random.default_rng(1)
    results = []
    for size in (100, 511, 1000):
        first, second = (cupy.asarray(random.standard_normal((size, size))) for _ in range(2))
        results += [first @ second, cupy.sort(first, axis=0), cupy.fft.fft2(first),
                    (first + second).sum(axis=1), cupy.where(first > 0, first, second)[::2],
                    cupy.concatenate([first, second]).cumsum(), cupy.linalg.norm(first),
                    cupy.unique(cupy.rint(first))]
    return [cupy.asnumpy(result) for result in results]


def same(mine, others):
    return all((one == other).all() for one, other in zip(mine, others))


def prove_cupy(_folder, _steps):
    import cupy
    import numpy

    import tidemark
    import tidemark.cupy

    expected = cupy_work(cupy, numpy)
    made = tidemark.cupy.use()
    check(same(cupy_work(cupy, numpy), expected), "results are those with CuPy's own pool")
    check(tidemark.holders()[0].peak > MIB, f"{tidemark.holders()[0]}")
    array = cupy.arange(1000, dtype=cupy.float64)
    check((cupy.asnumpy(array * 2) == numpy.arange(1000) * 2.0).all(), "and NumPy's")
    check(cupy.empty((0, 3)).size == 0, "an empty array")
    side = cupy.cuda.Stream(non_blocking=True)
    with side:
        other = cupy.ones(1000)
    from tidemark import _pools
    check(_pools.context(0).base_of(other.data.ptr).stream == side.ptr,
          "memory is granted on the current stream")
    del other
    made.set_limit(100 * MIB)
    failure = raises(cupy.cuda.memory.OutOfMemoryError, cupy.empty, 200 * MIB, cupy.uint8)
    check(failure is not None, f"{failure}")
    made.set_limit(0)
    held = made.used_bytes()
    more = cupy.empty(1000, cupy.uint8)
    check(made.used_bytes() == held + 1000, "used_bytes")
    del more
    made.free_all_blocks()
    check(made.total_bytes() < held + 64 * MIB,
          f"free_all_blocks leaves {made.total_bytes() / MIB:.1f} MiB")
    pool = tidemark.cupy.memory_pool()
    with cupy.cuda.using_allocator(pool.malloc):
        check(same(cupy_work(cupy, numpy), expected), "CuPy's pool above: the same results")
        check(pool.total_bytes() + held == made.used_bytes(), "and what it holds is from Tidemark")
    pool.free_all_blocks()
    check(pool.total_bytes() + held == made.used_bytes(), "which has again what it gives back")


def prove_core(_folder, _steps):
    from cuda.core import Device

    import tidemark
    import tidemark.cuda_core

    device = Device()
    device.set_current()
    stream = device.create_stream()
    resource = tidemark.cuda_core.MemoryResource(device.device_id)
    device.memory_resource = resource
    first = device.allocate(4096, stream=stream)
    second = resource.allocate(4096, stream)
    third = resource.allocate(4096, stream=stream)
    check(tidemark.holders()[0].count == 3, "both spellings of the stream")
    first.fill(0x5a, stream=stream)
    first.copy_to(second, stream=stream)
    stream.sync()
    third.close(stream)
    check(tidemark.holders()[0].count == 2, "a closed buffer is freed")
    for library in ("torch", "cupy"):
        if importlib.util.find_spec(library):
            module = __import__(library)
            seen = module.from_dlpack(second)
            check(int((seen.view(module.uint8) == 0x5a).sum()) == 4096, f"{library} reads it")
            del seen
    done = program("""
        from cuda.core import Device
        import tidemark.cuda_core
        device = Device()
        device.set_current()
        kept = tidemark.cuda_core.MemoryResource().allocate(100, stream=device.default_stream)
        """)
    check(done.returncode == 0 and not done.stderr, "a buffer lives at the end" + done.stderr)


def prove_rmm(_folder, _steps):
    import rmm
    import rmm.mr

    import tidemark
    import tidemark.rmm

    made = tidemark.rmm.use()
    counted = rmm.mr.StatisticsResourceAdaptor(made)
    rmm.mr.set_current_device_resource(counted)
    buffers = [rmm.DeviceBuffer(size=1000 * (number + 1)) for number in range(100)]
    check(counted.allocation_counts.current_bytes == tidemark.holders()[0].bytes
          == sum(buffer.size for buffer in buffers), "statistics above are Tidemark's")
    content = bytes(range(250)) * 4
    check(rmm.DeviceBuffer.to_device(content).tobytes() == content, "content")
    tidemark.set_quota("rmm", 10 * MIB)
    check(raises(MemoryError, lambda: rmm.DeviceBuffer(size=20 * MIB)) is not None, "a quota")
    del buffers
    check(tidemark.holders()[0].count == 0, "all is freed")


def prove_shared(_folder, _steps):
    import cupy
    import torch
    from numba import cuda

    import tidemark
    import tidemark.cupy
    import tidemark.numba
    import tidemark.torch

    tidemark.torch.use("extent", machine="cuda")
    tidemark.cupy.use()
    tidemark.numba.use()
    big = torch.ones(64 * MIB, device="cuda")
    array = cupy.ones(MIB)
    device_array = cuda.device_array(MIB)
    held = {holder.client: holder for holder in tidemark.holders()}
    for holder in held.values():
        print("   ", holder)
    check(set(held) == {"torch", "cupy", "numba"}, "three libraries hold memory of one pool")
    from tidemark import _pools
    check(len(_pools._contexts) == 1, "of one context")
    check(_pools.context(0).statistics().requested == sum(each.bytes for each in held.values()),
          "and what they hold is what it granted")
    check(float(torch.as_tensor(array, device="cuda").sum()) == MIB, "PyTorch reads CuPy's array")
    tidemark.set_quota("cupy", 16 * MIB)
    check(raises(cupy.cuda.memory.OutOfMemoryError, cupy.ones, 4 * MIB) is not None,
          "a quota holds for CuPy")
    check(torch.ones(4 * MIB, device="cuda").sum() == 4 * MIB, "and not for PyTorch")
    reserved = _pools.context(0).statistics().reserved
    del big
    gc.collect()
    again = cupy.ones(MIB // 2)
    check(_pools.context(0).statistics().reserved == reserved,
          "what PyTorch freed serves CuPy, without the driver")
    del array, again, device_array
    gc.collect()
    _pools.context(0).trim(wait=True)
    check(_pools.context(0).statistics().live == 0, "all is freed")


PROOFS = {
    "train": (prove_train, "torch", [{}]),
    "torch": (prove_torch, "torch", [{}]),
    "streams": (prove_streams, "torch", [{"PROVE_POLICY": "torch"}, {"PROVE_POLICY": "extent"}]),
    "numba": (prove_numba, "numba", [{}]),
    "numba-all": (prove_numba_all, "numba", [{}]),
    "lifecycle": (prove_lifecycle, "numba", [{}]),
    "cupy": (prove_cupy, "cupy", [{}]),
    "core": (prove_core, "cuda.core", [{}]),
    "rmm": (prove_rmm, "rmm", [{}]),
    "shared": (prove_shared, "torch cupy numba", [{}]),
}
ONLY_BY_NAME = ("numba-all",)


def missing(libraries):
    """The first of them that isn't installed, or None."""
    for library in libraries.split():
        try:
            if importlib.util.find_spec(library) is None:
                return library
        except ImportError:
            return library
    return None


def prove(name, variables, steps):
    """Runs a proof in a program of its own; whether it holds."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-B", __file__, "--run", name, "--folder", folder,
                               "--steps", str(steps)], env={**os.environ, **variables},
                              check=False)
    print(f"== {name} {' '.join(variables.values())}: "
          f"{'ok' if done.returncode == 0 else 'FAILED'} ({time.perf_counter() - begin:.0f} s)",
          flush=True)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--only", choices=PROOFS, action="append")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--train", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.train:
        return train_as(given.train, given.steps)
    if given.run:
        return PROOFS[given.run][0](given.folder, given.steps)
    failed = []
    for name in given.only or [each for each in PROOFS if each not in ONLY_BY_NAME]:
        _, libraries, runs = PROOFS[name]
        if missing(libraries):
            print(f"== {name}: skipped, {missing(libraries)} is not installed")
            continue
        failed += [name for variables in runs if not prove(name, variables, given.steps)]
    print("proven" if not failed else f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
