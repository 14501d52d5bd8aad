"""The PyTorch checks of scripts/prove_adapters.py. As a program (WAY STEPS), it trains what each
input line names, and answers each one with a line."""
import contextlib
import gc
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time

from adapter_checks import MIB, check, program, raises


def residual_network(_torch):
    import torchvision

    return torchvision.models.resnet50()


def residual_batch(torch, number):
    images = torch.randn(64 + number % 3 * 16, 3, 224, 224, device="cuda")
    return images, torch.randint(1000, (len(images),), device="cuda")


def language_model(torch):
    import transformers

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
                vocab_size=16384, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
                attn_implementation="eager"))

        def forward(self, tokens):
            return self.model(tokens, use_cache=False).logits

    return Logits()


def language_batch(torch, number):
    tokens = torch.randint(16384, (16, 128 + 64 * (number * 7 % 5)), device="cuda")
    return tokens, tokens


MODELS = {"resnet50": (residual_network, residual_batch), "gpt2": (language_model, language_batch)}
ROUNDS = 3
WAYS = ("native", "native again", "expandable", "use:extent", "use:torch", "pool:extent")


def train(torch, name, steps, half):
    """Losses and weights of a training run, the times of its steps, its peak of reserved memory."""
    make, batch_of = MODELS[name]
    torch.manual_seed(1)
    with torch.device("cuda"):
        model = make(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    torch.cuda.reset_peak_memory_stats()
    losses, times, quickest = [], [], {}
    for number in range(steps):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        batch, target = batch_of(torch, number)
        with torch.autocast("cuda", torch.bfloat16, enabled=half):
            out = model(batch)
            loss = torch.nn.functional.cross_entropy(out.flatten(0, -2), target.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - begin))
        shape = str(batch.shape)
        quickest[shape] = min(times[-1], quickest.get(shape, times[-1]))
        losses.append(loss.item())
    digest = hashlib.sha256()
    for weight in model.state_dict().values():
        digest.update(weight.cpu().numpy().tobytes())
    return {"losses": losses, "weights": digest.hexdigest()[:16],
            "ms": statistics.median(times[steps // 3:]), "quickest": quickest,
            "peak": torch.cuda.max_memory_reserved(),
            "used": torch.cuda.max_memory_allocated()}


def train_as(way, steps):
    """Trains what the input lines name, with memory from `way`; answers each one in JSON."""
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
    with inside:
        torch.ones(1, device="cuda")
        print("ready", flush=True)
        for line in sys.stdin:
            name, kind = line.split()
            answer = train(torch, name, steps, kind == "bf16")
            gc.collect()
            torch.cuda.empty_cache()
            answer["held"] = max((holder.peak for holder in tidemark.holders()), default=0)
            print(json.dumps(answer), flush=True)


def start_training(way, steps):
    variables = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
    if way == "expandable":
        variables["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    return subprocess.Popen([sys.executable, "-B", __file__, way, str(steps)], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            env={**os.environ, **variables})


def train_in_turn(trainers, order, training):
    """One training run in each process, in this order; all are started before the first one."""
    answers = {}
    for way in order:
        trainer = trainers[way]
        with contextlib.suppress(BrokenPipeError):
            print(training, file=trainer.stdin, flush=True)
        answer = next((line for line in trainer.stdout if line.startswith("{")), None)
        check(answer is not None, f"{way} trains {training}")
        answers[way] = json.loads(answer)
    return answers


def quickest_of(rounds, way):
    """The quickest step of all rounds for each shape of batches, summed up, in ms."""
    return sum(min(answers[way]["quickest"][shape] for answers in rounds)
               for shape in rounds[0][way]["quickest"])


def tell_training(training, rounds):
    for way in WAYS:
        # The ratio to the native run in the same round.
        ratios = [answers[way]["ms"] / answers["native"]["ms"] for answers in rounds]
        times = [answers[way]["ms"] for answers in rounds]
        first, base = rounds[0][way], rounds[0]["native"]["peak"]
        print(f"  {training:13} {way:12} {statistics.median(times):8.2f} ms/step, native x "
              f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}), quickest "
              f"x {quickest_of(rounds, way) / quickest_of(rounds, 'native'):.3f}"
              f"  peak reserved {first['peak'] / MIB:9.1f} MiB ({first['peak'] / base:.3f})"
              f"  allocated {first['used'] / MIB:9.1f} MiB", flush=True)


def prove_train(_folder, steps):
    import tidemark.torch._allocator as adapter
    import torch

    begin = time.perf_counter()
    adapter.load(torch)
    print(f"  allocator.cpp ready in {time.perf_counter() - begin:.1f} s")
    trainers = {way: start_training(way, steps) for way in WAYS}
    try:
        for way, trainer in trainers.items():
            check("ready\n" in trainer.stdout, f"{way} starts")
        differ, held = set(), dict.fromkeys(WAYS, 0)
        for training in (f"{name} {kind}" for name in MODELS for kind in ("fp32", "bf16")):
        # Each round starts with another one, because the position in the order matters.
            rounds = [train_in_turn(trainers, WAYS[turn:] + WAYS[:turn], training)
                      for turn in range(ROUNDS)]
            tell_training(training, rounds)
            expected = rounds[0]["native"]
            for way, answer in (each for answers in rounds for each in answers.items()):
                held[way] = max(held[way], answer["held"])
                if any(answer[key] != expected[key] for key in ("losses", "weights")):
                    differ.add(f"{training} by {way}")
    finally:
        for trainer in trainers.values():
            trainer.kill()
            trainer.wait()
    for way in WAYS:
        if ":" in way:
            check(held[way] > 0, f"{way}: Tidemark served {held[way] / MIB:.0f} MiB")
    check(not differ, f"losses and weights equal those of native in each round {sorted(differ) or ''}")


def graph_is_right(torch):
    """A captured graph whose memory nobody else gets while the graph exists."""
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
    check("before the first tensor" in late.stderr, "use() after a tensor is an error")
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
          "reset_peak_memory_stats resets max_memory_reserved")
    check("Allocated memory" in torch.cuda.memory_summary(), "memory_summary")
    total = torch.cuda.mem_get_info()[1]
    failure = raises(torch.cuda.OutOfMemoryError,
                     lambda: torch.empty(2 * total, dtype=torch.uint8, device="cuda"))
    print("   ", failure)
    check("Tried to allocate" in str(failure), "OutOfMemoryError")
    check(torch.cuda.memory_stats()["num_ooms"] == 1, "num_ooms")
    check(float((one + one).sum()) == 6 * MIB, "the program continues")
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
    """Rounds in which another stream read data that was written later to its buffer's memory."""
    side, reused = torch.cuda.Stream(), 0
        # The other stream allocates nothing: reusing its memory here would make this stream wait.
    differ = torch.empty(MIB, dtype=torch.bool, device="cuda")
    wrong = torch.zeros(rounds, dtype=torch.bool, device="cuda")
    torch.cuda.synchronize()
    for number in range(rounds):
        buffer = torch.full((MIB,), float(number), device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(10_000_000)
            torch.ne(buffer, number, out=differ)
            torch.any(differ, dim=0, out=wrong[number])
        if recorded:
            buffer.record_stream(side)
        address = buffer.data_ptr()
        del buffer
        later = []  # until one of them has its memory
        while len(later) < 64 and not (later and later[-1].data_ptr() == address):
            later.append(torch.full((MIB,), -1.0, device="cuda"))
        reused += later[-1].data_ptr() == address
        del later
    torch.cuda.synchronize()
    return int(wrong.sum()), reused


def prove_streams(_folder, _steps):
    import torch

    import tidemark.torch

    tidemark.torch.use(os.environ["PROVE_POLICY"])
    wrong, reused = corrupted(torch, 200, False)
    check(wrong > 0, f"without record_stream {wrong} of 200 rounds are wrong ({reused} had the "
                     "memory again)")
    wrong, reused = corrupted(torch, 2_000, True)
    check(wrong == 0, f"with it none of 2,000 is ({reused} had the memory again)")


if __name__ == "__main__":
    train_as(sys.argv[1], int(sys.argv[2]))
