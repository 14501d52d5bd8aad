#!/usr/bin/env python3
"""Other tools' estimates for the programs of predict_programs.py, before these have run.

Usage: python -m tidemark.predict --once scripts/predict_others.py NAME

Prints a line of JSON, in bytes: `tracked`, the peak that PyTorch's MemTracker sees while the program
runs; `rule`, weights, gradients and optimizer state plus 15 %; and the answers of vram-check and
torch-kitsune (from PyPI, tested with 0.1.1 and 0.7.0), if they are installed and support the model.
It needs no GPU: MemTracker and the program run on the imagined CUDA.
"""
import json
import random
import sys

import predict_programs
import torch

LARGEST = 12, 224  # of train_images, unless a program says otherwise
MOST = 6  # of train_text


def rule(optimizer):
    """The estimate, after the program has made a step."""
    weights = [one for group in optimizer.param_groups for one in group["params"]]
    kept = [value for state in optimizer.state.values() for value in state.values()
            if torch.is_tensor(value)]
    size = sum(one.nbytes for one in kept) + sum(2 * one.nbytes for one in weights)
    return int(1.15 * size)


def ask_vram_check(model, batch, optimizer):
    from vram_check import analyze

    kind = "sgd" if isinstance(optimizer, torch.optim.SGD) else "adam"
    return analyze(model, batch_size=batch, dtype="fp32", optimizer=kind)["estimate"].total_bytes


def ask_kitsune(model, batch, size, optimizer):
    from kitsune.predict import predict_memory

    found = predict_memory(model.cpu(), input_shape=(3, size, size), batch_size=batch,
                           optimizer=type(optimizer).__name__.lower())
    return found.total_bytes


def main():
    name, said = sys.argv[1], {}

    def note(what, ask, *of):
        try:
            said[what] = ask(*of)
        except Exception as failure:  # not installed, or an unsupported model
            print(f"{what}: {type(failure).__name__}: {failure}", file=sys.stderr)

    models = {}
    for kind, batch in (("train_text", MOST), ("train_images", LARGEST[0])):
        def with_model(model, *rest, kind=kind, batch=batch, original=getattr(
                predict_programs, kind), **named):
            sizes = named.get("sizes", LARGEST[1:])
            models[kind] = model, named.get("largest", batch), max(sizes)
            return original(model, *rest, **named)
        setattr(predict_programs, kind, with_model)
    from torch.distributed._tools.mem_tracker import MemTracker

    tracker, optimizers = MemTracker(), []

    def made(optimizer):
        optimizers.append(optimizer)
        # It takes one pass through a model at a time.
        optimizer.register_step_post_hook(lambda *_: tracker.reset_mod_stats())

    torch.optim.Optimizer.__init__ = _after(torch.optim.Optimizer.__init__, made)
    random.seed(1)
    torch.manual_seed(1)
    with tracker:
        predict_programs.PROGRAMS[name][1]()
    peak = tracker.get_tracker_snapshot("peak")
    said["tracked"] = max(sum(of for what, of in kinds.items() if str(what) == "Total")
                          for device, kinds in peak.items() if device.type == "cuda")
    if optimizers:
        note("rule", rule, optimizers[-1])
    for kind, (model, batch, size) in models.items():
        note("vram-check", ask_vram_check, model, batch, optimizers[-1])
        if kind == "train_images":
            note("torch-kitsune", ask_kitsune, model, batch, size, optimizers[-1])
    print(json.dumps({"program": name, **said}), flush=True)


def _after(original, then):
    def both(self, *given, **named):
        original(self, *given, **named)
        then(self)
    return both


if __name__ == "__main__":
    main()
