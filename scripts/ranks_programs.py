#!/usr/bin/env python3
"""Training programs of several ranks, for scripts/prove_ranks.py.

Usage: torchrun --nproc-per-node N scripts/ranks_programs.py NAME [--record FILE] [--use POLICY]
                                                                  [--growth N]
       scripts/ranks_programs.py                    lists the programs

Each rank prints one line of JSON: its peaks, the memory of its GPU that all processes use, as NVML says
it, its step times and its losses. All programs train one small decoder, written here in plain PyTorch, with synthetic
tokens; they differ in how they spread it over the ranks. Any number of GPUs from 2 will do.
"""
import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

STEPS = 8
WIDTH, HEADS, LAYERS, VOCABULARY = 1024, 8, 6, 8192
LEAK = 16 << 20   # bytes that the leaking rank keeps in each step
LONGER_FROM = 4   # the step from which one rank gets longer batches
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


class Job:
    """What a program knows of itself: its rank, the number of ranks, and the recording, if any."""

    def __init__(self, recording, growth):
        self.growth, self.figures = growth, {}
        self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        self.recording, self.losses, self.times = recording, [], []
        torch.cuda.set_device(self.device)
        torch.empty(1, device=self.device)
        self.figures["context"] = used_memory(self.device) - torch.cuda.memory_reserved()
        dist.init_process_group("nccl", device_id=self.device)

    def step(self):
        return self.recording.range("step") if self.recording else contextlib.nullcontext()

    def train(self, one_step, optimizer, steps=STEPS):
        """Runs the steps; one_step(number) does forward and backward passes and returns the loss."""
        for number in range(steps):
            begun = time.monotonic()
            with self.step():
                loss = one_step(number)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                torch.cuda.synchronize()
            self.times.append((time.monotonic() - begun) * 1e3)
            self.losses.append(None if loss is None else float(loss.detach()))

    def tokens(self, number, batch, length, shared=False):
        """Tokens of a step: other ones on each rank, unless shared. --growth multiplies the batch."""
        batch *= self.growth
        seed = torch.Generator().manual_seed(number * 1000 + (0 if shared else self.rank))
        return torch.randint(VOCABULARY, (batch, length), generator=seed).to(self.device)


def used_memory(device):
    """What all processes use of the GPU, by NVML; by CUDA where there is no nvidia-smi."""
    try:
        text = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits",
                               "-i", str(device.index)], capture_output=True, text=True, check=True)
        return int(text.stdout) << 20
    except (OSError, ValueError, subprocess.CalledProcessError):
        free, total = torch.cuda.mem_get_info()
        return total - free


def define_model():
    """The decoder's classes, made after the import of torch."""
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

        def forward(self, x, gather=None):
            q, k, v = (layer(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)
                       for layer in (self.q, self.k, self.v))
            if gather:
                k, v = gather(k), gather(v)
            return self.o(functional.scaled_dot_product_attention(q, k, v)
                          .transpose(1, 2).flatten(2))

    class Block(nn.Module):
        def __init__(self, mlp=None):
            super().__init__()
            self.attention, self.mlp = Attention(), mlp or nn.Sequential(
                nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

        def forward(self, x, gather=None):
            x = x + self.attention(self.norm1(x), gather)
            return x + self.mlp(self.norm2(x))

    class Decoder(nn.Module):
        def __init__(self, layers=LAYERS, first=True, last=True, mlp=lambda: None):
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, WIDTH) if first else None
            self.blocks = nn.ModuleList(Block(mlp()) for _ in range(layers))
            self.head = nn.Linear(WIDTH, VOCABULARY) if last else None
            self.checkpointed = False

        def forward(self, x, gather=None):
            x = self.embedding(x) if self.embedding else x
            for block in self.blocks:
                if self.checkpointed:
                    x = checkpoint(block, x, gather, use_reentrant=False)
                else:
                    x = block(x, gather)
            return self.head(x) if self.head else x

    return Decoder


def loss_of(logits, targets):
    return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def adamw(model, **named):
    return torch.optim.AdamW(model.parameters(), lr=1e-4, **named)


def distributed(job, model):
    return nn.parallel.DistributedDataParallel(model, device_ids=[job.device])


@program
def fsdp2(job):
    """Parameters, gradients and state sharded over all ranks."""
    from torch.distributed.fsdp import fully_shard

    model = Decoder().to(job.device)
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)

    def one_step(number):
        tokens = job.tokens(number, 4 + number % 3, 512)
        loss = loss_of(model(tokens), tokens)
        loss.backward()
        return loss

    job.train(one_step, adamw(model))


@program
def tensor_data(job):
    """Tensor parallel over 2, data parallel over the rest."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import parallel

    mesh = init_device_mesh("cuda", (job.world // 2, 2), mesh_dim_names=("data", "tensor"))
    model = Decoder().to(job.device)
    by_columns, by_rows = parallel.ColwiseParallel, parallel.RowwiseParallel
    for block in model.blocks:
        parallel.parallelize_module(block, mesh["tensor"], {
            "attention.q": by_columns(), "attention.k": by_columns(), "attention.v": by_columns(),
            "attention.o": by_rows(), "mlp.0": by_columns(), "mlp.2": by_rows()})
        if job.world > 2:
            fully_shard(block, mesh=mesh["data"])

    def one_step(number):
        tokens = job.tokens(number * 100 + mesh.get_local_rank("data"), 4 + number % 3, 512,
                            shared=True)
        loss = loss_of(model(tokens), tokens)
        loss.backward()
        return loss

    job.train(one_step, adamw(model, foreach=False))


def pipeline(job, chunks, schedule_of):
    """Stages with 1, 2, 3 ... layers, `chunks` of them on each rank; data parallel over the rest."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.pipelining import PipelineStage

    depth = 4 if job.world % 4 == 0 else 2
    mesh = init_device_mesh("cuda", (job.world // depth, depth), mesh_dim_names=("data", "stage"))
    place, stages = mesh.get_local_rank("stage"), depth * chunks
    own = [place + depth * chunk for chunk in range(chunks)]
    parts = [Decoder(1 + index % 3, index == 0, index == stages - 1).to(job.device) for index in own]
    schedule = schedule_of([PipelineStage(part, index, stages, job.device,
                                          group=mesh.get_group("stage"))
                            for part, index in zip(parts, own)])
    everything = nn.ModuleList(parts)

    def one_step(number):
        tokens = job.tokens(number * 100 + mesh.get_local_rank("data"), 8, 512, shared=True)
        losses = []
        given = (tokens,) if own[0] == 0 else ()
        ends = {"target": tokens, "losses": losses} if own[-1] == stages - 1 else {}
        schedule.step(*given, **ends)
        for parameter in everything.parameters():
            dist.all_reduce(parameter.grad, group=mesh.get_group("data"))
        return torch.stack(losses).mean() if losses else None

    job.train(one_step, adamw(everything))


@program
def pipeline_1f1b(job):
    """A pipeline of uneven stages."""
    from torch.distributed.pipelining import Schedule1F1B

    pipeline(job, 1, lambda stages: Schedule1F1B(stages[0], 4, loss_fn=loss_of))


@program
def pipeline_interleaved(job):
    """The same with two stages on each rank."""
    from torch.distributed.pipelining import ScheduleInterleaved1F1B

    pipeline(job, 2, lambda stages: ScheduleInterleaved1F1B(stages, 4, loss_fn=loss_of))


@program
def experts(job):
    """One expert on each rank; later ranks get more tokens, and how many changes with each step."""
    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.expert = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                        nn.Linear(4 * WIDTH, WIDTH))
            self.calls = 0

        def forward(self, x):
            tokens = x.flatten(0, 1)
            self.calls += 1
            chance = torch.Generator().manual_seed(self.calls * 77 + job.rank)
            weights = torch.arange(1, job.world + 1, dtype=torch.float) ** 2
            chosen = torch.multinomial(weights, len(tokens), True, generator=chance)
            order = chosen.argsort().to(job.device)
            sent = torch.bincount(chosen, minlength=job.world).to(job.device)
            received = torch.empty_like(sent)
            dist.all_to_all_single(received, sent)
            sent, received = sent.tolist(), received.tolist()
            here = collectives.all_to_all_single(
                tokens.new_empty(sum(received), WIDTH), tokens[order], received, sent)
            back = collectives.all_to_all_single(
                torch.empty_like(tokens), self.expert(here), sent, received)
            return torch.empty_like(back).index_copy(0, order, back).view_as(x)

    model = Decoder(mlp=Experts).to(job.device)
    shared = [parameter for name, parameter in model.named_parameters() if ".expert." not in name]

    def one_step(number):
        tokens = job.tokens(number, 4, 512)
        loss = loss_of(model(tokens), tokens)
        loss.backward()
        for parameter in shared:
            dist.all_reduce(parameter.grad)
        return loss

    job.train(one_step, adamw(model))


@program
def context(job):
    """Long sequences, a part of each on every rank; keys and values are gathered."""
    model = Decoder(layers=3).to(job.device)

    def gather(part):
        return torch.cat(collectives.all_gather(part.contiguous()), dim=2)

    def one_step(number):
        whole = job.tokens(number, 1, (4096 + 1024 * (number % 3)) * job.world, shared=True)
        part = whole.chunk(job.world, dim=1)[job.rank]
        loss = loss_of(model(part, gather), part)
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        return loss

    job.train(one_step, adamw(model))


@program
def checkpointed(job):
    """Data parallel, with checkpointed blocks and gradients of four batches."""
    decoder = Decoder().to(job.device)
    decoder.checkpointed = True
    model = distributed(job, decoder)

    def one_step(number):
        for part in range(4):
            tokens = job.tokens(number * 10 + part, 4 + part % 2, 512)
            with contextlib.nullcontext() if part == 3 else model.no_sync():
                loss = loss_of(model(tokens), tokens)
                loss.backward()
        return loss

    job.train(one_step, adamw(model))


def data_parallel(job, length_of=lambda _number: 512, after=lambda _number: None):
    model = distributed(job, Decoder().to(job.device))

    def one_step(number):
        tokens = job.tokens(number, 4, length_of(number))
        loss = loss_of(model(tokens), tokens)
        loss.backward()
        after(number)
        return loss

    job.train(one_step, adamw(model))


@program
def leaks(job):
    """Data parallel; the last rank keeps LEAK bytes in each step."""
    kept = []

    def keep(_number):
        if job.rank == job.world - 1:
            kept.append(torch.empty(LEAK, dtype=torch.uint8, device=job.device))

    data_parallel(job, after=keep)


@program
def longer(job):
    """Data parallel; rank 1 gets longer batches from step LONGER_FROM (0: the first) on."""
    data_parallel(job, lambda number: 768 if job.rank == 1 and number >= LONGER_FROM else 512)


@program
def slow(job):
    """Data parallel; rank 1 is slow. Nothing of that shows in memory."""
    data_parallel(job, after=lambda _number: time.sleep(0.05 if job.rank == 1 else 0))


@program
def bandwidth(job):
    """No training: all-reduce and all-gather of 1 GiB, the bytes of a rank's buffer by the time."""
    whole = torch.ones(1 << 30, dtype=torch.uint8, device=job.device)
    part = whole.chunk(job.world)[job.rank].clone()
    for name, one in {"all_reduce": lambda: dist.all_reduce(whole),
                      "all_gather": lambda: dist.all_gather_into_tensor(whole, part)}.items():
        for _ in range(20):
            torch.cuda.synchronize()
            begun = time.monotonic()
            one()
            torch.cuda.synchronize()
            job.times.append((time.monotonic() - begun) * 1e3)
        job.figures[f"{name}_gb_s"] = whole.numel() / statistics.median(job.times[-15:]) / 1e6


def report(job):
    stats = torch.cuda.memory_stats()
    print(json.dumps({
        "rank": job.rank, "device_used": used_memory(job.device), **job.figures,
        "ms": statistics.median(job.times[3:]), "losses": job.losses, "reserved_now": stats["reserved_bytes.all.current"],
        **{key: stats[f"{key}_bytes.all.peak"] for key in ("reserved", "allocated", "requested")}}),
        flush=True)


def main():
    global torch, dist, nn, functional, checkpoint, collectives, Decoder
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=PROGRAMS)
    parser.add_argument("--record", metavar="FILE")
    parser.add_argument("--use", metavar="POLICY")
    parser.add_argument("--growth", type=int, default=1, metavar="N", help="N times the batch")
    given = parser.parse_args()
    if not given.name:
        for name, function in PROGRAMS.items():
            print(f"{name:<22}{function.__doc__}")
        return
    import torch
    import torch.distributed as dist
    import torch.distributed.nn.functional as collectives
    from torch import nn
    from torch.nn import functional
    from torch.utils.checkpoint import checkpoint

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # for the same losses each time
    Decoder = define_model()
    recording = None
    if given.record:
        import tidemark.torch
        recording = tidemark.torch.record(given.record)
    if given.use:
        import tidemark.torch
        tidemark.torch.use(given.use)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.manual_seed(1)
    job = Job(recording, given.growth)
    PROGRAMS[given.name](job)
    torch.cuda.synchronize()
    dist.barrier()
    report(job)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
