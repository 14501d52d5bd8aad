#!/usr/bin/env python3
"""Proves on a GPU that trainings do the same under tidemark.torch.use() as without it.

Usage: scripts/prove-on-gpu programs [NAME ...] [--rounds N] [--steps N] [--json FILE]

Runs programs of predict_programs.py (by default twelve, from transformers, timm, torchvision,
lightning, accelerate, peft and torch-geometric) each way in turn, every run in a process of its
own: PyTorch's defaults, the same again, expandable segments, use("extent"), and use("extent") with
the peak of allocated memory that the first run had. All with deterministic algorithms. Says of each
way the peak of reserved memory, the median time of a step against the defaults of the same round,
and whether every loss is the same to the last bit; a program whose losses differ between the two
runs by PyTorch's defaults proves nothing there, and the table says so. --json is written as it
grows. Exit code 1 if a loss differs or a run fails.

It needs libtidemark.so (TIDEMARK_LIBRARY names it) and the packages of the programs; a program
whose package isn't there is left out, and named.
"""
import argparse
import contextlib
import importlib
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
MIB = 1 << 20
PROGRAMS = {"gpt2_amp": "transformers", "llama_checkpointed": "transformers",
            "t5_adafactor": "transformers", "bert_mlm": "transformers",
            "kept_trainer": "transformers", "convnext": "timm", "resnet50_amp": "timm",
            "other_fasterrcnn": "torchvision", "kept_lightning": "lightning",
            "other_accelerate": "accelerate", "llama_lora": "peft", "gcn": "torch_geometric"}
NATIVE = "native"
WAYS = (NATIVE, "native again", "expandable", "extent", "extent, peak known")
WARM_UP = 3  # steps that fill caches


def policy_of(way, used):
    return {"extent": "extent", "extent, peak known": f"extent:expect={used}"}.get(way)


def run_here(name, way, used, result):
    """One program, in this process; it ends with it."""
    import torch

    from tidemark.torch._measured import measure

    if way == "expandable":
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    measured = f"{result}.measured"
    measure(measured, None, 0, policy_of(way, used))
    random.seed(1)
    torch.manual_seed(1)
    begun = time.monotonic()
    importlib.import_module("predict_programs").PROGRAMS[name][1]()
    torch.cuda.synchronize()
    pathlib.Path(result).write_text(json.dumps(
        {"reserved": torch.cuda.max_memory_reserved(), "used": torch.cuda.max_memory_allocated(),
         "seconds": time.monotonic() - begun, "measured": measured}))


def run_apart(name, way, used, log):
    """One program in a child of this process, which has imported what it needs; None if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder, "result.json")
        child = os.fork()
        if child == 0:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            run_here(name, way, used, result)
            sys.exit(0)  # by way of atexit, where the measurement is written
        _, status = os.waitpid(child, 0)
        if status != 0 or not result.exists():
            return None
        answer = json.loads(result.read_text())
        answer.update(json.loads(pathlib.Path(answer.pop("measured")).read_text()))
    steps = answer.pop("steps")
    between = [(after - before) / 1e6 for before, after in zip(steps, steps[1:])][WARM_UP:]
    return {**answer, "ms": statistics.median(between) if between else None}


def told(name, rounds):
    """Prints a line for each way; returns what went wrong."""
    wrong = []
    base = rounds[0][NATIVE]
    repeats = all(answers[way]["losses"] == base["losses"]
                  for answers in rounds for way in (NATIVE, "native again"))
    for way in WAYS:
        each = [answers[way] for answers in rounds]
        ratios = [answer["ms"] / answers[NATIVE]["ms"] for answer, answers in zip(each, rounds)]
        alike = all(answer["losses"] == base["losses"] for answer in each)
        if repeats and not alike:
            wrong.append(f"{name}, {way}: losses differ")
        verdict = "same" if alike else "differ" if repeats else "native differs too"
        print(f"  {name:20} {way:20} {max(answer['reserved'] for answer in each) / MIB:9.0f} MiB  "
              f"{statistics.median(answer['ms'] for answer in each):8.2f} ms  x "
              f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})  "
              f"{len(base['losses'])} losses: {verdict}", flush=True)
    return wrong


def prove(name, count, log):
    """All ways of a program, in another order in each round."""
    rounds, used = [], 0
    for turn in range(count):
        answers = {}
        # The first way gives the peak that the last one expects; later rounds begin elsewhere.
        for way in WAYS[turn:] + WAYS[:turn]:
            answers[way] = run_apart(name, way, used, log)
            if answers[way] is None:
                return [f"{name}, {way}: failed (see the log)"], rounds
            used = used or answers[way]["used"]
        rounds.append(answers)
    return told(name, rounds), rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs of predict_programs.py")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--json", metavar="FILE", help="everything measured")
    parser.add_argument("--log", default="programs.log", help="what the programs print")
    options = parser.parse_args()
    os.environ.update(TRAIN_STEPS=str(options.steps), CUBLAS_WORKSPACE_CONFIG=":4096:8",
                      PYTORCH_NVML_BASED_CUDA_CHECK="1",  # a child can't use what is begun here
                      TQDM_DISABLE="1", PYTHONHASHSEED="0", TRANSFORMERS_VERBOSITY="error")
    import torch

    import tidemark.torch._allocator as adapter

    adapter.load(torch)
    importlib.import_module("predict_programs")
    importlib.import_module("predict_packages")
    wrong, document = [], {}
    with open(options.log, "w", encoding="utf-8") as log:
        for name in options.names or PROGRAMS:
            try:
                importlib.import_module(PROGRAMS.get(name, "torch"))
            except ImportError as lacking:
                print(f"  {name:20} left out: {lacking}", flush=True)
                continue
            failed, document[name] = prove(name, options.rounds, log)
            for line in failed:
                print(f"  FAIL {line}", flush=True)
            wrong += failed
            if options.json:
                with contextlib.suppress(OSError):
                    pathlib.Path(options.json).write_text(json.dumps(document))
    print(f"{len(document)} programs, {len(wrong)} wrong")
    sys.exit(bool(wrong) or not document)


if __name__ == "__main__":
    main()
