"""The proofs of scripts/prove_recorder.py about a recorded program with other tools: profilers, a
second recorder, PyTorch's own recording, and viewers that watch it."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from recorder_checks import ROOT, has, pairs_program, read, record, tidemark

PROFILED = """
import torch
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
    for _ in range(3):
        torch.randn(2048, 2048, device="cuda").matmul(torch.randn(2048, 2048, device="cuda"))
    torch.cuda.synchronize()
print("events", len(profile.events()))
"""

TRAINED = """
import time
import torch

model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048, device="cuda") for _ in range(4)])
optimizer = torch.optim.AdamW(model.parameters())
for step in range(20):
    batch = torch.randn(256 * (1 + step % 5), 2048, device="cuda")
    model(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if step == 10:
        torch.cuda.empty_cache()
torch.cuda.synchronize()
"""


def prove_profiler(folder):
    if not has("torch"):
        return None
    script = folder / "profiled.py"
    script.write_text(PROFILED)
    done, events = record(folder, "profiler", [sys.executable, str(script)])
    said = [line for line in done.stderr.splitlines() if "CUPTI" in line or "rror" in line]
    print(f"profiler: exit code {done.returncode}, {done.stdout.strip()}, {len(events)} events "
          f"recorded; said {said[:2]}")
    return done.returncode == 0 and bool(events)


def find_sanitizer():
    usual = pathlib.Path("/usr/local/cuda/bin/compute-sanitizer")
    return shutil.which("compute-sanitizer") or (str(usual) if usual.exists() else None)


def prove_sanitizer(folder):
    """The sanitizer uses CUPTI's interface in the program, or CUDA loads its library instead of ours.
    In both cases, the program ends normally, and a message says why nothing is recorded."""
    sanitizer = find_sanitizer()
    if sanitizer is None:
        return None
    program, good = [pairs_program(folder)], True
    for name, line in {
            "within": [tidemark(), "record", "-o", str(folder / "within.tml"), "--", sanitizer,
                       *program],
            "around": [sanitizer, "--target-processes", "all", tidemark(), "record", "-o",
                       str(folder / "around.tml"), "--", *program]}.items():
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)
        path = folder / f"{name}.tml"
        said = [each for each in done.stderr.splitlines() if each.startswith("tidemark:")]
        events = len(read(path)) if path.exists() else 0
        print(f"sanitizer {name}: exit code {done.returncode}, program said "
              f"{done.stdout.split()[-8:]}, {events} events; {said[:3]}")
        good = good and done.returncode == 0 and (
            events > 0 or any("error 39" in each for each in said))
    return good


def prove_nested(folder):
    """A recorder within a recorder: the inner one says that it is not needed and runs nothing."""
    inner = [tidemark(), "record", "-o", str(folder / "inner.tml"), "--", pairs_program(folder)]
    done, events = record(folder, "outer", inner)
    print(f"nested: exit code {done.returncode}, {len(events)} events in the outer recording")
    return done.returncode != 0 and not (folder / "inner.tml").exists() and \
        "records this program already" in done.stderr


def prove_join(folder):
    """The two levels of recording of one training run match, and cuBLAS's memory is seen."""
    if not has("torch"):
        return None
    script, runs = folder / "trained.py", folder / "run"
    script.write_text(TRAINED)
    runs.mkdir()
    python_path = str(ROOT / "python")
    subprocess.run([tidemark(), "record", "-o", str(runs / "driver.tml"), "--", sys.executable, "-m",
                    "tidemark.record", "-o", str(runs / "torch.tml"), str(script)], check=True,
                   capture_output=True, env={**os.environ, "PYTHONPATH": python_path})
    done = subprocess.run([tidemark(), "info", str(runs), "--json"], capture_output=True, text=True,
                          check=False)
    joins = json.loads(done.stdout)["joins"]
    for join in joins:
        print(f"join: {join['segments']} segments, {join['matched']} matched, {join['inside']} "
              f"inside, {join['undecided']} undecided, {len(join['unmatched'])} unmatched")
        for holder in join["holders"]:
            print(f"  device {holder['device']} {'PyTorch' if holder['torch'] else 'others'} "
                  f"{holder['call']}: {holder['at_peak_bytes']} bytes at the peak")
    return done.returncode == 0 and len(joins) == 1 and joins[0]["matched"] > 0 and \
        not joins[0]["unmatched"]


def prove_live(folder):
    """A recorded program is on the list while it runs, and only then."""
    name = f"prove-{os.getpid()}"
    program = pairs_program(folder)

    def listed():
        said = subprocess.run([tidemark(), "live", "--json"], capture_output=True, text=True,
                              check=True).stdout
        return [each for each in json.loads(said)["programs"] if each["name"] == name]

    line = [tidemark(), "record", "--live", "--name", name, "-o", str(folder / "live.tml"), "--",
            "timeout", "10", program, "forever"]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as running:
        seen = []
        while running.poll() is None and len(seen) < 2:
            time.sleep(0.5)
            seen += [each["events"] for each in listed() if each["alive"]]
        said = running.communicate()[1]
    print(f"live: seen with {seen} events; {sum(name in each for each in said.splitlines())} "
          f"lines name it; afterwards {len(listed())} are listed")
    return len(seen) == 2 and seen[0] < seen[1] and name in said and not listed()


COMPANY = {"profiler": prove_profiler, "sanitizer": prove_sanitizer, "nested": prove_nested,
           "join": prove_join, "live": prove_live}
