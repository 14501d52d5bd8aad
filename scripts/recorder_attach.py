"""For prove_recorder.py: a PyTorch that is already running (`tidemark record --attach`)."""
import json
import os
import pathlib
import subprocess
import sys
import time

from recorder_checks import has, read, tidemark


def train(folder):
    """The recorded program: it waits for a line before it starts what its own trace has too."""
    import torch

    def pair_cost(count=100_000):
        begin = time.perf_counter_ns()
        for _ in range(count):
            torch.empty(1000, device="cuda")
        return (time.perf_counter_ns() - begin) / count

    before = [torch.empty(1 + n, device="cuda") for n in range(5)]
    pair_cost()
    alone = pair_cost()
    print("ready", flush=True)
    input()
    watched = pair_cost()
    torch.cuda.memory._record_memory_history(context=None, max_entries=10_000_000)
    torch.manual_seed(1)
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512, device="cuda") for _ in range(8)])
    optimizer = torch.optim.AdamW(model.parameters())
    side = torch.cuda.Stream()
    for step in range(200):
        batch = torch.randn(64 * (1 + step % 5), 512, device="cuda")
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        with torch.cuda.stream(side):
            torch.empty(4096 + step, device="cuda")
    del before
    trace = [(entry["action"], entry["addr"], entry["size"])
             for entry in torch.cuda.memory._snapshot()["device_traces"][0]
             if entry["action"] in ("alloc", "free_completed")]
    (folder / "attach.json").write_text(json.dumps({"trace": trace, "cost": [alone, watched]}))
    os._exit(0)  # otherwise the interpreter's exit frees what is left


def prove_attach(folder):
    if not has("torch"):
        return None
    path = folder / "attach.tml"
    with subprocess.Popen([sys.executable, "-B", __file__, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        program.stdout.readline()
        with subprocess.Popen([tidemark(), "record", "-o", str(path), "--json", "--attach",
                               str(program.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as recorder:
            said = recorder.stderr.readline()
            print("  " + said.strip())
            program.stdin.write("go\n")
            program.stdin.close()
            program.wait(120)
            report, _ = recorder.communicate(timeout=60)
    if "attached" not in said:
        return False
    facts = json.loads((folder / "attach.json").read_text())
    allocated, theirs = set(), []
    for action, address, size in facts["trace"]:
        known = action == "alloc" or address in allocated
        (allocated.add if action == "alloc" else allocated.discard)(address)
        if known:
            theirs.append(("allocate" if action == "alloc" else "free", address, size))
    events = [(each.kind, each.address, each.size) for each in read(path)
              if each.kind in ("allocate", "free")]
    ours = events[-len(theirs):]
    counts = json.loads(report)["attached"]
    differs = next((index for index, (a, b) in enumerate(zip(ours, theirs)) if a != b), None)
    alone, watched = facts["cost"]
    print(f"attach: {len(facts['trace'])} entries of PyTorch, {len(theirs)} of them after the start; "
          f"{len(events)} events recorded, the last {len(ours)} compared with them: first "
          f"difference {differs}; {counts}")
    print(f"attach: a pair of torch.empty and its end {alone:.0f} ns, {watched:.0f} ns while "
          "somebody listens")
    return bool(theirs) and differs is None and len(ours) == len(theirs) and \
        counts["lost_events"] == 0 and counts["unknown_frees"] == len(facts["trace"]) - len(theirs)


if __name__ == "__main__":
    train(pathlib.Path(sys.argv[1]))
