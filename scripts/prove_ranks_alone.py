"""The proofs of scripts/prove_ranks.py for which no other program may use the GPUs.

A check gets the Checks to add to, a program's name, the number of GPUs and a folder for its files.
"""
import re
import statistics
import sys

from prove_ranks import MIB, PROGRAMS, mib, run, tidemark, torchrun

ROUNDS = 2


def prove_account(checks, name, gpus, folder):
    """Both recordings of each rank, joined: with the context, what NVML says of the GPU."""
    from tidemark.programs import program

    folder.mkdir(parents=True, exist_ok=True)
    real = run([program("tidemark"), "record", "-o", folder / "driver.tml", "--", sys.executable, "-B",
                "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", gpus, PROGRAMS, name,
                "--record", folder / "torch.tml"], folder / "account.log")
    files = sorted(folder.rglob("*.tml"))
    info = real and tidemark("info", *files)
    joins = info["joins"] if info else []
    if len(joins) != gpus:
        checks.add("account", False, f"{len(joins)} joins of {[file.name for file in files]}")
        return
    for join in joins:
        rank = real[int(re.search(r"rank(\d+)", join["torch"])[1])]
        card = max(join["cards"], key=lambda one: one["torch_bytes"], default=None)
        if card is None:
            checks.add("account", False, f"rank {rank['rank']}: the recording lacks what was used")
            continue
        off = rank["device_used"] - card["used_bytes"]
        checks.add("account", abs(off) <= max(64 * MIB, 0.01 * rank["device_used"])
                   and card["torch_bytes"] == rank["reserved_now"] and not join["unmatched"],
                   f"rank {rank['rank']}: PyTorch {mib(card['torch_bytes'])}, others "
                   f"{mib(card['others_bytes'])}, the rest {mib(card['rest_bytes'])} (the context "
                   f"{mib(rank['context'])} at first): {mib(card['used_bytes'])} MiB; NVML "
                   f"{mib(rank['device_used'])} ({off / MIB:+,.0f})")


def prove_pace(checks, name, gpus, folder):
    """Steps, or NCCL's bandwidth, of native PyTorch, recorded, and with extent, in turn."""
    folder.mkdir(parents=True, exist_ok=True)
    ways = {"native": (), "recorded": ("--record", folder / "run.tml"), "extent": ("--use", "extent")}
    figures = {way: [] for way in ways}
    for number in range(ROUNDS):
        for way, options in ways.items():
            real = torchrun(gpus, name, folder / f"{way}{number}.log", *options)
            if real is None:
                checks.add("pace", False, f"the {way} run failed")
                return
            figures[way].append(real[0])
            for file in folder.rglob("*.tml"):
                file.unlink()
    names = [key for key in figures["native"][0] if key.endswith("_gb_s")] or ["ms"]
    for key in names:
        median = {way: statistics.median(one[key] for one in ones) for way, ones in figures.items()}
        least = min(median[way] / median["native"] if key != "ms" else median["native"] / median[way]
                    for way in ways)
        checks.add("pace", least >= 0.97, f"{key}: "
                   + ", ".join(f"{way} {value:,.1f}" for way, value in median.items()))


CHECKS = {"account": prove_account, "pace": prove_pace}
