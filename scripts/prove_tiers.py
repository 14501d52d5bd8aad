"""Proves on a GPU that replays over tiers are true, and that the spill engine is fast.

  model   tier_proof: traces run as the replay decides, with kernels of the recorded duration and
          real copies; bytes equal, content right, slowdown within 10 % of the prediction
  spill   spill_bench: the engine's bandwidth against plain pinned copies in the same run, >= 90 %
  disk    disk_bench: the disk store against plain direct I/O on the same directory, >= 90 %

The programs are looked for in --programs (they are built by name: tier_proof, spill_bench,
disk_bench). A trace is any with uses; without --trace, generated ones. All parts run, whatever
fails. Exit code 1 if one failed or could not run.

Examples:
  scripts/prove-on-gpu tiers --programs build/release/tests
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
GENERATED = ["generate:kv-cache", "generate:training"]


def slow_lines(output):
    """Those of a bench's JSON lines whose ratio is too low."""
    return [line for line in output.splitlines()
            if line.startswith("{") and json.loads(line).get("ratio", 1) < LEAST_RATIO]


def run(words):
    """True if the program says yes, and reached the bandwidth if it measures one."""
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


def commands(options, folder):
    programs = options.programs
    if "model" in options.only:
        spills = [word for policy in options.spill for word in ("--spill", policy)]
        yield "model", [programs / "tier_proof", "--memory", options.memory, *spills,
                        *(options.trace or GENERATED)]
    if "spill" in options.only:
        yield "spill", [programs / "spill_bench", "--device", "cuda:0", "--disk", folder,
                        "--json"]
    if "disk" in options.only:
        yield "disk", [programs / "disk_bench", folder, "--json"]


def main():
    parser = argparse.ArgumentParser(prog="prove-on-gpu tiers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path,
                        default=pathlib.Path("build/release/tests"))
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--trace", action="append", default=[])
    parser.add_argument("--memory", type=float, default=0.6, help="of the program's peak")
    parser.add_argument("--spill", action="append", default=[],
                        help="a victim policy; POLICY+prefetch: with learned prefetching")
    parser.add_argument("--disk", type=pathlib.Path, help="directory for the disk parts")
    options = parser.parse_args()
    options.only = options.only or PARTS
    failed = []
    with tempfile.TemporaryDirectory(dir=options.disk) as folder:
        for part, words in commands(options, folder):
            if not run(words):
                failed.append(part)
    for part in options.only:
        print(f"{part}: {'FAIL' if part in failed else 'holds'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
