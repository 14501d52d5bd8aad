#!/usr/bin/env python3
"""Compares the integers and booleans that the imagined CUDA computes with those of the CPU.

Usage: python -m tidemark.predict scripts/predict_values.py [SEED]

It uses random tensors that are copied to the device, and operations for masks, counts and loop ends.
Each result is computed on both and compared. Exit code 1 if any differs.
"""
import random
import sys

import torch

KINDS = (torch.bool, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float32,
         torch.float64)


def some(shape, kind, high=7):
    values = torch.randint(0, 2 if kind == torch.bool else high, shape)
    return values.to(kind)


def views(one):
    """The same tensor in the views that programs use."""
    yield "whole", one
    yield "slice", one[:, 1:]
    yield "column", one[:, 0]
    yield "transposed", one.t()
    yield "stepped", one[::2]
    yield "broadcast", one[:1].expand(one.shape)


UNARY = {
    "equal scalar": lambda a: a == 3,
    "less scalar": lambda a: a < 3,
    "at least scalar": lambda a: 2 <= a,
    "logical not": lambda a: a.logical_not(),
    "to long": lambda a: a.long(),
    "to float": lambda a: a.float(),
    "to bool": lambda a: a.bool(),
    "contiguous": lambda a: a.clone(memory_format=torch.contiguous_format),
    "max": lambda a: a.max(),
    "min": lambda a: a.min(),
    "any": lambda a: a.any(),
    "all": lambda a: a.all(),
    "sum": lambda a: a.long().sum(),
    "sum of rows": lambda a: a.long().sum(-1),
    "any of columns": lambda a: a.bool().any(0),
    "nonzero": lambda a: torch.tensor(a.nonzero().shape),
    "ones like": torch.ones_like,
    "full": lambda a: torch.full_like(a, 1),
    "cumsum": lambda a: a.long().flatten().cumsum(0),
}
NUMERIC = {
    "plus scalar": lambda a: a + 3,
    "times scalar": lambda a: a * 3,
    "minus": lambda a: a - 1,
    "bincount": lambda a: torch.tensor(a.long().flatten().bincount().shape),
}
BINARY = {
    "equal": lambda a, b: a == b,
    "not equal": lambda a, b: a != b,
    "greater": lambda a, b: a > b,
    "logical and": lambda a, b: a.logical_and(b),
    "logical or": lambda a, b: a.logical_or(b),
    "sum of both": lambda a, b: a + b,
    "product": lambda a, b: a * b,
    "mixed": lambda a, b: a.long() + b.int(),
}
BITS = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a, b: ~a & b,
    "and with bools": lambda a, b: a.long() & (b == 1),
}


def cases(kind):
    yield from ((name, of, 1) for name, of in UNARY.items())
    if kind != torch.bool:
        yield from ((name, of, 1) for name, of in NUMERIC.items())
    yield from ((name, of, 2) for name, of in BINARY.items())
    if not kind.is_floating_point:
        yield from ((name, of, 2) for name, of in BITS.items())


def main():
    torch.manual_seed(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    random.seed(1)
    tried, wrong = 0, []
    for kind in KINDS:
        for size in ((3, 4), (17, 33), (256, 1024)):
            hosts = some(size, kind), some(size, kind)
            devices = [one.cuda() for one in hosts]
            for pairs in zip(*(zip(views(host), views(device))
                               for host, device in zip(hosts, devices))):
                ((view, a), (_, on_a)), ((_, b), (_, on_b)) = pairs
                for name, of, count in cases(kind):
                    expected = of(*(a, b)[:count])
                    found = of(*(on_a, on_b)[:count])
                    tried += 1
                    if expected.shape != found.shape or not torch.equal(expected, found.cpu()):
                        wrong.append(f"{name} of {kind} {size} {view}")
    for one in wrong:
        print(one)
    print(f"{tried - len(wrong)} of {tried} as on the CPU", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
