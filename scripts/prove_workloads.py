#!/usr/bin/env python3
"""Runs one PyTorch workload on the GPU and writes the result as JSON.

Each workload makes the same requests in every run with the same seed and steps: no size depends on the
device or on a clock. scripts/prove-on-gpu starts it, once per case; the
allocator's settings come from the environment (PYTORCH_ALLOC_CONF).

Example: scripts/prove_workloads.py moe --result moe.json --snapshot moe.pickle --limit 8589934592
"""
import argparse
import gc
import json
import pathlib
import random
import sys
import typing

from prove_recording import run_recorded


def train(optimizer, losses):
    """A training loop over `losses`, which yields one per step; returns the last."""
    loss = None
    for step, loss in enumerate(losses):
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 10 == 9:
            gc.collect()
    return float(loss.detach())


def gpt2(torch, steps, chance):
    """GPT-2 of 8 layers, mixed precision, AdamW; batch and length change every step."""
    from transformers import GPT2Config, GPT2LMHeadModel

    words = 16000
    config = GPT2Config(vocab_size=words, n_positions=1024, n_embd=768, n_layer=8, n_head=12,
                        bos_token_id=0, eos_token_id=0, use_cache=False)
    model = GPT2LMHeadModel(config).to("cuda").train()

    def losses():
        for _ in range(steps):
            length = 64 * chance.randint(1, 16)
            batch = chance.randint(1, min(48, 8192 // length))
            tokens = torch.randint(0, words, (batch, length)).to("cuda")
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(input_ids=tokens, labels=tokens).loss
            yield loss

    return train(torch.optim.AdamW(model.parameters(), lr=1e-4), losses())


def checkpointed(torch, steps, chance):
    """A transformer of 10 layers whose activations are recomputed in the backward pass."""
    from torch.utils.checkpoint import checkpoint

    width, words = 1024, 16000
    with torch.device("cuda"):
        embedding = torch.nn.Embedding(words, width)
        head = torch.nn.Linear(width, words)
        blocks = torch.nn.ModuleList(
            torch.nn.TransformerEncoderLayer(width, 16, 4 * width, batch_first=True,
                                             norm_first=True, activation="gelu")
            for _ in range(10))
    model = torch.nn.ModuleList([embedding, blocks, head]).train()

    def losses():
        for _ in range(steps):
            length = 128 * chance.randint(1, 16)
            batch = chance.randint(1, min(32, 12288 // length))
            tokens = torch.randint(0, words, (batch, length)).to("cuda")
            with torch.autocast("cuda", dtype=torch.bfloat16):
                hidden = embedding(tokens)
                for block in blocks:
                    hidden = checkpoint(block, hidden, use_reentrant=False)
                scores = head(hidden).flatten(0, 1)
                loss = torch.nn.functional.cross_entropy(scores, tokens.flatten())
            yield loss

    return train(torch.optim.AdamW(model.parameters(), lr=1e-4), losses())


def routes(torch, tokens, experts, chance):
    """The rows that go to each expert, drawn on the host with unequal probabilities, so that a rerun
    has the same routes whatever the device's last bits are; on the device, None for no rows."""
    popularity = torch.tensor([chance.expovariate(1.0) + 0.01 for _ in range(experts)])
    choice = torch.multinomial(popularity, tokens, replacement=True)
    rows = [(choice == expert).nonzero().flatten() for expert in range(experts)]
    return [each.to("cuda") if len(each) else None for each in rows]


def moe_layer(torch, layer, hidden, rows):
    """One residual layer: each expert sees its rows, weighed by the gate."""
    source = layer["norm"](hidden)
    gates = layer["gate"](source).softmax(-1)
    target = torch.zeros_like(hidden)
    for number, expert in enumerate(layer["experts"]):
        if rows[number] is None:
            continue
        weight = gates[:, number].index_select(0, rows[number]).unsqueeze(1)
        part = expert(source.index_select(0, rows[number])) * weight
        target = target.index_add(0, rows[number], part.to(target.dtype))
    return hidden + target


def moe(torch, steps, chance):
    """Mixture of experts: 4 layers of 8 experts; how many rows each gets changes every step."""
    width, experts, nn = 1024, 8, torch.nn
    with torch.device("cuda"):
        layers = nn.ModuleList(
            nn.ModuleDict({
                "norm": nn.LayerNorm(width), "gate": nn.Linear(width, experts),
                "experts": nn.ModuleList(
                    nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                  nn.Linear(4 * width, width)) for _ in range(experts))})
            for _ in range(4))
    layers.train()

    def losses():
        for _ in range(steps):
            tokens = chance.randint(2048, 20000)
            hidden = torch.randn(tokens, width, device="cuda")
            with torch.autocast("cuda", dtype=torch.bfloat16):
                for layer in layers:
                    hidden = moe_layer(torch, layer, hidden, routes(torch, tokens, experts, chance))
                loss = hidden.square().mean()
            yield loss

    return train(torch.optim.AdamW(layers.parameters(), lr=1e-4), losses())


class Sequence:
    """One request being served: a cache of keys and values per layer, which grows."""

    HEADS, HEAD = 16, 128
    CHUNK = 512  # tokens by which a preallocated cache grows

    def __init__(self, torch, layers, left, preallocated):
        self.torch, self.left, self.preallocated = torch, left, preallocated
        self.caches, self.lengths = [None] * layers, [0] * layers

    def grow(self, layer, added):
        """Appends `added` (2, heads, tokens, head) to the layer's cache; returns the whole cache."""
        cache, length = self.caches[layer], self.lengths[layer]
        end = length + added.shape[2]
        self.lengths[layer] = end
        if not self.preallocated:
            cache = added.clone() if cache is None else self.torch.cat([cache, added], dim=2)
            self.caches[layer] = cache
            return cache
        if cache is None or cache.shape[2] < end:
            capacity = -(-end // self.CHUNK) * self.CHUNK
            larger = added.new_empty(2, self.HEADS, capacity, self.HEAD)
            if cache is not None:
                larger[:, :, :length].copy_(cache[:, :, :length])
            self.caches[layer] = cache = larger
        cache[:, :, length:end].copy_(added)
        return cache[:, :, :end]


def decode(torch, weights, sequences, hidden):
    """One pass of the decoder: `hidden` is (sequences, tokens, width)."""
    count, tokens, width = hidden.shape
    for number, layer in enumerate(weights):
        joint = (hidden @ layer["qkv"]).view(count, tokens, 3, Sequence.HEADS, Sequence.HEAD)
        outputs = []
        for index, sequence in enumerate(sequences):
            query, *rest = joint[index].permute(1, 2, 0, 3)
            keys, values = sequence.grow(number, torch.stack(rest))
            attended = torch.nn.functional.scaled_dot_product_attention(
                query[None], keys[None], values[None], is_causal=tokens > 64)
            outputs.append(attended[0].transpose(0, 1).reshape(tokens, width))
        hidden = hidden + torch.stack(outputs) @ layer["out"]
        inner = torch.nn.functional.gelu(hidden @ layer["up"])
        hidden = hidden + inner @ layer["down"]
    return hidden


def serving(torch, steps, chance):
    """A decoder serves up to 16 sequences, which arrive, grow by 8 tokens per step, and end. Half of
    the caches grow by torch.cat at every step, half are preallocated in chunks."""
    layers, width = 6, Sequence.HEADS * Sequence.HEAD
    shapes = {"qkv": (width, 3 * width), "out": (width, width),
              "up": (width, 4 * width), "down": (4 * width, width)}
    kind = {"device": "cuda", "dtype": torch.bfloat16}
    sequences = []
    with torch.inference_mode():
        weights = [{name: torch.randn(shape, **kind) * 0.01 for name, shape in shapes.items()}
                   for _ in range(layers)]
        hidden = None
        for _ in range(steps):
            sequences = [each for each in sequences if each.left > 0]
            while len(sequences) < 16 and chance.random() < 0.4:
                sequence = Sequence(torch, layers, chance.randint(8, 80), chance.random() < 0.5)
                prompt = (1, chance.randint(128, 6144), width)
                decode(torch, weights, [sequence], torch.randn(prompt, **kind))
                sequences.append(sequence)
            if not sequences:
                continue
            hidden = torch.randn(len(sequences), 8, width, **kind)
            hidden = decode(torch, weights, sequences, hidden)
            for sequence in sequences:
                sequence.left -= 1
    return float(hidden.float().mean())


def resnet(torch, steps, chance):
    """ResNet-50, mixed precision, channels last; batch and resolution change every step."""
    import torchvision

    torch.backends.cudnn.benchmark = False  # it would choose by timing, and differently in a rerun
    torch.backends.cudnn.deterministic = True
    model = torchvision.models.resnet50(weights=None)
    model = model.to("cuda", memory_format=torch.channels_last).train()

    def losses():
        for _ in range(steps):
            side, batch = 32 * chance.randint(4, 10), chance.randint(8, 48)
            images = torch.randn(batch, 3, side, side, device="cuda")
            images = images.to(memory_format=torch.channels_last)
            labels = torch.randint(0, 1000, (batch,)).to("cuda")
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = torch.nn.functional.cross_entropy(model(images), labels)
            yield loss

    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return train(optimizer, losses())


def streams(torch, steps, chance):
    """A loader stream and an offloading stream in addition to the main one, with record_stream.

    A free that waits for another stream must not depend on the machine's speed. So the loader sleeps
    first, everything else waits for it, and the host has finished its step long before it wakes.
    Every such free therefore completes at the same point, after the synchronization.
    """
    asleep = 80_000_000  # clocks of the GPU: 40 ms and more
    main, loader, offload = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()
    weights = [torch.randn(2048, 2048, device="cuda") * 0.02 for _ in range(24)]
    kept, hidden = [], None
    with torch.no_grad():
        torch.relu(weights[0] @ weights[1]).add_(1.0)[:7].clone()  # libraries load here
        torch.cuda._sleep(1000)
        torch.cuda.synchronize()
        for _ in range(steps):
            rows = 256 * chance.randint(1, 48)
            with torch.cuda.stream(loader):
                torch.cuda._sleep(asleep)
                hidden = torch.empty(rows, 2048, device="cuda").normal_()
            main.wait_stream(loader)
            hidden.record_stream(main)
            for weight in weights:
                hidden = torch.relu(hidden @ weight)
                if chance.random() < 0.4:
                    offload.wait_stream(main)
                    with torch.cuda.stream(offload):
                        kept.append(hidden[:chance.randint(1, rows)].clone())
                    hidden.record_stream(offload)
                if kept and chance.random() < 0.1:
                    main.wait_stream(offload)
                    kept[-1].record_stream(main)
                    kept[-1].add_(1.0)
            while len(kept) > 24:
                kept.pop(chance.randrange(len(kept)))
            torch.cuda.synchronize()
    return float(hidden.mean())


class Workload(typing.NamedTuple):
    run: typing.Callable  # (torch, steps, chance) -> a number
    steps: int
    stacks: bool  # record call stacks too: slower, and what advise reads
    alone: bool  # its timing matters: nothing else runs at the same time


WORKLOADS = {
    "gpt2": Workload(gpt2, 60, True, False),
    "checkpointed": Workload(checkpointed, 50, False, False),
    "moe": Workload(moe, 40, True, False),
    "serving": Workload(serving, 150, False, False),
    "resnet": Workload(resnet, 50, False, False),
    "streams": Workload(streams, 90, False, True),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=WORKLOADS)
    parser.add_argument("--result", type=pathlib.Path, required=True, metavar="FILE")
    parser.add_argument("--snapshot", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--limit", type=int, default=0, help="bytes; 0 is none")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of steps")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    workload = WORKLOADS[options.name]
    steps = max(4, round(workload.steps * options.scale))

    def body():
        import torch
        torch.backends.cuda.enable_cudnn_sdp(False)  # it would build a plan for every new shape
        return workload.run(torch, steps, random.Random(options.seed))

    result = run_recorded(body, seed=options.seed, limit=options.limit, stacks=workload.stacks,
                          snapshot=options.snapshot)
    result.update(name=options.name, steps=steps)
    options.result.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
