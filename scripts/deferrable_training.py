#!/usr/bin/env python3
"""One training of a GPT-2-sized model for `prove-on-gpu deferrable`; prints one JSON object.

  plain        as it is
  deferred     the optimizer's state in deferrable memory (tidemark.torch.defer_optimizer)
  save_on_cpu  activations in pinned host memory (torch.autograd.graph.save_on_cpu)
  offload      the plainly written way: gradients go to the host, Adam runs there, parameters come
               back

`--budget BYTES` bounds what the GPU gives it, PyTorch's and ours together. Needs PyTorch and a GPU.
"""
import argparse
import json
import time

VARIANTS = ("plain", "deferred", "save_on_cpu", "offload")
GIB = 1 << 30


def model_of(torch, options):
    """A decoder with GPT-2's layout; 12 layers of 768 are its smallest."""
    class Block(torch.nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.before, self.after = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
            self.heads = heads
            self.queries = torch.nn.Linear(width, 3 * width)
            self.joined = torch.nn.Linear(width, width)
            self.wide = torch.nn.Linear(width, 4 * width)
            self.narrow = torch.nn.Linear(4 * width, width)

        def forward(self, x):
            batch, length, width = x.shape
            shape = (batch, length, self.heads, width // self.heads)
            parts = [part.view(shape).transpose(1, 2)
                     for part in self.queries(self.before(x)).split(width, dim=2)]
            seen = torch.nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
            x = x + self.joined(seen.transpose(1, 2).reshape(batch, length, width))
            return x + self.narrow(torch.nn.functional.gelu(self.wide(self.after(x))))

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(50257, options.width)
            self.places = torch.nn.Embedding(options.length, options.width)
            self.blocks = torch.nn.ModuleList(Block(options.width, options.width // 64)
                                              for _ in range(options.layers))
            self.last = torch.nn.LayerNorm(options.width)

        def forward(self, words):
            x = self.words(words) + self.places.weight[:words.shape[1]]
            for block in self.blocks:
                x = block(x)
            return self.last(x) @ self.words.weight.T

    torch.manual_seed(1)
    return Model().cuda()


class HostAdam:
    """Adam on copies of the parameters in the host's memory."""

    def __init__(self, torch, parameters):
        self._torch = torch
        self._there = list(parameters)
        self._here = [torch.nn.Parameter(one.detach().cpu().pin_memory()) for one in self._there]
        self._adam = torch.optim.Adam(self._here, lr=1e-4)

    def step(self):
        for here, there in zip(self._here, self._there):
            here.grad = there.grad.to("cpu", non_blocking=True)
            there.grad = None
        self._torch.cuda.synchronize()
        self._adam.step()
        with self._torch.no_grad():
            for here, there in zip(self._here, self._there):
                there.copy_(here, non_blocking=True)

    def zero_grad(self):
        pass


class Limit:
    """What PyTorch may have of the GPU, beside `others`."""

    def __init__(self, torch, budget):
        self._torch, self._budget = torch, budget

    def set(self, others=0):
        if self._budget:
            self._torch.cuda.empty_cache()
            total = self._torch.cuda.get_device_properties(0).total_memory
            self._torch.cuda.set_per_process_memory_fraction((self._budget - others) / total)


def defer(torch, optimizer, parameters, limit):
    """Adam's state in deferrable memory, PyTorch's limit smaller while it is on the GPU."""
    import tidemark
    import tidemark.torch

    state = sum(2 * one.numel() * 4 for one in parameters)
    room = state + 2 * len(parameters) * (2 << 20)  # each has whole pages
    memory = tidemark.DeferrableMemory(tidemark.Context("cuda:0"), room, room + GIB)
    optimizer.register_step_pre_hook(lambda *_given: limit.set(state))
    deferred = tidemark.torch.defer_optimizer(optimizer, memory)
    optimizer.register_step_post_hook(lambda *_given: limit.set())
    return memory, deferred


def train(torch, options):
    model = model_of(torch, options)
    parameters = list(model.parameters())
    limit = Limit(torch, options.budget)
    limit.set()
    optimizer = HostAdam(torch, parameters) if options.variant == "offload" \
        else torch.optim.Adam(parameters, lr=1e-4)
    memory, deferred = defer(torch, optimizer, parameters, limit) \
        if options.variant == "deferred" else (None, None)
    kept = torch.autograd.graph.save_on_cpu(pin_memory=True) \
        if options.variant == "save_on_cpu" else torch.enable_grad()
    generator = torch.Generator().manual_seed(2)
    losses, times, peak = [], [], 0
    for _ in range(options.steps):
        words = torch.randint(50257, (options.batch, options.length + 1), generator=generator)
        words = words.cuda()
        torch.cuda.synchronize()
        begun = time.monotonic()
        with kept:
            loss = torch.nn.functional.cross_entropy(
                model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        times.append(time.monotonic() - begun)
        losses.append(loss.item())
        peak = max(peak, torch.cuda.max_memory_reserved())
    figures = vars(memory.statistics()) if memory is not None else {}
    if deferred is not None:
        deferred.close()
    return {"variant": options.variant, "budget_bytes": options.budget, "losses": losses,
            "step_seconds": sorted(times)[len(times) // 2], "peak_reserved_bytes": peak,
            "state_bytes": sum(8 * one.numel() for one in parameters), "deferrable": figures}


def parser_of():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant", choices=VARIANTS)
    parser.add_argument("--budget", type=int, default=0, help="bytes of the GPU; 0: all")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=8)
    return parser


def main():
    options = parser_of().parse_args()
    import torch

    try:
        answer = train(torch, options)
    except torch.cuda.OutOfMemoryError as refusal:
        answer = {"variant": options.variant, "budget_bytes": options.budget,
                  "out_of_memory": str(refusal).splitlines()[0]}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
