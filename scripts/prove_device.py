"""Proves on a GPU that Tidemark's own device and policies behave there as on the simulator.

  tests      test_backends_cuda and test_gpu, all tests that need a GPU: the device, faults, graphs
  calibrate  this card's profile, in under 60 s
  parity     each trace under each policy, on the GPU and on the simulator: every decision is the
             same; the simulated driver time is within 15 % of the measured one, for each trace and
             over all of them; the peak is within 2 MiB per handle of the memory that the GPU lacked;
             and all of that is released. A driver's speed drifts on a shared host within seconds, so
             the card is calibrated again before each trace in each round. The median of the rounds
             counts, both for costs and for times
  touch      the same with --touch: contents prove that no byte is in two blocks
  pairs      the cost of a pair of allocate and free by threads, next to the driver's pool and PyTorch
  stress     eight threads share a policy and check what they wrote, for --stress seconds

PEAK in a policy stands for the trace's own peak of allocated memory (extent:expect=PEAK). A trace
can be anything that `tidemark replay` reads; without --trace, it is SAMPLES of traces/samples.
Everything runs one after the other, because times are measured; the simulator is last. All parts run
even if one fails. DIR/device.json has everything; exit code 1 if a check failed or was not reached.

Examples:
  scripts/prove-on-gpu device --tidemark build/release/tidemark --tests build/release/tests
  scripts/prove-on-gpu device --only parity --trace run.pickle --policy vpmm --repeat 3
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import typing

import prove_pairs
import prove_parity as parity
from prove_on_gpu import Machine

ROOT = pathlib.Path(__file__).resolve().parent.parent
PARTS = ["tests", "calibrate", "parity", "touch", "pairs", "stress"]
# In addition to every policy of the catalogue.
VARIANTS = ["torch:expandable_segments=true", "extent:expect=PEAK"]
TEST_PROGRAMS = ["test_backends_cuda", "test_gpu"]
SAMPLES = ["gpt2_var", "gpt2_var-ring", "graphs", "multistream"]  # of traces/samples/torch


class Pair(typing.NamedTuple):
    """One trace under one policy."""

    trace: pathlib.Path
    policy: str

    def subject(self):
        return f"{self.trace.name.split('.')[0]} {self.policy}"


class DeviceProof:
    """The facts that were found, and the runs behind them."""

    def __init__(self, options, machine, folder):
        self.options, self.machine, self.folder = options, machine, folder
        self.facts, self.runs, self.peaks = [], [], {}

    def note(self, fact):
        self.facts.append(fact)
        print(parity.table([fact]).splitlines()[1], flush=True)

    def policies(self):
        if self.options.policy:
            return self.options.policy
        listed = self.machine.tidemark("policies").get("policies") or []
        return [each["name"] for each in listed] + VARIANTS

    def cases(self):
        return [Pair(trace, policy) for trace in self.options.trace for policy in self.policies()]

    def policy_of(self, pair):
        """The policy in the program's syntax."""
        if "PEAK" not in pair.policy:
            return pair.policy
        if pair.trace not in self.peaks:
            run = self.machine.tidemark("replay", pair.trace, "--policy", "torch")
            self.peaks[pair.trace] = run["peak_allocated_bytes"]
        return pair.policy.replace("PEAK", str(self.peaks[pair.trace]))

    def tests(self):
        for name in TEST_PROGRAMS:
            program = self.options.tests / name
            if not program.exists():
                self.note(parity.Fact(name, "tests", False, f"not built: {program}"))
                continue
            _, code, output, errors = self.machine.start(
                [program, "[gpu]"], "", self.options.case_seconds)
            self.note(parity.check_tests(name, code, output + errors))
            for fact in parity.graph_facts(output):
                self.note(fact)

    def calibrate(self):
        target = self.options.out / "card.json"
        document = self.machine.tidemark("calibrate", "-o", target, "--device",
                                         self.options.device)
        self.note(parity.check_calibrate(document, document["command_seconds"]))

    def replay(self, pair, *arguments):
        run = self.machine.tidemark("replay", pair.trace, "--policy", self.policy_of(pair),
                                     *arguments)
        self.runs.append(dict(run, arguments=[str(each) for each in arguments]))
        return run

    def on_gpu(self, pair, decisions=None):
        """A run of a pair on the GPU, and the file for its decisions."""
        wanted = ["--decisions", decisions] if decisions else []
        return self.replay(pair, "--device", self.options.device, *wanted)

    def on_simulator(self, pair, decisions, real, profile):
        """Options as for the run `real` on the GPU: its memory, and its limit if it had one."""
        costs = ["--profile", profile] if profile else []
        limit = ["--limit", real["limit_bytes"]] if real.get("limit_bytes") else []
        return self.replay(pair, "--memory", real.get("memory_bytes") or 0, *limit,
                           "--decisions", decisions, *costs)

    def price_now(self):
        """The card's current profile; None if it can't be measured."""
        target = self.folder / "now.json"
        document = self.machine.tidemark("calibrate", "--quick", "-o", target, "--device",
                                         self.options.device)
        if "error" in document or not target.exists():
            return None
        profile = json.loads(target.read_text())
        profile.pop("measured", None)
        return profile

    def parity(self):
        traces, policies = self.options.trace, self.policies()
        prices = {trace: [] for trace in traces}
        runs = {pair: [] for pair in self.cases()}
        places = {pair: self.folder / f"{number}.txt" for number, pair in enumerate(runs)}
        for number in range(self.options.repeat):
            for trace in traces:
                prices[trace].append(self.price_now())
                for policy in policies:
                    pair = Pair(trace, policy)
                    if number == 0 or "error" not in runs[pair][0]:
                        runs[pair].append(self.on_gpu(pair, None if number else places[pair]))
        times = {policy: [] for policy in policies}
        for trace in traces:
            profile = self.middle_profile(prices[trace])
            for policy in policies:
                pair = Pair(trace, policy)
                times[policy].append(self.simulate(pair, runs[pair], profile, places[pair]))
        for policy in policies:
            self.note(parity.check_total_time(policy, times[policy]))

    def middle_profile(self, profiles):
        """A file with the median of the profiles; None without any."""
        found = [each for each in profiles if each]
        if not found:
            return None
        place = self.folder / "profile.json"
        place.write_text(json.dumps(parity.median_profile(found)))
        return place

    def simulate(self, pair, runs, profile, decisions):
        """Runs a pair on the simulator and compares; returns the simulated and measured driver times."""
        simulated_decisions = self.folder / "simulated.txt"
        simulated = self.on_simulator(pair, simulated_decisions, runs[0], profile)
        self.compare(pair, runs, simulated, (decisions, simulated_decisions))
        for each in (decisions, simulated_decisions):
            each.unlink(missing_ok=True)
        measured = sorted(run["driver_ns"] for run in runs if "driver_ns" in run)
        return simulated.get("driver_ns"), measured[len(measured) // 2] if measured else None

    def compare(self, pair, runs, simulated, files):
        subject, real = pair.subject(), runs[0]
        difference, handles = None, 0
        if all(each.exists() for each in files):
            with open(files[0]) as one, open(files[1]) as other:
                difference = parity.difference_of_lines(one, other)
            with open(files[0]) as one:
                handles = parity.most_handles(one)
        self.note(parity.check_decisions(subject, real, simulated, difference))
        measured = [run["driver_ns"] for run in runs if "driver_ns" in run]
        self.note(parity.check_time(subject, real, simulated, measured))
        self.note(parity.check_peak(subject, real, handles))
        self.note(parity.check_leak(subject, real))

    def touch(self):
        for pair in self.cases():
            run = self.replay(pair, "--device", self.options.device, "--touch")
            self.note(parity.check_touch(pair.subject(), run))

    def pairs(self):
        times, note = prove_pairs.measure(self.options.tests / "concurrent_bench", self.folder, 0.2)
        print(prove_pairs.table(times), note, sep="\n", flush=True)
        self.runs.append({"pairs": [[*name, each] for name, each in times.items()], "note": note})
        for fact in prove_pairs.facts(times):
            self.note(fact)

    def stress(self):
        environment = dict(os.environ, TIDEMARK_STRESS_SECONDS=str(self.options.stress))
        done = subprocess.run([self.options.tests / "test_gpu", "[stress]"], env=environment,
                              capture_output=True, text=True, check=False)
        print(done.stdout, flush=True)
        self.note(parity.check_tests("stress", done.returncode, done.stdout + done.stderr))

    def part(self, name):
        try:
            getattr(self, name)()
        except Exception as error:  # a bug of this script must not hide the other parts
            self.note(parity.Fact("the prover", name, False, repr(error)))

    def write(self):
        report = {"facts": [fact._asdict() for fact in self.facts], "runs": self.runs}
        (self.options.out / "device.json").write_text(json.dumps(report, indent=1) + "\n")


def parse(arguments):
    parser = argparse.ArgumentParser(prog="scripts/prove-on-gpu device", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tidemark", type=pathlib.Path, metavar="PATH",
                        default=ROOT / "build" / "release" / "tidemark",
                        help="the program (default: build/release/tidemark)")
    parser.add_argument("--tests", type=pathlib.Path, metavar="DIR",
                        default=ROOT / "build" / "release" / "tests",
                        help="folder of the test programs (default: build/release/tests)")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", help="for the report",
                        default=ROOT / "out" / "device")
    parser.add_argument("--only", choices=PARTS, action="append", metavar="PART",
                        help="may be repeated: " + ", ".join(PARTS))
    parser.add_argument("--device", default="cuda:0", metavar="NAME", help="default: cuda:0")
    parser.add_argument("--trace", type=pathlib.Path, action="append", metavar="FILE",
                        help="may be repeated")
    parser.add_argument("--policy", action="append", metavar="P[:k=v,...]",
                        help="may be repeated (default: every policy)")
    parser.add_argument("--repeat", type=int, default=1, metavar="N",
                        help="rounds on the GPU; the median counts (default 1)")
    parser.add_argument("--seconds", type=float, default=500, metavar="S",
                        help="for everything (default 500); what is left then counts as failed")
    parser.add_argument("--stress", type=float, default=15, metavar="S",
                        help="how long the stress lasts (default 15)")
    parser.add_argument("--case-seconds", type=float, default=180, metavar="S",
                        help="for one run (default 180)")
    options = parser.parse_args(arguments)
    options.only = options.only or PARTS
    options.trace = options.trace or [
        ROOT / "traces" / "samples" / "torch" / f"{name}.pickle.xz" for name in SAMPLES]
    return options


def main(arguments=None):
    options = parse(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(options, pathlib.Path(folder))
        proof = DeviceProof(options, machine, pathlib.Path(folder))
        for name in PARTS:
            if name in options.only:
                proof.part(name)
    proof.write()
    failed = sum(fact.ok is not True for fact in proof.facts)
    print("\n" + parity.table(proof.facts))
    print(f"\n{len(proof.facts) - failed} checks hold, {failed} fail; "
          f"{options.out / 'device.json'}")
    return 1 if failed or not proof.facts else 0


if __name__ == "__main__":
    sys.exit(main())
