#!/usr/bin/env python3
"""Trains GPT-2 (its XL size, 1.56 billion parameters) once, for `prove-on-gpu deferrable`; prints
one JSON object.

  plain        unchanged: blocks and the loss checkpointed, PyTorch's Adam, 32-bit numbers
  deferred     Adam's state in deferrable memory (tidemark.torch.defer_optimizer)
  save_on_cpu  checkpoints are saved in pinned host memory (torch.autograd.graph.save_on_cpu)
  offload      a simple implementation: gradients are copied to pinned host memory, Adam runs there,
               and parameters are copied back

`--budget BYTES` limits the GPU memory: PyTorch's reserved memory and, for `deferred`, the GPU memory
of deferrable memory, together. Needs PyTorch and a GPU, or only PyTorch with `--device cpu`: a small
dry run on a simulated GPU without a limit.

Memory in bytes, with P parameters: parameters and gradients need 4 P each, Adam's state 8 P, and its
step 4 P more if PyTorch updates all of them together (--fused: nothing). Checkpointed blocks keep
4 * width per token each, the running block about 100 * width, and the loss 12 * 50257 per token of
one sequence at a time. With the sizes below, that is 6.2, 6.2, 12.5 and 6.2 GB, and 3.8, 2.0 and
0.6 GB for activations: 31 GB in the step of `plain`. 60 % of it, 18.7 GB, has room for parameters,
gradients and one block (14.5 GB), and for part of the state at a time: `--window`, three times the
state of the largest parameter, 1.9 GB. The state crosses the link both ways once per step: 12.5 GB
at about 50 GB/s each way take 0.25 s. A step of 12288 tokens computes 8 * 12288 * P operations,
which take about 3 s.
"""
import argparse
import contextlib
import json
import time

VARIANTS = ("plain", "deferred", "save_on_cpu", "offload")
GIB = 1 << 30
PAGE = 2 << 20
TOKENS = 50257


def model_of(torch, options):
    """A decoder with GPT-2's layout; it returns the loss."""
    checkpoint = torch.utils.checkpoint.checkpoint
    again = options.variant == "save_on_cpu"  # reentrant: hooks of saved tensors see what it keeps

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
            self.tokens = torch.nn.Embedding(TOKENS, options.width)
            self.places = torch.nn.Embedding(options.length, options.width)
            self.blocks = torch.nn.ModuleList(Block(options.width, options.width // 64)
                                              for _ in range(options.layers))
            self.last = torch.nn.LayerNorm(options.width)
            for one in (self.tokens, self.places):
                torch.nn.init.normal_(one.weight, std=0.02)

        def loss(self, x, expected):
            return torch.nn.functional.cross_entropy(self.last(x) @ self.tokens.weight.T, expected,
                                                     reduction="sum")

        def forward(self, given, expected):
            x = self.tokens(given) + self.places.weight[:given.shape[1]]
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=again)
            losses = [checkpoint(self.loss, one, wanted, use_reentrant=again)
                      for one, wanted in zip(x, expected)]
            return torch.stack(losses).sum() / expected.numel()

    torch.manual_seed(1)
    with torch.device(options.device):
        return Model()


class HostAdam:
    """Adam on copies of the parameters in host memory."""

    def __init__(self, torch, parameters, gpu):
        self._torch, self._gpu = torch, gpu
        self._there = list(parameters)
        self._here = [torch.nn.Parameter(gpu.host_like(one).copy_(one.detach()))
                      for one in self._there]
        for one in self._here:
            one.grad = gpu.host_like(one)
        self._adam = torch.optim.Adam(self._here, lr=1e-4)

    def step(self):
        for here, there in zip(self._here, self._there):
            here.grad.copy_(there.grad, non_blocking=True)
        self._gpu.synchronize()
        self._adam.step()
        with self._torch.no_grad():
            for here, there in zip(self._here, self._there):
                there.copy_(here, non_blocking=True)

    def zero_grad(self):
        for one in self._there:
            one.grad = None


class Gpu:
    """The real GPU, or on a CPU a replacement for dry runs."""

    def __init__(self, torch, options):
        self._torch = torch
        self.is_real = options.device != "cpu"
        self._least_free = self.free() if self.is_real else 0
        self._first_free = self._least_free

    def free(self):
        return self._torch.cuda.mem_get_info()[0]

    def limit(self, size):
        if self.is_real and size:
            total = self._torch.cuda.get_device_properties(0).total_memory
            self._torch.cuda.set_per_process_memory_fraction(max(0, size) / total)

    def synchronize(self):
        if self.is_real:
            self._torch.cuda.synchronize()

    def host_like(self, tensor):
        return self._torch.zeros(tensor.shape, device="cpu", pin_memory=self.is_real)

    def look(self):
        """Notes the used memory of the device at this moment, whoever uses it."""
        if self.is_real:
            self._least_free = min(self._least_free, self.free())

    def figures(self):
        """Peaks in bytes."""
        if not self.is_real:
            return {"peak_reserved_bytes": 0, "peak_allocated_bytes": 0, "seen_device_bytes": 0}
        return {"peak_reserved_bytes": self._torch.cuda.max_memory_reserved(),
                "peak_allocated_bytes": self._torch.cuda.max_memory_allocated(),
                "seen_device_bytes": self._first_free - self._least_free}


def window_of(parameters, options):
    """GPU bytes of deferrable memory: three pieces, each of which may be the state of the largest
    parameter."""
    largest = max(2 * -(-4 * one.numel() // PAGE) * PAGE for one in parameters)
    return options.window or 3 * largest


def deferred_by(optimizer, parameters, window, gpu):
    import tidemark
    import tidemark.torch

    state = sum(2 * (-(-4 * one.numel() // PAGE) * PAGE) for one in parameters)
    context = tidemark.Context("cuda:0" if gpu.is_real else "sim")
    memory = tidemark.DeferrableMemory(context, window, state + GIB)
    return memory, tidemark.torch.defer_optimizer(optimizer, memory)


def train(torch, options):
    import torch.utils.checkpoint

    gpu = Gpu(torch, options)
    model = model_of(torch, options)
    parameters = list(model.parameters())
    window = window_of(parameters, options) if options.variant == "deferred" else 0
    gpu.limit(options.budget - window if options.budget else 0)
    optimizer = HostAdam(torch, parameters, gpu) if options.variant == "offload" \
        else torch.optim.Adam(parameters, lr=1e-4, fused=options.fused or None)
    memory, deferred = deferred_by(optimizer, parameters, window, gpu) if window else (None, None)
    kept = torch.autograd.graph.save_on_cpu(pin_memory=gpu.is_real) \
        if options.variant == "save_on_cpu" else contextlib.nullcontext()
    generator = torch.Generator().manual_seed(2)
    losses, times, stepping = [], [], []
    for _ in range(options.steps):
        given = torch.randint(TOKENS, (options.batch, options.length + 1), generator=generator)
        given = given.to(options.device)
        gpu.synchronize()
        begun = time.monotonic()
        with kept:
            loss = model(given[:, :-1], given[:, 1:])
        gpu.look()
        loss.backward()
        gpu.look()
        stepped = time.monotonic()
        optimizer.step()
        gpu.look()
        optimizer.zero_grad()
        gpu.synchronize()
        times.append(time.monotonic() - begun)
        stepping.append(time.monotonic() - stepped)
        losses.append(loss.item())
    answer = {"variant": options.variant, "budget_bytes": options.budget, "losses": losses,
              "step_seconds": median(times[1:]), "first_step_seconds": times[0],
              "host_in_optimizer_seconds": median(stepping[1:]), **gpu.figures(),
              "parameters": sum(one.numel() for one in parameters),
              "window_bytes": window, "deferred_bytes": deferred.size if deferred else 0,
              "deferrable": vars(memory.statistics()) if memory else {}}
    answer["peak_bytes"] = answer["peak_reserved_bytes"] + window
    return answer


def median(values):
    return sorted(values)[len(values) // 2] if values else None


def parser_of():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant", choices=VARIANTS)
    parser.add_argument("--budget", type=int, default=0, help="bytes of the GPU; 0: all")
    parser.add_argument("--window", type=int, default=0,
                        help="bytes of it for state (three times that of the largest parameter)")
    parser.add_argument("--fused", action="store_true", help="Adam in one kernel")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--layers", type=int, default=48)
    parser.add_argument("--width", type=int, default=1600)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--steps", type=int, default=6)
    return parser


def main():
    options = parser_of().parse_args()
    import torch

    try:
        answer = train(torch, options)
    except torch.OutOfMemoryError as refusal:
        answer = {"variant": options.variant, "budget_bytes": options.budget,
                  "out_of_memory": str(refusal).splitlines()[0]}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
