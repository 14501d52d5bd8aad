#!/usr/bin/env python3
"""Runs one small training or serving program on a real GPU and prints its peak of reserved memory.

Each program makes the same requests every time. scripts/prove_advice.py runs it once to record it,
and then with the settings that `tidemark advise` recommends.

Example: scripts/advice_programs.py gpt --snapshot gpt.pickle
"""
import argparse
import json
import random

import torch
from torch import nn

GPU = "cuda"


def train(model, batches, make_loss, optimizer=torch.optim.AdamW, steps=8, amp=False,
          after=lambda step: None):
    model = model.to(GPU)
    optimizer = optimizer(model.parameters(), lr=1e-4)
    for step in range(steps):
        with torch.autocast("cuda", torch.bfloat16, enabled=amp):
            loss = make_loss(model, batches(step))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        del loss
        after(step)


def tokens(step, vocabulary=8000, batch=8):
    return torch.randint(vocabulary, (batch, 128 + 160 * (step % 5)), device=GPU)


class Encoder(nn.Module):
    def __init__(self, width=768, layers=6, vocabulary=8000):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        layer = nn.TransformerEncoderLayer(width, 12, 4 * width, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids):
        return self.head(self.layers(self.embed(ids)))


def language_loss(model, ids):
    out = model(ids)
    return nn.functional.cross_entropy(out.flatten(0, 1).float(), ids.flatten())


def encoder():
    train(Encoder(), tokens, language_loss)


def encoder_amp():
    train(Encoder(), tokens, language_loss, amp=True)


def encoder_sgd():
    train(Encoder(layers=4), lambda step: tokens(step, batch=16), language_loss, torch.optim.SGD)


def growing_batches():
    train(Encoder(layers=4), lambda step: torch.randint(8000, (4 + 3 * step, 256), device=GPU),
          language_loss)


def perceptron():
    net = nn.Sequential(*[part for _ in range(8) for part in (nn.Linear(4096, 4096), nn.ReLU())])
    train(net, lambda step: torch.randn(1024 + 700 * (step % 4), 4096, device=GPU),
          lambda model, x: model(x).square().mean())


def recurrent():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.cells = nn.Embedding(8000, 512), nn.GRUCell(512, 512)
            self.head = nn.Linear(512, 8000)

        def forward(self, ids):
            state, out = torch.zeros(len(ids), 512, device=GPU), []
            for column in self.embed(ids).unbind(1):
                state = self.cells(column, state)
                out.append(self.head(state))
            return torch.stack(out, 1)

    train(Net(), lambda step: tokens(step, batch=4), language_loss, steps=6)


def attention():
    """Attention without fused kernels, so that its scores are kept."""
    def loss(model, x):
        q, k, v = model(x).chunk(3, -1)
        return (torch.softmax(q @ k.transpose(1, 2) / 32, -1) @ v).square().mean()

    train(nn.Linear(1024, 3072),
          lambda step: torch.randn(16, 512 + 256 * (step % 6), 1024, device=GPU), loss, steps=12)


def mixture():
    experts = nn.ModuleList(nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024))
                            for _ in range(8))
    draw = random.Random(3)

    def loss(model, x):
        cuts = sorted(draw.sample(range(64, len(x) - 64), 7))
        parts = x.tensor_split(cuts)
        return torch.cat([expert(part) for expert, part in zip(model, parts)]).square().mean()

    train(experts, lambda step: torch.randn(12000, 1024, device=GPU), loss, steps=10)


def serving():
    """Caches of requests that come and go."""
    draw, live = random.Random(5), []
    for _ in range(1500):
        live.append(torch.empty(draw.randrange(1, 96) << 20, dtype=torch.uint8, device=GPU))
        while len(live) > 24 + draw.randrange(16):
            live.pop(draw.randrange(len(live)))


def many_small():
    """Blocks of 1 to 10 MiB, which share segments of 20 MiB."""
    draw, live = random.Random(7), []
    for _ in range(4000):
        live.append(torch.empty(draw.randrange(1 << 20, 9 << 20), dtype=torch.uint8, device=GPU))
        while len(live) > 300 + draw.randrange(200):
            live.pop(draw.randrange(len(live)))


EVALUATION = 4  # the step of the large batch


def empty_after_evaluation(step):
    """Follows the advice for unused memory; the peak is counted from here on."""
    if step == EVALUATION:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def evaluation(after=lambda step: None):
    """One large batch between small ones."""
    net = nn.Sequential(*[part for _ in range(6) for part in (nn.Linear(2048, 2048), nn.GELU())])
    rows = [16000 if step == EVALUATION else 2000 for step in range(10)]
    train(net, lambda step: torch.randn(rows[step], 2048, device=GPU),
          lambda model, x: model(x).square().mean(), steps=10, after=after)


def constant():
    """The same in every step, so that no setting helps."""
    train(nn.Sequential(nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 2048)),
          lambda step: torch.randn(4096, 2048, device=GPU),
          lambda model, x: model(x).square().mean())


PROGRAMS = {each.__name__: each for each in (
    encoder, encoder_amp, encoder_sgd, growing_batches, perceptron, recurrent, attention, mixture,
    serving, many_small, evaluation, constant)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--prime", type=int, default=0, help="bytes to allocate first, and to free again")
    parser.add_argument("--snapshot", help="record, and write it there")
    parser.add_argument("--empty", action="store_true", help="the cache, after an evaluation")
    words = parser.parse_args()
    torch.manual_seed(1)
    torch.cuda.init()
    if words.snapshot:
        torch.cuda.memory._record_memory_history(max_entries=2_000_000, context=None)
    if words.prime:
        torch.empty(words.prime, dtype=torch.uint8, device=GPU)
    if words.empty:
        PROGRAMS[words.program](after=empty_after_evaluation)
    else:
        PROGRAMS[words.program]()
    torch.cuda.synchronize()
    if words.snapshot:
        torch.cuda.memory._dump_snapshot(words.snapshot)
    print(json.dumps({"peak_reserved": torch.cuda.max_memory_reserved(),
                      "torch": torch.__version__}))


if __name__ == "__main__":
    main()
