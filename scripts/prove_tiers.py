"""Proves on a GPU that replays over tiers are accurate, and that the spill engine is fast.

  model   `tidemark replay --device`: each trace, memory and victim policy, run with real memory and
          copies and kernels of the recorded duration, compared with its prediction for this machine,
          whose links are measured first (`machines --discover --measure`): slowdown within 3 %, bytes
          within 2 %, content right
  spill   spill_bench: the engine's bandwidth against plain pinned copies in the same run, >= 90 %
  disk    disk_bench: the disk store against plain direct I/O on the same directory, >= 90 %

The benchmarks must be in --programs (they are built by name: spill_bench, disk_bench). A trace can be
any that has uses; without --trace, it is those in traces/samples/uses. All parts run even if one
fails. Exit code 1 if one failed or could not run.

Examples:
  scripts/prove-on-gpu tiers --tidemark build/release/tidemark
  scripts/prove-on-gpu tiers --only model --memory 0.4 --trace run.jsonl.xz --spill lru
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

PARTS = ["model", "spill", "disk"]
LEAST_RATIO = 0.9  # of plain copies in the same run, for the median of the rounds
MOST_TIME_OFF = 0.03
MOST_BYTES_OFF = 0.02
SPILLS = ["lru", "clock", "s3fifo", "sieve", "gdsf", "cost", "largest", "hint", "learned",
          "learned+prefetch", "belady"]
TRACES = pathlib.Path(__file__).resolve().parent.parent / "traces" / "samples" / "uses"


def slow_lines(output):
    """The JSON lines of a benchmark whose ratio is too low."""
    return [line for line in output.splitlines()
            if line.startswith("{") and json.loads(line).get("ratio", 1) < LEAST_RATIO]


def run(words):
    """True if the program succeeds, and reached the bandwidth if it measures one."""
    print("$", " ".join(str(word) for word in words), flush=True)
    try:
        done = subprocess.run([str(word) for word in words], check=False, stdout=subprocess.PIPE,
                              text=True)
    except OSError as error:
        print(f"{words[0]}: {error.strerror}", file=sys.stderr)
        return False
    print(done.stdout, end="", flush=True)
    slow = slow_lines(done.stdout)
    for line in slow:
        print(f"below {LEAST_RATIO}: {line}", flush=True)
    return done.returncode == 0 and not slow


def replay_words(options, machine, trace, memory, spill):
    policy, _, ahead = spill.partition("+")
    return [options.tidemark, "replay", trace, "--gpu-memory", f"{100 * memory:g}%", "--spill",
            policy, "--prefetch", "learned" if ahead else "none", "--machine", machine, "--device",
            options.device, "--json"]


def off(real, told):
    return real / told - 1 if told else float(real != 0)


def check(options, machine, trace, memory, spill):
    """One run and its prediction; prints a line. False if they differ too much."""
    done = subprocess.run([str(word) for word in
                           replay_words(options, machine, trace, memory, spill)],
                          check=False, capture_output=True, text=True)
    name = pathlib.Path(trace).name
    if not done.stdout.startswith("{"):
        print(f"{name} {memory:.0%} {spill}: exit code {done.returncode}: {done.stderr.strip()}",
              flush=True)
        return False
    seen = json.loads(done.stdout)
    time_off = off(seen["slowdown"], seen["predicted_slowdown"])
    bytes_off = off(seen["moved_bytes"], seen["predicted_moved_bytes"])
    holds = (abs(time_off) <= MOST_TIME_OFF and abs(bytes_off) <= MOST_BYTES_OFF
             and seen["wrong_bytes"] == 0)
    print(f"{name:<26} {memory:>4.0%} {spill:<17} slowdown {seen['slowdown']:.4f} predicted "
          f"{seen['predicted_slowdown']:.4f} {time_off:+7.2%}  bytes {seen['moved_bytes']:>13} "
          f"{bytes_off:+7.2%}  wrong {seen['wrong_bytes']}  {'holds' if holds else 'OFF'}",
          flush=True)
    return holds


def prove_model(options, folder):
    machine = options.machine
    if not machine:
        machine = pathlib.Path(folder) / "here.json"
        measured = subprocess.run([str(options.tidemark), "machines", "--discover", "--measure",
                                   "--quick", "--disk", folder, "-o", str(machine)], check=False,
                                  stdout=subprocess.DEVNULL)
        if measured.returncode != 0:
            print("the machine could not be measured", file=sys.stderr)
            return False
    traces = options.trace or sorted(TRACES.glob("*.jsonl.xz"))
    cases = [(trace, memory, spill) for trace in traces for memory in options.memory
             for spill in options.spill]
    holding = sum(check(options, machine, *case) for case in cases)
    print(f"{holding} of {len(cases)} runs within {MOST_TIME_OFF:.0%} of the predicted slowdown "
          f"and {MOST_BYTES_OFF:.0%} of the predicted bytes, content right", flush=True)
    return holding == len(cases) and holding > 0


def main():
    parser = argparse.ArgumentParser(prog="prove-on-gpu tiers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path,
                        default=pathlib.Path("build/release/tests"))
    parser.add_argument("--tidemark", type=pathlib.Path,
                        default=pathlib.Path("build/release/tidemark"))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--machine", help="a machine file (default: measured here)")
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--trace", action="append", default=[])
    parser.add_argument("--memory", type=float, action="append", default=[],
                        help="of the program's peak (default: 0.6 and 0.4)")
    parser.add_argument("--spill", action="append", default=[],
                        help="a victim policy; POLICY+prefetch: with learned prefetching")
    parser.add_argument("--disk", type=pathlib.Path, help="directory for the disk parts")
    options = parser.parse_args()
    options.only = options.only or PARTS
    options.memory = options.memory or [0.6, 0.4]
    options.spill = options.spill or SPILLS
    failed = []
    with tempfile.TemporaryDirectory(dir=options.disk) as folder:
        if "model" in options.only and not prove_model(options, folder):
            failed.append("model")
        benches = {"spill": [options.programs / "spill_bench", "--device", options.device, "--disk",
                             folder, "--json"],
                   "disk": [options.programs / "disk_bench", folder, "--json"]}
        for part, words in benches.items():
            if part in options.only and not run(words):
                failed.append(part)
    for part in options.only:
        print(f"{part}: {'FAIL' if part in failed else 'holds'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
