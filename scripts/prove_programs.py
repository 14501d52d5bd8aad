#!/usr/bin/env python3
"""Proves on a GPU that training runs do the same under tidemark.torch.use() as without it.

Usage: scripts/prove-on-gpu programs [NAME ...] [--rounds N] [--steps N] [--json FILE]

Runs programs of predict_programs.py (by default twelve, from transformers, timm, torchvision,
lightning, accelerate, peft and torch-geometric) in each of these ways, every run in a process of its
own: PyTorch's defaults, the same again, expandable segments, use("extent"), and use("extent") with the
peak of allocated memory from the first run. All use deterministic algorithms. For each way, it prints
the peak of reserved memory, its time compared with the defaults (of each step at its quickest of all
rounds, and of the median step of each round), and whether every loss is the same to the last bit. If
the losses of a program differ between the two runs with PyTorch's defaults, it proves nothing there,
and the table says so. --json is written as it grows. Exit code 1 if a loss differs or a run fails.

It needs libtidemark.so (TIDEMARK_LIBRARY names it) and the packages of the programs. Programs without
their package are left out, and named.
"""
import argparse
import contextlib
import importlib
import importlib.util
import json
import os
import pathlib
import random
import statistics
import subprocess
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
RUN_SECONDS = 90  # after which a run counts as failed


def policy_of(way, used):
    return {"extent": "extent", "extent, peak known": f"extent:expect={used}"}.get(way)


def run_here(name, way):
    """One program, in this process: waits for its turn, and for the peak to expect."""
    import torch

    from tidemark.torch._measured import Measured

    importlib.import_module("predict_programs")
    importlib.import_module("predict_packages")
    importlib.import_module(PROGRAMS.get(name, "torch"))
    importlib.import_module("torch._dynamo")  # which optimizers import at their first step
    print("ready", flush=True)
    used, result = input().split()

    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    for attention in ("flash", "mem_efficient", "cudnn"):  # whose backward passes differ by run
        getattr(torch.backends.cuda, f"enable_{attention}_sdp")(False)
    measured = Measured(result, None, 0, policy_of(way, used))
    measured.begin()
    random.seed(1)
    torch.manual_seed(1)
    importlib.import_module("predict_programs").PROGRAMS[name][1]()
    measured.end()


def start(name, way, log):
    """Starts a process that will run the program when its turn comes."""
    conf = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"} if way == "expandable" else {}
    return subprocess.Popen([sys.executable, "-B", __file__, "--here", way, name], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                            env={**os.environ, **conf})


def run(child, used, log):
    """Runs the turn of a process from start(); returns its measurements, or None if it fails."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder, "result.json")
        try:
            output, _ = child.communicate(f"{used} {result}\n", timeout=RUN_SECONDS)
            log.write(output)
        except subprocess.TimeoutExpired:
            log.write(f"no end within {RUN_SECONDS} s\n")
        if not result.exists():
            return None
        answer = json.loads(result.read_text())
    steps = answer.pop("steps")
    between = [(after - before) / 1e6 for before, after in zip(steps, steps[1:])][WARM_UP:]
    return {**answer, "ms": between, "seconds": time.monotonic() - begun}


def quickest(rounds, way):
    """ms of all steps, each at its quickest of the rounds: a step has the same batch in each."""
    return sum(map(min, zip(*(answers[way]["ms"] for answers in rounds))))


def told(name, rounds):
    """Prints a line for each way; returns the faults."""
    wrong = []
    base = rounds[0][NATIVE]
    repeats = all(answers[way]["losses"] == base["losses"]
                  for answers in rounds for way in (NATIVE, "native again"))
    for way in WAYS:
        each = [answers[way] for answers in rounds]
        ratios = [statistics.median(answer["ms"]) / statistics.median(answers[NATIVE]["ms"])
                  for answer, answers in zip(each, rounds)]
        alike = all(answer["losses"] == base["losses"] for answer in each)
        if repeats and not alike:
            wrong.append(f"{name}, {way}: losses differ")
        verdict = "same" if alike else "differ" if repeats else "native differs too"
        print(f"  {name:20} {way:20} {max(answer['peak_reserved'] for answer in each) / MIB:9.0f} MiB  "
              f"quickest steps x {quickest(rounds, way) / quickest(rounds, NATIVE):.3f}, medians x "
              f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})  "
              f"{len(base['losses'])} losses: {verdict}  ({each[0]['seconds']:.0f} s a run)", flush=True)
    return wrong


def prove(name, count, log):
    """All ways of a program, in another order in each round. All processes start before the first
    turn, so that none imports packages while another one is measured."""
    # The first way gives the peak that the last one expects; later rounds start with another way.
    order = [WAYS[turn:] + WAYS[:turn] for turn in range(count)]
    children = [{way: start(name, way, log) for way in ways} for ways in order]
    rounds, used = [], 0
    try:
        for child in (child for one in children for child in one.values()):
            if child.stdout.readline() != "ready\n":
                return [f"{name}: a process did not start (see the log)"], rounds
        for one in children:
            answers = {}
            for way, child in one.items():
                answers[way] = run(child, used, log)
                if answers[way] is None:
                    return [f"{name}, {way}: failed (see the log)"], rounds
                used = used or answers[way]["peak_allocated"]
            rounds.append(answers)
    finally:
        for child in (child for one in children for child in one.values()):
            child.kill()
            child.wait()
    return told(name, rounds), rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs of predict_programs.py")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--json", metavar="FILE", help="everything measured")
    parser.add_argument("--here", metavar="WAY", help=argparse.SUPPRESS)
    parser.add_argument("--log", default="programs.log", help="what the programs print")
    options = parser.parse_args()
    if options.here:
        run_here(options.names[0], options.here)
        return
    os.environ.update(TRAIN_STEPS=str(options.steps), CUBLAS_WORKSPACE_CONFIG=":4096:8",
                      TQDM_DISABLE="1", PYTHONHASHSEED="0", TRANSFORMERS_VERBOSITY="error")
    import torch

    import tidemark.torch._allocator as adapter

    adapter.load(torch)  # compiles it, if need be
    wrong, document = [], {}
    with open(options.log, "w", encoding="utf-8") as log:
        for name in options.names or PROGRAMS:
            package = PROGRAMS.get(name, "torch")
            if importlib.util.find_spec(package) is None:
                print(f"  {name:20} left out: there is no {package}", flush=True)
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
