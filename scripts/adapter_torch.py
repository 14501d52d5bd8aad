"""The proofs of scripts/prove_adapters.py about PyTorch. As a program (WAY STEPS) it trains."""
import gc
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time

from adapter_checks import MIB, check, program, raises


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
        done = subprocess.run([sys.executable, "-B", __file__, way, str(steps)], capture_output=True, text=True, check=False,
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


if __name__ == "__main__":
    train_as(sys.argv[1], int(sys.argv[2]))
